"""Field reports of the class secrets-shown: what a model puts into a call stands nowhere with its secrets."""

import json

from bot.llm.script import Call, Round
from tests.stories.field.replay import FOUND, Replay
from tests.stories.planted import found_in, leaks_of

HIDDEN = {"app token": "xapp-1-A0FAKE-000-deadbeef", "password": "p4ss", "token in a query": "glsa_FAKE"}


async def test_pb_065_neither_card_nor_audit_nor_history_repeats_the_secrets_of_a_blocked_call(stage):
    replay = Replay(stage, "PB-065")
    given = json.dumps(replay.given)
    calls = [Call(each["name"], each["args"]) for said in replay.all_of("llm") for each in said["calls"]]
    replay.follow(rounds=(Round(calls=tuple(calls)), Round(FOUND)))
    await stage.start()

    thread = await replay.ask()

    (run,) = await thread.settled()
    await thread.card("done")
    await stage.slack.wait_for(thread.answers)
    rows = await stage.reader.fetch(
        "select tool, arguments::text as said, blocked_by from tool_calls order by position"
    )
    said = "\n".join(row["said"] for row in rows)
    assert found_in(given, HIDDEN) == set(HIDDEN)
    assert run.reason == "completed"
    assert await leaks_of(stage, HIDDEN) == {}
    assert {row["tool"] for row in rows} == {"write_file", "http_get"}
    assert all(row["blocked_by"] for row in rows)
    # Which file, which name of a key and which host a person may still see.
    assert all(word in said for word in (".env", "SLACK_APP_TOKEN=[redacted]", "grafana.example/api?token=[redacted]"))
