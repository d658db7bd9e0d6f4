"""A declared action as a tool: strict in, once out, and true about what came of it; against real servers."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from bot.egress.client import EgressClient, EgressMeans
from bot.egress.rules import EgressRules
from bot.egress.rules import RuleEntry as Allowed
from bot.errors import ToolArgumentsError, ToolBlockedError
from bot.interrupts.brake import Brake
from bot.rules.http_actions import HttpAction, Parameter, ParameterType
from bot.rules.messages import JsonObject
from bot.rules.terms import CallOutcome, Grade, InterruptKind
from bot.rules.tool_policy import ApprovalTerms
from bot.tools.action import ActionRates, ActionTool
from bot.tools.tool import CallLabel, ToolAnswer, ToolContext
from tests.egress.site import LIMIT, Site, hangs, in_turn, says, serving

SERVICE = Parameter("service", ParameterType.STRING, choices=("checkout", "gateway"))
REASON = Parameter("reason", ParameterType.STRING)
GOOD = {"service": "checkout", "reason": "stuck & slow"}


def restart(site: Site, **changed: Any) -> HttpAction:
    action = HttpAction(
        name="restart_service",
        description="Restart a service.",
        method="POST",
        url=site.url("/restart?service={service}"),
        title="restart {service}",
        parameters=(SERVICE, REASON),
        body='{"reason": "{reason}"}',
        approvers=("U0ANA", "S0ONCALL"),
        needed=2,
        not_requester=True,
        expires_s=60.0,
    )
    return replace(action, **changed)


def tool_of(site: Site, action: HttpAction, rates: ActionRates | None = None, **more: Any) -> ActionTool:
    """The tool behind a door that lets it out, and nothing else."""
    allow = Allowed(action.url.partition("?")[0], methods=(action.method,), grade=action.grade, api=True)
    rules = EgressRules.parse([allow], [site.pair])
    client = EgressClient(rules, means=EgressMeans(**more.pop("means", {})))
    return ActionTool(action, client, rates or ActionRates(), **more)


async def ran(tool: ActionTool, arguments: JsonObject = GOOD, brake: Brake | None = None) -> ToolAnswer:
    async with asyncio.timeout(LIMIT):
        return await tool.run(arguments, ToolContext("req000001", "run1", brake or Brake()))


async def keeps(request: web.Request) -> web.Response:
    """Answer with what came."""
    kept = {"body": await request.text(), "query": request.rel_url.raw_query_string, **dict(request.headers)}
    return web.json_response(kept)


async def breaks_off(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def test_the_call_goes_out_as_it_was_shown_with_the_request_id_as_its_key():
    async with serving(restart=keeps) as site:
        tool = tool_of(site, restart(site))
        answer = await ran(tool)

    seen = json.loads(answer.text.partition("\n\n")[2])
    assert (seen["query"], json.loads(seen["body"])) == ("service=checkout", {"reason": "stuck & slow"})
    assert (seen["Idempotency-Key"], seen["Content-Type"]) == ("req000001", "application/json")
    assert seen["body"] in tool.shown(GOOD)
    assert tool.shown(GOOD).startswith(f"POST {site.url('/restart?service=checkout')}\n")
    assert (answer.outcome, answer.method, answer.status) == (CallOutcome.OK, "POST", 200)
    assert answer.url == site.url("/restart")


async def test_a_write_carries_the_terms_of_its_approval():
    async with serving() as site:
        tool = tool_of(site, restart(site))

    assert tool.approval == ApprovalTerms(("U0ANA", "S0ONCALL"), needed=2, not_requester=True, expires_s=60.0)
    assert tool.schema.grade is Grade.WRITE


async def test_a_read_action_is_a_read_tool_that_takes_only_what_it_declares():
    async with serving(find=keeps) as site:
        action = restart(site, method="GET", grade=Grade.READ, url=site.url("/find?q={service}-{reason}"), body="")
        answer = await ran(tool_of(site, action))

    assert json.loads(answer.text.partition("\n\n")[2])["query"] == "q=checkout-stuck%20%26%20slow"
    assert (action.schema().grade, site.seen[0].method) == (Grade.READ, "GET")


async def test_a_post_that_was_declared_to_only_read_is_sent_with_its_body():
    async with serving(query=keeps) as site:
        answer = await ran(tool_of(site, restart(site, grade=Grade.READ, url=site.url("/query?s={service}"))))

    assert json.loads(json.loads(answer.text.partition("\n\n")[2])["body"]) == {"reason": "stuck & slow"}


@pytest.mark.parametrize("arguments", [{}, GOOD | {"service": "database"}, GOOD | {"url": "https://evil.test"}])
async def test_arguments_that_do_not_fit_reach_nobody(arguments):
    async with serving(restart=says("done")) as site:
        tool = tool_of(site, restart(site))
        with pytest.raises(ToolArgumentsError, match="Send service"):
            await ran(tool, arguments)
        with pytest.raises(ToolArgumentsError, match="Send service"):
            tool.shown(arguments)

    assert site.seen == []


async def test_the_card_names_the_call_by_its_title_and_where_it_goes():
    async with serving() as site:
        tool = tool_of(site, restart(site))

    assert tool.label(GOOD) == CallLabel("restart checkout", f"{site.pair}/restart")
    assert tool.label({"service": 7}) == CallLabel("restart service", "arguments that do not fit")
    assert tool.label({}).title == "restart service"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, CallOutcome.OK),
        (204, CallOutcome.OK),
        (303, CallOutcome.OK),
        (400, CallOutcome.FAILED),
        (409, CallOutcome.FAILED),
        (500, CallOutcome.FAILED),
        (502, CallOutcome.UNKNOWN),
        (504, CallOutcome.UNKNOWN),
    ],
)
async def test_the_status_of_a_write_says_whether_it_worked(status, outcome):
    async with serving(restart=says("" if status == 204 else "x", status)) as site:
        answer = await ran(tool_of(site, restart(site)))

    assert (answer.outcome, answer.status, len(site.seen)) == (outcome, status, 1)
    assert answer.text.startswith(f"HTTP {status}")


async def test_an_error_status_of_a_read_is_what_was_looked_for():
    async with serving(find=says("gone", 404)) as site:
        action = restart(site, method="GET", grade=Grade.READ, url=site.url("/find?q={service}-{reason}"), body="")
        answer = await ran(tool_of(site, action))

    assert (answer.outcome, answer.status) == (CallOutcome.OK, 404)


async def test_of_a_write_whose_answer_broke_off_nobody_knows_and_it_is_not_sent_again():
    async with serving(restart=breaks_off) as site:
        answer = await ran(tool_of(site, restart(site)))

    assert answer.outcome is CallOutcome.UNKNOWN
    assert answer.text.startswith("outcome unknown: ")
    assert answer.text.endswith("; check what happened before trying again")
    assert len(site.seen) == 1


async def test_of_a_write_that_takes_too_long_nobody_knows():
    async with serving(restart=hangs) as site:
        answer = await ran(tool_of(site, restart(site), seconds=0.2))

    assert (answer.outcome, len(site.seen)) == (CallOutcome.UNKNOWN, 1)


async def test_a_write_that_never_left_is_told_as_failed():
    async with serving() as site:
        action = restart(site)
        tool = tool_of(site, action)

    answer = await ran(tool)

    assert answer.outcome is CallOutcome.FAILED
    assert "cannot be reached" in answer.text


async def test_only_an_idempotent_write_is_sent_again_and_with_the_same_key():
    async with serving(restart=in_turn(says("busy", 503), says("done"))) as site:
        once = await ran(tool_of(site, restart(site)))
        assert (once.status, len(site.seen)) == (503, 1)

    async with serving(restart=in_turn(says("busy", 503), says("done"))) as site:
        answer = await ran(tool_of(site, restart(site, idempotent=True)))

    assert (answer.status, len(site.seen)) == (200, 2)
    assert {request.headers["Idempotency-Key"] for request in site.seen} == {"req000001"}


async def test_a_write_is_not_sent_to_where_a_redirect_leads():
    async with serving(restart=says("", 307, Location="/other"), other=says("done")) as site:
        answer = await ran(tool_of(site, restart(site)))

    assert answer.outcome is CallOutcome.UNKNOWN
    assert [request.path for request in site.seen] == ["/restart"]


async def test_a_braked_action_does_not_start():
    brake = Brake()
    brake.pull(InterruptKind.STOP)
    async with serving(restart=says("done")) as site:
        answer = await ran(tool_of(site, restart(site)), brake=brake)

    assert (answer.outcome, site.seen) == (CallOutcome.NOT_STARTED, [])


async def test_an_action_runs_no_more_often_than_it_may():
    rates = ActionRates()
    async with serving(restart=says("done")) as site:
        action = restart(site, per_minute=2)
        for _ in range(2):
            await ran(tool_of(site, action, rates))

        with pytest.raises(ToolBlockedError, match=r"action\.rate: .* 2 times a minute\. Try again in \d+ s"):
            await ran(tool_of(site, action, rates))
        await ran(tool_of(site, restart(site, name="other", per_minute=1), rates))

    assert len(site.seen) == 3


async def test_a_secret_is_lent_by_the_door_and_shown_by_name_only():
    async with serving(restart=keeps) as site:
        lent = {"secret_of": lambda _: "s3cret-value-of-mine"}
        tool = tool_of(site, restart(site, secret="DEPLOY_TOKEN"), means=lent)
        answer = await ran(tool)
        sent = site.seen[0].headers["Authorization"]

    assert sent == "Bearer s3cret-value-of-mine"
    assert "with the secret DEPLOY_TOKEN" in tool.shown(GOOD)
    assert "s3cret" not in tool.shown(GOOD)
    assert answer.outcome is CallOutcome.OK
