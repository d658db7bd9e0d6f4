"""Says in short what takes a thread back: steps that a worker makes, and somebody who goes back to one of them."""

from bot.agent.history import mend, project
from bot.agent.mending import FixKind
from bot.llm.validate import check_messages
from bot.rules.inbound_message import GoBack, Press
from bot.rules.terms import Grade, PersonClass
from storage import card_facts, history
from storage.people import Person
from storage.rollback import Rollbacks
from tests.llm import mistral
from tests.storage.desk import OUR, ROOT, Reception, result


def person(who, person_class=PersonClass.MEMBER):
    return Person("T1", who, person_class, who.title())


def desk_of_rollbacks(desk):
    """Where people go back; boss is an approver."""
    return Rollbacks(Reception(OUR, frozenset(), frozenset({"boss"})), desk.means)


async def step(desk, claimed, *call_ids, grade=Grade.READ, text="200"):
    """A worker makes one step: its calls start, end, and are answered."""
    await desk.calls(claimed, *call_ids, grade=grade, start=True)
    for each in call_ids:
        await desk.stores(claimed, result(each, text))
        await desk.ends_call(each)
    await rounds(desk, claimed)


async def rounds(desk, claimed):
    """The run's row says how many messages of the model it has stored."""
    count = "select count(*) from events where run_id = $1 and kind = 'assistant'"
    await desk.raw.execute(f"update runs set round = ({count}) where id = $1", claimed.run.id)


async def offers(desk, who, run_id, person_class=PersonClass.MEMBER):
    """Somebody opens the menu of a run's card."""
    press = Press("T1", "steersman_more", run_id, None, "C1", "1.1", ROOT, who, "T1", desk.now(), None, "a:1")
    async with desk.database.transaction() as tx:
        return await desk_of_rollbacks(desk).offer(tx, press, person(who, person_class))


def choice(run_id, seq, who="ana", view="V1"):
    return GoBack(run_id, seq, "C1", "1.1", ROOT, who, "T1", f"v:{view}:{seq}:{who}")


async def goes_back(desk, run_id, seq, who="ana", view=None):
    """Somebody chooses a checkpoint; what is wrong with it, or None."""
    chosen = choice(run_id, seq, who, view or desk.now())
    async with desk.database.transaction() as tx:
        return await desk_of_rollbacks(desk).go_back(tx, chosen, person(who))


async def points(desk, run_id):
    """The checkpoints of a run: step and number of the event."""
    return [(each.step, each.seq) for each in (await offers(desk, "ana", run_id)).checkpoints]


async def facts(desk, run_id):
    async with desk.database.transaction() as tx:
        return await card_facts.of_run(tx, run_id)


async def events(desk):
    async with desk.database.transaction() as tx:
        return await history.load(tx, await desk.value("select id from threads order by created_at limit 1"))


async def sent(desk):
    """What a next request would hold; it must need no mending but a last word of ours, and pass every judge."""
    mended = mend(project(await events(desk)))
    assert {fix.kind for fix in mended.fixes} <= {FixKind.GO_ON}
    check_messages(mended.messages)
    assert mistral.refusal(mended.messages) is None
    return [each.text for each in mended.messages]
