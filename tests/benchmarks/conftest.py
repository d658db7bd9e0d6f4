"""A PostgreSQL for the benchmarks, set up as they want it; one for all of their tests."""

import pytest

from benchmarks.ground import ground


@pytest.fixture
async def place():
    """The ground of a benchmark."""
    async with ground() as place:
        yield place
