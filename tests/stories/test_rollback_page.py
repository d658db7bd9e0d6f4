"""Going back to a step on the page of the playground, in a real browser, as a person does it."""

import pytest
from playwright.async_api import expect

from tests.stories.test_page import asks, demo_world, replies, save, window


@pytest.mark.browser
async def test_a_person_goes_back_to_a_step_on_the_page_and_says_where_to_go_next(database_url):
    async with demo_world(database_url) as stage, window(f"{stage.slack.url}/?as=ana") as page:
        thread = await asks(stage, page, "why is checkout slow?")
        log, modal = page.get_by_test_id("thread-log"), page.get_by_test_id("modal")
        await expect(log.get_by_text("investigating · step 3")).to_be_visible()

        await log.get_by_test_id("button-steersman_more").click()
        await log.get_by_role("menuitem", name="Go back to a step").click()
        await expect(modal.get_by_role("heading", name="Go back to a step")).to_be_visible()
        await save(page, "go-back")
        await modal.get_by_text("Step 1 · ").click()
        await modal.get_by_test_id("modal-submit").click()

        await expect(modal).to_have_count(0)
        await expect(log.get_by_text("taken back to step 1 by")).to_be_visible()
        await expect(log.get_by_text("Say where to go next.")).to_be_visible()
        (rolled_back,) = await thread.settled()
        await save(page, "taken-back")
        await replies(page, "@Steersman look at the gateway")
        await expect(log.get_by_text("Verdict").last).to_be_visible()
        _, completed = await thread.settled(2)
        assert (rolled_back.reason, completed.reason) == ("rolled_back", "completed")


@pytest.mark.browser
async def test_a_choice_that_was_overtaken_is_refused_in_the_open_modal(database_url):
    async with demo_world(database_url) as stage, window(f"{stage.slack.url}/?as=ana") as page:
        thread = await asks(stage, page, "why is checkout slow?")
        log, modal = page.get_by_test_id("thread-log"), page.get_by_test_id("modal")
        await expect(log.get_by_text("investigating · step 2")).to_be_visible()
        await log.get_by_test_id("button-steersman_more").click()
        await log.get_by_role("menuitem", name="Go back to a step").click()
        await modal.get_by_text("Step 1 · ").click()

        await thread.says("stop")
        await thread.settled()
        await stage.reader.execute(
            "insert into events (thread_id, seq, run_id, fence, kind, body)"
            " select thread_id, max(seq) + 1, max(run_id), max(fence), 'rolled_back_to', '{\"seq\": 1}'"
            " from events group by thread_id"
        )
        await modal.get_by_test_id("modal-submit").click()

        await expect(modal.get_by_text("That step is set aside already.")).to_be_visible()
        await modal.get_by_test_id("modal-close").click()
        await expect(modal).to_have_count(0)
