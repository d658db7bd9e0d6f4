"""Paints cards and posts answers until Slack shows what the database says. It never harms a run.

One call in flight a card; progress at most once an interval, a change of state at once; a terminal paint is repeated
until Slack has it, and once more later. What is rendered is the newest state at the time of the call.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from bot.card.answer import plain
from bot.card.blocks import Painted, blocks
from bot.card.posting import find_posted, is_refused_form
from bot.card.slack_calls import SlackCalls
from bot.card.view import CardView, view
from bot.errors import (
    DatabaseUnavailableError,
    SlackError,
    SlackPermanentError,
    SlackRateLimitedError,
    SlackUnansweredError,
)
from bot.rules.card_states import CardState
from bot.telemetry import log
from storage import card_facts, cards, posts
from storage.cards import LeasedCard
from storage.engine import Database
from storage.notify import CARD, Listener
from storage.posts import LeasedPost


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. An interval of 3 keeps 16 cards within Slack's 50 updates a minute (Tier 3)."""

    interval_s: float = 3.0
    lease_s: float = 20.0
    repaint_s: float = 30.0
    retry_s: float = 1.0
    look_again_s: float = 30.0
    poll_s: float = 1.0


@dataclass(frozen=True, slots=True)
class PublisherMeans:
    """What a publisher is lent: `now` in seconds since the epoch, `sessions` to mirror a run's state in Slack."""

    database: Database
    calls: SlackCalls
    now: Callable[[], float]
    mint_id: Callable[[], str]


class Publisher:
    """One publisher; several may share a database."""

    def __init__(self, means: PublisherMeans, pace: Pace, *, at_once: int = 4) -> None:
        self._means, self._pace, self._at_once = means, pace, at_once
        self._hint = asyncio.Event()
        self._parked_until = 0.0
        self._plans = True
        self._sessions: dict[str, str] = {}
        self._listener = Listener(means.database.dsn, {CARD: lambda _: self._hint.set()})

    async def run(self) -> None:
        """Publish until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listener.run())
            for _ in range(self._at_once):
                group.create_task(self._paint_on())

    async def _paint_on(self) -> None:
        while True:
            if not await self._one_of_each():
                await self._wait()

    async def _one_of_each(self) -> bool:
        """Publish one card and one post, if any is due; whether there was one."""
        if self._means.now() < self._parked_until:
            return False
        self._hint.clear()
        try:
            return bool(await self._one_post()) | bool(await self._one_card())
        except DatabaseUnavailableError:
            return False
        # A fault in painting may never end the painting of the other cards, and never reaches a run.
        except Exception:
            log.exception("card.broke")
            return False

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._pace.poll_s):
                await self._hint.wait()
        except TimeoutError:
            return

    async def _one_card(self) -> bool:
        token = self._means.mint_id()
        async with self._means.database.transaction() as tx:
            leased = await cards.lease(tx, token, lease_s=self._pace.lease_s, interval_s=self._pace.interval_s)
        if leased is None:
            return False
        async with self._means.database.transaction() as tx:
            facts = await card_facts.of_run(tx, leased.run_id)
        if facts is None:
            raise AssertionError(f"card without run: {leased.run_id}")
        shown = view(facts, self._means.now())
        try:
            await self._paint(leased, shown)
        except SlackError as error:
            await self._not_painted(leased, error)
            return True
        # The repetition itself is not repeated: it paints what is already painted.
        is_news = shown.is_over and leased.wanted_rev > leased.painted_rev
        async with self._means.database.transaction() as tx:
            await cards.painted(tx, leased, repaint_s=self._pace.repaint_s if is_news else None)
        await self._mirror(leased, shown)
        return True

    async def _mirror(self, leased: LeasedCard, shown: CardView) -> None:
        """Show or hide Slack's own Stop; best effort, once for each change, and never by a card that links on."""
        if shown.state is CardState.STEERED:
            return
        over = "active" if shown.is_over else "processing"
        status = "suspended" if shown.state is CardState.PAUSED else over
        if self._sessions.get(leased.run_id) == status:
            return
        self._sessions[leased.run_id] = status
        try:
            await self._means.calls.session(leased.place.channel_id, leased.place.thread_ts, status)
        except SlackError as error:
            log.info("session.not_mirrored", error=error.error)

    async def _paint(self, leased: LeasedCard, shown: CardView) -> None:
        try:
            await self._send(leased, blocks(shown, post_key=leased.post_key, plan_supported=self._plans))
        except SlackError as error:
            if not (self._plans and is_refused_form(error)):
                raise
            # A workspace that refuses the plan block refuses it for every card.
            self._plans = False
            log.warning("card.plan_refused", error=error.error)
            await self._send(leased, blocks(shown, post_key=leased.post_key, plan_supported=False))

    async def _send(self, leased: LeasedCard, painted: Painted) -> None:
        message = {"text": painted.text, "blocks": list(painted.blocks), "metadata": painted.metadata}
        ts = leased.ts or await self._found(leased)
        if ts is not None:
            await self._means.calls.update(leased.place.channel_id, ts, message)
            return
        try:
            ts = await self._means.calls.post(leased.place.channel_id, leased.place.thread_ts, message)
        except SlackUnansweredError:
            raise
        except SlackError:
            async with self._means.database.transaction() as tx:
                await cards.not_posted(tx, leased)
            raise
        await self._keep(leased, ts)

    async def _found(self, leased: LeasedCard) -> str | None:
        """Where a card stands whose post was begun by somebody who did not live to see the answer."""
        if not leased.post_was_tried:
            return None
        ts = await find_posted(self._means.calls, leased.place, leased.post_key, leased.tried_at)
        if ts is not None:
            await self._keep(leased, ts)
        elif leased.tried_at is None or self._means.now() - leased.tried_at < self._pace.look_again_s:
            # Slack may still be about to show it: posting now could make a second card.
            raise SlackUnansweredError("chat.postMessage", "not seen yet")
        return ts

    async def _keep(self, leased: LeasedCard, ts: str) -> None:
        async with self._means.database.transaction() as tx:
            await cards.posted(tx, leased.post_key, ts)
        link = await self._permalink(leased.place.channel_id, ts)
        if link is not None:
            async with self._means.database.transaction() as tx:
                await cards.posted(tx, leased.post_key, ts, link)

    async def _permalink(self, channel: str, ts: str) -> str | None:
        try:
            return await self._means.calls.permalink(channel, ts)
        except SlackError as error:
            log.warning("card.no_permalink", error=error.error)
            return None

    async def _not_painted(self, leased: LeasedCard, error: SlackError) -> None:
        log.warning("card.not_painted", run_id=leased.run_id, error=error.error)
        self._park(error)
        async with self._means.database.transaction() as tx:
            if isinstance(error, SlackPermanentError):
                await cards.gone(tx, leased, error.error)
            else:
                await cards.unpainted(tx, leased, retry_s=self._retry_in(error))

    async def _one_post(self) -> bool:
        token = self._means.mint_id()
        async with self._means.database.transaction() as tx:
            leased = await posts.lease(tx, token, self._pace.lease_s)
        if leased is None:
            return False
        try:
            ts = await self._post(leased)
        except SlackError as error:
            await self._not_posted(leased, error)
            return True
        link = await self._permalink(leased.place.channel_id, ts)
        async with self._means.database.transaction() as tx:
            await posts.sent(tx, leased.post_key, ts, link)
            await cards.bump(tx, leased.run_id, at_once=True)
        return True

    async def _post(self, leased: LeasedPost) -> str:
        place = leased.place
        if leased.was_tried:
            found = await find_posted(self._means.calls, place, leased.post_key, leased.tried_at)
            if found is not None:
                return found
            if leased.tried_at is None or self._means.now() - leased.tried_at < self._pace.look_again_s:
                raise SlackUnansweredError("chat.postMessage", "not seen yet")
        metadata = {"event_type": "steersman_post", "event_payload": {"post_key": leased.post_key}}
        text = plain(leased.body)
        shown = {"text": text, "blocks": [{"type": "markdown", "text": leased.body}], "metadata": metadata}
        try:
            return await self._means.calls.post(place.channel_id, place.thread_ts, shown)
        except SlackError as error:
            if not is_refused_form(error):
                raise
            # An answer that Slack cannot show as it is is worth more as plain text than not at all.
            return await self._means.calls.post(place.channel_id, place.thread_ts, {"text": text, "metadata": metadata})

    async def _not_posted(self, leased: LeasedPost, error: SlackError) -> None:
        log.warning("post.not_posted", run_id=leased.run_id, error=error.error)
        self._park(error)
        async with self._means.database.transaction() as tx:
            if isinstance(error, SlackPermanentError):
                await posts.failed(tx, leased, error.error)
            else:
                refused = not isinstance(error, SlackUnansweredError)
                await posts.later(tx, leased, retry_s=self._retry_in(error), refused=refused)

    def _park(self, error: SlackError) -> None:
        """Send nothing at all until the time that Slack has named: the limit is the workspace's."""
        if isinstance(error, SlackRateLimitedError):
            self._parked_until = self._means.now() + error.retry_after

    def _retry_in(self, error: SlackError) -> float:
        return error.retry_after if isinstance(error, SlackRateLimitedError) else self._pace.retry_s
