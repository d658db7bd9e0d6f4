"""What may leave the process, and what may be repeated: as checks from (path, text) to a list of faults.

A check reads no other file, so that a test can hand it a planted fault.
"""

import ast
from collections.abc import Iterator

SPEAKS_HTTP = frozenset({"aiohttp", "httpcore", "httpx", "requests", "urllib3", "http.client", "urllib.request"})
MAY_SPEAK = ("bot/egress/", "bot/playground/", "bot/slack/", "bot/card/", "bot/app/", "bot/api/")
"""The door; the local counterparts; Slack's own client, which no run decides about; our own port, which listens."""
MODEL_CLIENT = "bot/llm/event_stream.py"
"""The one place that makes an httpx client, with the door's transport under it."""
ALLOWED = {
    "bot/llm/event_stream.py": {"httpx"},
    "bot/llm/openai_chat.py": {"httpx"},
    "bot/tools/http_get.py": {"http.client"},  # the names of statuses
}
RETRYING_PACKAGES = frozenset({"tenacity", "backoff", "retrying", "stamina"})
SLACK_CLIENTS = frozenset({"AsyncWebClient", "WebClient"})


def _imports(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module


def _of(module: str, names: frozenset[str]) -> str | None:
    return next((name for name in names if module == name or module.startswith(f"{name}.")), None)


def ways_out(path: str, text: str) -> list[str]:
    """Imports of something that speaks HTTP, outside the places that may."""
    if path.startswith(MAY_SPEAK):
        return []
    found = [(line, _of(module, SPEAKS_HTTP)) for line, module in _imports(text)]
    return [
        f"{path}:{line} speaks HTTP by itself ({name}), not through bot/egress"
        for line, name in found
        if name and name not in ALLOWED.get(path, set())
    ]


def own_clients(path: str, text: str) -> list[str]:
    """Clients of httpx that do not send through the door's transport."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    made = [
        call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in {"AsyncClient", "Client"}
    ]
    made = [
        call for call in made if isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "httpx"
    ]
    return [
        f"{path}:{call.lineno} makes an HTTP client without the door under it"
        for call in made
        if path != MODEL_CLIENT or "transport" not in {keyword.arg for keyword in call.keywords}
    ]


def own_retries(path: str, text: str) -> list[str]:
    """What would repeat requests beside bot/interrupts/retries.py: packages, and Slack clients with their handlers."""
    packages = [(line, _of(module, RETRYING_PACKAGES)) for line, module in _imports(text)]
    found = [f"{path}:{line} retries with {name}" for line, name in packages if name]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in SLACK_CLIENTS:
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            handlers = given.get("retry_handlers")
            if not (isinstance(handlers, ast.List) and not handlers.elts):
                found.append(f"{path}:{node.lineno} lets Slack's client retry: give it retry_handlers=[]")
        if isinstance(node, ast.keyword) and node.arg == "retries":
            found.append(f"{path}:{node.value.lineno} lets a transport retry")
    return found
