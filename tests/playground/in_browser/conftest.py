"""One Chromium for all tests of the page, and what they need in its event loop.

A browser that is started for each test would cost more than the tests themselves; each test gets windows of its own.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright

from bot.playground.local_slack import LocalSlack, SlackOptions
from tests.chromium import SWITCHES, executable

in_module_loop = pytest_asyncio.fixture(loop_scope="module")
EXPECTED = ("status of 400", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING")
"""A gesture that is refused and a playground that has ended: both are told to the reader."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=executable(), args=list(SWITCHES))
        yield chromium
        await chromium.close()


@in_module_loop
async def start() -> AsyncIterator[Callable[..., Awaitable[LocalSlack]]]:
    """Start local Slacks that end with the test."""
    async with AsyncExitStack() as stack:

        async def starter(options: SlackOptions | None = None) -> LocalSlack:
            return await stack.enter_async_context(LocalSlack.running(options))

        yield starter


@in_module_loop
async def slack(start: Callable[..., Awaitable[LocalSlack]]) -> LocalSlack:
    return await start()


@in_module_loop
async def ears(slack, new_ears):
    """A bot in process that acknowledges everything."""
    listener = new_ears()
    await slack.connect(listener.hear)
    return listener


@in_module_loop
async def visit(browser: Browser) -> AsyncIterator[Callable[[str], Awaitable[Page]]]:
    """Open an address in a window of its own; anything the page complains about fails the test."""
    complaints: list[str] = []
    context = await browser.new_context(viewport={"width": 1340, "height": 800})

    async def opened(address: str) -> Page:
        page = await context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: note_error(message, complaints))
        page.on("request", lambda request: note_stranger(request.url, address, complaints))
        await page.goto(address)
        return page

    yield opened
    await context.close()
    assert complaints == []


def note_error(message, complaints: list[str]) -> None:
    """Keep what the console calls an error, without what the page tells its reader itself."""
    if message.type == "error" and not any(words in message.text for words in EXPECTED):
        complaints.append(message.text)


def note_stranger(url: str, address: str, complaints: list[str]) -> None:
    """Keep the address of anything that the page did not ask the playground for."""
    if not url.startswith(address.split("/?")[0]):
        complaints.append(f"it asked for {url}")
