"""From what Slack tells us to one transaction, and to what is answered in private after it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from bot.card.sessions import tell_newest
from bot.card.slack_calls import SlackCalls
from bot.card.status import status_line
from bot.errors import DatabaseUnavailableError, SlackError
from bot.rules.inbound_message import AuthorFacts, Deletion, Edit, Message, NativeStop, OwnEcho, Press
from bot.rules.terms import Command, Verdict
from bot.rules.tool_policy import Vote
from bot.slack.people import People
from bot.slack.wording import as_object, as_text
from bot.telemetry import log
from storage import card_facts, cards, inbox_rows, posts, threads
from storage.approval_presses import groups_asked
from storage.changes import Changes
from storage.engine import Database
from storage.inbox import Inbox, Receipt
from storage.presses import Presses
from storage.threads import Place

USELESS = "This button belongs to an earlier version of me. Use the newest card, or write `stop` with a mention of me."


class Edge:
    """Takes in what Slack tells us; each method is one transaction, committed when it returns."""

    def __init__(
        self,
        database: Database,
        calls: SlackCalls,
        people: People,
        desks: tuple[Inbox, Changes, Presses],
        now: Callable[[], float],
    ) -> None:
        self._database, self._calls, self._people, self._now = database, calls, people, now
        self._inbox, self._changes, self._presses = desks
        self._telling: set[asyncio.Task[None]] = set()

    async def message(self, message: Message) -> None:
        """Take a message in."""
        person = await self._people.who(message.author, may_ask=await self._may_matter(message))
        async with self._database.transaction() as tx:
            receipt = await self._inbox.receive(tx, message, person)
        if receipt.verdict not in {None, Verdict.IGNORE}:
            log.info("message.judged", verdict=receipt.verdict, run_id=receipt.run_id)
        self._answer(receipt, message.channel_id, message.author, message.thread_ts)

    async def edit(self, edit: Edit) -> None:
        """Take an edit in."""
        if not edit.changed:
            return
        async with self._database.transaction() as tx:
            receipt = await self._changes.edit(tx, edit)
        self._answer(receipt, edit.channel_id, edit.author, edit.thread_ts)

    async def deletion(self, deletion: Deletion) -> None:
        """Take a deletion in."""
        async with self._database.transaction() as tx:
            await self._changes.delete(tx, deletion)

    async def echo(self, echo: OwnEcho) -> None:
        """Learn from Slack where something that we posted stands, should our own call not have heard it."""
        async with self._database.transaction() as tx:
            await cards.posted(tx, echo.post_key, echo.ts)
            await posts.sent(tx, echo.post_key, echo.ts)

    async def native_stop(self, stop: NativeStop) -> None:
        """Take Slack's own stop in."""
        person = await self._people.who(stop.author)
        async with self._database.transaction() as tx:
            receipt = await self._presses.native_stop(tx, stop, person)
        self._soon(self._mirror(Place(stop.team_id, stop.channel_id, stop.thread_ts)))
        self._answer(receipt, stop.channel_id, stop.author, stop.thread_ts)

    async def press(self, press: Press, command: Command) -> None:
        """Take a button in."""
        person = await self._people.who(press.author)
        async with self._database.transaction() as tx:
            receipt = await self._presses.press(tx, press, person, command)
        log.info("button.pressed", command=command, run_id=press.run_id, reply=receipt.reply)
        self._answer(receipt, press.channel_id, press.author, press.thread_ts)

    async def clear(self, press: Press) -> None:
        """Take the menu's "Stop and clear the queue" in: a stop that takes what waits along."""
        await self.press(press, Command.STOP)

    async def vote(self, press: Press, vote: Vote) -> None:
        """Take Approve or Deny in; who is in a user group is asked of Slack before the transaction."""
        person = await self._people.who(press.author)
        async with self._database.transaction() as tx:
            asked = await groups_asked(tx, press)
        groups = {each: await self._people.members(each) for each in asked}
        async with self._database.transaction() as tx:
            receipt = await self._presses.approvals.press(tx, press, person, vote, groups)
        log.info("approval.pressed", vote=vote, run_id=press.run_id, verdict=receipt.verdict, reply=receipt.reply)
        self._answer(receipt, press.channel_id, press.author, press.thread_ts)

    def useless_press(self, body: Mapping[str, object]) -> None:
        """Answer a button that is not one of ours any more."""
        user, container = as_object(body.get("user")), as_object(body.get("container"))
        user_id, channel = as_text(user.get("id")), as_text(container.get("channel_id"))
        if user_id and channel:
            self._whisper_soon(Receipt(None, USELESS), channel, user_id, as_text(container.get("thread_ts")) or None)

    async def judge_waiting(self) -> None:
        """Judge the messages whose authors were not known when they came."""
        async with self._database.transaction() as tx:
            unjudged = await inbox_rows.unjudged(tx)
        for message in unjudged:
            person = await self._people.who(message.author)
            async with self._database.transaction() as tx:
                receipt = await self._inbox.judge_later(tx, message, person)
            if receipt is not None:
                self._answer(receipt, message.channel_id, message.author, message.thread_ts)

    async def _may_matter(self, message: Message) -> bool:
        """Whether it depends on its author what becomes of a message; else a channel's every word would cost a call."""
        if message.mentions_bot or message.is_direct:
            return True
        if message.author.is_app or message.ts == message.thread_ts:
            return False
        async with self._database.transaction() as tx:
            place = Place(message.team_id, message.channel_id, message.thread_ts)
            return await threads.lock_at(tx, place) is not None

    def _answer(self, receipt: Receipt, channel: str, author: AuthorFacts, thread_ts: str) -> None:
        """Answer in private, after the acknowledgement: it may fail, and must not have the event sent again."""
        if author.is_app and receipt.verdict is Verdict.REFUSE and receipt.reply is not None:
            # Nobody can be told in private about an alert: whoever reads its thread must know that nobody looks at it.
            self._soon(self._say(channel, thread_ts, receipt.reply))
        if author.user_id is None or author.is_app or author.is_self:
            return
        if receipt.reply is not None or receipt.command is Command.STATUS:
            self._whisper_soon(receipt, channel, author.user_id, thread_ts)

    def _whisper_soon(self, receipt: Receipt, channel: str, user: str, thread_ts: str | None) -> None:
        self._soon(self._whisper(receipt, channel, user, thread_ts))

    def _soon(self, telling: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(telling)
        self._telling.add(task)
        task.add_done_callback(self._told)

    def _told(self, task: asyncio.Task[None]) -> None:
        self._telling.discard(task)
        if not task.cancelled() and (broke := task.exception()) is not None:
            log.error("reply.broke", exc_info=broke)

    async def _whisper(self, receipt: Receipt, channel: str, user: str, thread_ts: str | None) -> None:
        try:
            text = receipt.reply or await self._status(receipt.run_id)
            await self._calls.whisper(channel, user, text, thread_ts)
        except (SlackError, DatabaseUnavailableError) as error:
            log.warning("reply.not_sent", error=str(error))

    async def _mirror(self, place: Place) -> None:
        """Have Slack's own Stop follow, without waiting for the card: it goes on spinning until somebody tells it."""
        try:
            await tell_newest(self._database, self._calls, place)
        except (SlackError, DatabaseUnavailableError) as error:
            log.info("session.not_mirrored", error=str(error))

    async def _say(self, channel: str, thread_ts: str, text: str) -> None:
        try:
            await self._calls.post(channel, thread_ts, {"text": text})
        except SlackError as error:
            log.warning("reply.not_sent", error=str(error))

    async def _status(self, run_id: str | None) -> str:
        if run_id is None:
            return "No analysis has run in this thread. Mention me with a question to start one."
        async with self._database.transaction() as tx:
            facts = await card_facts.of_run(tx, run_id)
            link = await cards.permalink(tx, run_id)
        return status_line(facts, link, self._now()) if facts else "That analysis is not known here."
