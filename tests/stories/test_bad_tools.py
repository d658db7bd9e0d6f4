"""What tools, people and models may say that is no good text: the run goes on, and nothing of it breaks the thread."""

import json

import pytest

from tests.stories.stage import Stage, lines_of, words_of

DIALECTS = ("openai", "anthropic")
BAD = {"NUL": "\x00", "LONE": "\ud800"}
READ = """
[[plays]]
[[plays.rounds]]
say = "I read it."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/answer" } }]
[[plays.rounds]]
say = "What I read: {{result 1}}"
"""
BODIES = {
    "ten million bytes": (b"0123456789abcde\n" * 655_360, "text/plain", "1,000,000 are read at most"),
    "nothing": (b"", "text/plain", "(empty body)"),
    "NUL bytes in a text": (b"before\x00after", "text/plain", "beforeafter"),
    "NUL bytes and no type": (b"before\x00after", "", "(not text, so not shown: 12 bytes"),
    "no UTF-8": (b"before\xff\xfeafter", "text/plain; charset=utf-8", "before\ufffd\ufffdafter"),
    "half a character": (b"before\xe2\x82", "text/plain; charset=utf-8", "before\ufffd"),
}


def told_to_the_model(stage) -> str:
    """Everything that the model was sent last."""
    return json.dumps(stage.model.requests[-1].messages, ensure_ascii=False)


async def goes_on(stage, thread):
    """Ask once more, and see that the model accepted every request."""
    await thread.says("@Steersman and now?")
    runs = await thread.settled(2)
    assert runs[-1].reason == "completed"
    assert {request.broken_rule for request in stage.model.requests} == {None}


@pytest.mark.parametrize("name", BODIES)
async def test_whatever_a_tool_answers_the_run_is_completed(stage, name):
    body, kind, said = BODIES[name]
    stage.targets.bodies["/answer"] = (body, kind)
    stage.plays(READ)
    await stage.start()

    thread = await stage.asks("why is checkout slow?")

    (run,) = await thread.settled()
    await thread.card("done")
    assert run.reason == "completed"
    assert said in told_to_the_model(stage)
    assert "\x00" not in told_to_the_model(stage)
    assert len(told_to_the_model(stage)) < 100_000
    await goes_on(stage, thread)


WRONG = {
    "an unknown tool": ('[{ name = "restart", arguments = { host = "web-3" } }]', "", "There is no tool named restart"),
    "no JSON": (
        '[{ name = "http_get", arguments = { url = "{{var TARGET}}/answer" } }]',
        '{ kind = "broken_arguments", times = 1 }',
        "The arguments are no JSON object",
    ),
    "an argument that does not exist": (
        '[{ name = "http_get", arguments = { url = "{{var TARGET}}/answer", body = "x" } }]',
        "",
        "'body' is not an argument of http_get",
    ),
    "no argument": ('[{ name = "http_get" }]', "", "'url' is missing"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", WRONG)
async def test_a_call_that_cannot_be_made_is_answered_and_the_model_goes_on(stage, name, dialect):
    calls, fault, said = WRONG[name]
    stage.environment["STEERSMAN_MODEL"] = f"{dialect}:scripted"
    line = fault and f"fault = {fault}"
    last = '[[plays.rounds]]\nsay = "I could not."'
    stage.plays(f'[[plays]]\n[[plays.rounds]]\nsay = "I try."\ncalls = {calls}\n{line}\n{last}')
    await stage.start()

    thread = await stage.asks("restart web-3")

    (run,) = await thread.settled()
    await thread.card("done")
    assert (run.reason, stage.targets.paths, len(stage.model.requests)) == ("completed", [], 2)
    assert said in told_to_the_model(stage)
    await goes_on(stage, thread)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_nul_and_half_characters_pass_through_people_models_and_cards(database_url, dialect):
    async with Stage.open(database_url, variables=BAD) as stage:
        stage.environment["STEERSMAN_MODEL"] = f"{dialect}:scripted"
        stage.targets.bodies["/answer"] = (b"all is well", "text/plain")
        stage.plays(READ.replace("read", "read{{var NUL}}{{var LONE}}"))
        await stage.start()

        thread = await stage.asks("why is\x00 checkout \ud800slow?")

        (run,) = await thread.settled()
        card = await thread.card("done")
        (answer,) = await stage.slack.wait_for(thread.answers)
        assert run.reason == "completed"
        assert "all is well" in words_of(answer)
        assert "checkout" in lines_of(card)[0] + words_of(card)
        await thread.says("and\x00 now\udfff?")
        await goes_on(stage, thread)


NOTHING = """
[[plays]]
when = "and now"
[[plays.rounds]]
say = "Well."

[[plays]]
[[plays.rounds]]
say = "{{var NOTHING}}"
"""


@pytest.mark.parametrize("nothing", ["\u200b", " \n\t", "\u2060\ufeff"])
async def test_an_answer_that_shows_nothing_is_no_answer(database_url, nothing):
    async with Stage.open(database_url, variables={"NOTHING": nothing}) as stage:
        stage.plays(NOTHING)
        await stage.start()

        thread = await stage.asks("why is checkout slow?")

        (run,) = await thread.settled()
        assert (run.reason, run.final_event_id) == ("empty", None)
        await thread.card("no answer")
        await goes_on(stage, thread)
        assert [words_of(each) for each in await stage.slack.wait_for(thread.answers)] == ["Well."]
