"""Field reports of other classes whose parts exist already."""

import asyncio
import json

import pytest

from bot.egress.rules import AllowRule, EgressRules, Permit, Refusal, parse_url
from bot.llm.script import Call, Gate, Play, Round
from tests.stories.field.replay import FOUND, Replay, gated, outcomes, refused, sent
from tests.stories.stage import ANA, BEN, WITHIN_S

LOGS = "gate/get_logs"
IDLE = (
    "select count(*) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'"
    " and state_change < clock_timestamp() - interval '1 s'"
)


async def test_pb_012_a_paused_run_holds_no_lock_and_no_transaction_and_others_go_on(stage):
    replay = Replay(stage, "PB-012")
    stage.plays(WAITS_FOR_LOGS)
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached(LOGS)
    await thread.clicks("Pause")
    stage.targets.open(LOGS)
    await thread.card("paused")

    events = [replay.send("Ev001", ts=f"17900001{n:02}.000100", text="a word aside") for n in range(49)]
    note = replay.send("Ev001", ts="1790000150.000100", thread_ts=thread.ts, text="look at the HPA too")
    acked = await asyncio.gather(*(each.acked(WITHIN_S) for each in (*events, note)))
    held = "select count(*) from pg_locks where locktype = 'advisory'"
    holds_nothing = (await stage.reader.fetchval(IDLE), await stage.reader.fetchval(held))
    waiting = await stage.reader.fetchval("select verdict from inbox where state = 'waiting'")
    await thread.clicks("Resume")

    (run,) = await thread.settled()
    assert all(acked)
    assert holds_nothing == (0, 0)
    assert waiting == "hold"
    assert (run.reason, len(thread.cards())) == ("completed", 1)
    assert "look at the HPA too" in sent(stage)


WAITS_FOR_LOGS = """
[[plays]]
when = "HPA"
[[plays.rounds]]
say = "I looked at the HPA."
[[plays]]
[[plays.rounds]]
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/get_logs" } }]
[[plays.rounds]]
say = "The log is clean."
"""


def _urls(replay):
    return [call["args"]["url"] for said in replay.all_of("llm") for call in said["calls"]]


async def test_pb_034_inner_addresses_in_any_spelling_are_blocked_and_each_leaves_a_line(stage):
    replay = Replay(stage, "PB-034")
    replay.follow()
    await stage.start()

    thread = await replay.ask()

    (run,) = await thread.settled()
    rules = [row["blocked_by"] for row in await stage.reader.fetch("select blocked_by from tool_calls")]
    assert (run.reason, await outcomes(stage)) == ("completed", ["blocked"] * len(_urls(replay)))
    lines = [row["url"] for row in await stage.reader.fetch("select url from tool_attempts where outcome = 'blocked'")]
    assert all(rule.startswith("egress.") for rule in rules)
    assert stage.targets.paths == []
    assert len(lines) == len(_urls(replay))
    assert {"http://[::ffff:a9fe:a9fe]/", "http://[64:ff9b::a9fe:a9fe]/"} <= set(lines)


def test_pb_034_no_rule_of_an_operator_can_open_an_inner_address():
    for url in _urls(Replay(None, "PB-034")):
        target = parse_url(url)

        named = [] if isinstance(target, Refusal) else [AllowRule(target.scheme, target.host, (target.port,), "/")]
        judged = EgressRules(tuple(named)).judge("GET", url)

        assert isinstance(judged, Refusal), url
        assert judged.rule in {"egress.host", "egress.port", "egress.address"}, url


def test_pb_035_only_the_host_itself_passes_the_list():
    replay = Replay(None, "PB-035")
    (config,) = replay.all_of("config")
    rules = EgressRules.parse([f"https://{host}:443" for host in config["allow_domains"]], [])

    urls = _urls(replay)
    passed = [n for n, url in enumerate(urls, 1) if not isinstance(rules.judge("GET", url), Refusal)]
    without_dot = rules.judge("GET", urls[6].replace("./d", "/d"))

    assert passed == []
    assert isinstance(without_dot, Permit)
    assert without_dot.target.host == "grafana.example"


async def test_pb_038_talk_between_people_neither_stops_nor_cuts_and_is_read_once_later(stage):
    replay = Replay(stage, "PB-038")
    stage.plays(WAITS_FOR_LOGS)
    stage.limits["patience_s"] = None
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached(LOGS)

    await replay.tell("Ev150")
    (run,) = await thread.runs()
    untouched = (run["state"], run["cut_by"])
    verdict = await stage.reader.fetchval("select verdict from inbox where author = $1", BEN)
    await replay.tell("Ev151")
    stage.targets.open(LOGS)

    steered, completed = await thread.settled(2)
    assert untouched == ("running", None)
    assert verdict == "note"
    assert sent(stage).count("stop worrying, I think it is DNS again") == 1
    # Ana asked for the run, so her own plain words steer it.
    assert (steered.reason, steered.decided_by, completed.reason) == ("steered", ANA, "completed")


@pytest.mark.parametrize("said", [None, "look at the HPA"], ids=["stop", "steer"])
async def test_pb_053_an_early_stop_or_steer_is_no_failure_and_starts_nothing_later(stage, said):
    replay = Replay(stage, "PB-053")
    stage.plays(WAITS_FOR_LOGS)
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached(LOGS)

    if said:
        await thread.says(said)
    else:
        await thread.clicks("Stop")

    run = (await thread.settled(2 if said else 1))[0]
    await thread.card("steered" if said else "stopped", 0)
    assert (run.reason, run.error) == ("steered" if said else "stopped", None)
    assert len(await thread.runs()) == (2 if said else 1)
    assert await stage.reader.fetchval("select sum(attempts) from runs") == 0
    assert refused(stage) == []


async def test_pb_054_every_call_of_a_run_goes_to_the_thread_of_its_row(stage):
    replay = Replay(stage, "PB-054")
    say = {text: Round(f"{text} is over.") for text in ("incident A", "incident B", "eu-west")}
    gates = {"incident B": Gate("b", "before_end"), "eu-west": Gate("a", "before_end")}
    tool = Round(calls=(Call("http_get", {"url": "{{var TARGET}}/gate/a"}),))
    replay.follow(
        Play("eu-west", gated((say["eu-west"],), 0, gates["eu-west"])),
        Play("incident B", gated((say["incident B"],), 0, gates["incident B"])),
        rounds=(tool, say["incident A"]),
    )
    await stage.start()
    first, second = await replay.ask("Ev110"), await replay.ask("Ev111")
    await stage.targets.reached("gate/a")
    await replay.tell("Ev112")
    await stage.model.gate_reached("a")
    await stage.model.gate_reached("b")

    stage.model.open_gate("b")
    await stage.slack.wait_for(second.answers, WITHIN_S)
    stage.model.open_gate("a")
    await stage.slack.wait_for(first.answers, WITHIN_S)

    threads = [call.arguments["thread_ts"] for call in stage.slack.calls("chat.postMessage")]
    rows = await stage.reader.fetch("select distinct thread_ts from cards order by 1")
    assert {*threads} == {"1790000110.001700", "1790000111.002000"}
    assert [row["thread_ts"] for row in rows] == ["1790000110.001700", "1790000111.002000"]
    assert "eu-west is over." in json.dumps(list(first.answers()[0].blocks))
    assert "incident B is over." in json.dumps(list(second.answers()[0].blocks))
    assert (len(first.answers()), len(second.answers())) == (1, 1)


@pytest.mark.parametrize("model", ["openai:scripted", "anthropic:scripted"])
@pytest.mark.parametrize("by", ["stop", "steer"])
async def test_pb_057_a_cut_closes_the_connection_to_the_model_and_keeps_the_cost(stage, model, by):
    replay = Replay(stage, "PB-057")
    (given,) = replay.all_of("llm_http")
    pieces = Round("word " * given["sse_chunks"], chunks=given["sse_chunks"], gate=Gate("half", "chunk:10"))
    replay.follow(Play("never mind", (Round(FOUND),)), rounds=(pieces,))
    stage.environment["STEERSMAN_MODEL"] = model
    await stage.start()
    thread = await replay.ask()
    await stage.model.gate_reached("half")

    if by == "stop":
        await thread.clicks("Stop")
    else:
        await thread.says("never mind")

    async with asyncio.timeout(WITHIN_S):
        await stage.model.requests[0].ended.wait()
    run = (await thread.settled())[0]
    request = stage.model.requests[0]
    assert request.left_at is not None
    assert request.chunks_sent < 10
    assert run.reason == {"stop": "stopped", "steer": "steered"}[by]
    spent = await stage.reader.fetchrow("select reported, input_tokens from usage where run_id = $1", run.run_id)
    assert (spent["reported"], spent["input_tokens"] > 0) == (False, True)
