"""What the tests of the Slack edge share."""

import pytest

from tests.slack.door import Door


@pytest.fixture
async def door(database_url):
    """A door with nobody before it yet."""
    async with Door.open(database_url) as door:
        yield door
