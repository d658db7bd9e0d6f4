"""The port on a free number, over a real database, with people and workers beside it."""

import contextlib
from dataclasses import dataclass

import aiohttp
import pytest

from bot import metrics
from bot.api.port import Port, PortMeans, opened
from storage.engine import Database
from storage.settlement import Means
from tests.storage.conftest import desk, raw, watch

TOKEN = "token-of-the-operator"

__all__ = ["desk", "raw", "watch"]


@dataclass
class Caller:
    """Somebody who talks to the port; `send` gives the status, the JSON object and the headers."""

    session: aiohttp.ClientSession
    url: str

    async def send(self, run_id, body=None, *, token=TOKEN, raw_body=None, **headers):
        """Order something for a run."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        allowed = {"Authorization": f"Bearer {token}"} if token is not None else {}
        content = {"data": raw_body} if raw_body is not None else {"json": body}
        path = f"{self.url}/v1/runs/{run_id}/interrupts"
        async with self.session.post(path, headers={**allowed, **more}, **content) as answer:
            return answer.status, await answer.json(), answer.headers

    async def get(self, path, method="GET"):
        async with self.session.request(method, f"{self.url}{path}") as answer:
            return answer.status, await answer.text(), answer.headers


@pytest.fixture
async def calls():
    """Opens a port for a database, and gives who talks to it."""
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())

        async def call(database, means=None, token=TOKEN):
            port = Port(PortMeans(database, means, token))
            number = await stack.enter_async_context(opened(port, "127.0.0.1", 0))
            return Caller(session, f"http://127.0.0.1:{number}")

        yield call


@pytest.fixture
async def caller(calls, desk):
    """Who talks to the port of the desk's database."""
    return await calls(desk.database, desk.means)


@pytest.fixture
async def nobody_home(calls):
    """Who talks to a port whose database is away."""
    away = Database("postgresql://nobody@127.0.0.1:1/none")
    yield await calls(away, Means(lambda: "id1", lambda text: [text]))
    await away.close()


@pytest.fixture
def counted():
    """Fresh instruments."""
    return metrics.fresh()
