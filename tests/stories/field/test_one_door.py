"""Field reports of the classes ssrf-and-allow-list and retry-or-stream-after-cancel, through the whole bot."""

import pytest

from bot.llm.script import Call, Fault, FaultKind, Round
from tests.egress.site import says, serving
from tests.stories.field.replay import FOUND, Replay

ATTEMPTS = (
    "select a.attempt, a.status, a.outcome, a.rule from tool_attempts a join tool_calls c using (request_id)"
    " order by c.started_at, a.attempt"
)


@pytest.mark.parametrize(
    ("location", "rule"),
    [
        (None, "egress.allow"),
        ("http://[::1]:5432/", "egress.allow"),
        ("file:///etc/passwd", "egress.scheme"),
        ("https://other.example/", "egress.allow"),
    ],
    ids=["metadata", "loopback", "file", "other host"],
)
async def test_pb_032_where_a_redirect_leads_is_judged_before_a_socket_is_opened(stage, location, rule):
    replay = Replay(stage, "PB-032")
    (answers,) = replay.all_of("server")
    status, _, given = next(iter(answers.values())).partition(" ")
    async with serving(r=says(status=int(status), Location=location or given)) as site:
        stage.readable.append(site.url(""))
        call = Call("http_get", {"url": site.url("/r")})
        replay.follow(rounds=(Round(calls=(call,)), Round(FOUND)))
        await stage.start()

        thread = await replay.ask()

        (run,) = await thread.settled()
        card = await thread.card("done")
    row = await stage.reader.fetchrow("select outcome, blocked_by from tool_calls")
    chain = [tuple(each) for each in await stage.reader.fetch(ATTEMPTS)]
    assert (run.reason, row["outcome"], row["blocked_by"]) == ("completed", "blocked", rule)
    assert "redirect to" in str(stage.model.requests[-1].messages)
    assert [(number, outcome) for number, _, outcome, _ in chain][:1] == [(1, "answered")]
    assert chain[0][1] == 302
    assert rule in str(card.blocks)
    assert [request.path for request in site.seen] == ["/r"]


async def test_pb_032_a_chain_of_twelve_hops_ends_at_the_limit(stage):
    replay = Replay(stage, "PB-032")
    hops = {f"n{number}": says(status=302, Location=f"/n{number + 1}") for number in range(12)}
    async with serving(**hops) as site:
        stage.readable.append(site.url(""))
        call = Call("http_get", {"url": site.url("/n0")})
        replay.follow(rounds=(Round(calls=(call,)), Round(FOUND)))
        await stage.start()

        thread = await replay.ask()

        await thread.settled()
    assert await stage.reader.fetchval("select blocked_by from tool_calls") == "egress.redirect"
    assert len(site.seen) == 6


async def test_pb_035_the_card_and_the_audit_name_the_real_host(stage):
    replay = Replay(stage, "PB-035")
    replay.follow()
    await stage.start()

    thread = await replay.ask()

    await thread.settled()
    card = str((await thread.card("done")).blocks)
    lines = [row["url"] for row in await stage.reader.fetch("select url from tool_attempts order by started_at")]
    assert len(lines) == len(replay.all_of("llm"))
    assert "https://evil.test/" in lines
    assert not [line for line in lines if "@" in line.partition("\\")[0]]
    assert "grafana.example@" not in card


async def test_pb_056_a_service_that_was_away_once_is_asked_again_and_the_run_completes(stage):
    replay = Replay(stage, "PB-056")
    fault = Fault(FaultKind.STATUS, status=529, times=1)
    replay.follow(rounds=(Round(FOUND, fault=fault),))
    await stage.start()

    thread = await replay.ask()

    (run,) = await thread.settled()
    assert run.reason == "completed"
    assert len(stage.model.requests) == 2
