"""The order in which every dialect wants messages, and whether a message may carry its provider's own blocks.

Pure. It assumes a history that passed bot.llm.validate, and only arranges what that leaves open.
"""

from collections.abc import Sequence

from bot.rules.messages import AssistantMessage, Message, ToolResult, UserMessage

NO_OUTPUT = "(no output)"
"""What a result without text says: an empty one is refused (B04) or taken for a fault by the model."""


def shaped(messages: Sequence[Message]) -> list[Message]:
    """Put each block of results in the order of its calls, and join user texts in a row."""
    out: list[Message] = []
    for message in _in_call_order(messages):
        if isinstance(message, UserMessage) and out and isinstance(out[-1], UserMessage):
            out[-1] = UserMessage(f"{out[-1].text}\n\n{message.text}")
        else:
            out.append(message)
    return out


def _in_call_order(messages: Sequence[Message]) -> list[Message]:
    order: dict[str, int] = {}
    opener = 0
    keyed: list[tuple[int, int, Message]] = []
    for at, message in enumerate(messages):
        if isinstance(message, ToolResult):
            keyed.append((opener, order.get(message.call_id, len(messages)), message))
            continue
        opener = at
        order = (
            {call.id: nth for nth, call in enumerate(message.calls)} if isinstance(message, AssistantMessage) else {}
        )
        keyed.append((at, -1, message))
    return [message for _, _, message in sorted(keyed, key=lambda one: one[:2])]


def is_own(message: AssistantMessage, provider: str, model: str) -> bool:
    """Whether a message's blocks may go out: another model's signatures and reasoning are refused (A18, G09)."""
    return bool(message.provider_blocks) and (message.provider, message.model) == (provider, model)
