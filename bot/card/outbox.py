"""Posts what is posted besides cards, each once: takes the next post that is due, and has Slack show it."""

import asyncio
from collections.abc import Mapping

from bot.card.answer import plain
from bot.card.leases import held
from bot.card.pace import Pace, PublisherMeans, Retries
from bot.card.posting import find_posted, in_some_form, not_seen, wait_for_sight, was_not_posted
from bot.card.slack_calls import POST
from bot.errors import SlackError, SlackPermanentError, SlackUnansweredError
from bot.telemetry import log
from storage import cards, posts
from storage.posts import LeasedPost


class Outbox:
    """Posts answers, one at a time; several calls may run side by side, each on a post of its own."""

    def __init__(self, means: PublisherMeans, pace: Pace) -> None:
        self._means, self._pace, self._retries = means, pace, Retries(pace)

    async def post_one(self) -> bool:
        """Post what is most overdue; False where nothing was posted."""
        async with held(self._lease(), self._give_back) as leased:
            return leased is not None and await self._post(leased)

    async def _lease(self) -> LeasedPost | None:
        async with self._means.database.transaction() as tx:
            return await posts.lease(tx, self._means.mint_id(), self._pace.lease_s)

    async def _give_back(self, leased: LeasedPost) -> None:
        async with self._means.database.transaction() as tx:
            await posts.later(tx, leased, retry_s=0, refused=False)

    async def _post(self, leased: LeasedPost) -> bool:
        try:
            async with asyncio.timeout(self._pace.call_s):
                ts = await self._show(leased)
        except TimeoutError:
            await self._not_posted(leased, SlackUnansweredError(POST, "it took too long"))
            return False
        except SlackError as error:
            await self._not_posted(leased, error)
            return False
        self._retries.forget(leased.post_key)
        # Stored before anything else is asked of Slack: until then it would have to be looked for.
        await self._means.database.persist(lambda tx: posts.sent(tx, leased.post_key, ts), give_up=lambda: False)
        await self._link(leased, ts)
        return True

    async def _show(self, leased: LeasedPost) -> str:
        place = leased.place
        if leased.was_tried:
            found = await find_posted(self._means.calls, place, leased.post_key)
            if found is None:
                raise not_seen()
            return found

        async def send(message: Mapping[str, object]) -> str:
            return await self._means.calls.post(place.channel_id, place.thread_ts, message)

        metadata = {"event_type": "steersman_post", "event_payload": {"post_key": leased.post_key}}
        words = {"text": plain(leased.body), "metadata": metadata}
        # An answer that Slack cannot show as it is is worth more as plain text than not at all.
        ts, _ = await in_some_form(send, [{**words, "blocks": [{"type": "markdown", "text": leased.body}]}, words])
        return ts

    async def _link(self, leased: LeasedPost, ts: str) -> None:
        """Learn the link to a post, and have the card show it."""
        try:
            link = await self._means.calls.permalink(leased.place.channel_id, ts)
        except SlackError as error:
            log.warning("post.no_permalink", error=error.error)
            return
        async with self._means.database.transaction() as tx:
            await posts.sent(tx, leased.post_key, ts, link)
            await cards.bump(tx, leased.run_id, at_once=True)

    async def _not_posted(self, leased: LeasedPost, error: SlackError) -> None:
        log.warning("post.not_posted", run_id=leased.run_id, method=error.method, error=error.error)
        sight_in = wait_for_sight(error, leased.tried_s, self._pace)
        retry_s = self._retries.after(leased.post_key, error) if sight_in is None else sight_in
        async with self._means.database.transaction() as tx:
            if isinstance(error, SlackPermanentError):
                await posts.failed(tx, leased, error.error)
            else:
                await posts.later(tx, leased, retry_s=retry_s, refused=was_not_posted(error) or sight_in == 0)
