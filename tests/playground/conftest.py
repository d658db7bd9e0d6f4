"""A local Slack on a free port, the SDK's client, and a bolt app on its socket: what the playground's tests share."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.local_slack import LocalSlack, SlackOptions

Json = dict[str, object]
QUICK = SlackOptions(ack_timeout=0.15, retry_delays=(0.0, 0.05, 0.05))


class Ears:
    """A bot in process: it keeps the envelopes that it gets, and acknowledges them while `acks` says so."""

    def __init__(self, *, acks: bool = True) -> None:
        self.acks, self.frames = acks, []

    async def hear(self, frame: Json) -> bool:
        self.frames.append(frame)
        return self.acks

    def payloads(self, kind: str = "events_api") -> list[Json]:
        return [frame["payload"] for frame in self.frames if frame["type"] == kind]

    def events(self) -> list[Json]:
        return [payload["event"] for payload in self.payloads()]


class BoltBot:
    """A bot made with slack_bolt, as Steersman is: it keeps what it hears; `fails` makes its listeners fail."""

    def __init__(self, client: AsyncWebClient) -> None:
        self.heard, self.fails, self.woken = [], False, asyncio.Event()
        self.app = AsyncApp(client=client, process_before_response=True, ignoring_self_events_enabled=False)
        self.app.event("message")(self._hear)
        self.app.event("app_mention")(self._hear)
        self.app.event("agent_session_stopped")(self._hear)
        self.app.action("stop")(self._press)
        self.handler = AsyncSocketModeHandler(self.app, "xapp-playground")

    async def _hear(self, body: Json) -> None:
        self.heard.append(body)
        self.woken.set()
        if self.fails:
            raise RuntimeError("the database is away")

    async def _press(self, ack: Callable[[], Awaitable[None]], body: Json) -> None:
        self.heard.append(body)
        self.woken.set()
        await ack()

    async def until(self, enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not enough():
                self.woken.clear()
                await self.woken.wait()


@pytest.fixture
async def start() -> AsyncIterator[Callable[..., Awaitable[LocalSlack]]]:
    """Start local Slacks that end with the test."""
    async with AsyncExitStack() as stack:

        async def starter(options: SlackOptions = QUICK) -> LocalSlack:
            return await stack.enter_async_context(LocalSlack.running(options))

        yield starter


@pytest.fixture
async def slack(start: Callable[..., Awaitable[LocalSlack]]) -> LocalSlack:
    return await start()


@pytest.fixture
async def ears(slack: LocalSlack) -> Ears:
    """A bot in process that acknowledges everything."""
    listener = Ears()
    await slack.connect(listener.hear)
    return listener


@pytest.fixture
def client(slack: LocalSlack) -> AsyncWebClient:
    return AsyncWebClient(token="xoxb-playground", base_url=f"{slack.url}/api/", retry_handlers=[], timeout=10)


@pytest.fixture
async def bolt(slack: LocalSlack, client: AsyncWebClient) -> AsyncIterator[BoltBot]:
    bot = BoltBot(client)
    await bot.handler.connect_async()
    await slack.wait_for(lambda: slack.socket_mode.sockets, 10)
    yield bot
    await bot.handler.close_async()


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def control(slack: LocalSlack, http: aiohttp.ClientSession) -> Callable[..., Awaitable[Json]]:
    """Give an order over HTTP and return the answer."""

    async def order(name: str, **body: object) -> Json:
        async with http.post(f"{slack.url}/_playground/{name}", json=body) as answer:
            return await answer.json()

    return order


@pytest.fixture
def new_ears() -> Callable[..., Ears]:
    """Make further bots in process."""
    return Ears
