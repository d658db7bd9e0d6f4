"""Secrets lent to a run: put in last, shown to nobody, and gone with the run."""

import pytest

from bot.egress.client import EgressRequest
from bot.egress.loans import Loan
from bot.egress.rules import EgressRules, RuleEntry, SecretUse
from bot.errors import ToolBlockedError
from bot.interrupts.brake import Brake
from bot.interrupts.watcher import LiveRuns
from bot.rules.terms import InterruptKind
from tests.egress.site import client_of, fetch, says, serving

USE = SecretUse("grafana")


def source(name: str) -> str:
    return {"grafana": "planted-secret-value"}.get(name, "")


def lending(site, **use) -> EgressRules:
    entry = RuleEntry(f"http://{site.pair}", cidr=("10.0.0.0/8",), secret=SecretUse("grafana", **use))
    return EgressRules.parse([entry], [site.pair])


async def test_the_rules_secret_is_in_the_request_and_nowhere_in_the_reply():
    attempts = []

    async def record(attempt):
        attempts.append(attempt)

    async with serving(metrics=says("up 1")) as site:
        client = client_of(lending(site), secret_of=source, record=record)
        reply = await fetch(client, site.url("/metrics"))

    assert site.seen[0].headers["Authorization"] == "Bearer planted-secret-value"
    assert "planted-secret" not in repr((reply, attempts, client.rules))


async def test_another_header_carries_it_where_the_rule_says_so_whatever_the_caller_sets():
    async with serving(metrics=says("up 1")) as site:
        client = client_of(lending(site, header="X-Api-Key", scheme=""), secret_of=source)
        request = EgressRequest(site.url("/metrics"), "r1", headers=(("x-api-key", "mine"),))
        await client.fetch(request, Brake())

    assert site.seen[0].headers.getall("X-Api-Key") == ["planted-secret-value"]


async def test_a_caller_may_name_a_secret_where_its_rule_names_none():
    async with serving(metrics=says("up 1")) as site:
        client = client_of(site.rules(), secret_of=source)
        await client.fetch(EgressRequest(site.url("/metrics"), "r1", lend=USE), Brake())

    assert site.seen[0].headers["Authorization"] == "Bearer planted-secret-value"


async def test_a_secret_that_is_not_set_sends_nothing():
    async with serving(metrics=says("up 1")) as site:
        with pytest.raises(ToolBlockedError, match="grafana is not set"):
            await fetch(client_of(lending(site)), site.url("/metrics"))

    assert site.seen == []


@pytest.mark.parametrize("kind", [InterruptKind.STOP, InterruptKind.ROLLBACK])
def test_a_brake_ends_the_loan_for_good(kind: InterruptKind):
    loan, brake = Loan(source), Brake()
    before = loan.header(USE, brake)
    brake.pull(kind)

    with pytest.raises(ToolBlockedError, match="no longer lent"):
        loan.header(USE, brake)
    with pytest.raises(ToolBlockedError, match="no longer lent"):
        loan.header(USE, Brake())

    assert before == ("Authorization", "Bearer planted-secret-value")


def test_a_lost_lease_ends_the_loan():
    loan, brake = Loan(source), Brake()
    brake.lose()

    with pytest.raises(ToolBlockedError, match="no longer lent"):
        loan.header(USE, brake)


def test_the_end_of_a_claim_ends_the_loan_also_for_work_that_was_left_behind():
    live = LiveRuns()
    brake = live.add("run1", "thread1", 1)
    live.remove(brake)

    with pytest.raises(ToolBlockedError, match="no longer lent"):
        Loan(source).header(USE, brake)


@pytest.mark.parametrize("value", ["a\nb", "ключ", "a\x00b"])
def test_a_value_that_no_header_can_carry_is_not_sent_and_not_shown(value: str):
    with pytest.raises(ToolBlockedError) as caught:
        Loan(lambda _name: value).header(USE, Brake())

    assert value not in str(caught.value)
