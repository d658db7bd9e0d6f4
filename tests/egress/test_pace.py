"""One request a second to a public host, whoever asks; the wait listens to the brake and costs no deadline."""

import asyncio

import pytest

from bot.egress.client import EgressRequest
from bot.egress.rate_limit import Pace
from bot.errors import ToolBlockedError
from bot.interrupts.brake import Brake
from bot.rules.terms import InterruptKind
from tests.egress.site import LIMIT, Resolver, says
from tests.egress.street import HOST, Street

HOLDING = [InterruptKind.STOP, InterruptKind.ROLLBACK, InterruptKind.PAUSE, InterruptKind.STEER]


@pytest.fixture
async def street():
    async with Street.open(Resolver(["93.184.216.34"]), None, Pace()) as street:
        street.answers["/page"] = says("text")
        yield street


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_runs_share_the_pace_of_a_host(street):
    began = now()

    await asyncio.gather(*(street.fetch(street.client(), "/page") for _ in range(3)))

    assert now() - began >= 2.0
    assert len(street.seen) == 3


async def test_hosts_do_not_wait_for_each_other():
    pace, brake = Pace(), Brake()

    async with asyncio.timeout(LIMIT):
        turns = [await pace.turn(f"h{number}", 0.001, brake) for number in range(50)]

    assert all(turns)


async def test_waiting_for_a_turn_does_not_count_against_the_deadline(street):
    await street.fetch(street.client(), "/page")

    reply = await street.fetch(street.client(), "/page", seconds=0.9)

    assert reply.body == b"text"


@pytest.mark.parametrize("kind", HOLDING)
async def test_a_pulled_brake_ends_the_wait_at_once_and_nothing_leaves(street, kind: InterruptKind):
    brake, pace = Brake(), Pace()
    assert await pace.turn(HOST, 0.001, Brake())
    waiting = asyncio.create_task(pace.turn(HOST, 0.001, brake))

    brake.pull(kind)

    async with asyncio.timeout(LIMIT):
        assert await waiting is False


async def test_a_lost_claim_ends_the_wait(street):
    brake, pace = Brake(), Pace()
    assert await pace.turn(HOST, 0.001, Brake())
    waiting = asyncio.create_task(pace.turn(HOST, 0.001, brake))
    await asyncio.wait([waiting], timeout=0.01)

    brake.lose()

    async with asyncio.timeout(LIMIT):
        assert await waiting is False


async def test_a_drain_lets_the_wait_go_on_and_breaks_no_pace():
    brake, pace = Brake(), Pace()
    brake.pull(InterruptKind.DRAIN)
    began = now()

    async with asyncio.timeout(LIMIT):
        turns = [await pace.turn(HOST, 5.0, brake) for _ in range(3)]

    assert turns == [True] * 3
    assert now() - began >= 0.4


async def test_a_call_that_is_held_back_while_it_waits_is_not_made(street):
    await street.fetch(street.client(), "/page")
    brake = Brake()
    call = asyncio.create_task(street.client().fetch(EgressRequest(f"http://{HOST}/page", "r1"), brake))
    await asyncio.wait([call], timeout=0.05)

    brake.pull(InterruptKind.STOP)

    async with asyncio.timeout(LIMIT):
        assert await call is None
    assert len(street.seen) == 1


async def test_a_peer_that_is_not_the_checked_address_is_left_before_a_byte_is_written(street):
    with pytest.raises(ToolBlockedError, match=r"the connection is with 10\.0\.0\.9 and not with 93") as caught:
        await street.fetch(street.client(says_peer="10.0.0.9"), "/page")

    assert (caught.value.rule, caught.value.sent, street.seen) == ("egress.peer", False, [])
