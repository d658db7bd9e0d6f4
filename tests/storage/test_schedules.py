"""What must hold after every schedule of people, workers and faults (the design's invariants)."""

import pytest

from bot.agent.history import mend, project
from bot.agent.mending import FixKind
from bot.llm.validate import check_messages
from bot.rules.messages import AssistantMessage, ToolResult
from bot.rules.run_states import MOVES
from bot.rules.terms import InboxState, RunState, SettleReason, Verdict
from storage import history
from tests.storage.schedule import Schedule

SEEDS = range(10)
STEPS = 70
CUT = {SettleReason.STEERED, SettleReason.STOPPED, SettleReason.ROLLED_BACK}
SEEN_ONLY = {"edit", "deletion", "press", "unjudged"}


class Moves:
    """Writes down every state that a run is ever committed in."""

    TRIGGER = """
        create table moves (run_id text, was text, became text);
        create function note_move() returns trigger language plpgsql as $$
        begin insert into moves values (new.id, old.state, new.state); return new; end $$;
        create trigger note_move after update of state on runs
        for each row when (old.state is distinct from new.state) execute function note_move();
    """


@pytest.fixture
async def moves(raw):
    """A table of the moves of all runs, kept by the database itself."""
    await raw.execute(Moves.TRIGGER)
    yield "select run_id, was, became from moves"
    await raw.execute("drop table moves; drop function note_move cascade")


async def told_to_a_model(desk, thread_id):
    """The history at every event index where no call is open, as it would be sent."""
    async with desk.database.transaction() as tx:
        events = await history.load(tx, thread_id)
    for at in range(1, len(events) + 1):
        messages = project(events[:at])
        called = {call.id for each in messages if isinstance(each, AssistantMessage) for call in each.calls}
        answered = {each.call_id for each in messages if isinstance(each, ToolResult)}
        if called == answered:
            yield messages


async def settled_once(desk):
    """I1, I10: one settlement a run; a cut run has no final event, no answer, and its place in the rules."""
    runs = await desk.value("select count(*) from runs")
    assert await desk.value("select count(*) from runs where state = 'settled'") == runs
    assert await desk.value("select count(*) from settlements") == runs
    for row in await desk.rows("select run_id, reason, final_event_id from settlements"):
        posts = await desk.value("select count(*) from posts where run_id = $1", row["run_id"])
        assert (posts == 1) is (row["reason"] == "completed")
        assert (row["final_event_id"] is not None) is (row["reason"] == "completed")
    assert await desk.value("select count(*) from interrupts where state in ('triggered', 'cancelling')") == 0
    assert await desk.value("select count(*) from cards") == runs


async def judged_once(desk, sent):
    """I4: one verdict for each message that was sent; none that asks is left waiting."""
    verdicts = {row["dedupe_key"]: row["verdict"] for row in await desk.rows("select * from ingress")}
    messages = {key: verdict for key, verdict in verdicts.items() if key.startswith("m:")}
    assert {f"m:T1:C1:{at}" for at in sent} == set(messages)
    assert set(messages.values()) <= set(Verdict) | SEEN_ONLY
    waiting = {verdict for verdict, state in await desk.inbox_states() if state == InboxState.WAITING}
    assert waiting <= {Verdict.NOTE}


async def moved_forward(desk, moves):
    """I9: every move of every run is one that the table has."""
    for row in await desk.rows(moves):
        assert RunState(row["became"]) in MOVES[RunState(row["was"])], tuple(row)


async def fenced(desk):
    """I2: fences only grow along a history."""
    falls = "select 1 from (select fence < lag(fence) over (partition by thread_id order by seq) as f from events) e"
    assert await desk.value(f"{falls} where f") is None


async def paired(desk):
    """I3: the history passes at every event index, and nothing had to be mended."""
    for row in await desk.rows("select id from threads"):
        async for messages in told_to_a_model(desk, row["id"]):
            mended = mend(messages)
            assert {fix.kind for fix in mended.fixes} <= {FixKind.GO_ON}
            check_messages(mended.messages)


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_invariant_holds_after_a_random_schedule_and_everything_is_settled(desk, moves, seed):
    schedule = Schedule(desk, seed)

    await schedule.runs_for(STEPS)
    await schedule.ends()

    await settled_once(desk)
    await judged_once(desk, schedule.sent)
    await moved_forward(desk, moves)
    await fenced(desk)
    await paired(desk)


async def test_a_schedule_reaches_what_it_is_meant_to_try(desk):
    schedule = Schedule(desk, seed=15)

    await schedule.runs_for(4 * STEPS)
    await schedule.ends()

    assert {step.__name__ for step, _ in schedule.steps} <= set(schedule.story)
    assert {"completed", "steered", "stopped"} <= set(await desk.states())
    assert await desk.value("select count(*) from events where kind = 'rolled_back_to'") > 0
    assert {"note", "steer", "start"} <= {verdict for verdict, _ in await desk.inbox_states()}
    assert await desk.value("select max(fence) from threads") > 10
