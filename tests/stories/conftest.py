"""The stage, for the stories."""

import pytest

from tests.stories.stage import Stage


@pytest.fixture
async def stage(database_url):
    """A stage with nobody on it; the story says who comes."""
    async with Stage.open(database_url) as stage:
        yield stage
