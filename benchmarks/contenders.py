"""What is measured, each in a process of its own: the product, and beside it the least that does the same.

`python -m benchmarks.contenders NAME`. The first line of stdin says the environment and the settings; each further
line asks something. It prints JSON, one object a line, and nothing else on stdout.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import Any

import asyncpg
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from benchmarks.bare_loop import BareLoop
from benchmarks.noted_runs import NotedRuns
from bot import telemetry
from bot.app.assembly import SOCKETS, running
from bot.app.ids import mint_id
from bot.rules.redaction import Scrubber
from bot.settings.environment import Settings
from bot.settings.sections import ConfigFile

Answer = Callable[[str], Awaitable[object]]
"""How a contender answers a line."""


@asynccontextmanager
async def listen(settings: Settings) -> AsyncIterator[Answer]:
    """The product's Slack edge alone, as `steersman listen` runs it."""
    async with running(settings) as app:
        task = asyncio.create_task(app.listen(settings.slack().app_token))
        try:
            yield _usage
        finally:
            await _ended(task)


@asynccontextmanager
async def serve(settings: Settings) -> AsyncIterator[Answer]:
    """The whole product, as `steersman serve` runs it."""
    async with running(settings) as app:
        task = asyncio.create_task(app.serve(settings.slack().app_token))
        try:
            yield _usage
        finally:
            await _ended(task)


@asynccontextmanager
async def work(settings: Settings) -> AsyncIterator[Answer]:
    """A worker without a publisher, whose brakes are watched, beside the Slack edge."""
    noted = NotedRuns()

    async def answer(line: str) -> object:
        return noted.pulled if line == "pulled" else await _usage(line)

    async with running(settings) as app:
        tasks = [
            asyncio.create_task(app.listen(settings.slack().app_token)),
            asyncio.create_task(app.worker(noted).run(mint_id)),
        ]
        try:
            yield answer
        finally:
            await _ended(*tasks)


@asynccontextmanager
async def bare_listen(settings: Settings) -> AsyncIterator[Answer]:
    """A Bolt app whose one listener inserts one row and returns; then the event is acknowledged."""
    pool = await asyncpg.create_pool(settings.database_url, min_size=10, max_size=10)
    await pool.execute("create table if not exists seen (id text primary key, body jsonb not null)")
    slack = settings.slack()
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    who = await client.auth_test()
    known = AuthorizeResult(
        enterprise_id=None, team_id=who["team_id"], bot_token=slack.bot_token, bot_user_id=who["user_id"]
    )

    async def authorize(**_: object) -> AuthorizeResult:
        return known

    async def insert(body: dict[str, Any]) -> None:
        row = (body["event_id"], json.dumps(body["event"]))
        await pool.execute("insert into seen (id, body) values ($1, $2) on conflict do nothing", *row)

    app = AsyncApp(client=AsyncWebClient(base_url=slack.api_url), authorize=authorize, process_before_response=True)
    app.event("message")(insert)
    app.event("app_mention")(insert)
    handlers = [AsyncSocketModeHandler(app, slack.app_token) for _ in range(SOCKETS)]
    try:
        await asyncio.gather(*(each.connect_async() for each in handlers))
        yield _usage
    finally:
        await asyncio.gather(*(each.close_async() for each in handlers), return_exceptions=True)
        await pool.close()


@asynccontextmanager
async def bare_loop(settings: Settings) -> AsyncIterator[Answer]:
    """A loop of model and tools that stores nothing; a line is a question, its answer the CPU of the run."""
    loop = BareLoop(settings.model().base_url)

    async def answer(line: str) -> object:
        return await _usage(line) if line == "usage" else {"text": await loop.run(line), **await _usage(line)}

    try:
        yield answer
    finally:
        await loop.close()


CONTENDERS: Mapping[str, Callable[[Settings], AbstractAsyncContextManager[Answer]]] = MappingProxyType({
    "listen": listen,
    "serve": serve,
    "work": work,
    "bare_listen": bare_listen,
    "bare_loop": bare_loop,
})


async def _usage(_: str) -> dict[str, object]:
    return {"cpu_s": time.process_time()}


async def _ended(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _lines() -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        yield line.strip()


def _say(what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


async def _live(name: str) -> None:
    lines = _lines()
    told = json.loads(await anext(lines))
    settings = Settings(told["environment"], ConfigFile.model_validate(told["config"]))
    # The log of the product is part of what it costs; it goes where an operator's goes, to a stream.
    telemetry.configure(Scrubber(settings.secrets()).text, to=sys.stderr)
    async with AsyncExitStack() as stack:
        answer = await stack.enter_async_context(CONTENDERS[name](settings))
        _say({"ready": True})
        async for line in lines:
            _say(await answer(line))


if __name__ == "__main__":
    asyncio.run(_live(sys.argv[1]))
