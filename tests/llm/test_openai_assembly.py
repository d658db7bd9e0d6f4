"""Chunks to a message, without a connection: what the quirk cases do not hold."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import ModelError, ModelOverloadedError, ModelStreamError
from bot.llm.assembly import Origin
from bot.llm.openai_assembly import OpenAIAssembly
from bot.llm.provider import ModelReply
from tests.llm.quirks import minting

FINISH = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def piece(arguments: object = None, **fields: object) -> dict[str, object]:
    """One call in a delta."""
    name = fields.pop("name", None)
    return {**fields, "function": {"name": name, "arguments": arguments}}


def delta(*calls: dict[str, object], **fields: object) -> dict[str, object]:
    """A chunk."""
    return {"choices": [{"delta": {**fields, **({"tool_calls": list(calls)} if calls else {})}}]}


def assembled(*chunks: object) -> ModelReply:
    """The message of these chunks."""
    assembly = OpenAIAssembly(Origin("openai", "m", minting(), 400))
    for chunk in chunks:
        if assembly.feed("", chunk if isinstance(chunk, str) else json.dumps(chunk)):
            break
    return assembly.reply()


def calls(*pieces: dict[str, object]) -> list[tuple[str, object]]:
    """The calls of deltas with one piece each, by name and arguments."""
    reply = assembled(*(delta(one) for one in pieces), FINISH)
    return [(call.name, call.broken_arguments or call.arguments) for call in reply.message.calls]


def test_an_id_that_changes_with_every_chunk_does_not_split_a_call() -> None:
    made = calls(piece('{"q"', index=0, id="x1", name="f"), piece(': "a"}', index=0, id="x2"))

    assert made == [("f", {"q": "a"})]


def test_a_name_that_comes_with_every_chunk_does_not_split_a_call() -> None:
    made = calls(piece('{"q"', index=0, id="x", name="f"), piece(': "a"}', index=0, id="x", name="f"))

    assert made == [("f", {"q": "a"})]


def test_calls_without_index_and_id_are_told_apart_by_their_names() -> None:
    made = calls(piece('{"q": "a"}', name="f"), piece('{"q": "b"}', name="g"), piece('{"q": "c"}', name="f"))

    assert made == [("f", {"q": "a"}), ("g", {"q": "b"}), ("f", {"q": "c"})]


def test_pieces_without_index_go_to_the_call_with_their_id() -> None:
    made = calls(
        piece('{"q": ', id="x", name="f"),
        piece('{"q": ', id="y", name="g"),
        piece('"a"}', id="x"),
        piece('"b"}', id="y"),
    )

    assert made == [("f", {"q": "a"}), ("g", {"q": "b"})]


def test_a_piece_without_index_id_and_name_goes_on_with_the_last_call() -> None:
    made = calls(piece('{"q": ', id="x", name="f"), piece('"a"}'))

    assert made == [("f", {"q": "a"})]


def test_two_calls_at_index_0_without_ids_are_two_calls() -> None:
    made = calls(piece('{"q": "a"}', index=0, name="f"), piece('{"q": "b"}', index=0, name="g"))

    assert made == [("f", {"q": "a"}), ("g", {"q": "b"})]


def test_two_different_calls_of_one_tool_under_one_id_are_two_calls() -> None:
    made = calls(piece('{"q": "a"}', index=0, id="x", name="f"), piece('{"q": "b"}', index=0, id="x", name="f"))

    assert made == [("f", {"q": "a"}), ("f", {"q": "b"})]


def test_a_call_without_arguments_is_not_taken_over_by_the_next_one_at_its_index() -> None:
    made = calls(piece("", index=0, id="x", name="f"), piece('{"q": "b"}', index=0, id="y", name="g"))

    assert made == [("f", {}), ("g", {"q": "b"})]


def test_a_whole_call_is_said_again_under_its_first_id_though_the_id_had_changed_between() -> None:
    made = calls(
        piece('{"q"', index=0, id="x1", name="f"),
        piece(': "a"}', index=0, id="x2"),
        piece('{"q": "a"}', index=0, id="x1", name="f"),
    )

    assert made == [("f", {"q": "a"})]


def test_a_whole_call_that_is_said_again_is_one_call_however_it_is_spaced() -> None:
    made = calls(piece('{"q": "a"}', index=0, id="x", name="f"), piece('{"q":"a"}', index=0, id="x", name="f"))

    assert made == [("f", {"q": "a"})]


def test_a_piece_that_says_nothing_is_no_call() -> None:
    made = calls(piece("", index=0), {"index": 1, "function": None}, piece(None, index=2, name="f"))

    assert made == [("f", {})]


def test_arguments_that_are_no_object_are_kept_as_broken() -> None:
    made = calls(piece(["a"], index=0, name="f"), piece("{'q': 1}", index=1, name="g"))

    assert made == [("f", '["a"]'), ("g", "{'q': 1}")]


def test_a_name_that_no_dialect_accepts_becomes_one_that_matches_no_tool() -> None:
    made = calls(piece("{}", index=0, name="functions.get_logs"), piece('{"a": 1}', index=1, name=""))

    assert made == [("functions_get_logs", {}), ("unnamed", {"a": 1})]


@pytest.mark.parametrize("reason", ["length", "max_tokens", "model_length", "content_filter"])
def test_a_message_that_was_cut_off_is_marked_so_that_no_call_of_it_runs(reason: str) -> None:
    reply = assembled(delta(content="half"), {"choices": [{"delta": {}, "finish_reason": reason}]})

    assert reply.stopped_at_limit
    assert reply.message.text == "half"


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource"])
def test_a_service_that_gives_up_in_the_finish_reason_has_given_no_message(reason: str) -> None:
    with pytest.raises(ModelOverloadedError):
        assembled(delta(content="half"), {"choices": [{"delta": {}, "finish_reason": reason}]})


def test_content_may_come_as_parts_and_a_refusal_is_told_as_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": []}, {"type": "text", "text": "b"}]

    assert assembled(delta(content=parts), FINISH).message.text == "ab"
    assert assembled(delta(refusal="I cannot."), FINISH).message.text == "I cannot."


def test_halves_of_a_character_in_two_chunks_are_one_character() -> None:
    reply = assembled(delta(content="\ud83d"), delta(content="\ude00 a\0b \ud83d"), FINISH)

    assert reply.message.text == "\U0001f600 a\ufffdb \ufffd"


def test_usage_that_is_reported_is_taken_and_missing_usage_is_marked_as_an_estimate() -> None:
    counted = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}

    reported = assembled(FINISH, {"choices": [], "usage": counted}).usage
    estimated = assembled(delta(content="x" * 40), FINISH).usage

    assert (reported.input_tokens, reported.output_tokens, reported.cached_tokens, reported.reported) == (
        10,
        4,
        6,
        True,
    )
    assert (estimated.input_tokens, estimated.output_tokens, estimated.reported) == (100, 10, False)


def test_opaque_details_are_kept_in_the_order_in_which_they_came() -> None:
    details = [{"type": "reasoning.encrypted", "data": "A"}, {"type": "reasoning.encrypted", "data": "B"}]

    reply = assembled(*(delta(reasoning_details=[one]) for one in details), FINISH)

    assert reply.message.provider_blocks == ({"reasoning_details": details},)


def test_the_signature_of_a_call_is_kept_under_our_id() -> None:
    signature = {"google": {"thought_signature": "SIG=="}}

    reply = assembled(
        delta(piece("{}", id="x", name="f", extra_content=signature), piece("{}", id="y", name="g")), FINISH
    )

    ours = reply.message.calls[0].id
    assert reply.message.provider_blocks == ({"extra_content": {ours: signature}},)


def test_the_signature_of_a_call_is_kept_when_later_pieces_come_without_it() -> None:
    signature = {"google": {"thought_signature": "SIG=="}}

    reply = assembled(
        delta(piece('{"q"', index=0, name="f", extra_content=signature)), delta(piece(":1}", index=0)), FINISH
    )

    assert list(reply.message.provider_blocks[0]["extra_content"].values()) == [signature]


def test_nothing_after_done_is_read() -> None:
    reply = assembled(delta(content="a"), FINISH, "[DONE]", delta(content="b"))

    assert reply.message.text == "a"


@pytest.mark.parametrize("broken", ["{", "[]", '"x"', "null", "[" * 100_000])
def test_an_event_that_is_no_object_is_a_broken_stream(broken: str) -> None:
    with pytest.raises(ModelStreamError):
        assembled(delta(content="a"), broken, FINISH)


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "x", "{}", "stop"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([
                "choices",
                "delta",
                "content",
                "tool_calls",
                "function",
                "name",
                "arguments",
                "index",
                "id",
                "usage",
            ]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(junk, max_size=4))
def test_whatever_a_service_sends_gives_a_message_or_a_model_error(chunks: list[object]) -> None:
    try:
        reply = assembled(*(json.dumps(chunk) for chunk in chunks), FINISH)
    except ModelError:
        return

    assert isinstance(reply.message.text, str)
    assert all(isinstance(call.arguments, dict) for call in reply.message.calls)
