"""What becomes of a message: one verdict under the thread's lock, stored and carried out in one transaction."""

import asyncio

import pytest

from bot.rules.command_words import WORDS, Result
from bot.rules.inbound_message import AuthorFacts
from bot.rules.steer_policy import NOTED
from bot.rules.terms import PersonClass, Verdict
from bot.rules.turn_ends import Cut
from storage.engine import Database
from storage.queue import Unclaimed
from tests.storage.desk import Desk, ts

FOREIGN = AuthorFacts("eve", team_id="T9")


async def verdicts(desk):
    return [tuple(row) for row in await desk.rows("select verdict, policy_row from ingress order by received_at")]


async def test_a_mention_in_an_untouched_thread_starts_a_run_with_its_card(desk):
    receipt = await desk.says("ana", "why is it slow?", mention=True)

    run = await desk.run()
    assert (receipt.verdict, receipt.run_id) == (Verdict.START, run.id)
    assert (run.requested_by, run.title, run.chain_id) == ("ana", "why is it slow?", run.id)
    assert await desk.value("select count(*) from cards where run_id = $1", run.id) == 1
    assert await desk.value("select state from threads") == "ready"


async def test_a_plain_message_in_an_untouched_thread_leaves_neither_text_nor_thread(desk):
    await desk.says("ana", "hello all")

    assert await desk.value("select count(*) from threads") == 0
    assert await desk.value("select count(*) from inbox") == 0
    assert await verdicts(desk) == [("ignore", "teammate/no/untouched")]


async def test_every_verdict_is_kept_with_the_row_that_gave_it(desk):
    await desk.is_asked()
    await desk.says("ana", "look at DNS")
    await desk.says("bob", "hm")

    assert await verdicts(desk) == [
        ("start", "teammate/yes/untouched"),
        ("steer", "requester/no/running"),
        ("note", "teammate/no/running"),
    ]


async def test_an_override_of_the_channel_decides_and_says_so(desk):
    await desk.raw.execute(
        "insert into policy_overrides values ('T1', 'C1', 'teammate', false, 'running', 'steer'),"
        "('T1', 'C2', 'requester', false, 'running', 'note'), ('T1', 'C1', 'nobody', false, 'running', 'steer')"
    )
    await desk.is_asked()

    receipt = await desk.says("bob", "look at DNS")

    assert receipt.verdict is Verdict.STEER
    assert (await verdicts(desk))[-1] == ("steer", "teammate/no/running/override")


async def test_a_steer_for_a_run_that_has_not_started_joins_it(desk):
    await desk.says("ana", "why?", mention=True)

    await desk.says("ana", "and DNS?")
    await desk.claims()

    assert await desk.states() == ["running"]
    assert await desk.told() == ["why?", "and DNS?"]


async def test_a_mention_while_a_run_waits_paused_for_its_start_lets_it_start(desk):
    await desk.says("ana", "why?", mention=True)
    await desk.says("ana", "pause")

    await desk.says("ana", "go on now", mention=True)

    assert await desk.states() == ["queued"]
    assert (await desk.claims()).first is True


async def test_a_person_whose_message_was_taken_as_a_steer_may_steer_in_plain_words(desk):
    claimed = await desk.is_asked()
    await desk.says("bob", "look at DNS", mention=True)
    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))
    await desk.claims()

    receipt = await desk.says("bob", "at the resolver")

    assert receipt.verdict is Verdict.STEER


async def test_the_second_copy_of_a_message_changes_nothing(desk):
    await desk.says("ana", "why?", mention=True, at=ts(1))

    second = await desk.says("ana", "why?", mention=True, at=ts(1))

    assert second.is_copy
    assert await desk.states() == ["queued"]
    assert await desk.value("select count(*) from inbox") == 1


async def test_a_gesture_that_comes_under_two_times_is_one_message(desk):
    await desk.says("ana", "why?", mention=True, at=ts(1), client_msg_id="c-1")

    second = await desk.says("ana", "why?", mention=True, at=ts(2), client_msg_id="c-1")

    assert second.is_copy
    assert await desk.value("select count(*) from inbox") == 1


async def test_a_second_copy_with_the_mention_makes_an_ignored_message_a_request(desk):
    await desk.says("ana", "why?", at=ts(1))

    receipt = await desk.says("ana", "why?", mention=True, at=ts(1))

    assert receipt.verdict is Verdict.START
    assert await verdicts(desk) == [("start", "teammate/yes/untouched")]
    assert await desk.states() == ["queued"]


async def test_a_second_copy_with_the_mention_makes_a_note_a_steer(desk):
    claimed = await desk.is_asked()
    await desk.says("bob", "look at DNS", at=ts(50))

    receipt = await desk.says("bob", "look at DNS", mention=True, at=ts(50))

    assert receipt.verdict is Verdict.STEER
    assert (await desk.inbox_states())[-1] == ("steer", "waiting")
    assert (await desk.probes(claimed)).cut is not None


async def test_a_second_copy_without_the_mention_takes_nothing_away(desk):
    await desk.says("ana", "why?", mention=True, at=ts(1))

    await desk.says("ana", "why?", at=ts(1))

    assert await verdicts(desk) == [("start", "teammate/yes/untouched")]


@pytest.mark.parametrize("mentions", [[True] * 20, [False] * 10 + [True] * 10, [True, False] * 10])
async def test_twenty_copies_at_once_over_two_pools_make_one_run(desk, database_url, mentions):
    other = Database(database_url)
    desks = [desk, Desk(other, desk.raw, desk.watch)]
    desks[1].means = desk.means

    receipts = await asyncio.gather(
        *(
            desks[n % 2].says("ana", "why?", mention=mention, at=ts(1), client_msg_id="c-1")
            for n, mention in enumerate(mentions)
        )
    )

    await other.close()
    assert await desk.states() == ["queued"]
    assert await desk.value("select count(*) from inbox") == 1
    assert await desk.value("select count(*) from ingress") == 1
    assert sum(receipt.verdict is Verdict.START for receipt in receipts) == 1


async def test_twenty_different_mentions_at_once_make_one_run_that_takes_them_all(desk):
    await asyncio.gather(*(desk.says("ana", f"why {n}?", mention=True, at=ts(n)) for n in range(20)))

    await desk.claims()

    assert await desk.states() == ["running"]
    assert await desk.told() == [f"why {n}?" for n in range(20)]


async def test_an_unknown_person_starts_nothing_until_slack_has_said_who_they_are(desk):
    receipt = await desk.says("eve", "why?", mention=True, person=PersonClass.UNKNOWN)
    before = await desk.states()

    judged = await desk.judges("eve", PersonClass.MEMBER)

    assert (receipt.verdict, before) == (None, [])
    assert [each.verdict for each in judged] == [Verdict.START]
    assert await verdicts(desk) == [("start", "teammate/yes/untouched")]
    assert await desk.states() == ["queued"]


async def test_an_unknown_person_cuts_nothing(desk):
    claimed = await desk.is_asked()

    await desk.says("eve", "stop that, look at DNS", mention=True, person=PersonClass.UNKNOWN)

    assert (await desk.probes(claimed)).cut is None
    assert (await desk.inbox_states())[-1][1] == "unjudged"


async def test_a_person_who_turns_out_to_be_external_is_refused(desk):
    await desk.says("eve", "why?", mention=True, person=PersonClass.UNKNOWN, author=FOREIGN)

    judged = await desk.judges("eve", PersonClass.EXTERNAL)

    assert [each.verdict for each in judged] == [Verdict.REFUSE]
    assert judged[0].reply
    assert await desk.value("select count(*) from inbox") == 0


async def test_a_person_who_stays_unknown_waits_a_minute_and_is_then_judged_as_the_strictest(desk):
    await desk.says("eve", "why?", mention=True, person=PersonClass.UNKNOWN)
    early = await desk.judges("eve", PersonClass.UNKNOWN)
    await desk.passes("inbox set stored_at = stored_at", "author", "eve", minutes=2)

    late = await desk.judges("eve", PersonClass.UNKNOWN)

    assert early == [None]
    assert [each.verdict for each in late] == [Verdict.REFUSE]


async def test_a_message_is_judged_later_only_once(desk):
    await desk.says("eve", "why?", mention=True, person=PersonClass.UNKNOWN)
    await desk.judges("eve", PersonClass.MEMBER)

    assert await desk.judges("eve", PersonClass.MEMBER) == []


async def test_the_mention_of_a_second_copy_is_kept_for_a_message_that_is_still_to_be_judged(desk):
    await desk.is_asked()
    await desk.says("eve", "look at DNS", at=ts(50), person=PersonClass.UNKNOWN)

    await desk.says("eve", "look at DNS", at=ts(50), mention=True, person=PersonClass.UNKNOWN)
    judged = await desk.judges("eve", PersonClass.MEMBER)

    assert [each.verdict for each in judged] == [Verdict.STEER]


async def test_an_unknown_person_may_stop_since_a_guest_may(desk):
    await desk.is_asked()

    receipt = await desk.says("eve", "stop", mention=True, person=PersonClass.UNKNOWN)

    assert receipt.verdict is Verdict.COMMAND
    assert await desk.states() == ["cancelling"]


async def test_a_plain_message_that_crossed_the_answer_starts_a_run(desk):
    claimed = await desk.is_asked()
    await desk.completes(claimed)

    receipt = await desk.says("ana", "no, I meant DNS")

    assert receipt.verdict is Verdict.START


async def test_a_plain_message_after_the_answer_was_posted_is_noted_and_says_so_once(desk):
    claimed = await desk.is_asked()
    await desk.completes(claimed)
    await desk.raw.execute("update posts set state = 'sent', ts = $1", ts(30))

    first, second = await desk.says("ana", "thanks", at=ts(40)), await desk.says("ana", "bye", at=ts(41))

    assert (first.verdict, first.reply) == (Verdict.NOTE, NOTED)
    assert (second.verdict, second.reply) == (Verdict.NOTE, None)


async def test_an_answer_that_slack_refused_for_good_was_crossed_by_nobody(desk):
    claimed = await desk.is_asked()
    await desk.completes(claimed)
    await desk.raw.execute("update posts set state = 'failed'")

    receipt = await desk.says("ana", "hello?")

    assert receipt.verdict is Verdict.NOTE


async def test_a_note_is_context_for_the_next_run(desk):
    claimed = await desk.is_asked()
    await desk.completes(claimed)
    await desk.says("bob", "we deployed at nine")

    await desk.is_asked("why again?")

    notes = await desk.rows("select body->>'text', body->>'note' from events where kind = 'user' order by seq")
    assert [tuple(row) for row in notes][1:] == [("we deployed at nine", "true"), ("why again?", "false")]


async def test_status_changes_nothing_and_names_the_run(desk):
    claimed = await desk.is_asked()

    receipt = await desk.says("bob", "status", mention=True)

    assert (receipt.command.value, receipt.run_id, receipt.reply) == ("status", claimed.run.id, None)
    assert await desk.value("select count(*) from interrupts") == 0


async def test_a_word_in_a_thread_that_nobody_knows_is_answered_without_making_a_thread(desk):
    status = await desk.says("ana", "status", mention=True)
    paused = await desk.says("ana", "pause", mention=True)

    assert (status.command.value, status.run_id) == ("status", None)
    assert paused.reply == WORDS[Result.NOTHING]
    assert await desk.value("select count(*) from threads") == 0


async def test_a_command_word_is_kept_without_its_text(desk):
    await desk.is_asked()

    await desk.says("ana", "stop")

    assert (await verdicts(desk))[-1][0] == "command"
    assert await desk.value("select count(*) from inbox") == 1


async def test_a_message_with_poison_in_every_text_is_stored(desk):
    poison = "a\x00b\ud800c" + "x" * 300_000

    await desk.says("ana", poison, mention=True, person=PersonClass.UNKNOWN)
    judged = await desk.judges("a\x00na", PersonClass.MEMBER)

    assert [each.verdict for each in judged] == [Verdict.START]
    assert (await desk.value("select text from inbox")).startswith("a\ufffdb\ufffdc")


async def test_nobody_waits_for_a_run_when_only_outsiders_have_spoken(desk):
    await desk.says("eve", "why?", mention=True, author=FOREIGN, person=PersonClass.EXTERNAL)
    await desk.says("B1", "deployed", author=AuthorFacts(None, bot_id="B1", app_id="A1", team_id="T1"))

    assert await desk.claims() is Unclaimed.NONE_READY
    assert [verdict for verdict, _ in await verdicts(desk)] == ["refuse", "ignore"]
