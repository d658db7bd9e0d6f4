"""Histories for the tests: whole ones, damaged ones, and messages of every kind of brokenness.

A whole history is what Steersman itself stores: runs of rounds, results in the order in which they came back, steers,
notes, surroundings, spans set aside. It owns no expectation; the tests say what must hold for all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from bot.agent.history import stored
from bot.rules.messages import AssistantMessage, Event, Message, ToolCall, ToolResult, UserMessage
from bot.rules.terms import CallOutcome, EventKind

TOOLS = ("get_logs", "http_get", "restart-service")
WORDS = ("disk full", "why is checkout slow?", "look at payments", "héé✓", "@ana: yes, do it", "a\n\nb")
BLOCKS = ({"type": "thinking", "thinking": "hm", "signature": "SIG=="},)


@dataclass
class Thread:
    """A thread's history in the making."""

    events: list[Event] = field(default_factory=list)
    minted: int = 0

    def append(self, kind: EventKind, **body: object) -> None:
        """Store one event under the next number."""
        self.events.append(Event(len(self.events) + 1, "run1", kind, body))

    def user(self, text: str, **more: object) -> "Thread":
        """Store what a person said."""
        self.append(EventKind.USER, **{"text": text, "author": "U0ANA", "name": "ana", **more})
        return self

    def context(self, text: str) -> "Thread":
        """Store surroundings."""
        self.append(EventKind.CONTEXT, text=text)
        return self

    def says(self, text: str) -> "Thread":
        """Store a final text."""
        self.append(EventKind.ASSISTANT, **stored(AssistantMessage(text)))
        return self

    def calls(self, *names: str, text: str = "", blocks: bool = False) -> tuple[str, ...]:
        """Store a message with calls; gives their ids."""
        made = tuple(ToolCall(self.mint(), name, {"q": name}) for name in names)
        self.append(EventKind.ASSISTANT, **stored(AssistantMessage(text, made)))
        if blocks:
            signed = replace(self.events[-1], provider="anthropic", model="m", provider_blocks=BLOCKS)
            self.events[-1] = signed
        return tuple(call.id for call in made)

    def result(self, call_id: str, text: str = "ok", outcome: CallOutcome = CallOutcome.OK) -> "Thread":
        """Store the result of a call."""
        self.append(EventKind.TOOL_RESULT, **stored(ToolResult(call_id, "get_logs", text, outcome)))
        return self

    def rolls_back_to(self, seq: int, note: str = "restart-service: ok, not undone") -> "Thread":
        """Set the span after an event aside."""
        self.append(EventKind.ROLLED_BACK_TO, seq=seq, note=note)
        return self

    def mint(self) -> str:
        """Mint a portable id."""
        self.minted += 1
        return f"c{self.minted:08d}"


@st.composite
def whole(draw: st.DrawFn) -> list[Event]:
    """A history as Steersman stores it, ending where a model call is due."""
    thread = Thread()
    cut_points: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        _asks(draw, thread)
        cut_points.append(len(thread.events))
        for _ in range(draw(st.integers(0, 3))):
            _round(draw, thread)
            cut_points.append(len(thread.events))
        if draw(st.integers(0, 4)) == 0:
            target = draw(st.sampled_from(cut_points))
            thread.rolls_back_to(target)
            cut_points = [at for at in cut_points if at <= target]
        elif draw(st.booleans()):
            thread.says(draw(st.sampled_from(WORDS)))
    _asks(draw, thread)
    return thread.events


def _asks(draw: st.DrawFn, thread: Thread) -> None:
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from(WORDS))
        if draw(st.integers(0, 3)) == 0:
            thread.context(text)
        else:
            thread.user(text, note=draw(st.booleans()), unsent_answer=draw(st.booleans()))


def _round(draw: st.DrawFn, thread: Thread) -> None:
    names = draw(st.lists(st.sampled_from(TOOLS), min_size=1, max_size=3))
    ids = thread.calls(*names, text=draw(st.sampled_from(("", "let me look"))), blocks=draw(st.booleans()))
    for call_id in draw(st.permutations(ids)):
        text = draw(st.sampled_from(("", "200 OK", "\n")))
        thread.result(call_id, text, draw(st.sampled_from(CallOutcome)))
    if draw(st.integers(0, 3)) == 0:
        thread.user("one more thing")


Damage = Callable[[list[Event], int, int], list[Event]]


def deleted(events: list[Event], at: int, _: int) -> list[Event]:
    """Without one event."""
    return events[:at] + events[at + 1 :]


def duplicated(events: list[Event], at: int, to: int) -> list[Event]:
    """With a second copy of one event under a number of its own, anywhere."""
    copy = replace(events[at], seq=len(events) + 100)
    return [*events[:to], copy, *events[to:]]


def swapped(events: list[Event], at: int, to: int) -> list[Event]:
    """With two events in each other's place."""
    out = list(events)
    out[at], out[to] = out[to], out[at]
    return out


@st.composite
def damaged(draw: st.DrawFn) -> list[Event]:
    """A whole history after one fault."""
    events = draw(whole())
    places = st.integers(0, len(events) - 1)
    damage: Damage = draw(st.sampled_from((deleted, duplicated, swapped)))
    return damage(events, draw(places), draw(places))


_ids = st.sampled_from(("aaaaaaaaa", "bbbbbbbbb", "ccccccccc", "call_1", "", "x.y", "é" * 9, "\ud800"))
_texts = st.sampled_from(("", " \n", "hi", "a\0b", "half \ud83d", "\ud83d\ude00", "@ana: yes")) | st.text(max_size=5)
_names = st.sampled_from(("get_logs", "", "functions.get", "n" * 65, "\0"))
_arguments = st.sampled_from(({}, {"q": "a"}, {"\0": ["\ud800"]}, {"n": float("nan")}, {"t": (1, 2)}, {"o": object()}))
_calls = st.builds(ToolCall, _ids, _names, _arguments, st.none() | _texts)


def broken() -> st.SearchStrategy[Sequence[Message]]:
    """Messages in any order, with every kind of breakage that the types allow."""
    users = st.builds(UserMessage, _texts)
    assistants = st.builds(AssistantMessage, _texts, st.lists(_calls, max_size=3).map(tuple))
    results = st.builds(ToolResult, _ids, _names, _texts, st.sampled_from(CallOutcome))
    return st.lists(users | assistants | results, max_size=8)
