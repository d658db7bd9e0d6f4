"""What a scripted model says: the format, which round is played, and its templates.

A script is a list of plays, read from a TOML file by bot/llm/script_file.py or built from these classes. Everything
here is a pure function of the messages received: there is no position to lose, so a play survives a worker's death,
a take-over and a steer.

- A play is chosen by the newest user message: the first whose `when` is in its text (letter case does not count).
- The round is the number of assistant messages after that message.
- A round says its text in `chunks` pieces and then makes its calls, one piece each; a `gate` or a `fault` stands
  between two pieces.

- Templates ({{find REGEX}} and others: bot/llm/script_templates.py) stand in `say` and in the strings of arguments.

Never raises, whatever the conversation is. No I/O, no clock, no event loop.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias

from bot.llm.script_templates import Known, fill, fill_all

PAST_THE_END = "(the script has no further round)"
NO_PLAY = "(no play of the script is for this message)"


class Speaker(StrEnum):
    """Whose line it is."""

    USER = "user"
    ASSISTANT = "assistant"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a conversation, as far as a script looks at it."""

    speaker: Speaker
    text: str


class FaultKind(StrEnum):
    """What goes wrong in a round."""

    STATUS = "status"
    """The request is refused with an HTTP status."""
    ENDS_EARLY = "ends_early"
    """The stream ends cleanly, before its proper end."""
    RESET = "reset"
    """The connection is dropped."""
    ERROR_IN_STREAM = "error_in_stream"
    """An error comes where the next piece should."""
    HANG = "hang"
    """Nothing comes any more, and the connection stays open."""
    EMPTY = "empty"
    """A proper message without text and without calls."""
    MAX_TOKENS = "max_tokens"
    """The message is cut at its limit: the arguments of its last call are half of what was meant."""
    BROKEN_ARGUMENTS = "broken_arguments"
    """A proper message whose last call has half of its arguments, which are no JSON then."""


CUTS_A_CALL = frozenset({FaultKind.MAX_TOKENS, FaultKind.BROKEN_ARGUMENTS})


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, after how many pieces (all, if not said; none for a hang), and how many times (always).

    `times` is the one thing that is not a function of the messages: the player counts it, and forgets when it ends.
    """

    kind: FaultKind
    status: int | None = None
    retry_after: float | None = None
    after: int | None = None
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """A barrier: the player waits at it until somebody opens it by its name.

    `at` is before_first_chunk (nothing is answered yet, no HTTP header either), chunk:N (before the Nth piece) or
    before_end. A round of fewer than N pieces waits before its end.
    """

    name: str
    at: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that a round makes."""

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Round:
    """One message of the model; delays in milliseconds, `first_ms` before anything is answered."""

    say: str = ""
    calls: tuple[Call, ...] = ()
    chunks: int = 1
    chunk_ms: int = 0
    first_ms: int = 0
    fault: Fault | None = None
    gate: Gate | None = None


@dataclass(frozen=True, slots=True)
class Play:
    """What is said to a user message that contains `when`; an empty `when` is for every message."""

    when: str
    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """What a scripted model says."""

    plays: tuple[Play, ...]


Piece: TypeAlias = str | Call


@dataclass(frozen=True, slots=True)
class Performance:
    """A round with its templates filled in, and its place in the script."""

    place: str
    text: str
    calls: tuple[Call, ...]
    round: Round


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many milliseconds."""

    ms: int


@dataclass(frozen=True, slots=True)
class AtGate:
    """Wait until this gate is opened."""

    name: str


@dataclass(frozen=True, slots=True)
class Start:
    """The message begins."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a piece; with `cut` the arguments of this call are sent by half."""

    piece: Piece
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Break:
    """Fail in this way; nothing follows."""

    fault: Fault


@dataclass(frozen=True, slots=True)
class Finish:
    """The message ends properly; with `at_limit` because it was cut at its limit."""

    at_limit: bool = False


Beat: TypeAlias = Pause | AtGate | Start | Send | Break | Finish


def perform(script: Script, conversation: Sequence[Line], variables: Mapping[str, str]) -> Performance:
    """Choose the round for this conversation and fill in its templates."""
    place, chosen = pick(script, conversation)
    asked, since = _newest_user(conversation)
    known = Known(asked, _results(since), _results(conversation)[::-1], variables)
    calls = tuple(Call(call.name, _filled(call.arguments, known)) for call in chosen.calls)
    return Performance(place, fill(chosen.say, known), calls, chosen)


def pick(script: Script, conversation: Sequence[Line]) -> tuple[str, Round]:
    """Choose the round for this conversation; also says where it stands in the script."""
    asked, since = _newest_user(conversation)
    number = sum(line.speaker is Speaker.ASSISTANT for line in since)
    for index, play in enumerate(script.plays, start=1):
        if play.when.casefold() in asked.casefold():
            rounds = play.rounds[number:]
            return f"play {index}, round {number + 1}", rounds[0] if rounds else Round(say=PAST_THE_END)
    return "no play", Round(say=NO_PLAY)


def beats(performance: Performance, fault: Fault | None) -> Iterator[Beat]:
    """Say what a player does, one thing after the other; `fault` is the one that is due (FaultCount)."""
    kind = fault.kind if fault else None
    pieces = () if kind is FaultKind.EMPTY else _pieces(performance)
    gates = _gates(performance.round.gate, len(pieces))
    yield Pause(performance.round.first_ms)
    yield from gates.get(-1, ())
    if fault is not None and kind is FaultKind.STATUS:
        yield Break(fault)
        return
    yield Start()
    broken_at = _broken_at(fault, len(pieces))
    for index, piece in enumerate((*pieces, None)):
        yield from gates.get(index, ())
        if fault is not None and index == broken_at:
            yield Break(fault)
            return
        if piece is not None:
            last = index == len(pieces) - 1
            yield Send(piece, cut=last and kind in CUTS_A_CALL and isinstance(piece, Call))
            yield Pause(0 if last else performance.round.chunk_ms)
    yield Finish(at_limit=kind is FaultKind.MAX_TOKENS)


def wire_arguments(sent: Send) -> str:
    """The arguments of a call as the JSON text that goes on the wire; empty for a piece of text."""
    if isinstance(sent.piece, str):
        return ""
    whole = json.dumps(sent.piece.arguments, default=str)
    return whole[: len(whole) // 2] if sent.cut else whole


class FaultCount:
    """How often each fault with `times` was played by this player."""

    def __init__(self) -> None:
        self._played: Counter[str] = Counter()

    def due(self, performance: Performance) -> Fault | None:
        """The fault of this round, unless it has happened as often as it should; counts it."""
        fault = performance.round.fault
        if fault is None or (fault.times is not None and self._played[performance.place] >= fault.times):
            return None
        self._played[performance.place] += 1
        return fault


def _newest_user(conversation: Sequence[Line]) -> tuple[str, Sequence[Line]]:
    for index in range(len(conversation) - 1, -1, -1):
        if conversation[index].speaker is Speaker.USER:
            return conversation[index].text, conversation[index + 1 :]
    return "", conversation


def _results(conversation: Sequence[Line]) -> tuple[str, ...]:
    return tuple(line.text for line in conversation if line.speaker is Speaker.RESULT)


def _filled(arguments: Mapping[str, object], known: Known) -> Mapping[str, object]:
    return {key: fill_all(value, known) for key, value in arguments.items()}


def _pieces(performance: Performance) -> tuple[Piece, ...]:
    text = performance.text
    count = max(1, min(performance.round.chunks, len(text))) if text else 0
    cuts = [index * len(text) // max(count, 1) for index in range(count + 1)]
    return (*(text[start:end] for start, end in pairwise(cuts)), *performance.calls)


def _gates(gate: Gate | None, pieces: int) -> Mapping[int, tuple[AtGate]]:
    """The gate by the number of pieces sent before it; -1 before anything is answered."""
    if gate is None:
        return {}
    number = gate.at.removeprefix("chunk:")
    numbered = min(max(int(number) - 1, 0), pieces) if number.isdecimal() else pieces
    return {-1 if gate.at == "before_first_chunk" else numbered: (AtGate(gate.name),)}


def _broken_at(fault: Fault | None, pieces: int) -> int:
    if fault is None or fault.kind in {FaultKind.EMPTY, *CUTS_A_CALL}:
        return -1
    whole = 0 if fault.kind is FaultKind.HANG else pieces
    return min(whole if fault.after is None else max(fault.after, 0), pieces)
