"""What the tests of the publisher share."""

import pytest

from tests.card.board import Board


@pytest.fixture
async def board(database_url):
    """A board with nothing on it."""
    async with Board.hung(database_url) as board:
        yield board
