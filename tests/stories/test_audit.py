"""What every run leaves behind: a row for each of its calls, and a chain that is whole, however the run ended."""

from bot.rules.audit_chain import faults
from storage import audit_chain
from storage.engine import Database
from tests.stories.stage import ANA, BEN
from tests.stories.test_main_job import INVESTIGATION
from tests.stories.test_takeover import investigated, killed, script


async def chains(stage):
    """The entries of every thread."""
    database = Database(stage.url)
    async with database.transaction() as tx:
        found = [links async for links in audit_chain.chains(tx)]
    await database.close()
    return found


async def is_complete(stage, reasons):
    """Every call that the history knows has its row and its entries, every run its settlement, and nothing is amiss."""
    (links,) = await chains(stage)
    asked = await stage.reader.fetch(
        "select run_id, jsonb_array_elements(body->'calls')->>'id' as id from events where kind = 'assistant' and"
        " jsonb_typeof(body->'calls') = 'array'"
    )
    rows = await stage.reader.fetch("select run_id, call_id, request_id, requested_by, outcome from tool_calls")
    assert faults(links) == []
    assert {(row["run_id"], row["call_id"]) for row in rows} == {(row["run_id"], row["id"]) for row in asked}
    assert {row["requested_by"] for row in rows} == {ANA}
    assert None not in {row["outcome"] for row in rows}
    for kind in ("planned", "ended"):
        told = [link.request_id for link in links if link.kind == kind]
        assert sorted(told) == sorted(row["request_id"] for row in rows)
    assert [link.body["reason"] for link in links if link.kind == "settled"] == reasons
    return links


async def test_the_chain_is_whole_after_a_steer(stage):
    stage.plays(INVESTIGATION)
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/logs")

    await thread.says("not that host, look at the gateway")

    await thread.settled(2)
    await is_complete(stage, ["steered", "completed"])


async def test_the_chain_is_whole_after_a_stop_and_names_who_stopped(stage):
    stage.plays(INVESTIGATION)
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/logs")

    await thread.clicks("Stop", by=BEN)

    await thread.settled()
    links = await is_complete(stage, ["stopped"])
    (asked,) = [link for link in links if link.kind == "interrupt"]
    assert (asked.body["kind"], asked.body["requested_by"], asked.body["source"]) == ("stop", BEN, "button")


async def test_the_chain_is_whole_after_a_worker_was_killed_and_another_went_on(stage, tmp_path):
    stage.plays(script())
    async with investigated(stage, tmp_path) as (thread, worker, _):
        await stage.targets.reached("gate/log")
        await stage.until(lambda: stage.reader.fetchval("select count(*) = 1 from events where kind = 'tool_result'"))
        await killed(stage, worker)
        await stage.start(listens=False)
        await stage.targets.reached("gate/log", 2)
        stage.targets.open("gate/log")

        await thread.settled()

        links = await is_complete(stage, ["completed"])
    fences = {link.body["fence"] for link in links if link.kind == "started"}
    assert len(fences) == 2
