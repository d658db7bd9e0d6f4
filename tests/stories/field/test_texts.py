"""Field reports of the class text-and-entities, from one end to the other; the pure half is in tests/card."""

import json
import re
from dataclasses import replace

import pytest

from bot.card.text import units
from bot.llm.script import Call, Play, Round
from bot.tools.http_get import MAX_CHARS
from tests.stories.field.replay import Replay, outcomes, refused, sent
from tests.stories.stage import words_of

RINGS = re.compile(r"<(![a-z]+|@[UW]\w+|#\w+|https?:)")
TEXT = "text/plain; charset=utf-8"


def rings_of(message):
    """Everything in a message that Slack would make live: tokens in any of its texts, and elements for people."""
    whole = json.dumps([message.text, list(message.blocks)], ensure_ascii=False)
    return {found for found in RINGS.findall(whole) if not found.startswith("!date")}


def _elements(value):
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from _elements(each)


async def test_pb_020_nothing_from_a_tool_or_the_model_is_alive_in_what_slack_holds(stage):
    replay = Replay(stage, "PB-020")
    replay.follow()
    log, *_ = (each["result"] for each in replay.all_of("tool"))
    stage.targets.bodies["/gate/get_logs"] = (log.encode(), TEXT)
    stage.targets.open("gate/get_logs")
    await stage.start()

    thread = await replay.ask()

    await thread.settled()
    card = await thread.card("done")
    (answer,) = await stage.slack.wait_for(thread.answers)
    kinds = {each.get("type") for each in _elements(answer.blocks) if each}
    shown = [each["text"] for each in _elements(card.blocks) if "safe.example" in str(each.get("text"))]
    assert rings_of(answer) == set()
    assert kinds.isdisjoint({"broadcast", "user", "usergroup", "link"})
    assert [block["text"] for block in answer.blocks] == [
        "&lt;!here&gt; cause found: &lt;!subteam^S0ONCALL&gt; see &lt;`https://evil.test|runbook`&gt;"
    ]
    # Only who asked, which our own code writes.
    assert rings_of(card) == {"@U0ANA"}
    assert {each["user_id"] for each in _elements(card.blocks) if each.get("type") == "user"} <= {"U0ANA"}
    assert all("|" not in each and "grafana.example" in each for each in shown)
    assert await outcomes(stage) == ["ok", "blocked"]
    assert "ERROR <!channel> payment down" in sent(stage)


async def test_pb_021_every_post_of_a_long_answer_is_valid_by_itself(stage):
    replay = Replay(stage, "PB-021")
    line = "**not bold** and | a | b |"
    log = "\n".join(f"{n} {line} {'x' * 60}" for n in range(200))
    (said,) = replay.rounds()
    whole = said.say.replace("(200 lines, one holds **not bold** and | a | b |)", log)
    replay.follow(rounds=(replace(said, say=whole),))
    # Only a host that the operator has named stays a link.
    stage.writable.append("https://wiki.example")
    await stage.start()

    thread = await replay.ask()

    await thread.settled()
    await thread.card("done")
    posts = await stage.slack.wait_for(lambda: thread.answers() if len(thread.answers()) == 3 else None, 20)
    bodies = [block["text"] for post in posts for block in post.blocks]
    code = [each for body in bodies for each in re.findall(r"```log\n(.*?)\n```", body, re.DOTALL)]
    outside = re.sub(r"```.*?```", "", "\n".join(bodies), flags=re.DOTALL)
    assert all(body.count("```") % 2 == 0 for body in bodies)
    assert "\n".join(code) == log
    assert "```\nsvc  p99\n---  ---\napi  2 s\n```" in bodies[-1]
    assert bodies[-1].endswith("[run book](https://wiki.example/a_(b)?x=1&amp;y=2)")
    assert outside.replace("**bold `code()` bold**", "").count("**") == 0
    assert "**" not in re.sub(r"```.*?```", "", posts[0].text, flags=re.DOTALL)
    assert not [call for call in stage.slack.calls("chat.postMessage") if call.error]


async def test_pb_022_a_result_is_cut_between_whole_signs_and_says_how_much_was_left_out(stage):
    replay = Replay(stage, "PB-022")
    (given,) = replay.all_of("tool")
    emoji = given["result"][given["result"].index("\N{PARTY POPPER}")]
    for offset in (-1, 0, 1):
        body = given["result"][0] * (MAX_CHARS - 1 + offset) + emoji + "b" * 50
        stage.targets.bodies[f"/at{offset}"] = (body.encode(), TEXT)
    calls = tuple(Call("http_get", {"url": f"{{{{var TARGET}}}}/at{offset}"}) for offset in (-1, 0, 1))
    replay.follow(rounds=(Round(calls=calls), Round("All of it was a.")))
    await stage.start()

    thread = await replay.ask()

    (run,) = await thread.settled()
    results = [each["content"] for each in stage.model.requests[-1].messages if each["role"] == "tool"]
    endings = [re.search(r"(.{2})\n\[(\d+) more characters left out\]", each).groups() for each in results]
    assert endings == [(f"{emoji}b", "49"), (f"a{emoji}", "50"), ("aa", "51")]
    assert [each.encode().decode() for each in results] == results
    assert run.reason == "completed"
    assert not [call for call in stage.slack.calls() if call.error]


async def test_pb_022_a_long_strange_reply_is_read_whole_and_cannot_turn_the_card_around(stage):
    replay = Replay(stage, "PB-022")
    replay.follow(Play("evil", (Round("Read."),)), rounds=(Round("A first answer."),))
    await stage.start()
    written = replay.event("Ev260")["text"]
    long = written + "\N{COMBINING ACUTE ACCENT}" * (12_000 - len(written))
    thread = await replay.ask()
    await thread.settled()
    await thread.card("done")

    await replay.tell("Ev260", text=long)

    await thread.settled(2)
    card = await thread.card("done", 1)
    title = words_of(card).split(" · ")[0]
    assert long.removeprefix("<@UBOT> ") in sent(stage)
    assert "\u202e" in long
    assert "\u202e" not in json.dumps([card.text, list(card.blocks)], ensure_ascii=False)
    assert title.startswith("Evil")
    assert units(title) <= 200
    assert title.encode().decode() == title
    assert not [call for call in stage.slack.calls() if call.error]


async def test_pb_023_the_model_reads_real_addresses_and_the_check_judges_what_it_read(stage):
    replay = Replay(stage, "PB-023")
    replay.follow(
        Play("p99 > 2s", (Round(calls=(Call("http_get", {"url": "http://evil.test"}),)), Round("It is blocked."))),
        rounds=(Round("A first answer."),),
    )
    await stage.start()
    thread = await replay.ask()
    await thread.settled()

    await replay.tell("Ev270")

    await thread.settled(2)
    card = await thread.card("done", 1)
    read = "check https://grafana.example/d?a=1&b=2 not http://evil.test, p99 > 2s, owner @bob (U0BEN)"
    assert f"@ana: {read}" in sent(stage)
    assert await outcomes(stage) == ["blocked"]
    assert await stage.reader.fetchval("select target from tool_calls") == "evil.test"
    assert "Read evil.test" in json.dumps(card.blocks)
    assert refused(stage) == []


@pytest.mark.parametrize(("typed", "read"), [("&amp;lt;", "&lt;"), ("a &lt; b &amp;&amp; c", "a < b && c")])
async def test_pb_023_what_a_person_typed_is_decoded_exactly_once(stage, typed, read):
    replay = Replay(stage, "PB-023")
    replay.follow(rounds=(Round("An answer."),))
    await stage.start()

    thread = await replay.ask(text=f"<@UBOT> {typed}")

    await thread.settled()
    card = await thread.card("done")
    assert f"@ana: {read}" in sent(stage)
    assert words_of(card).startswith(read[:1].upper() + read[1:])
