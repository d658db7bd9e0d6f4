"""The progress cards: what is wanted, what Slack has, and who paints right now.

Level-triggered: whatever changes a run only raises `wanted_rev`; whoever paints renders the newest state, and raises
`painted_rev` only under its own token, so that two painters never leave the older state on top.
"""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from storage import notify
from storage.engine import Transaction
from storage.tables import cards, clock, runs
from storage.threads import Place


@dataclass(frozen=True, slots=True)
class LeasedCard:
    """A card that one painter holds, by its token, for one call.

    `post_was_tried` when a post of this card was begun before and its outcome is not known: look before posting again.
    `tried_s`: the seconds since then, by the clock that wrote it down.
    """

    token: str
    run_id: str
    place: Place
    ts: str | None
    post_key: str
    wanted_rev: int
    painted_rev: int
    post_was_tried: bool
    tried_s: float | None


async def create(tx: Transaction, run_id: str, place: Place) -> None:
    """Make the card of a run; its post key is the run's id, which is unguessable and says nothing."""
    await tx.execute(
        sa.insert(cards).values(
            run_id=run_id,
            team_id=place.team_id,
            channel_id=place.channel_id,
            thread_ts=place.thread_ts,
            post_key=f"card:{run_id}",
            wanted_rev=1,
        )
    )
    await notify.notify(tx, notify.CARD, run=run_id)


async def bump(tx: Transaction, run_id: str, *, at_once: bool = False) -> None:
    """Ask for a new paint: at once for a change of state, else when the card's interval has passed.

    Only a change of state is worth a hint: progress waits for its interval, and whoever paints looks by itself.
    """
    values: dict[str, Any] = {"wanted_rev": cards.c.wanted_rev + 1}
    if at_once:
        values["next_at"] = clock()
    await tx.execute(sa.update(cards).where(cards.c.run_id == run_id).values(**values))
    if at_once:
        await notify.notify(tx, notify.CARD, run=run_id)


async def lease(tx: Transaction, token: str, *, lease_s: float, interval_s: float) -> LeasedCard | None:
    """Take the card that is most overdue, for one call of at most `lease_s` seconds; None when none is due.

    Progress is painted again after `interval_s` seconds; a change of state brings that forward (`bump`).
    """
    pick = (
        sa
        .select(cards, _seconds_since(cards.c.posting_at))
        .where(_is_due())
        .order_by(cards.c.next_at)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = (await tx.execute(pick)).mappings().one_or_none()
    if row is None:
        return None
    values: dict[str, Any] = {
        "paint_token": token,
        "paint_until": clock() + _seconds(lease_s),
        "next_at": clock() + _seconds(interval_s),
    }
    if row["ts"] is None:
        # Written before the post: a painter that dies in between leaves a trace, and its successor looks first.
        values["posting_at"] = sa.func.coalesce(cards.c.posting_at, clock())
    await tx.execute(sa.update(cards).where(cards.c.run_id == row["run_id"]).values(**values))
    return _leased(row, token)


async def any_locked(tx: Transaction) -> bool:
    """Whether a card is due that `lease` has passed over: another transaction had its row for a moment.

    That one need not give a hint when it ends, so a change of state would wait for the next look of its own accord.
    """
    return (await tx.execute(sa.select(cards.c.run_id).where(_is_due()).limit(1))).first() is not None


async def posted(tx: Transaction, post_key: str, ts: str, permalink: str | None = None) -> None:
    """Store where a card stands in Slack; the first answer counts, be it our call's or our own echo's."""
    mine = sa.update(cards).where(cards.c.post_key == post_key, cards.c.ts.is_(None)).values(ts=ts, posting_at=None)
    if (await tx.execute(mine)).rowcount:
        await repaint_pointing(tx, post_key)
    if permalink is not None:
        await tx.execute(sa.update(cards).where(cards.c.post_key == post_key).values(permalink=permalink))
        await repaint_pointing(tx, post_key)


async def repaint_pointing(tx: Transaction, post_key: str) -> None:
    """Repaint the card that links on to this one."""
    previous = (
        sa
        .select(runs.c.previous_id)
        .select_from(runs.join(cards, cards.c.run_id == runs.c.id))
        .where(cards.c.post_key == post_key)
        .scalar_subquery()
    )
    await tx.execute(
        sa.update(cards).where(cards.c.run_id == previous).values(wanted_rev=cards.c.wanted_rev + 1, next_at=clock())
    )


async def painted(tx: Transaction, leased: LeasedCard, *, repaint_s: float | None) -> bool:
    """Store that Slack shows what was rendered; False when the lease was lost meanwhile: then it does not count.

    With `repaint_s`, for a terminal paint, it is repeated once after so many seconds: to undo a late write of a
    painter that was lost.
    """
    values = {
        "painted_rev": leased.wanted_rev,
        "painted_at": clock(),
        "paint_token": None,
        "paint_until": None,
        "repaint_at": clock() + _seconds(repaint_s) if repaint_s is not None else None,
    }
    if (await tx.execute(sa.update(cards).where(_mine(leased)).values(**values))).rowcount == 1:
        return True
    # Another has painted since, and our older state may now stand above its newer one.
    await bump(tx, leased.run_id, at_once=True)
    return False


async def unpainted(tx: Transaction, leased: LeasedCard, *, retry_s: float) -> None:
    """Give a card back after a call whose outcome is not known or was refused: it is painted again later."""
    # An overdue repetition would be due at once, whatever the wait; the paint that comes stands for it.
    again = {"wanted_rev": cards.c.wanted_rev + 1, "next_at": clock() + _seconds(retry_s), "repaint_at": None}
    given_back = sa.update(cards).where(_mine(leased)).values(**again, paint_token=None, paint_until=None)
    if (await tx.execute(given_back)).rowcount == 0:
        await bump(tx, leased.run_id)


async def not_posted(tx: Transaction, leased: LeasedCard) -> None:
    """Forget a begun post of which Slack has said that it did not happen."""
    await tx.execute(sa.update(cards).where(_mine(leased)).values(posting_at=None))


async def gone(tx: Transaction, leased: LeasedCard, error: str) -> None:
    """Stop painting a card that Slack will never show again, and keep why."""
    values = {"gone": error, "paint_token": None, "paint_until": None, "repaint_at": None}
    await tx.execute(sa.update(cards).where(_mine(leased)).values(**values))


async def unshown(tx: Transaction) -> LeasedCard | None:
    """A card that was given up and whose run has changed since; it counts as seen, and each change is given once."""
    changed = sa.and_(cards.c.gone.is_not(None), cards.c.wanted_rev > cards.c.painted_rev)
    pick = sa.select(cards).where(changed).limit(1).with_for_update(skip_locked=True)
    row = (await tx.execute(pick)).mappings().one_or_none()
    if row is None:
        return None
    seen = sa.update(cards).where(cards.c.run_id == row["run_id"]).values(painted_rev=row["wanted_rev"])
    await tx.execute(seen)
    return _leased(row, "")


async def permalink(tx: Transaction, run_id: str) -> str | None:
    """The link to a card; None while it has none."""
    found = sa.select(cards.c.permalink).where(cards.c.run_id == run_id)
    return (await tx.execute(found)).scalar_one_or_none()


def _is_due() -> sa.ColumnElement[bool]:
    wanted = sa.and_(cards.c.wanted_rev > cards.c.painted_rev, cards.c.next_at <= clock())
    free = sa.or_(cards.c.paint_until.is_(None), cards.c.paint_until < clock())
    return sa.and_(sa.or_(wanted, cards.c.repaint_at <= clock()), free, cards.c.gone.is_(None))


def _leased(row: Any, token: str) -> LeasedCard:
    return LeasedCard(
        token=token,
        run_id=row["run_id"],
        place=Place(row["team_id"], row["channel_id"], row["thread_ts"]),
        ts=row["ts"],
        post_key=row["post_key"],
        wanted_rev=row["wanted_rev"],
        painted_rev=row["painted_rev"],
        post_was_tried=row["ts"] is None and row["posting_at"] is not None,
        tried_s=row.get("tried_s"),
    )


def _mine(leased: LeasedCard) -> sa.ColumnElement[bool]:
    return sa.and_(cards.c.run_id == leased.run_id, cards.c.paint_token == leased.token)


def _seconds(seconds: float) -> sa.ColumnElement[Any]:
    return sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


def _seconds_since(moment: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return sa.cast(sa.extract("epoch", clock() - moment), sa.Float).label("tried_s")
