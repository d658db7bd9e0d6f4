"""A model's message without secrets: the one form in which it is stored, shown, sent back and carried out.

A model cannot know a secret that was scrubbed from all it was told, but it can be handed one by a service that keeps
what others said, and it can make up what looks like one. A call that still holds the mark of a secret never runs.
"""

from collections.abc import Mapping
from dataclasses import replace

from bot.rules.messages import AssistantMessage, JsonObject, ToolCall
from bot.rules.redaction import REDACTED, Scrubber


def scrubbed(message: AssistantMessage, scrubber: Scrubber) -> AssistantMessage:
    """Scrub text, calls and blocks.

    A provider's blocks are signed or meant to be sent back unchanged, so they are kept whole or left out: with any
    secret in the message they are left out, and a provider that misses them gets the history flat.
    """
    clean = replace(
        message,
        text=scrubber.text(message.text),
        calls=tuple(_call(call, scrubber) for call in message.calls),
    )
    blocks = list(message.provider_blocks)
    is_harmless = clean == message and scrubber.value(blocks) == blocks
    return message if is_harmless else replace(clean, provider_blocks=())


def holds_mark(value: object) -> bool:
    """Whether a JSON value holds the mark that stands for a secret."""
    if isinstance(value, str):
        return REDACTED in value
    if isinstance(value, Mapping):
        return any(holds_mark(name) or holds_mark(each) for name, each in value.items())
    return isinstance(value, list | tuple) and any(map(holds_mark, value))


def _call(call: ToolCall, scrubber: Scrubber) -> ToolCall:
    broken = call.broken_arguments
    return replace(
        call,
        name=scrubber.text(call.name),
        arguments=_arguments(call.arguments, scrubber),
        broken_arguments=None if broken is None else scrubber.text(broken),
    )


def _arguments(arguments: JsonObject, scrubber: Scrubber) -> JsonObject:
    scrubbed_value = scrubber.value(arguments)
    return scrubbed_value if isinstance(scrubbed_value, Mapping) else {}
