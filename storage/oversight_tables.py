"""The tables of oversight: what was asked for and approved, what left, the chain that shows tampering, and halts."""

import sqlalchemy as sa

from storage.columns import (
    SafeJson,
    SafeText,
    flag_column,
    key_column,
    number_column,
    reference_column,
    text_column,
    time_column,
)
from storage.tables import metadata

tool_attempts = sa.Table(
    "tool_attempts",
    metadata,
    reference_column("request_id", "tool_calls.request_id", key=True),
    sa.Column("attempt", sa.BigInteger, primary_key=True, autoincrement=False),
    text_column("method"),
    text_column("url"),
    text_column("address", null=True),
    number_column("status", null=True),
    text_column("outcome", null=True),
    text_column("rule", null=True),
    number_column("elapsed_ms", null=True),
    number_column("received_bytes", null=True),
    time_column("started_at", now=True),
)
"""One row an HTTP request that a call made: a redirect and a second try are requests of their own."""

audit_entries = sa.Table(
    "audit_entries",
    metadata,
    reference_column("thread_id", "threads.id", key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    text_column("run_id", null=True),
    text_column("request_id", null=True),
    text_column("kind"),
    sa.Column("body", SafeJson, nullable=False),
    text_column("prev_hash"),
    text_column("hash"),
    time_column("recorded_at", now=True),
    sa.Index("ix_audit_entries_run_id", "run_id"),
)
"""Append-only, one hash chain a thread: what was changed or taken out afterwards is found."""

approvals = sa.Table(
    "approvals",
    metadata,
    key_column(),
    reference_column("thread_id", "threads.id"),
    reference_column("run_id", "runs.id"),
    sa.Column("request_id", SafeText, sa.ForeignKey("tool_calls.request_id"), nullable=False, unique=True),
    text_column("sha256"),
    text_column("shown"),
    text_column("state"),
    sa.Column("approvers", SafeJson, nullable=False),
    number_column("needed", default=1),
    flag_column("not_requester"),
    time_column("requested_at", now=True),
    time_column("expires_at"),
    time_column("decided_at"),
    text_column("decided_by", null=True),
    text_column("used_by", null=True),
    sa.Index("ix_approvals_run_id", "run_id"),
    sa.Index("ix_approvals_waiting", "expires_at", postgresql_where=sa.text("state = 'waiting'")),
)
"""`shown` is the call in full as people see it; `sha256` binds the decision to its exact arguments and target.

`used_by` names the one attempt that used it, so that this attempt may be repeated after a lost reply, and no other."""

approval_votes = sa.Table(
    "approval_votes",
    metadata,
    reference_column("approval_id", "approvals.id", key=True),
    key_column("user_id"),
    text_column("vote"),
    time_column("voted_at", now=True),
)

halts = sa.Table(
    "halts",
    metadata,
    key_column(),
    text_column("set_by"),
    text_column("reason", default=""),
    time_column("set_at", now=True),
    text_column("lifted_by", null=True),
    time_column("lifted_at"),
    sa.Index(
        "uq_halts_one_standing",
        sa.text("(lifted_at is null)"),
        unique=True,
        postgresql_where=sa.text("lifted_at is null"),
    ),
)
"""While one stands no run starts anywhere and every run is stopped."""

policy_overrides = sa.Table(
    "policy_overrides",
    metadata,
    key_column("team_id"),
    key_column("channel_id"),
    key_column("source"),
    sa.Column("interject", sa.Boolean, primary_key=True),
    key_column("phase"),
    text_column("verdict"),
    text_column("set_by", default=""),
    time_column("set_at", now=True),
)

schema = metadata
"""Every table: whoever makes or compares a database takes them from here, so that none is forgotten."""
