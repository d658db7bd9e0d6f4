"""What becomes of a message: the design's table "Who may steer", and the few rules that stand beside it.

Pure and total: every source, with or without an interjection, in every phase has exactly one verdict, and the row that
gave it is stored with the message. It is judged under the thread's lock. Texts are read as Slack sent them, escaped.
Nothing here lets an unlisted app, ourselves or an outsider start or cut anything, whatever a channel overrides.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import TypeAlias

from bot.rules.access import ACTION_OF, INSIDERS, PEOPLE, may, refusal
from bot.rules.inbound_message import ts_order
from bot.rules.markdown import table
from bot.rules.message_words import UNSETTLED, addresses_another, approval_word, command_of, interject
from bot.rules.terms import Command, Phase, Source, Verdict

Key: TypeAlias = tuple[Source, bool, Phase]
Overrides: TypeAlias = Mapping[Key, Verdict]

_NO, _YES, _ANY = (False,), (True,), (False, True)
_IGNORE, _REFUSE, _NOTE, _HOLD = Verdict.IGNORE, Verdict.REFUSE, Verdict.NOTE, Verdict.HOLD
_QUEUE, _START, _STEER = Verdict.QUEUE, Verdict.START, Verdict.STEER
_NEVER = (_IGNORE,) * len(Phase)

PHASES = (Phase.UNTOUCHED, Phase.IDLE, Phase.RUNNING, Phase.PAUSED, Phase.WAITING_APPROVAL)

_ROWS: tuple[tuple[Source, tuple[bool, ...], tuple[Verdict | None, ...]], ...] = (
    # source, interject?, and the verdicts in the order of PHASES; None: cannot happen
    (Source.REQUESTER, _NO, (_IGNORE, _NOTE, _STEER, _HOLD, _STEER)),
    (Source.REQUESTER, _YES, (_START, _START, _STEER, _STEER, _STEER)),
    (Source.TEAMMATE, _NO, (_IGNORE, _NOTE, _NOTE, _NOTE, _NOTE)),
    (Source.TEAMMATE, _YES, (_START, _START, _STEER, _STEER, _STEER)),
    (Source.GUEST, _NO, (_IGNORE, _NOTE, _NOTE, _NOTE, _NOTE)),
    (Source.GUEST, _YES, (_REFUSE,) * len(Phase)),
    (Source.EXTERNAL, _NO, _NEVER),
    (Source.EXTERNAL, _YES, (_REFUSE,) * len(Phase)),
    (Source.ALERT_BOT, _ANY, (_START, _START, _QUEUE, _QUEUE, _QUEUE)),
    (Source.OTHER_BOT, _ANY, _NEVER),
    # Our own posts come back to us as events: taking one in would loop for ever.
    (Source.SELF, _ANY, _NEVER),
    (Source.SYSTEM, _ANY, _NEVER),
    (Source.SUBAGENT, _ANY, (None, _START, _QUEUE, _QUEUE, _QUEUE)),
)

STEER_POLICY: Mapping[Key, Verdict | None] = MappingProxyType({
    (source, interjected, phase): verdict
    for source, either, verdicts in _ROWS
    for interjected in either
    for phase, verdict in zip(PHASES, verdicts, strict=True)
})

_ONE_ROW = frozenset(source for source, either, _ in _ROWS if either == _ANY)

_IN_A_RUN = frozenset({_STEER, _QUEUE, _NOTE, _REFUSE, _IGNORE})
MAY_BECOME: Mapping[Phase, frozenset[Verdict]] = MappingProxyType({
    # In an untouched thread nothing but start and refuse is stored.
    Phase.UNTOUCHED: frozenset({_START, _REFUSE, _IGNORE}),
    Phase.IDLE: frozenset({_START, _NOTE, _REFUSE, _IGNORE}),
    Phase.RUNNING: _IN_A_RUN,
    Phase.PAUSED: _IN_A_RUN | {_HOLD},
    Phase.WAITING_APPROVAL: _IN_A_RUN,
})
"""What a channel may make of a row, by phase: only what can be carried out there."""

_CLOSED = frozenset({Source.EXTERNAL, Source.OTHER_BOT, Source.SELF, Source.SYSTEM})
NO_OVERRIDES: Overrides = MappingProxyType({})

LOWEST_FIRST = (_IGNORE, _REFUSE, _NOTE, Verdict.ALERT_JOINED, _HOLD, _QUEUE, _START, _STEER, Verdict.COMMAND)
"""The order in which an edit may lower a verdict: the less a message does, the lower it stands."""

REFUSALS: Mapping[Source, str | None] = MappingProxyType({
    Source.REQUESTER: "The rules of this channel keep me from taking that. Whoever runs me can change them.",
    Source.TEAMMATE: "The rules of this channel keep me from taking that. Ask who started the analysis to say it.",
    Source.GUEST: "I take no questions or directions from guests. Ask a member of this workspace to mention me. "
    "Stop and Pause work for you.",
    Source.EXTERNAL: "I take nothing from outside the workspace that runs me. Ask somebody in it to mention me.",
    Source.ALERT_BOT: None,
    Source.OTHER_BOT: None,
    Source.SELF: None,
    Source.SYSTEM: None,
    Source.SUBAGENT: None,
})
"""What the sender of a refused message is told, in private: why, and what would work. None: nobody reads it."""

NOTED = "Noted. Mention me to go on."
USE_THE_BUTTONS = "Use the buttons on the card."
EDIT_IS_NO_COMMAND = "An edit cannot do that. Send the word as a new message, or use the buttons on the card."
EDIT_TOO_LATE = "I had already taken that message in, so the change has no effect. Send it as a new message."


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message and its thread, as they are under the thread's lock.

    `text` is Slack's own. `answer_ts` is the Slack time of the last answer of this chain, infinite while that answer
    is still to be posted, None where there is none. `family_at_work`: the thread's last run waits for its sub-agents,
    so the command words are for them. `first_since_settlement`: no plain message of a requester came since.
    `approval_waits`: somebody is asked for a yes, be the run still at work or not.
    """

    source: Source
    phase: Phase
    text: str
    slack_ts: str
    bot_user_id: str
    mentions_bot: bool = False
    is_direct: bool = False
    is_approver: bool = False
    answer_ts: Decimal | None = None
    family_at_work: bool = False
    approval_waits: bool = False
    first_since_settlement: bool = False

    @property
    def interjects(self) -> bool:
        """Whether it is meant for the bot."""
        return interject(self.text, mentions_bot=self.mentions_bot, is_direct=self.is_direct, phase=self.phase)

    @property
    def is_unseen_answer(self) -> bool:
        """Whether a requester wrote it before they could have seen the answer."""
        is_early = self.answer_ts is not None and ts_order(self.slack_ts) <= self.answer_ts
        return is_early and self.source is Source.REQUESTER and self.phase is Phase.IDLE


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict and the row that gave it; `command` is what to carry out, `reply` what to tell the sender alone."""

    verdict: Verdict
    row: str
    command: Command | None = None
    reply: str | None = None


def judge(arrival: Arrival, overrides: Overrides = NO_OVERRIDES) -> Judgement:
    """What becomes of this message; `overrides` are the channel's own rows. Total: it always answers, never raises."""
    for rule in _RULES:
        judgement = rule(arrival, overrides)
        if judgement is not None:
            return judgement
    return look_up(arrival.source, arrival.interjects, arrival.phase, overrides)


def judge_edit(arrival: Arrival, was: Verdict, overrides: Overrides = NO_OVERRIDES) -> Judgement:
    """What a waiting message becomes by an edit, never more than it `was`.

    `arrival` has the new text and the phase that the message met (`phase_in`), not the one of now: its own run, which
    waits to start, would read as running, and the edit as a steer.
    """
    now = judge(arrival, overrides)
    if now.verdict is Verdict.COMMAND:
        now = replace(now, verdict=_REFUSE, command=None, reply=EDIT_IS_NO_COMMAND)
    verdict = lower_of(was, now.verdict)
    row = f"{now.row}/edit" if verdict is now.verdict else f"{now.row}/an edit may not raise"
    return Judgement(verdict, row, reply=now.reply if verdict is _REFUSE else None)


def lower_of(one: Verdict, other: Verdict) -> Verdict:
    """The lower of two verdicts."""
    return min(one, other, key=LOWEST_FIRST.index)


def look_up(source: Source, interjected: bool, phase: Phase, overrides: Overrides = NO_OVERRIDES) -> Judgement:
    """The row of the table; an override that is not allowed is as if it were not there."""
    default, own = STEER_POLICY[source, interjected, phase], overrides.get((source, interjected, phase))
    row = f"{source}/{'any' if source in _ONE_ROW else 'yes' if interjected else 'no'}/{phase}"
    if default is None:
        return Judgement(_IGNORE, f"{row}/impossible")
    if own is not None and may_override(source, interjected, phase, own):
        default, row = own, f"{row}/override"
    return Judgement(default, row, reply=REFUSALS[source] if default is _REFUSE else None)


def may_override(source: Source, interjected: bool, phase: Phase, verdict: Verdict) -> bool:
    """Whether a channel may have this row; outsiders and bots can only be turned away, a report is never lost."""
    if STEER_POLICY[source, interjected, phase] is None or source is Source.SUBAGENT:
        return False
    return verdict in MAY_BECOME[phase] and (source not in _CLOSED or verdict in {_IGNORE, _REFUSE})


def may_be(source: Source, interjected: bool, phase: Phase) -> frozenset[Verdict]:
    """What a channel may make of this row; nothing where it cannot be changed."""
    return frozenset(each for each in Verdict if may_override(source, interjected, phase, each))


def phase_in(row: str) -> Phase | None:
    """The phase that a stored row names; None where it names none."""
    return next((phase for phase in Phase if phase.value in row.split("/")), None)


def _as_command(arrival: Arrival, _: Overrides) -> Judgement | None:
    command = command_of(arrival.text, arrival.bot_user_id)
    if command is None or arrival.source not in INSIDERS:
        return None
    # "stop" that crosses the answer finds nothing to stop and says so; it is no question to start a run with
    is_at_work = arrival.phase in UNSETTLED or arrival.family_at_work or arrival.is_unseen_answer
    if not arrival.interjects and not (arrival.source is Source.REQUESTER and is_at_work):
        return None
    row, action = f"{arrival.source}/{command} as a word/{arrival.phase}", ACTION_OF[command]
    if may(action, arrival.source, is_approver=arrival.is_approver):
        return Judgement(Verdict.COMMAND, row, command=command)
    return Judgement(_REFUSE, f"{row}/not allowed", reply=refusal(action, arrival.source))


def _as_approval_word(arrival: Arrival, _: Overrides) -> Judgement | None:
    asks = arrival.approval_waits or arrival.phase is Phase.WAITING_APPROVAL
    if not asks or arrival.source not in INSIDERS:
        return None
    if not approval_word(arrival.text, arrival.bot_user_id):
        return None
    row = f"{arrival.source}/approval as a word/{arrival.phase}"
    return Judgement(Verdict.COMMAND, row, reply=USE_THE_BUTTONS)


def _as_said_to_another(arrival: Arrival, overrides: Overrides) -> Judgement | None:
    # In a direct message there is nobody else: a name at its beginning is what it is about.
    if arrival.source not in PEOPLE or arrival.is_direct or not addresses_another(arrival.text, arrival.bot_user_id):
        return None
    plain = look_up(arrival.source, False, arrival.phase, overrides)
    return replace(plain, verdict=lower_of(plain.verdict, _NOTE), row=f"{plain.row}/to another")


def _as_plain_after_the_end(arrival: Arrival, overrides: Overrides) -> Judgement | None:
    """A requester's plain message in an idle thread, where the table says that it is a note."""
    if arrival.source is not Source.REQUESTER or arrival.phase is not Phase.IDLE or arrival.interjects:
        return None
    plain = look_up(arrival.source, False, arrival.phase, overrides)
    if plain.verdict is not _NOTE:
        return None
    if arrival.is_unseen_answer:
        return replace(plain, verdict=_START, row=f"{plain.row}/unseen answer")
    return replace(plain, reply=NOTED) if arrival.first_since_settlement else None


_RULES: tuple[Callable[[Arrival, Overrides], Judgement | None], ...] = (
    _as_command,
    _as_approval_word,
    _as_said_to_another,
    _as_plain_after_the_end,
)


def as_markdown() -> dict[str, str]:
    """The table for the documents, as the design has it."""
    header = ("source", "interject?", "untouched", "idle", "running", "paused", "waiting for approval")
    return {"steer_policy": table(header, [_line(*line) for line in _LINES])}


_LINES = (
    ("requester", "no", Source.REQUESTER, _NO),
    ("requester", "yes", Source.REQUESTER, _YES),
    ("teammate", "no", Source.TEAMMATE, _NO),
    ("teammate", "yes", Source.TEAMMATE, _YES),
    ("guest", "no / yes", Source.GUEST, _ANY),
    ("external (Slack Connect)", "no / yes", Source.EXTERNAL, _ANY),
    ("alert bot (listed)", "any", Source.ALERT_BOT, _ANY),
    ("other bot, self, system", "any", Source.OTHER_BOT, _ANY),
    ("sub-agent report", "any", Source.SUBAGENT, _ANY),
)


def _line(name: str, either: str, source: Source, flags: tuple[bool, ...]) -> tuple[str, ...]:
    return (name, either, *(_cell([STEER_POLICY[source, flag, phase] for flag in flags]) for phase in PHASES))


def _cell(verdicts: list[Verdict | None]) -> str:
    words = dict.fromkeys("-" if each is None else each.value for each in verdicts)
    return " / ".join(f"**{word}**" if word == _STEER else word for word in words)
