"""The bot's own HTTP port: is it alive, is it ready, its numbers, and orders for runs from whoever runs Steersman.

It decides nothing: an order goes where a button's goes. Whoever holds the token is the operator in the record; the
token is compared in constant time, and stands in no answer and no log.
"""

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from aiohttp import web

from bot import metrics
from bot.api.orders import Wanted, wanted
from bot.api.replies import RefusedError, of_server, refusal, reply
from bot.errors import DatabaseUnavailableError
from bot.rules.measures import Tally
from bot.rules.terms import InterruptSource
from bot.telemetry import log
from storage import tally, unsettled
from storage.engine import Database, Transaction
from storage.interrupts import Order
from storage.settlement import Means

T = TypeVar("T")

OPERATOR = "operator"
LONGEST_BODY = 16 * 1024
ANSWER_S = 5.0
"""Seconds until the database counts as away: whoever asks has a deadline of their own."""
TALLY_KEPT_S = 2.0
"""Seconds for which the numbers of the rows are kept: counting them costs more the more runs there were."""


@dataclass(frozen=True, slots=True)
class PortMeans:
    """What the port works with; without a token it takes no orders."""

    database: Database
    means: Means
    token: str | None = None


class Port:
    """The paths of the port."""

    def __init__(self, means: PortMeans) -> None:
        self._means = means
        self._tally: tuple[float, Tally] | None = None

    def application(self) -> web.Application:
        """The paths as aiohttp serves them."""
        app = web.Application(middlewares=[_in_our_form], client_max_size=LONGEST_BODY)
        app.router.add_get("/healthz", self.health)
        app.router.add_get("/readyz", self.readiness)
        app.router.add_get("/metrics", self.numbers)
        app.router.add_post("/v1/runs/{run_id}/interrupts", self.interrupt)
        return app

    async def health(self, _: web.Request) -> web.Response:
        """Whether this process answers at all."""
        return reply(200, {"status": "ok"})

    async def readiness(self, _: web.Request) -> web.Response:
        """Whether it can do its work: not while the database is away."""
        try:
            await self._ask(tally.is_there)
        except RefusedError:
            return reply(503, {"status": "not ready", "database": "away"})
        return reply(200, {"status": "ready", "database": "ok"})

    async def numbers(self, _: web.Request) -> web.Response:
        """The metrics, as Prometheus reads them; those of the rows are left out while the database is away."""
        written = metrics.current().written_out(await self._tallied())
        return web.Response(body=written, headers={"Content-Type": metrics.CONTENT_TYPE})

    async def interrupt(self, request: web.Request) -> web.Response:
        """Stop or pause a run."""
        self._allow(request)
        run_id = request.match_info["run_id"]
        asked = wanted(await request.read(), request.headers.get("Idempotency-Key"))
        order_id = asked.id_or(self._means.means.mint_id())
        order = Order(order_id, asked.kind, InterruptSource.API, OPERATOR, scope=asked.scope, reason=asked.reason)
        try:
            done = await self._ask(lambda tx: unsettled.order(tx, run_id, order, self._means.means))
        except unsettled.AlreadyUsedError as used:
            raise RefusedError(409, "key_used", "This name was used for another request.") from used
        if done is None:
            raise RefusedError(404, "no_such_run", "There is no run with this id.")
        log.info("run.ordered", run_id=run_id, kind=asked.kind, result=done.result)
        return reply(200, {"run_id": run_id, **_shown(order_id, asked), "result": done.result.value})

    def _allow(self, request: web.Request) -> None:
        token = self._means.token
        if token is None:
            raise RefusedError(403, "orders_are_off", "Orders are off: STEERSMAN_API_TOKEN is not set.")
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        # Bytes: two texts are only compared in constant time where both are ASCII.
        is_right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode())
        if scheme.lower() != "bearer" or not is_right:
            says = "Send the token of STEERSMAN_API_TOKEN as Authorization: Bearer TOKEN."
            raise RefusedError(401, "not_allowed", says, {"WWW-Authenticate": "Bearer"})

    async def _tallied(self) -> Tally | None:
        now = asyncio.get_running_loop().time()
        if self._tally is not None and now - self._tally[0] < TALLY_KEPT_S:
            return self._tally[1]
        try:
            fresh = await self._ask(tally.read)
        except RefusedError:
            return None
        self._tally = (now, fresh)
        return fresh

    async def _ask(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Ask the database; raises RefusedError while it is away."""
        try:
            async with asyncio.timeout(ANSWER_S), self._means.database.transaction() as tx:
                return await work(tx)
        except (DatabaseUnavailableError, TimeoutError) as away:
            says = "The database is away. The same request may be sent again; name it, and it counts once."
            raise RefusedError(503, "database_away", says, {"Retry-After": "5"}) from away


@asynccontextmanager
async def opened(port: Port, host: str, number: int) -> AsyncIterator[int]:
    """Serve the port; gives its number, which is a free one where 0 was asked for. Raises OSError."""
    runner = web.AppRunner(port.application(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, number).start()
        bound = int(runner.addresses[0][1])
        log.info("port.open", host=host, port=bound)
        yield bound
    finally:
        await runner.cleanup()


def _shown(order_id: str, asked: Wanted) -> dict[str, object]:
    return {"interrupt_id": order_id, "kind": asked.kind.value, "scope": asked.scope.value}


@web.middleware
async def _in_our_form(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    try:
        return await handler(request)
    except RefusedError as refused:
        return refusal(refused)
    except web.HTTPException as refused:
        return refusal(of_server(refused))
