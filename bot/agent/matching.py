"""Which result answers which call, whatever order they stand in.

Pure. A result belongs to the nearest message before it that opened its call; one that stands too early belongs to the
first message that does. Of several results for one call a real one beats one that mending made up.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult
from bot.rules.terms import CallOutcome

NO_RESULT = "(no result was recorded: outcome unknown, check before retrying)"
"""What stands in place of a result that was lost; it must not say whether the call had its effect."""

Place: TypeAlias = tuple[int, int]
"""A call: the position of its message, and its own position among the calls of that message."""


def match(messages: Sequence[Message]) -> Mapping[Place, int]:
    """Give the position of the result that answers each call; calls without a result are left out."""
    openers = _openers(messages)
    owned: dict[tuple[int, str], list[int]] = {}
    for at, message in enumerate(messages):
        if isinstance(message, ToolResult) and message.call_id in openers:
            owned.setdefault((_owner(openers[message.call_id], at), message.call_id), []).append(at)
    answers: dict[Place, int] = {}
    for (opener, call_id), candidates in owned.items():
        best = sorted(candidates, key=lambda at: (is_made_up(messages[at]), at < opener, at))
        calls = [nth for nth, call in enumerate(_calls(messages[opener])) if call.id == call_id]
        answers.update({(opener, nth): at for nth, at in zip(calls, best, strict=False)})
    return answers


def is_made_up(message: Message) -> bool:
    """Whether mending made this result up; a real one may say the same words of a call that was interrupted."""
    return isinstance(message, ToolResult) and message.outcome is CallOutcome.UNKNOWN and message.text == NO_RESULT


def place_results(messages: Sequence[Message]) -> list[Message]:
    """Put each result right after the message that called for it, in the order of its calls; the rest stay."""
    answers = match(messages)
    moved = set(answers.values())
    placed: list[Message] = []
    for at, message in enumerate(messages):
        if at not in moved:
            placed.append(message)
            placed.extend(messages[answers[at, nth]] for nth, _ in enumerate(_calls(message)) if (at, nth) in answers)
    return placed


def stands_right(messages: Sequence[Message], opener: int, at: int) -> bool:
    """Whether the result at `at` is in the block of results right after the message at `opener`."""
    return opener < at and all(isinstance(message, ToolResult) for message in messages[opener + 1 : at])


def _calls(message: Message) -> tuple[ToolCall, ...]:
    return message.calls if isinstance(message, AssistantMessage) else ()


def _openers(messages: Sequence[Message]) -> dict[str, list[int]]:
    openers: dict[str, list[int]] = {}
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            for call_id in dict.fromkeys(call.id for call in message.calls):
                openers.setdefault(call_id, []).append(at)
    return openers


def _owner(openers: Sequence[int], at: int) -> int:
    before = [opener for opener in openers if opener < at]
    return before[-1] if before else openers[0]
