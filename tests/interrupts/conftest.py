"""What the tests of the brake share: an ear for what the event loop complains of."""

import asyncio
import gc
import warnings

import pytest

from tests.interrupts.work import tick


@pytest.fixture
async def complaints():
    """What the event loop and the interpreter complain of until the end of the test: lost errors, lost tasks."""
    heard = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context["message"]))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield heard
        await tick()
        gc.collect()
    heard += [str(each.message) for each in warned if "never awaited" in str(each.message)]
    assert heard == []
