"""Slack's events. A listener parses, makes one call, and returns; only then is the event acknowledged.

What people paste is scrubbed here, before anything else sees it: a token in a question is a secret of theirs.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bot.rules.inbound_message import Deletion, Edit, Message, NativeStop, Nothing, OurIds, OwnEcho
from bot.rules.redaction import scrub as scrub_shapes
from bot.slack.edge import Edge
from bot.slack.inbound import parse
from bot.slack.people import People


class Messages:
    """Messages, their edits and deletions, our own echoes, and Slack's own stop; `scrub` takes secrets out of texts."""

    def __init__(self, edge: Edge, people: People, our: OurIds, scrub: Callable[[str], str] = scrub_shapes) -> None:
        self._edge, self._people, self._our, self._scrub = edge, people, our, scrub

    async def event(self, body: Mapping[str, Any]) -> None:
        """Take one event in; an error here leaves it unacknowledged, and Slack sends it again."""
        match parse(body, self._our, self._people.names):
            case Message() as message:
                await self._edge.message(self._scrubbed(message))
            case Edit(text=text, raw_text=raw_text) as edit:
                await self._edge.edit(replace(edit, text=self._scrub(text), raw_text=self._scrub(raw_text)))
            case Deletion() as deletion:
                await self._edge.deletion(deletion)
            case OwnEcho() as echo:
                await self._edge.echo(echo)
            case NativeStop() as stop:
                await self._edge.native_stop(stop)
            case Nothing():
                return

    def _scrubbed(self, message: Message) -> Message:
        files = tuple(map(self._scrub, message.files))
        text, raw_text = self._scrub(message.text), self._scrub(message.raw_text)
        return replace(message, text=text, raw_text=raw_text, files=files)
