"""What is arranged before a history is put into a dialect."""

from bot.llm.shape import is_own, shaped
from bot.rules.messages import AssistantMessage, ToolResult, UserMessage
from tests.llm.notation import neutral, portable


def test_results_go_out_in_the_order_of_the_calls_whatever_order_they_came_in() -> None:
    messages = neutral("U A[a,b,c] T[c] T[a] T[b] U A[d] T[d]")

    arranged = shaped(messages)

    ids = [message.call_id for message in arranged if isinstance(message, ToolResult)]
    assert ids == [portable(one) for one in "abcd"]
    assert [type(message) for message in arranged] == [type(message) for message in messages]


def test_user_texts_in_a_row_become_one_with_a_blank_line_between() -> None:
    arranged = shaped([UserMessage("one"), UserMessage("two"), AssistantMessage("so"), UserMessage("three")])

    assert arranged == [UserMessage("one\n\ntwo"), AssistantMessage("so"), UserMessage("three")]


def test_blocks_are_the_services_own_only_for_the_same_service_and_model() -> None:
    message = AssistantMessage("so", (), "anthropic", "m", ({"type": "thinking"},))

    assert is_own(message, "anthropic", "m")
    assert not is_own(message, "anthropic", "m2")
    assert not is_own(message, "openai", "m")
    assert not is_own(AssistantMessage("so", (), "anthropic", "m"), "anthropic", "m")
