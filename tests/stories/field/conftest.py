"""The stage for field reports: a local Slack whose clock shows the time of the report."""

import pytest

from bot.playground.local_slack import SlackOptions
from tests.stories.field.replay import ReportClock
from tests.stories.stage import Stage


@pytest.fixture
async def stage(database_url):
    """A stage on which a report can be replayed."""
    async with Stage.open(database_url, SlackOptions(retry_delays=(0, 1, 5), clock=ReportClock())) as stage:
        yield stage
