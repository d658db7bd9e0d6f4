"""Which tools a run has is looked up at its claim, and costs nothing where no rule is given."""

from bot.app.tool_access import ToolAccess
from bot.rules.terms import PersonClass
from bot.rules.tool_access import RequesterClass
from bot.settings.sections import ToolsOf
from storage import people
from storage.people import Person

RULES = (ToolsOf(channel="C1", requester=RequesterClass.GUEST, allow=frozenset({"dns"})),)


async def test_a_run_has_the_tools_of_its_channel_and_of_who_asked(desk, database):
    claimed = await desk.is_asked()
    async with database.transaction() as tx:
        await people.put(tx, Person("T1", "ana", PersonClass.GUEST))

    async with database.transaction() as tx:
        limited = await ToolAccess(RULES).permitted(tx, claimed)
    async with database.transaction() as tx:
        await people.put(tx, Person("T1", "ana", PersonClass.MEMBER))
        all_of_them = await ToolAccess(RULES).permitted(tx, claimed)

    assert (limited, all_of_them) == ({"dns"}, None)


async def test_whom_slack_has_not_named_has_what_everybody_there_has(desk, database):
    claimed = await desk.is_asked()

    async with database.transaction() as tx:
        limited = await ToolAccess(RULES).permitted(tx, claimed)

    assert limited == {"dns"}


async def test_without_rules_nothing_is_asked(desk):
    claimed = await desk.is_asked()

    assert await ToolAccess(()).permitted(None, claimed) is None
