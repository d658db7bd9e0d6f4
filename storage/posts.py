"""The outbox: everything posted besides cards. One row, one post; what Slack may already have is looked for first."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from storage import notify
from storage.engine import Transaction
from storage.tables import clock, posts
from storage.threads import Place


@dataclass(frozen=True, slots=True)
class NewPost:
    """A post to be made."""

    post_key: str
    run_id: str
    kind: str
    part: int
    place: Place
    body: str


@dataclass(frozen=True, slots=True)
class LeasedPost:
    """A post that one painter holds, by its token, for one call; `was_tried` when an earlier outcome is not known.

    `tried_s`: seconds since that try, by the clock that wrote it down.
    """

    token: str
    post_key: str
    run_id: str
    part: int
    place: Place
    body: str
    was_tried: bool
    tried_s: float | None
    tries: int


async def add(tx: Transaction, new: NewPost) -> None:
    """Write a post down; a second one of the same run, kind and part is the same post."""
    await tx.execute(
        insert(posts)
        .values(
            post_key=new.post_key,
            run_id=new.run_id,
            kind=new.kind,
            part=new.part,
            team_id=new.place.team_id,
            channel_id=new.place.channel_id,
            thread_ts=new.place.thread_ts,
            body=new.body,
        )
        .on_conflict_do_nothing()
    )
    await notify.notify(tx, notify.CARD, run=new.run_id)


async def lease(tx: Transaction, token: str, lease_s: float) -> LeasedPost | None:
    """Take the next post that is due, for one call; parts of one answer in their order."""
    earlier = posts.alias("earlier")
    blocked = sa.exists().where(
        earlier.c.run_id == posts.c.run_id,
        earlier.c.kind == posts.c.kind,
        earlier.c.part < posts.c.part,
        earlier.c.state == "waiting",
    )
    free = sa.or_(posts.c.token_until.is_(None), posts.c.token_until < clock())
    tried_s = sa.cast(sa.extract("epoch", clock() - posts.c.posting_at), sa.Float).label("tried_s")
    pick = (
        sa
        .select(posts, tried_s)
        .where(posts.c.state == "waiting", posts.c.next_at <= clock(), free, ~blocked)
        .order_by(posts.c.next_at, posts.c.part)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = (await tx.execute(pick)).mappings().one_or_none()
    if row is None:
        return None
    values = {
        "token": token,
        "token_until": clock() + _seconds(lease_s),
        "posting_at": sa.func.coalesce(posts.c.posting_at, clock()),
        "tries": posts.c.tries + 1,
    }
    await tx.execute(sa.update(posts).where(posts.c.post_key == row["post_key"]).values(**values))
    return _leased(row, token)


async def sent(tx: Transaction, post_key: str, ts: str, permalink: str | None = None) -> None:
    """Store where a post stands in Slack, from our call's answer or from our own echo."""
    waiting = sa.and_(posts.c.post_key == post_key, posts.c.ts.is_(None))
    await tx.execute(sa.update(posts).where(waiting).values(ts=ts, state="sent", token=None))
    if permalink is not None:
        await tx.execute(sa.update(posts).where(posts.c.post_key == post_key).values(permalink=permalink))


async def later(tx: Transaction, leased: LeasedPost, *, retry_s: float, refused: bool) -> None:
    """Try again later; `refused` when Slack has said that nothing was posted, so that nobody needs to look."""
    values: dict[str, Any] = {"token": None, "token_until": None, "next_at": clock() + _seconds(retry_s)}
    if refused:
        values["posting_at"] = None
    await tx.execute(sa.update(posts).where(_mine(leased)).values(**values))


async def failed(tx: Transaction, leased: LeasedPost, error: str) -> None:
    """Give up a post that Slack will never take, and keep why."""
    await tx.execute(sa.update(posts).where(_mine(leased)).values(state="failed", error=error, token=None))


async def answer_ts(tx: Transaction, run_id: str) -> str | None:
    """Where the first part of a run's answer stands; None while it is not posted."""
    found = sa.select(posts.c.ts).where(posts.c.run_id == run_id, posts.c.kind == "answer", posts.c.part == 0)
    return (await tx.execute(found)).scalar_one_or_none()


async def is_answer_coming(tx: Transaction, run_id: str) -> bool:
    """Whether a run's answer is still to be posted; one that Slack has refused for good never comes."""
    coming = sa.and_(posts.c.run_id == run_id, posts.c.kind == "answer", posts.c.part == 0, posts.c.state == "waiting")
    return (await tx.execute(sa.select(posts.c.run_id).where(coming))).first() is not None


async def answer_permalink(tx: Transaction, run_id: str) -> str | None:
    """The link to a run's answer; None while it has none."""
    found = sa.select(posts.c.permalink).where(posts.c.run_id == run_id, posts.c.kind == "answer", posts.c.part == 0)
    return (await tx.execute(found)).scalar_one_or_none()


def _leased(row: Any, token: str) -> LeasedPost:
    return LeasedPost(
        token=token,
        post_key=row["post_key"],
        run_id=row["run_id"],
        part=row["part"],
        place=Place(row["team_id"], row["channel_id"], row["thread_ts"]),
        body=row["body"],
        was_tried=row["posting_at"] is not None,
        tried_s=row["tried_s"],
        tries=row["tries"] + 1,
    )


def _mine(leased: LeasedPost) -> sa.ColumnElement[bool]:
    return sa.and_(posts.c.post_key == leased.post_key, posts.c.token == leased.token)


def _seconds(seconds: float) -> sa.ColumnElement[Any]:
    return sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)
