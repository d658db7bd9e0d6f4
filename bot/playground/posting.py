"""The methods that write messages: chat.postMessage, chat.update, chat.postEphemeral, chat.getPermalink.

Each checks what Slack checks, stores, and announces what the bot will hear of its own words. SlackError carries
Slack's word for what was wrong.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.errors import SlackError
from bot.playground import delivery
from bot.playground.block_rules import BlockRules
from bot.playground.cast import STEERSMAN, Channel
from bot.playground.json_reading import JsonObject, as_object, flag_at, objects_at, text_at
from bot.playground.texts import posted_text
from bot.playground.wire import message_json
from bot.playground.workspace import Blocks, Ephemeral, Message, Workspace

LONGEST_POST = 40_000
LONGEST_UPDATE = 4_000
# Slack publishes no number: ours is what Steersman promises itself to stay under.
LARGEST_METADATA_BYTES = 1_024


@dataclass(frozen=True, slots=True)
class Content:
    """What a call wants a message to say, checked; None where the call does not speak of it."""

    text: str | None
    blocks: Blocks | None
    metadata: JsonObject | None


class Posting:
    """What the bot may do to messages."""

    def __init__(
        self, workspace: Workspace, rules: BlockRules, publish: Callable[[JsonObject], object], url: Callable[[], str]
    ) -> None:
        self._workspace, self._rules, self._publish, self._url = workspace, rules, publish, url

    def post_message(self, arguments: JsonObject) -> dict[str, object]:
        """chat.postMessage."""
        channel = self._channel(arguments)
        content = self._content(arguments)
        thread_ts = self._thread_ts(channel, arguments)
        message = Message(
            channel.id, self._workspace.stamps.ts(), STEERSMAN.id, (content.text or "")[:LONGEST_POST],
            content.blocks or (), thread_ts, broadcast=bool(thread_ts) and flag_at(arguments, "reply_broadcast"),
            metadata=content.metadata or None,
        )  # fmt: skip
        return self._store(message)

    def update(self, arguments: JsonObject) -> dict[str, object]:
        """chat.update: what is not named is kept, but a text without blocks takes the blocks away."""
        channel = self._channel(arguments)
        before = self._workspace.message(channel.id, text_at(arguments, "ts"))
        if before.user != STEERSMAN.id:
            raise SlackError("chat.update", "cant_update_message")
        if len(text_at(arguments, "text")) > LONGEST_UPDATE:
            raise SlackError("chat.update", "msg_too_long")
        after = self._updated(before, self._content(arguments))
        self._workspace.add(after)
        self._publish(delivery.changed(self._workspace, before, after))
        shown = message_json(self._workspace, after)
        return {"channel": channel.id, "ts": after.ts, "text": after.text, "message": shown}

    def post_ephemeral(self, arguments: JsonObject) -> dict[str, object]:
        """chat.postEphemeral: nobody hears of it but its reader."""
        channel = self._channel(arguments)
        reader = self._workspace.user(text_at(arguments, "user"))
        if reader.id not in channel.members:
            raise SlackError("chat.postEphemeral", "user_not_in_channel")
        content = self._content(arguments)
        thread_ts = self._thread_ts(channel, arguments)
        ts = self._workspace.stamps.ts()
        self._workspace.whisper(
            Ephemeral(channel.id, ts, reader.id, content.text or "", content.blocks or (), thread_ts)
        )
        return {"message_ts": ts}

    def permalink(self, arguments: JsonObject) -> dict[str, object]:
        """chat.getPermalink: an address of the playground's own page."""
        channel = self._channel(arguments)
        message = self._workspace.message(channel.id, text_at(arguments, "message_ts"))
        link = f"{self._url()}/archives/{channel.id}/p{message.ts.replace('.', '')}"
        thread = f"?thread_ts={message.thread_ts}&cid={channel.id}" if message.thread_ts else ""
        return {"channel": channel.id, "permalink": link + thread}

    def _store(self, message: Message) -> dict[str, object]:
        self._workspace.add(message)
        for event in delivery.said(self._workspace, message):
            self._publish(event)
        return {"channel": message.channel, "ts": message.ts, "message": message_json(self._workspace, message)}

    def _updated(self, before: Message, content: Content) -> Message:
        if content.blocks is None:
            edited = replace(before, text=content.text or "", blocks=(), past_blocks=_seen(before))
            edited = replace(edited, edited_by=STEERSMAN.id, edited_ts=self._workspace.stamps.ts())
        else:
            if only_rich_text(before.blocks) and not only_rich_text(content.blocks):
                raise SlackError("chat.update", "block_mismatch")
            text = before.text if content.text is None else content.text
            edited = replace(before, text=text, blocks=content.blocks, past_blocks=_seen(before))
        return edited if content.metadata is None else replace(edited, metadata=content.metadata or None)

    def _channel(self, arguments: JsonObject) -> Channel:
        name = text_at(arguments, "channel")
        if name in self._workspace.users:
            return self._workspace.channel("dm", self._workspace.users[name])
        channel = self._workspace.channel(name)
        if STEERSMAN.id not in channel.members:
            raise SlackError("chat", "not_in_channel")
        return channel

    def _thread_ts(self, channel: Channel, arguments: JsonObject) -> str | None:
        thread_ts = text_at(arguments, "thread_ts")
        if not thread_ts:
            return None
        return self._workspace.thread(channel.id, thread_ts)[0].ts

    def _content(self, arguments: JsonObject) -> Content:
        text = posted_text(text_at(arguments, "text")) if "text" in arguments else None
        blocks = self._blocks(arguments)
        if not text and not blocks:
            raise SlackError("chat", "no_text")
        return Content(text, blocks, _metadata(arguments))

    def _blocks(self, arguments: JsonObject) -> Blocks | None:
        given = arguments.get("blocks")
        if given is None:
            return None
        if not isinstance(given, list):
            raise SlackError("chat", "invalid_blocks_format")
        if problem := self._rules.first_problem(given):
            raise SlackError(str(problem), problem.error)
        return tuple(self._named(block) for block in objects_at(arguments, "blocks"))

    def _named(self, block: JsonObject) -> JsonObject:
        return block if text_at(block, "block_id") else {**block, "block_id": self._workspace.stamps.identifier("b")}


def only_rich_text(blocks: Blocks) -> bool:
    """Whether rich text is all there is: such a message can only become rich text again."""
    return bool(blocks) and all(block.get("type") == "rich_text" for block in blocks)


def _seen(message: Message) -> tuple[Blocks, ...]:
    return (*message.past_blocks, message.blocks) if message.blocks else message.past_blocks


def _metadata(arguments: JsonObject) -> JsonObject | None:
    if arguments.get("metadata") is None:
        return None
    metadata = as_object(arguments["metadata"])
    if metadata and not (text_at(metadata, "event_type") and isinstance(metadata.get("event_payload"), dict)):
        raise SlackError("chat", "invalid_metadata_format")
    if len(json.dumps(metadata).encode()) > LARGEST_METADATA_BYTES:
        raise SlackError("chat", "metadata_too_large")
    return metadata
