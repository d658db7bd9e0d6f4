"""Slack's events. A listener parses, makes one call, and returns; only then is the event acknowledged."""

from collections.abc import Mapping
from typing import Any

from bot.rules.inbound_message import Deletion, Edit, Message, NativeStop, Nothing, OurIds, OwnEcho
from bot.slack.edge import Edge
from bot.slack.inbound import parse
from bot.slack.people import People


class Messages:
    """Messages, their edits and deletions, our own echoes, and Slack's own stop."""

    def __init__(self, edge: Edge, people: People, our: OurIds) -> None:
        self._edge, self._people, self._our = edge, people, our

    async def event(self, body: Mapping[str, Any]) -> None:
        """Take one event in; an error here leaves it unacknowledged, and Slack sends it again."""
        match parse(body, self._our, self._people.names):
            case Message() as message:
                await self._edge.message(message)
            case Edit() as edit:
                await self._edge.edit(edit)
            case Deletion() as deletion:
                await self._edge.deletion(deletion)
            case OwnEcho() as echo:
                await self._edge.echo(echo)
            case NativeStop() as stop:
                await self._edge.native_stop(stop)
            case Nothing():
                return
