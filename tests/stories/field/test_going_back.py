"""The field report on rolling back: what came after is out of the next request, and is written down as not undone."""

from bot.llm.script import Call, Play, Round
from bot.rules.checkpoints import WRITES
from bot.rules.terms import EventKind
from tests.stories.field.replay import Replay, refused, sent
from tests.stories.going_back import goes_back
from tests.stories.stage import lines_of
from tests.stories.transcript import events_of

C7 = "gate/c7"


def reads(name: str) -> Round:
    """A step of the report: one call that ends in a checkpoint."""
    return Round(f"I read {name}.", (Call("http_get", {"url": f"{{{{var TARGET}}}}/{name}"}),))


async def at_k3(replay):
    """The report's thread: checkpoints k1, k2 and k3, and the slow call c7 still open."""
    stage = replay.stage
    replay.follow(Play("continue", (Round("From k1, then."),)), rounds=(*map(reads, ("k1", "k2", "k3")), reads(C7)))
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached(C7)
    return thread


async def test_pb_031_the_next_request_has_nothing_of_what_was_undone_and_a_late_result_goes_to_the_audit_only(stage):
    replay = Replay(stage, "PB-031")
    thread = await at_k3(replay)

    await goes_back(stage, thread, "Step 1")
    await thread.settled()
    stage.targets.open(C7)
    await replay.tell("Ev250")
    rolled_back, completed = await thread.settled(2)

    events = events_of(await thread.events())
    results = [event for event in events if event.kind is EventKind.TOOL_RESULT]
    assert (rolled_back.reason, completed.reason) == ("rolled_back", "completed")
    assert [event.body["outcome"] for event in results] == ["ok", "ok", "ok", "cancelled"]
    assert events[results[-1].seq].kind is EventKind.ROLLED_BACK_TO
    assert [words in sent(stage) for words in ("this is k1", "this is k2", "this is k3", "this is gate/c7")] == [
        True, False, False, False,
    ]  # fmt: skip
    assert refused(stage) == []


async def test_pb_031_the_writes_done_after_the_step_are_listed_to_people_and_to_the_model_as_not_undone(stage):
    replay = Replay(stage, "PB-031")
    thread = await at_k3(replay)
    await stage.reader.execute("update tool_calls set grade = 'write' where title like '%k2%'")

    await goes_back(stage, thread, "Step 1")
    await stage.slack.wait_for(lambda: any(each.startswith("Not undone: ") for each in lines_of(thread.cards()[0])))
    await replay.tell("Ev250")
    await thread.settled(2)

    (line,) = [each for each in lines_of(thread.cards()[0]) if each.startswith("Not undone: ")]
    host = stage.targets.url.removeprefix("http://")
    told = stage.model.requests[-1].messages[-1]["content"]
    assert line.startswith(f"Not undone: Read /k2 of {host}")
    assert f"{WRITES}\n- Read /k2 of {host} ({host}/k2): done, not undone\n" in told
    assert told.count("not undone") == 1
