"""The tables. What each column may hold is said by bot.rules.terms; what moves them is in the modules beside this."""

import sqlalchemy as sa

from storage.columns import (
    SafeJson,
    SafeText,
    SlackTs,
    flag_column,
    key_column,
    number_column,
    reference_column,
    text_column,
    time_column,
)

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

clock = sa.func.clock_timestamp
"""The database's clock: leases are written and judged with it, so that no worker's own clock matters."""


threads = sa.Table(
    "threads",
    metadata,
    key_column(),
    text_column("kind", default="slack"),
    reference_column("parent_id", "threads.id", null=True),
    text_column("team_id", null=True),
    text_column("channel_id", null=True),
    text_column("thread_ts", null=True),
    text_column("state", default="idle"),
    number_column("wake_seq"),
    number_column("done_seq"),
    number_column("event_seq"),
    number_column("inbox_seq"),
    number_column("fence"),
    text_column("owner", null=True),
    time_column("ready_at"),
    sa.Column("stopped_before_ts", SlackTs),
    flag_column("earlier_read"),
    time_column("created_at", now=True),
    sa.UniqueConstraint("team_id", "channel_id", "thread_ts"),
    sa.Index("ix_threads_ready_at", "ready_at", postgresql_where=sa.text("state = 'ready'")),
    sa.Index("ix_threads_owner", "owner", postgresql_where=sa.text("owner is not null")),
)

ingress = sa.Table(
    "ingress",
    metadata,
    key_column("dedupe_key"),
    sa.Column("gesture_key", SafeText, unique=True),
    time_column("received_at", now=True),
    text_column("verdict"),
    text_column("policy_row", default=""),
    flag_column("interject"),
)

people = sa.Table(
    "people",
    metadata,
    key_column("team_id"),
    key_column("user_id"),
    text_column("class"),
    text_column("name", default=""),
    time_column("checked_at", now=True),
)

inbox = sa.Table(
    "inbox",
    metadata,
    reference_column("thread_id", "threads.id", key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True),
    text_column("source"),
    text_column("author"),
    text_column("author_name", default=""),
    text_column("text"),
    flag_column("interject"),
    sa.Column("slack_ts", SlackTs),
    text_column("verdict"),
    text_column("policy_row", default=""),
    text_column("state"),
    text_column("run_id", null=True),
    sa.Column("raw", SafeJson),
    time_column("stored_at", now=True),
    sa.Index("ix_inbox_thread_id_slack_ts", "thread_id", "slack_ts"),
    sa.Index("ix_inbox_waiting", "thread_id", postgresql_where=sa.text("state = 'waiting'")),
    sa.Index("ix_inbox_unjudged", "stored_at", postgresql_where=sa.text("state = 'unjudged'")),
)

runs = sa.Table(
    "runs",
    metadata,
    key_column(),
    reference_column("thread_id", "threads.id"),
    sa.Column("seq", sa.BigInteger, sa.Identity(always=True), nullable=False),
    text_column("chain_id"),
    text_column("previous_id", null=True),
    text_column("state"),
    text_column("parked_for", null=True),
    time_column("parked_at"),
    text_column("pause_id", null=True),
    text_column("acted_by", null=True),
    text_column("requested_by"),
    text_column("started_by"),
    text_column("title"),
    text_column("model", null=True),
    number_column("attempts"),
    number_column("progress_seq"),
    text_column("cut_by", null=True),
    text_column("cut_source", null=True),
    text_column("cut_who", null=True),
    time_column("cut_at"),
    time_column("cancelling_at"),
    time_column("created_at", now=True),
    time_column("started_at"),
    number_column("round"),
    number_column("notes_kept"),
    sa.Index("uq_runs_one_unsettled", "thread_id", unique=True, postgresql_where=sa.text("state <> 'settled'")),
    sa.Index("ix_runs_thread_id_seq", "thread_id", "seq"),
    sa.Index("ix_runs_chain_id", "chain_id"),
)

events = sa.Table(
    "events",
    metadata,
    reference_column("thread_id", "threads.id", key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    reference_column("run_id", "runs.id"),
    number_column("fence", default=None),
    text_column("kind"),
    sa.Column("body", SafeJson, nullable=False),
    text_column("provider", null=True),
    text_column("model", null=True),
    sa.Column("provider_blocks", SafeJson),
    time_column("stored_at", now=True),
)

settlements = sa.Table(
    "settlements",
    metadata,
    reference_column("run_id", "runs.id", key=True),
    reference_column("thread_id", "threads.id"),
    number_column("fence", default=None),
    text_column("reason"),
    number_column("final_event_id", null=True),
    text_column("error", null=True),
    text_column("detail", default=""),
    number_column("status", null=True),
    text_column("decided_by", null=True),
    time_column("settled_at", now=True),
    sa.ForeignKeyConstraint(["thread_id", "final_event_id"], ["events.thread_id", "events.seq"]),
    sa.CheckConstraint("(reason = 'completed') = (final_event_id is not null)", name="final_event"),
)

interrupts = sa.Table(
    "interrupts",
    metadata,
    key_column(),
    reference_column("thread_id", "threads.id"),
    reference_column("run_id", "runs.id"),
    text_column("kind"),
    text_column("scope"),
    text_column("source"),
    text_column("requested_by"),
    time_column("requested_at", now=True),
    sa.Column("slack_ts", SlackTs),
    text_column("state"),
    sa.Index("ix_interrupts_run_id", "run_id"),
)

tool_calls = sa.Table(
    "tool_calls",
    metadata,
    key_column("request_id"),
    reference_column("thread_id", "threads.id"),
    reference_column("run_id", "runs.id"),
    number_column("fence", default=None),
    text_column("call_id"),
    number_column("round"),
    number_column("position"),
    text_column("tool"),
    text_column("grade"),
    text_column("title"),
    text_column("target"),
    sa.Column("arguments", SafeJson, nullable=False),
    text_column("url", null=True),
    text_column("method", null=True),
    number_column("status", null=True),
    time_column("started_at"),
    number_column("elapsed_ms", null=True),
    text_column("outcome", null=True),
    flag_column("interrupted"),
    text_column("blocked_by", null=True),
    time_column("recorded_at", now=True),
    sa.Index("ix_tool_calls_run_id", "run_id"),
)

cards = sa.Table(
    "cards",
    metadata,
    reference_column("run_id", "runs.id", key=True),
    text_column("team_id"),
    text_column("channel_id"),
    text_column("thread_ts"),
    text_column("ts", null=True),
    sa.Column("post_key", SafeText, nullable=False, unique=True),
    number_column("wanted_rev"),
    number_column("painted_rev"),
    text_column("paint_token", null=True),
    time_column("paint_until"),
    time_column("next_at", now=True),
    time_column("painted_at"),
    time_column("repaint_at"),
    time_column("posting_at"),
    text_column("permalink", null=True),
    text_column("gone", null=True),
    sa.Index("ix_cards_wanted", "next_at", postgresql_where=sa.text("wanted_rev > painted_rev")),
    sa.Index("ix_cards_repaint_at", "repaint_at", postgresql_where=sa.text("repaint_at is not null")),
)

posts = sa.Table(
    "posts",
    metadata,
    key_column("post_key"),
    reference_column("run_id", "runs.id"),
    text_column("kind"),
    number_column("part"),
    text_column("team_id"),
    text_column("channel_id"),
    text_column("thread_ts"),
    text_column("body"),
    text_column("ts", null=True),
    text_column("permalink", null=True),
    text_column("state", default="waiting"),
    text_column("token", null=True),
    time_column("token_until"),
    time_column("next_at", now=True),
    time_column("posting_at"),
    number_column("tries"),
    text_column("error", null=True),
    sa.UniqueConstraint("run_id", "kind", "part"),
    sa.Index("ix_posts_waiting", "next_at", postgresql_where=sa.text("state = 'waiting'")),
)

workers = sa.Table(
    "workers",
    metadata,
    key_column(),
    time_column("heartbeat_at", now=True),
    time_column("started_at", now=True),
    text_column("state", default="alive"),
)

usage = sa.Table(
    "usage",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("call_key", SafeText, nullable=False, unique=True),
    reference_column("run_id", "runs.id"),
    text_column("provider"),
    text_column("model"),
    number_column("input_tokens"),
    number_column("output_tokens"),
    flag_column("reported"),
    sa.Column("cost", sa.Numeric(18, 8)),
    time_column("recorded_at", now=True),
    sa.Index("ix_usage_run_id", "run_id"),
)

policy_overrides = sa.Table(
    "policy_overrides",
    metadata,
    key_column("team_id"),
    key_column("channel_id"),
    key_column("source"),
    sa.Column("interject", sa.Boolean, primary_key=True),
    key_column("phase"),
    text_column("verdict"),
)
