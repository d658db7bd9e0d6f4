"""What a run did is read as it stands in the audit, for those who may see it."""

from bot.rules.card_facts import StepState
from bot.rules.terms import CallOutcome, Command, Grade
from storage import attempts, deeds
from storage.attempts import AttemptRow


async def did(desk):
    run = await desk.run()
    async with desk.database.transaction() as tx:
        return await deeds.of_run(tx, run)


async def test_every_call_of_a_run_is_told_in_order(desk, database):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", start=True)
    await desk.calls(claimed, "write0001", grade=Grade.WRITE)
    await desk.ends_call("read00001", CallOutcome.BLOCKED)
    await desk.raw.execute("update tool_calls set blocked_by = 'rule 7', approved_by = 'ben' where grade = 'read'")
    async with database.transaction() as tx:
        await attempts.add(tx, [AttemptRow("req-read00001", n, "GET", "http://site") for n in (1, 2)])

    found = await did(desk)

    first, second = found.deeds
    assert (found.run_id, found.requested_by, found.calls) == (claimed.run.id, "ana", 2)
    assert (first.state, first.blocked_by, first.approved_by, first.requests, first.step) == (
        StepState.BLOCKED, "rule 7", "ben", 2, 1,
    )  # fmt: skip
    assert (second.state, second.grade, second.requests) == (StepState.WAITING, Grade.WRITE, 0)


async def test_of_very_many_calls_the_newest_are_read_and_all_are_counted(desk):
    claimed = await desk.is_asked()
    names = [f"read{n:05d}" for n in range(deeds.MOST + 5)]
    await desk.calls(claimed, *names)

    found = await did(desk)

    assert (found.calls, len(found.deeds)) == (deeds.MOST + 5, deeds.MOST)


async def test_another_run_of_the_thread_is_not_told(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", start=True)
    await desk.ends_call("read00001")
    await desk.presses("ana", Command.STOP, claimed.run.id)
    await desk.ends_hung_stops(0.0)
    await desk.is_asked("and now?")

    found = await did(desk)

    assert (found.title, found.calls, found.deeds) == ("and now?", 0, ())
