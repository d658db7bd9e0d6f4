"""The one tool, written as a user would: shared httpx client + tenacity (3 tries, exponential wait)."""
import time
import httpx
from tenacity import retry, stop_after_attempt, wait_exponential
from counted import COUNT       # instrumentation: tool attempts issued by this process

_limits = httpx.Limits(max_connections=1000, max_keepalive_connections=100)
_aclient: httpx.AsyncClient | None = None
_sclient: httpx.Client | None = None


def aclient():
    global _aclient
    if _aclient is None:
        _aclient = httpx.AsyncClient(timeout=15, limits=_limits, trust_env=False)
    return _aclient


def sclient():
    global _sclient
    if _sclient is None:
        _sclient = httpx.Client(timeout=15, limits=_limits, trust_env=False)
    return _sclient


@retry(stop=stop_after_attempt(3), wait=wait_exponential(multiplier=0.2), reraise=True)
async def _get(url: str) -> str:
    COUNT[0] += 1
    r = await aclient().get(url, headers={"x-sent": repr(time.monotonic())})   # header = instrumentation only
    r.raise_for_status()
    return r.text


@retry(stop=stop_after_attempt(3), wait=wait_exponential(multiplier=0.2), reraise=True)
def _get_sync(url: str) -> str:
    COUNT[0] += 1
    r = sclient().get(url, headers={"x-sent": repr(time.monotonic())})
    r.raise_for_status()
    return r.text


async def fetch(url: str) -> str:
    """Fetch a URL and return its body.

    Args:
        url: the address to read
    """
    return await _get(url)


def fetch_sync(url: str) -> str:
    """Fetch a URL and return its body.

    Args:
        url: the address to read
    """
    return _get_sync(url)

fetch_sync.__name__ = "fetch"
TOOL_SCHEMA = [{"type": "function", "function": {"name": "fetch", "description": "Fetch a URL and return its body.",
    "parameters": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}}}]
