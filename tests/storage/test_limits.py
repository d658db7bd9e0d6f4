"""Limits: what one run may spend and how long it may work, and how many may be live at once."""

from decimal import Decimal

import pytest

from bot.rules.limits import LiveLimits, RunLimits
from bot.rules.messages import Usage
from bot.rules.terms import Command
from bot.rules.turn_ends import Cut
from storage import limits, queue, usage, workers
from storage.interrupts import ProbeAnswer
from storage.queue import Claimed, Unclaimed
from storage.usage import Spent
from tests.storage.desk import ts

ONE_EACH = LiveLimits(person=1)


async def spends(desk, claimed, tokens, cost=None):
    number = await desk.value("select count(*) from usage")
    async with desk.database.transaction() as tx:
        spent = Spent("p", "m", Usage(tokens - 1, 1), Decimal(cost) if cost else None)
        await usage.add(tx, claimed.claim.run_id, f"k{number}", spent)


async def looks(desk, claimed, **most):
    """The run reaches a cut point under these limits; what the probe found."""
    async with desk.database.transaction() as tx:
        await limits.end_if_overspent(tx, claimed.claim, RunLimits(**most))
    return await desk.probes(claimed)


async def asks(desk, who, number, channel="C1", team="T1"):
    """Somebody asks in a thread of their own."""
    at = ts(100 + number)
    await desk.says(who, f"{who} {number}", mention=True, thread=at, at=at, channel_id=channel, team_id=team,
                    dedupe_key=f"{team}{channel}{at}")  # fmt: skip


async def claims(desk, most, worker="w1"):
    async with desk.database.transaction() as tx:
        await workers.register(tx, worker)
    async with desk.database.transaction() as tx:
        return await queue.claim(tx, worker, desk.means, limits=most)


async def begun(desk, most):
    """Claim until nothing may begin any more; gives what was claimed, in order."""
    titles = []
    while isinstance(claimed := await claims(desk, most), Claimed):
        titles.append(claimed.run.title)
    assert claimed is Unclaimed.NONE_READY
    return titles


async def held(desk):
    return {row[0]: row[1] for row in await desk.rows("select title, held_by from runs where state = 'queued'")}


# what one run may spend


@pytest.mark.parametrize(
    ("most", "tokens", "cost", "reached"),
    [
        ({"tokens": 100}, 99, None, None),
        ({"tokens": 100}, 100, None, "the limit of 100 tokens"),
        ({"cost_usd": Decimal("0.5")}, 10, "0.49", None),
        ({"cost_usd": Decimal("0.5")}, 10, "0.50", "the limit of 0.5 USD"),
        ({"cost_usd": Decimal("0.5")}, 10, None, None),
        ({}, 10_000_000, "900", None),
    ],
)
async def test_a_run_is_cut_when_it_has_spent_what_it_may(desk, most, tokens, cost, reached):
    claimed = await desk.is_asked()
    await spends(desk, claimed, tokens, cost)

    probed = await looks(desk, claimed, **most)

    assert probed.answer is (ProbeAnswer.CUT if reached else ProbeAnswer.GO_ON)
    assert (probed.cut.requested_by if probed.cut else None) == reached


async def test_a_run_that_overspent_fails_with_the_class_budget_and_says_which_limit(desk):
    claimed = await desk.is_asked()
    await spends(desk, claimed, 500)
    probed = await looks(desk, claimed, tokens=100)

    settled = await desk.settles(claimed, Cut(probed.cut))

    assert settled.reason == "failed"
    (row,) = await desk.rows("select error, detail from settlements")
    assert tuple(row) == ("budget", "the limit of 100 tokens")
    assert [tuple(row) for row in await desk.rows("select kind, source, state from interrupts")] == [
        ("stop", "policy", "done")
    ]


async def test_what_was_spent_before_a_take_over_counts(desk):
    claimed = await desk.is_asked()
    await spends(desk, claimed, 60)
    await desk.gives_back(claimed)
    again = await desk.claims("w2")
    await spends(desk, again, 60)

    probed = await looks(desk, again, tokens=100)

    assert probed.answer is ProbeAnswer.CUT


async def test_a_stop_by_a_person_is_not_turned_into_a_failure_by_a_limit(desk):
    claimed = await desk.is_asked()
    await desk.presses("ana", Command.STOP, claimed.claim.run_id)
    await spends(desk, claimed, 500)

    probed = await looks(desk, claimed, tokens=100)

    assert probed.cut.source == "button"
    assert await desk.value("select count(*) from interrupts") == 1


async def test_a_stale_claim_records_no_limit(desk):
    claimed = await desk.is_asked()
    await spends(desk, claimed, 500)
    await desk.gives_back(claimed)

    await looks(desk, claimed, tokens=100)

    assert await desk.value("select count(*) from interrupts") == 0


async def test_messages_that_wait_start_the_next_run_after_a_limit(desk):
    claimed = await desk.is_asked()
    await desk.alerts("disk full")
    await spends(desk, claimed, 500)
    probed = await looks(desk, claimed, tokens=100)

    await desk.settles(claimed, Cut(probed.cut))

    assert await desk.states() == ["failed", "queued"]


# how long one run may work


async def works_for(desk, run_id, minutes):
    await desk.passes("runs set started_at = started_at", "id", run_id, minutes)


async def ends_overdue(desk, minutes=60.0):
    async with desk.database.transaction() as tx:
        found = await limits.overdue(tx, minutes)
    for thread_id, run_id in found:
        async with desk.database.transaction() as tx:
            await limits.end_overdue(tx, thread_id, run_id, minutes, desk.means)
    return len(found)


async def test_a_run_that_works_for_too_long_is_stopped_whoever_owns_it(desk):
    claimed = await desk.is_asked()
    await works_for(desk, claimed.claim.run_id, 61)

    number = await ends_overdue(desk)

    assert number == 1
    assert await desk.states() == ["cancelling"]
    await desk.ends_hung_stops(-1)
    assert await desk.states() == ["timed_out"]
    assert await desk.value("select decided_by from settlements") == "the limit of 60 minutes"


async def test_a_run_within_its_time_goes_on(desk):
    claimed = await desk.is_asked()
    await works_for(desk, claimed.claim.run_id, 59)

    assert await ends_overdue(desk) == 0
    assert await desk.states() == ["running"]


async def test_a_run_without_a_worker_that_is_out_of_time_is_settled_at_once(desk):
    claimed = await desk.is_asked()
    await desk.gives_back(claimed)
    await works_for(desk, claimed.claim.run_id, 61)

    await ends_overdue(desk)

    assert await desk.states() == ["timed_out"]


async def test_the_time_of_a_pause_is_not_worked(desk):
    claimed = await desk.is_asked()
    await desk.presses("ana", Command.PAUSE, claimed.claim.run_id)
    await desk.probes(claimed)
    await works_for(desk, claimed.claim.run_id, 61)
    await desk.passes("runs set parked_at = parked_at", "id", claimed.claim.run_id, 30)
    await desk.presses("ana", Command.RESUME, claimed.claim.run_id, ref=(await desk.run()).pause_id)

    assert await ends_overdue(desk) == 0
    assert await ends_overdue(desk, 30.0) == 1


async def test_a_paused_run_and_a_queued_one_are_never_out_of_time(desk):
    claimed = await desk.is_asked()
    await desk.presses("ana", Command.PAUSE, claimed.claim.run_id)
    await desk.probes(claimed)
    await works_for(desk, claimed.claim.run_id, 6000)
    await asks(desk, "ben", 1)

    assert await ends_overdue(desk) == 0


# how many may be live at once


async def test_a_second_run_of_a_person_waits_and_says_for_what(desk):
    await asks(desk, "ana", 1)
    await asks(desk, "ana", 2)

    first = await begun(desk, ONE_EACH)

    assert first == ["ana 1"]
    assert await held(desk) == {"ana 2": "person"}


async def test_who_is_held_holds_up_nobody_behind(desk):
    for number, who in enumerate(["ana", "ana", "ana", "ben", "cem"]):
        await asks(desk, who, number)

    titles = await begun(desk, ONE_EACH)

    assert titles == ["ana 0", "ben 3", "cem 4"]
    assert await held(desk) == {"ana 1": "person", "ana 2": "person"}


async def test_when_one_ends_the_one_that_waited_longest_begins(desk):
    for number in range(3):
        await asks(desk, "ana", number)
    first = await claims(desk, ONE_EACH)
    await desk.completes(first)

    titles = await begun(desk, ONE_EACH)

    assert titles == ["ana 1"]
    assert await desk.value("select held_by from runs where title = 'ana 1'") is None


@pytest.mark.parametrize(
    ("most", "held_by"), [(LiveLimits(channel=2), "channel"), (LiveLimits(workspace=3), "workspace")]
)
async def test_a_channel_and_a_workspace_have_limits_of_their_own(desk, most, held_by):
    await asks(desk, "ana", 1)
    await asks(desk, "ben", 2)
    await asks(desk, "cem", 3, channel="C2")
    await asks(desk, "dan", 4)
    await asks(desk, "eva", 5, team="T2")

    titles = await begun(desk, most)

    assert titles == ["ana 1", "ben 2", "cem 3", "eva 5"]
    assert await held(desk) == {"dan 4": held_by}


async def test_the_narrowest_limit_is_the_one_that_is_named(desk):
    await asks(desk, "ana", 1)
    await asks(desk, "ana", 2)
    await asks(desk, "ben", 3)

    await begun(desk, LiveLimits(person=1, channel=1, workspace=1))

    assert await held(desk) == {"ana 2": "person", "ben 3": "channel"}


async def test_a_run_that_has_begun_is_never_held_when_it_goes_on(desk):
    await asks(desk, "ana", 1)
    first = await claims(desk, ONE_EACH)
    await desk.gives_back(first)

    again = await claims(desk, ONE_EACH, "w2")

    assert again.run.id == first.run.id


async def test_a_paused_run_takes_no_place(desk):
    await asks(desk, "ana", 1)
    first = await claims(desk, ONE_EACH)
    await desk.presses("ana", Command.PAUSE, first.claim.run_id, thread_ts=ts(101))
    await desk.probes(first)
    await asks(desk, "ana", 2)

    assert await begun(desk, ONE_EACH) == ["ana 2"]


async def test_alerts_are_held_by_their_channel_and_by_no_person(desk):
    for number in range(3):
        await desk.alerts(f"alert {number}", thread=ts(100 + number), at=ts(100 + number))

    titles = await begun(desk, LiveLimits(person=1, channel=2))

    assert titles == ["alert 0", "alert 1"]
    assert await held(desk) == {"alert 2": "channel"}


async def test_a_held_run_is_noted_once_and_its_card_is_painted_for_it(desk):
    await asks(desk, "ana", 1)
    await asks(desk, "ana", 2)
    wanted = "select c.wanted_rev from cards c join runs r on r.id = c.run_id where r.title = 'ana 2'"
    before = await desk.value(wanted)
    await begun(desk, ONE_EACH)

    await begun(desk, ONE_EACH)

    assert await desk.value(wanted) == before + 1


async def test_without_limits_everything_that_waits_begins(desk):
    for number in range(4):
        await asks(desk, "ana", number)

    assert len(await begun(desk, LiveLimits())) == 4
