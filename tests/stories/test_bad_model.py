"""A model service that fails in every way we know: the run ends with the true reason, the card says what happened and
who can do what about it, and the thread goes on.
"""

import json
import re
from dataclasses import dataclass
from functools import partial

import pytest
from structlog.testing import capture_logs

from tests.stories.stage import lines_of, state_of, words_of

DIALECTS = ("openai", "anthropic")
KEY_SETTING = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
WELL = """
[[plays]]
when = "are you well"
[[plays.rounds]]
say = "All is well."
"""
CASE = """
[[plays]]
when = "case {name}."
[[plays.rounds]]
say = "I read the metrics and the log of checkout."
chunks = 3
calls = [{{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/metrics" }} }}]
fault = {fault}
"""


@dataclass(frozen=True)
class Case:
    """A way to fail: the fault of the script, how the run is settled, and words that the card says."""

    name: str
    fault: str
    reason: str
    says: str
    requests: int = 1


OVERLOADED = "The model service is overloaded or down"
BROKE_OFF = "The model's message broke off before its end. Ask again."
TRIES = 3
"""How often the model is asked where its service cannot answer."""
CASES = (
    Case("status-400", "400", "failed", "refused what we sent (400). Asking again will not help. Whoever runs", 2),
    Case("status-401", "401", "failed", "refused our key (401). Whoever runs Steersman: check {key}."),
    Case("status-403", "403", "failed", "refused our key (403). Whoever runs Steersman: check {key}."),
    Case("status-404", "404", "failed", "(404). Whoever runs Steersman: check STEERSMAN_MODEL and the address"),
    Case("status-422", "422", "failed", "refused what we sent (422)", 2),
    Case("status-429", "429", "failed", "slow down (429). Ask again in a few minutes.", TRIES),
    Case("status-500", "500", "failed", f"{OVERLOADED} (500). Ask again in a few minutes.", TRIES),
    Case("status-503", "503", "failed", f"{OVERLOADED} (503). Ask again in a few minutes.", TRIES),
    Case("status-529", "529", "failed", f"{OVERLOADED} (529). Ask again in a few minutes.", TRIES),
    Case("ends-early", '"ends_early"', "failed", BROKE_OFF, TRIES),
    Case("ends-in-text", '{ kind = "ends_early", after = 1 }', "failed", BROKE_OFF, TRIES),
    Case("error-in-stream", '{ kind = "error_in_stream", after = 2 }', "failed", OVERLOADED, TRIES),
    Case("reset", '{ kind = "reset", after = 1 }', "failed", "Ask again", TRIES),
    Case("reset-at-once", '{ kind = "reset", after = 0 }', "failed", "Ask again", TRIES),
    Case("hang", '"hang"', "failed", "could not be reached. Ask again in a few minutes.", TRIES),
    Case("hang-in-text", '{ kind = "hang", after = 1 }', "failed", "could not be reached", TRIES),
    Case("max-tokens", '"max_tokens"', "failed", "raise answer_tokens under limits in the settings file."),
    Case("empty", '"empty"', "empty", "Mention me to try again."),
)
OURS = re.compile(r"Traceback|\b\w+(?:Error|Exception)\b|\.py\b|FailureClass|httpx")


def over(thread, number, states):
    """The card of this run, once it says one of these states."""
    found = thread.cards()[number:][:1]
    return found[0] if found and state_of(found[0]) in states else None


async def settled(stage, count):
    """Wait until so many runs are settled in all."""
    await stage.until(lambda: stage.reader.fetchval("select count(*) = $1 from settlements", count))


async def outcomes(stage, cases):
    """Ask for every case, wait for the ends, ask again; gives how the runs ended and what the first cards said."""
    threads = {case.name: await stage.asks(f"case {case.name}.") for case in cases}
    await settled(stage, len(cases))
    cards = {
        name: await stage.slack.wait_for(partial(over, thread, 0, ("failed", "no answer")), 20)
        for name, thread in threads.items()
    }
    asked = [json.dumps(request.messages) for request in stage.model.requests]
    for thread in threads.values():
        await thread.says("@Steersman are you well?")
    await settled(stage, 2 * len(cases))
    ends = {}
    for name, thread in threads.items():
        first, second = await thread.settled(2)
        ends[name] = (first.reason, first.final_event_id, second.reason, sum(f"case {name}." in each for each in asked))
    return ends, {name: lines_of(card)[1] for name, card in cards.items()}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("cases", [CASES[0:6], CASES[6:12], CASES[12:]], ids=lambda group: group[0].name)
async def test_every_failure_of_the_model_service_is_told_truly_and_the_thread_goes_on(stage, cases, dialect):
    stage.environment["STEERSMAN_MODEL"] = f"{dialect}:scripted"
    stage.limits = {"model_idle_seconds": 1.0}
    stage.plays(WELL + "".join(CASE.format(name=case.name, fault=case.fault) for case in cases))
    await stage.start()

    ends, words = await outcomes(stage, cases)

    key = KEY_SETTING[dialect]
    assert ends == {case.name: (case.reason, None, "completed", case.requests) for case in cases}
    assert {case.name: words[case.name] for case in cases if case.says.format(key=key) not in words[case.name]} == {}
    assert [name for name, line in words.items() if OURS.search(line) or len(line) > 300] == []
    assert stage.targets.paths == []


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_wrong_key_names_the_setting_to_check(stage, dialect):
    stage.environment |= {"STEERSMAN_MODEL": f"{dialect}:scripted", KEY_SETTING[dialect]: "not-the-key-of-the-stage"}
    await stage.start()

    thread = await stage.asks("are you well?")

    (run,) = await thread.settled()
    card = await thread.card("failed")
    assert run.reason == "failed"
    assert f"refused our key (401). Whoever runs Steersman: check {KEY_SETTING[dialect]}." in lines_of(card)[1]
    assert "not-the-key" not in words_of(card)
    assert "not-the-key" not in str(await stage.reader.fetch("select * from settlements"))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_model_that_does_not_exist_names_the_setting_to_check(stage, dialect):
    stage.environment["STEERSMAN_MODEL"] = f"{dialect}:gtp-7"
    await stage.start()

    thread = await stage.asks("are you well?")

    (run,) = await thread.settled()
    card = await thread.card("failed")
    assert (run.reason, len(stage.model.requests)) == ("failed", 1)
    assert "Whoever runs Steersman: check STEERSMAN_MODEL" in lines_of(card)[1]
    assert "gtp-7" in lines_of(card)[1]


async def test_a_service_that_is_not_there_is_told_as_such(stage):
    stage.environment["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
    await stage.start()

    thread = await stage.asks("are you well?")

    (run,) = await thread.settled()
    card = await thread.card("failed")
    assert (run.reason, stage.model.requests) == ("failed", [])
    assert "could not be reached" in lines_of(card)[1]


REFUSED = """
[[plays]]
when = "was called with"
[[plays.rounds]]
say = "It was the deploy."

[[plays]]
[[plays.rounds]]
say = "I read the metrics."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/metrics" } }]
[[plays.rounds]]
say = "It was the deploy."
fault = { kind = 400, times = 1 }
"""


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_history_that_is_refused_is_sent_once_more_as_plain_text(stage, dialect):
    stage.environment["STEERSMAN_MODEL"] = f"{dialect}:scripted"
    stage.plays(REFUSED)
    await stage.start()

    with capture_logs() as log:
        thread = await stage.asks("why is checkout slow?")
        (run,) = await thread.settled()

    _, refused, flat = [json.dumps(each.messages) for each in stage.model.requests]
    assert (run.reason, len(await stage.slack.wait_for(thread.answers))) == ("completed", 1)
    assert ("tool_call" in refused or "tool_use" in refused, "tool_" in flat) == (True, False)
    assert "this is metrics" in flat
    assert [each["status"] for each in log if each["event"] == "history.sent_flat"] == [400]
