"""Paints one card: takes the one that is most overdue, and has Slack show its newest state.

Whatever happens to the call, the card is given back: painted, to be painted again later, or given up with the reason.
Only an error that nobody foresaw leaves it alone until its lease runs out, so that it can keep nobody busy.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from bot.card.blocks import blocks
from bot.card.leases import held
from bot.card.pace import LiveCards, Pace, PublisherMeans, Retries
from bot.card.posting import find_posted, in_some_form, not_seen, wait_for_sight, was_not_posted
from bot.card.sessions import Sessions
from bot.card.view import CardView, view
from bot.errors import SlackError, SlackPermanentError, SlackUnansweredError
from bot.rules.card_facts import CardFacts
from bot.rules.terms import RunState
from bot.telemetry import log
from storage import card_facts, cards, runs
from storage.cards import LeasedCard
from storage.engine import Transaction

AT_WORK = frozenset({RunState.RUNNING, RunState.CANCELLING})
"""States in which a card says how long something has been going."""
LOCKED_S = 0.02
"""Seconds until a card that was due and locked is looked at again: whoever writes of its run holds it that long."""


class Painter:
    """Paints cards, one at a time; several calls may run side by side, each on a card of its own."""

    def __init__(self, means: PublisherMeans, pace: Pace) -> None:
        self._means, self._pace = means, pace
        self._live, self._retries = LiveCards(pace, means.now), Retries(pace)
        self._sessions = Sessions(means.database, means.calls)
        self._plans = True

    async def paint_one(self) -> bool:
        """Paint the card that is most overdue; False where nothing is due."""
        async with held(self._lease(), self._give_back) as leased:
            if leased is not None:
                return await self._paint(leased)
        if await self._is_passed_over():
            await asyncio.sleep(LOCKED_S)
            return True
        await self._follow_unshown()
        return False

    async def _is_passed_over(self) -> bool:
        async with self._means.database.transaction() as tx:
            return await cards.any_locked(tx)

    async def _follow_unshown(self) -> None:
        """A run whose card was given up goes on: Slack's own Stop must still end with it."""
        async with self._means.database.transaction() as tx:
            unshown = await cards.unshown(tx)
            run = await runs.get(tx, unshown.run_id) if unshown else None
        if unshown is not None and run is not None:
            await self._sessions.follow(unshown, run.state)

    async def _lease(self) -> LeasedCard | None:
        token, interval_s = self._means.mint_id(), self._live.spaced(self._pace.interval_s)
        async with self._means.database.transaction() as tx:
            return await cards.lease(tx, token, lease_s=self._pace.lease_s, interval_s=interval_s)

    async def _give_back(self, leased: LeasedCard) -> None:
        async with self._means.database.transaction() as tx:
            await cards.unpainted(tx, leased, retry_s=0)

    async def _paint(self, leased: LeasedCard) -> bool:
        try:
            async with asyncio.timeout(self._pace.call_s):
                facts, link = await self._read(leased)
                shown = view(facts, self._means.now())
                ts = await self._show(leased, shown)
        except TimeoutError:
            await self._not_painted(leased, SlackUnansweredError("chat.update", "it took too long"))
            return False
        except SlackError as error:
            await self._not_painted(leased, error)
            return False
        self._retries.forget(leased.run_id)
        self._live.saw(leased.run_id, is_over=facts.run_state not in AT_WORK)
        again_in = self._again_in(leased, facts, shown)

        async def keep(tx: Transaction) -> None:
            if leased.ts is None:
                await cards.posted(tx, leased.post_key, ts)
            await cards.painted(tx, leased, repaint_s=again_in)

        await self._means.database.persist(keep, give_up=lambda: False)
        if link is None:
            await self._link(leased, ts)
        await self._sessions.follow(leased, facts.run_state)
        return True

    async def _read(self, leased: LeasedCard) -> tuple[CardFacts, str | None]:
        """The newest state, and the link to the card where it is known."""
        async with self._means.database.transaction() as tx:
            facts = await card_facts.of_run(tx, leased.run_id)
            link = await cards.permalink(tx, leased.run_id)
        if facts is None:
            raise SlackPermanentError("chat.update", "there is no such run")
        said = self._means.promises
        facts = replace(
            facts, key_setting=said.key_setting, write_grace_s=said.write_grace_s, patience_s=said.patience_s
        )
        return facts, link

    async def _show(self, leased: LeasedCard, shown: CardView) -> str:
        """Have Slack show this, in the best form that it takes; returns where it stands."""
        ts, place = leased.ts, leased.place
        if ts is None and leased.post_was_tried:
            ts = await find_posted(self._means.calls, place, leased.post_key)
            if ts is None:
                raise not_seen()

        async def send(message: Mapping[str, object]) -> str:
            if ts is None:
                return await self._means.calls.post(place.channel_id, place.thread_ts, message)
            await self._means.calls.update(place.channel_id, ts, message)
            return ts

        forms = self._forms(leased, shown)
        where, refusals = await in_some_form(send, forms)
        if len(forms) == 3 and [each.error for each in refusals] == ["invalid_blocks"]:
            # A workspace that refuses the plan block refuses it for every card.
            self._plans = False
        return where

    def _forms(self, leased: LeasedCard, shown: CardView) -> list[Mapping[str, object]]:
        """What to try, the best first: with a plan, with plain lists, and bare words rather than silence."""
        plan, plain = (blocks(shown, post_key=leased.post_key, plan_supported=each) for each in (self._plans, False))
        words = {"text": plain.text, "metadata": plain.metadata}
        full = [plan, plain] if plan != plain else [plain]
        return [*({**words, "blocks": list(each.blocks)} for each in full), words]

    def _again_in(self, leased: LeasedCard, facts: CardFacts, shown: CardView) -> float | None:
        """Seconds until this is painted again though nothing has changed."""
        if facts.run_state in AT_WORK:
            return self._live.spaced(self._pace.heartbeat_s)
        # The repetition itself is not repeated: it paints what is already painted.
        is_news = shown.is_over and leased.wanted_rev > leased.painted_rev
        return self._pace.repaint_s if is_news else None

    async def _link(self, leased: LeasedCard, ts: str) -> None:
        """Learn the link to a card, for the card that links on to it; where that fails, the next paint tries again."""
        try:
            link = await self._means.calls.permalink(leased.place.channel_id, ts)
        except SlackError as error:
            log.warning("card.no_permalink", error=error.error)
            return
        async with self._means.database.transaction() as tx:
            await cards.posted(tx, leased.post_key, ts, link)

    async def _not_painted(self, leased: LeasedCard, error: SlackError) -> None:
        log.warning("card.not_painted", run_id=leased.run_id, method=error.method, error=error.error)
        sight_in = wait_for_sight(error, leased.tried_s, self._pace)
        retry_s = self._retries.after(leased.run_id, error) if sight_in is None else sight_in
        async with self._means.database.transaction() as tx:
            if was_not_posted(error) or sight_in == 0:
                await cards.not_posted(tx, leased)
            if isinstance(error, SlackPermanentError):
                await cards.gone(tx, leased, error.error)
            else:
                await cards.unpainted(tx, leased, retry_s=retry_s)
