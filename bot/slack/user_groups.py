"""Who is in a user group: asked of Slack and remembered for five minutes.

Whoever is in a group may say yes to a write, so it fails closed: of a group that Slack says nothing about, nobody is
a member, and an old answer is no answer.
"""

import asyncio
from collections.abc import Iterable, Mapping

from bot.card.slack_calls import SlackCalls
from bot.errors import SlackError
from bot.telemetry import log

REMEMBERED_S = 300.0
WAIT_S = 1.0
"""Seconds that a look-up may take: a button must be acknowledged within three."""

_NOBODY: frozenset[str] = frozenset()


class UserGroups:
    """The members of user groups, by the id of the group."""

    most_remembered = 1_000

    def __init__(self, calls: SlackCalls, remembered_s: float = REMEMBERED_S) -> None:
        self._calls, self._remembered_s = calls, remembered_s
        self._known: dict[str, tuple[float, frozenset[str]]] = {}

    async def members(self, groups: Iterable[str]) -> Mapping[str, frozenset[str]]:
        """The user ids in each of these groups; a group that Slack does not answer for has nobody in it."""
        asked = list(dict.fromkeys(groups))
        found = await asyncio.gather(*(self._of(group) for group in asked))
        return dict(zip(asked, found, strict=True))

    async def _of(self, group: str) -> frozenset[str]:
        now = asyncio.get_running_loop().time()
        at, known = self._known.get(group, (now - self._remembered_s, _NOBODY))
        if now - at < self._remembered_s:
            return known
        try:
            async with asyncio.timeout(WAIT_S):
                found = frozenset(await self._calls.members(group))
        except (SlackError, TimeoutError) as error:
            log.warning("group.unknown", group_id=group, error=str(error) or "no answer in time")
            self._known.pop(group, None)
            return _NOBODY
        self._keep(group, now, found)
        return found

    def _keep(self, group: str, now: float, found: frozenset[str]) -> None:
        self._known.pop(group, None)
        self._known[group] = (now, found)
        if len(self._known) > self.most_remembered:
            del self._known[next(iter(self._known))]
