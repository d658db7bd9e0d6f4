"""Events to a message, without a connection: what the quirk cases do not hold."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import ModelError, ModelOverloadedError, ModelStreamError
from bot.llm.anthropic_assembly import AnthropicAssembly
from bot.llm.assembly import Origin
from bot.llm.provider import ModelReply
from tests.llm.quirks import minting

STOP = {"type": "message_stop"}


def ends(reason: str | None = "end_turn", **usage: object) -> dict[str, object]:
    """The event with the stop reason."""
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def opens(kind: str, index: int | None = 0, **fields: object) -> dict[str, object]:
    """The opening of a block."""
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def adds(kind: str, index: int | None = 0, **fields: object) -> dict[str, object]:
    """An addition to a block."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def assembled(*events: object) -> ModelReply:
    """The message of these events."""
    assembly = AnthropicAssembly(Origin("anthropic", "m", minting(), 400))
    for event in events:
        if assembly.feed("", event if isinstance(event, str) else json.dumps(event)):
            break
    return assembly.reply()


def thought(words: str = "hm", signature: str = "SIG==") -> list[dict[str, object]]:
    """A thinking block in its events."""
    return [
        opens("thinking", thinking="", signature=""),
        adds("thinking_delta", thinking=words),
        adds("signature_delta", signature=signature),
    ]


@pytest.mark.parametrize("events", [[ends()], [STOP], [ends(None), STOP], []])
def test_a_message_without_its_stop_and_its_reason_is_no_message(events: list[object]) -> None:
    with pytest.raises(ModelStreamError):
        assembled(opens("text", text=""), adds("text_delta", text="half"), *events)


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_a_message_that_was_cut_off_is_marked_and_its_broken_arguments_are_no_arguments(reason: str) -> None:
    reply = assembled(
        opens("tool_use", id="x", name="f", input={}),
        adds("input_json_delta", partial_json='{"q": "a'),
        ends(reason),
        STOP,
    )

    assert reply.stopped_at_limit
    assert reply.message.calls[0].arguments == {}
    assert reply.message.calls[0].broken_arguments == '{"q": "a'


def test_an_input_that_comes_whole_with_the_opening_is_the_input() -> None:
    reply = assembled(opens("tool_use", id="x", name="f", input={"q": "a"}), ends("tool_use"), STOP)

    assert [(call.name, call.arguments) for call in reply.message.calls] == [("f", {"q": "a"})]


def test_texts_before_and_after_a_call_are_the_messages_text() -> None:
    reply = assembled(
        opens("text", 0, text="a"),
        opens("tool_use", 1, id="x", name="f", input={}),
        opens("text", 2, text=""),
        adds("text_delta", 2, text="b"),
        ends(),
        STOP,
    )

    assert reply.message.text == "ab"


def test_an_index_that_is_used_again_is_a_block_of_its_own() -> None:
    reply = assembled(
        opens("tool_use", 0, id="x", name="f", input={}),
        adds("input_json_delta", 0, partial_json='{"q": "a"}'),
        opens("tool_use", 0, id="x", name="g", input={}),
        adds("input_json_delta", 0, partial_json='{"q": "b"}'),
        ends(),
        STOP,
    )

    assert [(call.name, call.arguments) for call in reply.message.calls] == [("f", {"q": "a"}), ("g", {"q": "b"})]
    assert len({call.id for call in reply.message.calls}) == 2


def test_a_part_without_index_goes_to_the_block_opened_last() -> None:
    reply = assembled(opens("text", None, text=""), adds("text_delta", None, text="hi"), ends(), STOP)

    assert reply.message.text == "hi"


def test_a_part_of_a_block_that_was_never_opened_is_a_broken_stream() -> None:
    with pytest.raises(ModelStreamError):
        assembled(adds("text_delta", text="hi"), ends(), STOP)


def test_all_blocks_of_a_message_with_thinking_are_kept_in_order_without_blank_texts() -> None:
    reply = assembled(
        *thought(),
        opens("text", 1, text=""),
        opens("text", 2, text="let me look"),
        opens("tool_use", 3, id="toolu_1", name="f", input={}, caller={"type": "direct"}),
        ends("tool_use"),
        STOP,
    )

    ours = reply.message.calls[0].id
    assert reply.message.provider_blocks == (
        {"type": "thinking", "thinking": "hm", "signature": "SIG=="},
        {"type": "text", "text": "let me look"},
        {"type": "tool_use", "id": ours, "name": "f", "input": {}, "caller": {"type": "direct"}},
    )


@pytest.mark.parametrize("words", ["a\0b", "half \ud83d"])
def test_thinking_that_cannot_be_stored_as_it_was_signed_is_not_kept(words: str) -> None:
    reply = assembled(*thought(words), opens("text", 1, text="so"), ends(), STOP)

    assert reply.message.provider_blocks == ()
    assert reply.message.text == "so"


def test_halves_of_a_character_in_two_parts_are_one_character_and_thinking_is_kept() -> None:
    events = [opens("thinking", thinking="", signature="S"), adds("thinking_delta", thinking="\ud83d")]

    reply = assembled(*events, adds("thinking_delta", thinking="\ude00"), ends(), STOP)

    assert reply.message.provider_blocks == ({"type": "thinking", "thinking": "\U0001f600", "signature": "S"},)


def test_a_tool_that_the_service_runs_itself_is_no_call_of_ours() -> None:
    reply = assembled(
        *thought(),
        opens("server_tool_use", 1, id="srvtoolu_1", name="web_search", input={}),
        adds("input_json_delta", 1, partial_json='{"q": "a"}'),
        ends(),
        STOP,
    )

    assert reply.message.calls == ()
    assert reply.message.provider_blocks[1]["input"] == {"q": "a"}


def test_the_counts_so_far_are_not_added_up_and_cached_tokens_are_part_of_the_input() -> None:
    start = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1}

    usage = assembled({"type": "message_start", "message": {"usage": start}}, ends(output_tokens=9), STOP).usage

    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reported) == (17, 9, 5, True)


def test_missing_usage_is_marked_as_an_estimate() -> None:
    usage = assembled(opens("text", text=""), adds("text_delta", text="x" * 40), ends(), STOP).usage

    assert (usage.input_tokens, usage.output_tokens, usage.reported) == (100, 10, False)


def test_events_of_a_type_that_we_do_not_know_are_passed_over() -> None:
    reply = assembled({"type": "ping"}, {"type": "something_new"}, opens("text", text="hi"), ends(), STOP)

    assert reply.message.text == "hi"


def test_an_error_event_is_that_error_even_after_a_whole_message() -> None:
    with pytest.raises(ModelOverloadedError):
        assembled(opens("text", text="hi"), ends(), {"type": "error", "error": {"type": "overloaded_error"}})


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "x", "text", "tool_use", "thinking"]),
    lambda inner: st.dictionaries(
        st.sampled_from(["type", "index", "delta", "content_block", "usage", "message", "id", "name", "input", "text"]),
        inner | st.lists(inner, max_size=2),
        max_size=4,
    ),
    max_leaves=8,
)
kinds = st.sampled_from(["message_start", "content_block_start", "content_block_delta", "message_delta", "error"])


@given(
    st.lists(
        st.builds(
            lambda kind, body: {**body, "type": kind},
            kinds,
            st.dictionaries(st.sampled_from(["index", "delta", "content_block", "usage", "message"]), junk, max_size=4),
        ),
        max_size=4,
    )
)
def test_whatever_a_service_sends_gives_a_message_or_a_model_error(events: list[object]) -> None:
    try:
        reply = assembled(*events, ends(), STOP)
    except ModelError:
        return

    assert isinstance(reply.message.text, str)
    assert json.dumps(reply.message.provider_blocks, allow_nan=False)
