"""Field reports of the classes steer-lost-or-doubled and duplicate-delivery."""

import asyncio

from bot.llm.script import Play, Round
from tests.stories.field.replay import Replay, noted, refused, sent
from tests.stories.stage import WITHIN_S

METRICS = "gate/get_metrics"


async def test_pb_041_a_message_between_two_workers_is_kept_and_given_to_the_model_once(stage):
    replay = Replay(stage, "PB-041")
    replay.follow(Play("also check redis", (Round("Redis is fine."),)))
    await stage.start(works=False)
    first = await stage.start(listens=False, publishes=False)
    thread = await replay.ask()
    await stage.targets.reached(METRICS)
    await first.stop()
    stage.workers.remove(first)

    await replay.tell("Ev090")
    await noted(stage, 2)
    await stage.start(listens=False, publishes=False)

    steered, completed = await thread.settled(2)
    told = sent(stage)
    assert (steered.reason, completed.reason) == ("steered", "completed")
    assert told.count("also check redis") == 1
    assert told.index("why is checkout returning 502?") < told.index("also check redis")
    assert stage.targets.paths == [f"/{METRICS}"]
    assert refused(stage) == []


async def test_pb_042_two_equal_steers_are_two_messages_each_once_and_cut_once(stage):
    replay = Replay(stage, "PB-042")
    replay.follow(Play("check the db", (Round("The db is slow."),)))
    stage.limits["patience_s"] = None
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached(METRICS)

    # Each comes twice, and all at once.
    copies = [replay.send(event_id) for event_id in ("Ev101", "Ev100", "Ev101", "Ev100")]
    assert all(await asyncio.gather(*(each.acked(WITHIN_S) for each in copies)))
    stage.targets.open(METRICS)

    runs = await thread.settled(2)
    told = sent(stage)
    assert told.count("check the db") == 2
    assert told.index("@ana: check the db") < told.index("@ben: check the db")
    assert [run.reason for run in runs] == ["steered", "completed"]
    assert len(await thread.runs()) == 2
    assert await stage.reader.fetchval("select count(*) from inbox where state = 'consumed'") == 3


async def test_pb_047_the_first_copy_that_arrives_starts_the_run_and_a_later_one_is_dropped(stage):
    replay = Replay(stage, "PB-047")
    replay.follow(rounds=replay.rounds(last="It was the pool."))
    await stage.start()
    thread = await replay.ask("Ev210")
    await thread.settled()

    await replay.tell("Ev210", 1)

    assert len(await thread.runs()) == 1
    assert len(stage.model.requests) == 1
    assert await stage.reader.fetchval("select count(*) from ingress where dedupe_key like '%1790000210.000100'") == 1


async def test_pb_047_a_copy_while_the_run_is_at_work_is_dropped_and_not_queued(stage):
    replay = Replay(stage, "PB-047")
    stage.plays('[[plays]]\n[[plays.rounds]]\nsay = "It was the pool."\ngate = "before_end"')
    await stage.start()
    thread = await replay.ask("Ev210")
    await stage.model.gate_reached("before_end")

    await replay.tell("Ev210", 1)
    stage.model.open_gate("before_end")

    await thread.settled()
    await thread.card("done")
    assert len(await thread.runs()) == 1
    assert await stage.reader.fetchval("select count(*) from inbox") == 1


async def test_pb_047_an_event_is_acknowledged_only_after_it_is_stored(stage):
    replay = Replay(stage, "PB-047")
    await stage.start(works=False)

    async with stage.reader.transaction():
        await stage.reader.execute("lock table ingress in exclusive mode")
        envelope = replay.send("Ev210")
        await stage.until(lambda: stage.reader.fetchval("select count(*) > 0 from pg_locks where not granted"))
        before = envelope.acked_at

    assert await envelope.acked(3)
    assert before is None
    assert await stage.reader.fetchval("select count(*) from ingress") == 1


async def test_pb_048_copies_to_other_processes_at_one_instant_make_one_run_that_is_not_lost(stage):
    replay = Replay(stage, "PB-048")
    replay.follow(rounds=replay.rounds(last="It was the pool."))
    first = await stage.start(works=False, publishes=False)
    thread = await replay.ask("Ev220")
    await first.stop()
    stage.workers.remove(first)
    await stage.reader.execute(
        "insert into ingress (dedupe_key, verdict, policy_row)"
        " select 'other' || n, 'ignore', '' from generate_series(1, 5000) n"
    )
    for _ in ("w2", "w3"):
        await stage.start(works=False)

    copies = [replay.send("Ev220", nth) for nth in (1, 2, 1, 2)]
    assert all(await asyncio.gather(*(each.acked(WITHIN_S) for each in copies)))
    await stage.start(listens=False, publishes=False)

    await thread.settled()
    await thread.card("done")
    assert len({each.attempts[0].socket for each in copies}) == 4
    assert len(await thread.runs()) == 1
    assert len(stage.model.requests) == 1


async def test_pb_048_the_same_message_under_a_new_event_id_is_a_copy_too(stage):
    replay = Replay(stage, "PB-048")
    replay.follow(rounds=replay.rounds(last="It was the pool."))
    await stage.start()
    thread = await replay.ask("Ev220")
    await thread.settled()

    again = stage.slack.publish(replay.event("Ev220"))

    assert await again.acked(WITHIN_S)
    assert again.event_id != "Ev220"
    assert len(await thread.runs()) == 1
