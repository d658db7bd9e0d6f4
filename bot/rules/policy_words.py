"""Says in words why a message got its verdict, from the row that is stored with it.

Pure and total: it never raises, and what it does not know it repeats as it stands.
"""

from collections.abc import Mapping
from types import MappingProxyType

from bot.rules.terms import Phase, Source, Verdict

SOURCES: Mapping[Source, str] = MappingProxyType({
    Source.REQUESTER: "the requester",
    Source.TEAMMATE: "a teammate",
    Source.GUEST: "a guest",
    Source.EXTERNAL: "somebody outside the workspace",
    Source.ALERT_BOT: "a listed alert bot",
    Source.OTHER_BOT: "another bot",
    Source.SELF: "the bot itself",
    Source.SYSTEM: "Slack itself",
    Source.SUBAGENT: "a sub-agent",
})

PHASES: Mapping[Phase, str] = MappingProxyType({
    Phase.UNTOUCHED: "in a thread in which nobody had asked for a run",
    Phase.IDLE: "in a thread without an unsettled run",
    Phase.RUNNING: "while a run was at work or waited for its start",
    Phase.PAUSED: "while the run was paused",
    Phase.WAITING_APPROVAL: "while the run waited for an approval",
})

VERDICTS: Mapping[Verdict, str] = MappingProxyType({
    Verdict.START: "starts a run",
    Verdict.STEER: "steers: the live run is cut, and the next one starts with it",
    Verdict.QUEUE: "waits: it starts the next run, and the live one goes on",
    Verdict.HOLD: "is held: it joins the run when that is resumed",
    Verdict.NOTE: "is a note: context for the next run, and changes nothing",
    Verdict.REFUSE: "is refused: nothing happens, and only the writer is told why",
    Verdict.IGNORE: "is ignored: nothing happens",
    Verdict.COMMAND: "is a command: it acts like the button",
    Verdict.ALERT_JOINED: "joins the run of an alert that is being looked at",
})

REMARKS: Mapping[str, str] = MappingProxyType({
    "override": "That is this channel's own rule.",
    "impossible": "That cannot happen, so nothing is made of it.",
    "edit": "It was edited, and the edit lowered its verdict or left it.",
    "an edit may not raise": "It was edited; an edit may not raise a verdict.",
    "to another": "It begins by addressing somebody else, so it is a note at most.",
    "unseen answer": "It was sent before its writer could have seen the answer, so it asks anew.",
    "not allowed": "Who wrote it may not do that.",
})

UNSAID: Mapping[str, str] = MappingProxyType({
    "unjudged": "Slack has not said yet who wrote it: it starts and cuts nothing until then.",
    "deletion": "It was deleted before it was taken in.",
    "edit": "Only an edit of it was seen.",
    "press": "It is the press of a button.",
})
"""What stands for a verdict where there is none."""

BESIDE_THE_TABLE: Mapping[str, str] = MappingProxyType({
    "halt": "Everything was halted, so nothing that asks for work was taken in.",
})
"""Rows that are none of the table's."""

_COMMAND = " as a word"


def sentence(verdict: str, row: str) -> str:
    """Why: who wrote what, what the thread was doing, and what follows by the table."""
    if row in BESIDE_THE_TABLE:
        return BESIDE_THE_TABLE[row]
    parts = row.split("/")
    if verdict not in set(Verdict) or len(parts) < 3 or parts[0] not in set(Source):
        return UNSAID.get(verdict, f"{verdict}, by the row {row or '(none)'}.")
    source, how, phase = SOURCES[Source(parts[0])], parts[1], parts[2]
    when = PHASES[Phase(phase)] if phase in set(Phase) else phase
    remarks = [REMARKS.get(each, each) for each in parts[3:]]
    return " ".join([f"{_what(how)} {source}, {when}, {VERDICTS[Verdict(verdict)]}.", *remarks])


def _what(how: str) -> str:
    if how.endswith(_COMMAND):
        return f"The word {how.removesuffix(_COMMAND)} alone, from"
    return {"yes": "A message that addresses the bot, of", "no": "A plain message of"}.get(how, "A message of")
