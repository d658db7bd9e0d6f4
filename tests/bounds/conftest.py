"""The stage, for the limits in seconds."""

import pytest

from tests.stories.stage import Stage


@pytest.fixture
async def stage(database_url):
    """A stage with nobody on it, on which a worker is believed for as long as in service."""
    async with Stage.open(database_url) as stage:
        stage.limits["lease_s"] = 15.0
        yield stage
