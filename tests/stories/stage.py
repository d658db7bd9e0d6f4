"""The stage of the stories: a real PostgreSQL, a local Slack, a model server, tools with barriers, and the bot.

Everything speaks HTTP and websockets as it would outside. What a story claims is read from the database, from what
Slack holds and from the servers' own request logs, never from the bot.
"""

import asyncio
import contextlib
import itertools
from dataclasses import dataclass, field

import asyncpg
from aiohttp import web

from bot.app.assembly import App
from bot.app.slack import connect_slack
from bot.card.publisher import Pace
from bot.llm.script_file import parse_script
from bot.playground.local_slack import LocalSlack, SlackOptions
from bot.playground.model_server import ModelServer
from bot.settings.environment import Settings
from bot.settings.sections import ConfigFile
from storage.engine import Database

ANA, BEN, GUS, EVE = "U0ANA", "U0BEN", "U0GUS", "U0EVE"
INCIDENTS, CHECKOUT = "C0INCIDENTS", "C0CHECKOUT"
KEY = "key-of-the-stage"
WITHIN_S = 20.0


class Targets:
    """What the tools read: every path answers with its name; a path that begins with /gate/ waits to be opened.

    `bodies` gives other answers by their paths: what is sent, and its content type.
    """

    def __init__(self) -> None:
        self.url = ""
        self.paths: list[str] = []
        self.asked: list[str] = []
        self.request_ids: list[str] = []
        self.left: list[str] = []
        self.bodies: dict[str, tuple[bytes, str]] = {}
        self.statuses: dict[str, int] = {}
        self._opened: dict[str, asyncio.Event] = {}
        self._news = asyncio.Condition()

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls):
        """Run on a free port of this machine."""
        targets = cls()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", targets._answer)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            targets.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield targets
        finally:
            await runner.cleanup()

    def open(self, *names: str) -> None:
        """Let the requests for these gates through, now and from now on."""
        for name in names:
            self._opened.setdefault(name, asyncio.Event()).set()

    async def reached(self, name: str, times: int = 1) -> None:
        """Wait until requests for a path have come so many times."""
        async with asyncio.timeout(WITHIN_S), self._news:
            await self._news.wait_for(lambda: self.paths.count(f"/{name}") >= times)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        async with self._news:
            self.paths.append(request.path)
            self.asked.append(f"{request.method} {request.raw_path}")
            self.request_ids.append(request.headers.get("X-Request-Id", ""))
            self._news.notify_all()
        try:
            if request.path.startswith("/gate/"):
                await self._opened.setdefault(request.path[1:], asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.left.append(request.path)
            raise
        name = (f"this is {request.path[1:]}".encode(), "text/plain; charset=utf-8")
        body, kind = self.bodies.get(request.path, name)
        status = self.statuses.get(request.path, 200)
        return web.Response(status=status, body=body, headers={"Content-Type": kind})


@dataclass
class Settled:
    """A settlement as a connection of our own reads it."""

    run_id: str
    reason: str
    final_event_id: int | None
    error: str | None
    decided_by: str | None


@dataclass
class Worker:
    """An app that works, listens or both, in this process."""

    app: App
    tasks: list[asyncio.Task] = field(default_factory=list)

    async def stop(self) -> None:
        """End it as a signal would: its runs are handed back."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.app.database.close()


class Stage:
    """One story's world."""

    def __init__(self, url: str, slack: LocalSlack, model: ModelServer, targets: Targets, reader) -> None:
        self.url, self.slack, self.model, self.targets, self.reader = url, slack, model, targets, reader
        self.workers: list[Worker] = []
        self.limits: dict[str, object] = {}
        self.actions: dict[str, object] = {}
        self.writable: list[object] = []
        self.environment: dict[str, str] = {}
        self.sections: dict[str, object] = {}
        self.readable = [targets.url]
        self.scrubber = None
        self._looking = asyncio.Lock()

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, url: str, options: SlackOptions | None = None, variables: dict[str, str] | None = None):
        """Open a stage on a fresh database, with nobody on it yet."""
        async with contextlib.AsyncExitStack() as stack:
            slack = await stack.enter_async_context(LocalSlack.running(options or SlackOptions(retry_delays=(0, 1, 5))))
            targets = await stack.enter_async_context(Targets.running())
            known = {"TARGET": targets.url, **(variables or {})}
            model = await stack.enter_async_context(
                ModelServer.running(
                    parse_script('[[plays]]\n[[plays.rounds]]\nsay = "Hello."', "stage"), KEY, variables=known
                )
            )
            reader = await asyncpg.connect(url)
            stack.push_async_callback(reader.close)
            stage = cls(url, slack, model, targets, reader)
            stack.push_async_callback(stage.stop_all)
            yield stage

    def plays(self, script: str) -> None:
        """Give the model a script (docs/model-scripts.md)."""
        self.model.follow(parse_script(script, "story"))

    def settings(self) -> Settings:
        """The settings of an app on this stage."""
        config = {
            "egress": {
                "allow": [*self.readable, *self.writable],
                "loopback": [{"address": url.removeprefix("http://")} for url in self.readable],
            },
            "actions": self.actions,
            "limits": {"patience_s": 0.2, "lease_s": 2.0, **self.limits},
            **self.sections,
        }
        environment = {
            "DATABASE_URL": self.url,
            "SLACK_BOT_TOKEN": self.slack.options.bot_token,
            "SLACK_APP_TOKEN": self.slack.options.app_token,
            "SLACK_API_URL": f"{self.slack.url}/api/",
            "STEERSMAN_MODEL": "openai:scripted",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{self.model.url}/v1",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.model.url,
            **self.environment,
        }
        return Settings(environment, ConfigFile.model_validate(config))

    async def start(self, *, works: bool = True, listens: bool = True, publishes: bool = True) -> Worker:
        """Start an app; it is ready to be spoken to when this returns."""
        settings = self.settings()
        app = App(settings, Database(settings.database_url), await connect_slack(settings.slack()), self.scrubber)
        worker = Worker(app)
        self.workers.append(worker)
        if works:
            # A worker that was declared dead comes back under another id, or it would be dead at once again.
            ids = (f"{id(worker)}-{number}" for number in itertools.count(1))
            worker.tasks.append(asyncio.create_task(app.worker().run(lambda: next(ids))))
        if publishes:
            pace = Pace(interval_s=0.2, repaint_s=1.0, look_again_s=2.0, poll_s=0.2)
            worker.tasks.append(asyncio.create_task(app.publisher(pace).run()))
        if listens:
            sockets = len(self.slack.socket_mode.sockets)
            worker.tasks.append(asyncio.create_task(app.listen(settings.slack().app_token)))
            await self.slack.wait_for(lambda: len(self.slack.socket_mode.sockets) >= sockets + 2, WITHIN_S)
        return worker

    async def stop_all(self) -> None:
        """End every app."""
        for worker in self.workers:
            await worker.stop()
        self.workers.clear()

    async def asks(self, text: str, by: str = ANA, channel: str = INCIDENTS) -> "Thread":
        """Mention the bot in a new thread."""
        message = await self.slack.say(by, channel, f"@Steersman {text}")
        return Thread(self, channel, message.ts)

    async def until(self, look, within: float = WITHIN_S):
        """Wait until a look (async) gives something true, and return that."""
        never = asyncio.Event()
        async with asyncio.timeout(within):
            while not (seen := await self._looked(look)):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(never.wait(), 0.01)
            return seen

    async def _looked(self, look):
        # Stories that wait side by side share one connection, which takes one question at a time.
        async with self._looking:
            return await look()


class Thread:
    """A Slack thread of a story."""

    def __init__(self, stage: Stage, channel: str, ts: str) -> None:
        self.stage, self.channel, self.ts = stage, channel, ts

    async def says(self, text: str, by: str = ANA):
        """Reply in the thread."""
        return await self.stage.slack.say(by, self.channel, text, self.ts)

    async def clicks(self, label: str, by: str = ANA, number: int = -1):
        """Press a button of a card, or choose from its menu, by its label; waits until the card offers it."""

        def button():
            cards = self.cards()
            offered = {**buttons_of(cards[number]), **choices_of(cards[number])} if cards else {}
            return (cards[number], offered[label]) if label in offered else None

        card, pressed = await self.stage.slack.wait_for(button, WITHIN_S)
        return await self.stage.slack.click(by, self.channel, card.ts, pressed["action_id"], pressed["value"])

    def cards(self):
        """The cards of the thread, as Slack holds them, oldest first."""
        return [each for each in self._messages() if _event_type(each) == "steersman_card"]

    def answers(self):
        """The answers of the thread, as Slack holds them."""
        return [each for each in self._messages() if _event_type(each) == "steersman_post"]

    async def card(self, state: str, number: int = -1):
        """Wait until a card shows a state, and return it."""

        def shows():
            found = self.cards()[number:][:1]
            return found[0] if found and state_of(found[0]) == state else None

        return await self.stage.slack.wait_for(shows, WITHIN_S)

    async def settled(self, count: int = 1, within: float = WITHIN_S) -> list[Settled]:
        """Wait until so many runs of the thread are settled; they come in the order of the runs."""

        async def look():
            rows = await self.stage.reader.fetch(
                "select s.run_id, s.reason, s.final_event_id, s.error, s.decided_by from settlements s"
                " join threads t on t.id = s.thread_id join runs r on r.id = s.run_id"
                " where t.channel_id = $1 and t.thread_ts = $2 order by r.seq",
                self.channel,
                self.ts,
            )
            return [Settled(**row) for row in rows] if len(rows) >= count else None

        return await self.stage.until(look, within)

    async def runs(self):
        """The runs of the thread, oldest first."""
        return await self.stage.reader.fetch(
            "select r.* from runs r join threads t on t.id = r.thread_id"
            " where t.channel_id = $1 and t.thread_ts = $2 order by r.seq",
            self.channel,
            self.ts,
        )

    async def events(self):
        """The stored history."""
        return await self.stage.reader.fetch(
            "select e.*, e.body::text as text from events e join threads t on t.id = e.thread_id"
            " where t.channel_id = $1 and t.thread_ts = $2 order by e.seq",
            self.channel,
            self.ts,
        )

    def _messages(self):
        return self.stage.slack.thread(self.channel, self.ts)


def state_of(card) -> str:
    """The state that a card says it is in."""
    return card.metadata["event_payload"]["state"]


def buttons_of(card):
    """The buttons of a card by their labels."""
    rows = [block["elements"] for block in card.blocks if block["type"] == "actions"]
    return {element["text"]["text"]: element for row in rows for element in row if element["type"] == "button"}


def choices_of(card):
    """The choices of a card's menu by their labels, each as the click that makes it."""
    rows = [block["elements"] for block in card.blocks if block["type"] == "actions"]
    menus = [element for row in rows for element in row if element["type"] == "overflow"]
    return {
        option["text"]["text"]: {"action_id": menu["action_id"], "value": option["value"]}
        for menu in menus
        for option in menu["options"]
    }


def words_of(card) -> str:
    """Every word that a card shows."""
    found: list[str] = []

    def walk(value):
        if isinstance(value, dict):
            found.extend(str(value[key]) for key in ("text", "fallback") if isinstance(value.get(key), str))
            for each in value.values():
                walk(each)
        elif isinstance(value, list | tuple):
            for each in value:
                walk(each)

    walk(list(card.blocks))
    return " ".join(found)


def lines_of(card) -> list[str]:
    """The lines of a card that are written as rich text, as a person reads them; names of people as their ids."""
    sections = [part for block in card.blocks if block["type"] == "rich_text" for part in block["elements"]]
    return ["".join(_shown(element) for element in section["elements"]) for section in sections]


def _shown(element) -> str:
    return str(element.get("text") or element.get("fallback") or element.get("user_id") or "")


def _event_type(message) -> str | None:
    return (message.metadata or {}).get("event_type")
