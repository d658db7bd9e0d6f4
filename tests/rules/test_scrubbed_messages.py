"""A model's message loses its secrets, and with any of them the blocks that its provider signed."""

import pytest

from bot.rules.messages import AssistantMessage, ToolCall
from bot.rules.redaction import REDACTED, Scrubber
from bot.rules.scrubbed_messages import holds_mark, scrubbed

SECRET = "correct-horse-battery"
SCRUBBER = Scrubber([SECRET])
BLOCK = {"type": "thinking", "thinking": "it is the disk", "signature": "c2lnbmVk"}


def message(text="I look.", arguments=None, broken=None, block=BLOCK, name="http_get"):
    call = ToolCall("call00001", name, arguments or {}, broken)
    return AssistantMessage(text, (call,), "anthropic", "m1", (block,))


def test_a_message_without_secrets_stays_as_it_is_with_its_blocks():
    given = message(arguments={"url": "http://site/x?query=up", "deep": [1, None, True, {"a": "b"}]})

    assert scrubbed(given, SCRUBBER) == given


@pytest.mark.parametrize(
    "given",
    [
        message(text=f"it is {SECRET}"),
        message(arguments={"url": f"http://site/?key={SECRET}"}),
        message(arguments={"deep": [{"deep": SECRET}]}),
        message(arguments={SECRET: 1}),
        message(broken=f'{{"url": "{SECRET}'),
        message(name=SECRET),
        message(block={**BLOCK, "thinking": f"it is {SECRET}"}),
    ],
)
def test_a_secret_in_any_part_is_taken_out_and_the_blocks_with_it(given):
    clean = scrubbed(given, SCRUBBER)

    assert SECRET not in repr(clean)
    assert clean.provider_blocks == ()
    assert [call.id for call in clean.calls] == ["call00001"]
    assert scrubbed(clean, SCRUBBER) == clean


@pytest.mark.parametrize("value", [f"a {REDACTED} b", {"a": [REDACTED]}, {REDACTED: 1}, [[{"a": (REDACTED,)}]]])
def test_the_mark_of_a_secret_is_found_wherever_it_stands(value):
    assert holds_mark(value)


@pytest.mark.parametrize("value", ["redacted", {"a": [1, None, "x"]}, 7, None, [], {}])
def test_without_a_mark_nothing_is_found(value):
    assert not holds_mark(value)
