"""A history that is refused, or has a hole: told as plain text once in a run, counted, and never for ever."""

import pytest
from structlog.testing import capture_logs

from bot.errors import ModelRequestError
from bot.llm.validate import check_messages
from bot.rules.messages import AssistantMessage, ToolCall, ToolResult
from bot.rules.redaction import Scrubber
from tests.agent.bench import Listed, answer

LOG = ToolCall("call00001", "read", {"what": "log"})
DEPLOYS = ToolCall("call00002", "read", {"what": "deploys"})
REFUSED = ModelRequestError("tool_use without tool_result", status=400)


def sent_flat(log):
    return [each["status"] for each in log if each["event"] == "history.sent_flat"]


def has_calls(request):
    return any(isinstance(message, ToolResult) for message in request.messages)


async def worked(bench, *replies):
    bench.provider = Listed(*replies)
    claimed = await bench.desk.is_asked()
    with capture_logs() as log:
        await bench.ended(bench.works(claimed))
    return log


async def test_a_refused_history_is_sent_once_more_as_plain_text_and_told_of(bench, desk):
    log = await worked(bench, answer("I look.", LOG), REFUSED, answer("The disk."))

    refused, flat = bench.provider.requests[1:]
    assert (has_calls(refused), has_calls(flat)) == (True, False)
    assert "this is log" in str(flat.messages)
    assert await desk.states() == ["completed"]
    assert sent_flat(log) == [400]


async def test_a_history_that_is_refused_as_plain_text_too_ends_the_run(bench, desk):
    log = await worked(bench, answer("I look.", LOG), REFUSED, REFUSED)

    settled = await desk.raw.fetchrow("select reason, error, status from settlements")
    assert tuple(settled) == ("failed", "model_request", 400)
    assert (len(bench.provider.requests), sent_flat(log)) == (3, [400])


async def test_a_run_that_is_sent_flat_stays_flat_and_the_next_refusal_ends_it(bench, desk):
    log = await worked(bench, answer("I look.", LOG), REFUSED, answer("More.", DEPLOYS), REFUSED)

    assert [has_calls(request) for request in bench.provider.requests] == [False, True, False, False]
    assert await desk.value("select error from settlements") == "model_request"
    assert sent_flat(log) == [400]


async def test_the_next_run_of_the_thread_is_sent_whole_again(bench, desk):
    await worked(bench, answer("I look.", LOG), REFUSED, answer("The disk."))

    await worked(bench, answer("Still the disk."))

    assert [has_calls(request) for request in bench.provider.requests] == [True]
    assert (await desk.states())[-1] == "completed"


@pytest.mark.parametrize("status", [400, 422])
async def test_the_first_request_of_a_thread_may_be_refused_too(bench, desk, status):
    await worked(bench, ModelRequestError("no", status=status), ModelRequestError("no", status=status))

    assert await desk.value("select status from settlements") == status
    assert len(bench.provider.requests) == 2


async def test_a_history_with_a_hole_is_mended_and_told_of_and_its_calls_are_not_run(bench, desk):
    first = await desk.is_asked()
    await desk.calls(first, "lost00001")
    await desk.raw.execute("update threads set state = 'idle', owner = null")
    await desk.raw.execute("update runs set state = 'settled'")

    log = await worked(bench, answer("The disk."))

    assert (await desk.states())[-1] == "completed"
    assert [each["fixes"] for each in log if each["event"] == "history.mended"] == [1]
    assert bench.tool.begun == []


async def test_blocks_of_the_provider_come_back_to_it_as_they_were(bench, desk):
    blocks = ({"type": "thinking", "signature": "abc"},)

    await worked(bench, answer("I look.", LOG, provider_blocks=blocks), answer("The disk."))

    told = [message for message in bench.provider.requests[1].messages if isinstance(message, AssistantMessage)]
    assert [message.provider_blocks for message in told] == [blocks]


async def test_the_plain_text_is_tried_once_in_a_run_and_not_once_a_claim(bench, desk):
    bench.provider = Listed(answer("I look.", LOG), REFUSED, answer("More.", DEPLOYS))
    claimed = await desk.is_asked()
    task = bench.works(claimed, max_rounds=2)
    await bench.counts("runs where flat", 1)
    await bench.ended(task)
    await desk.raw.execute("delete from settlements")
    await desk.raw.execute("update runs set state = 'running'")
    await desk.raw.execute("update threads set state = 'ready', ready_at = clock_timestamp()")

    bench.provider = Listed(REFUSED)
    await bench.ended(bench.works(await desk.claims("w2")))

    assert has_calls(bench.provider.requests[0]) is False
    assert len(bench.provider.requests) == 1
    assert await desk.value("select error from settlements") == "model_request"


async def test_a_claim_that_was_lost_marks_nothing(bench, desk):
    bench.provider = Listed(answer("I look.", LOG), REFUSED, REFUSED)
    claimed = await desk.is_asked()
    await desk.raw.execute("update threads set fence = fence + 1")

    await bench.ended(bench.works(claimed))

    assert await desk.value("select flat from runs") is False


async def test_a_round_whose_blocks_could_not_be_kept_is_told_as_plain_text_and_the_others_are_not(bench, desk):
    password = "correct-horse-battery"
    blocks = ({"type": "thinking", "thinking": password},)
    bench.provider = Listed(answer("One.", LOG, provider_blocks=blocks), answer("Two.", DEPLOYS), answer("The disk."))
    claimed = await desk.is_asked()

    await bench.ended(bench.works(claimed, scrubber=Scrubber([password])))

    last = bench.provider.requests[-1].messages
    check_messages(last)
    assert [message.call_id for message in last if isinstance(message, ToolResult)] == ["call00002"]
    assert "this is log" in str(last)
    assert await desk.value("select body->>'text' from events where body ? 'flat'") == "One."
    assert await desk.value("select flat from runs") is False
