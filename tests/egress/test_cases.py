"""The shared cases, each through the real client with the resolver of the case; nothing is dialled in earnest."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.egress.client import EgressRequest
from bot.egress.rules import EgressRules
from bot.errors import SettingsError, ToolBlockedError, ToolError
from bot.interrupts.brake import Brake
from bot.interrupts.retries import ONCE
from tests.egress.site import Dial, Resolver, client_of

CASES = [json.loads(line) for line in Path("tests/cases/egress.jsonl").read_text(encoding="utf-8").splitlines()]
BY_RULE = {"baseline", "match", "scheme", "parser", "idn", "literal", "address", "name", "method"}
LIVE = {"header", "proxy", "response"}
"""In tests/egress/test_live_cases.py alone; what is redirected or rebound is played there too."""


def of_class(*names: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["cls"] in names]


async def call(case: dict[str, Any], dial: Dial, resolver: Resolver) -> str | None:
    """Make the call of a case; the rule that refused it, or None where it was dialled."""
    try:
        rules = EgressRules.parse(case["allowlist"], [])
        client = client_of(rules, resolve=resolver, retry=ONCE, network=dial)
        await client.fetch(EgressRequest(case["url"], "r1", case.get("method", "GET")), Brake())
    except SettingsError as error:
        return error.name
    except ToolBlockedError as error:
        return error.rule
    except ToolError:
        return None
    raise AssertionError(case)


@pytest.mark.parametrize("case", of_class(*BY_RULE))
async def test_a_call_is_dialled_exactly_where_the_case_allows_it(case: dict[str, Any]):
    dial, resolver = Dial(), Resolver(case["resolves_to"])

    refused_by = await call(case, dial, resolver)

    assert (refused_by is None) == (case["expect"] == "allow"), (refused_by, case["why"])
    assert [address for address, _port in dial.dialled] == (case["resolves_to"] if refused_by is None else [])


@pytest.mark.parametrize("case", of_class("match", "scheme", "parser", "idn", "name", "literal", "method"))
async def test_a_url_that_is_refused_by_its_text_is_never_looked_up(case: dict[str, Any]):
    resolver = Resolver(case["resolves_to"])

    refused_by = await call(case, Dial(), resolver)

    led_elsewhere = case["id"] in {"S020", "S021"}
    assert len(resolver.questions) == (1 if refused_by is None or led_elsewhere else 0)


@pytest.mark.parametrize("case", of_class("redirect"))
async def test_where_a_redirect_leads_is_judged_like_any_other_call(case: dict[str, Any]):
    ((_status, location, addresses),) = case["redirects"]
    second = {**case, "url": location}
    dial = Dial()

    first_refused = await call(case, Dial(), Resolver(case["resolves_to"]))
    second_refused = await call(second, dial, Resolver(addresses))

    assert first_refused is None
    assert (second_refused is None) == (case["expect"] == "allow")
    assert bool(dial.dialled) == (case["expect"] == "allow")


@pytest.mark.parametrize("case", of_class("rebind"))
async def test_a_name_that_answers_differently_later_is_dialled_where_it_was_checked(case: dict[str, Any]):
    dial, resolver = Dial(), Resolver(case["resolves_to"], case["resolves_later"])

    refused_by = await call(case, dial, resolver)

    assert refused_by is None
    assert dial.dialled == [(case["resolves_to"][0], 443)]
    assert len(resolver.questions) == 1


def test_every_case_has_a_test():
    classes = {case["cls"] for case in CASES}

    assert classes == BY_RULE | {"redirect", "rebind"} | LIVE
