"""The tool that reads one URL.

Owns the words: what the model is told of an answer, and how the card names the call. It must never decide what may be
called: bot/egress does, for every redirect too.
"""

import codecs
import hashlib
from http.client import responses
from typing import Literal
from urllib.parse import urljoin

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.egress.client import DEFAULT_SECONDS, MAX_BYTES, EgressClient, EgressRequest, Reply
from bot.egress.redirects import REDIRECTS
from bot.egress.rules import READING, Refusal, parse_url
from bot.errors import ToolArgumentsError
from bot.rules.messages import JsonObject, ToolSchema
from bot.rules.redaction import scrub
from bot.rules.terms import CallOutcome, Grade
from bot.tools.tool import CallLabel, ToolAnswer, ToolContext

NAME = "http_get"
MAX_CHARS = 16_000
"""Characters of a body that the model is given, some 4,000 tokens."""

_LABEL_CHARS = 80
_LISTED_PREFIXES = 20
_BORDER_CHARS = 2_000
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml",
               "application/x-ndjson", "application/javascript", "application/openmetrics-text",
               "application/x-www-form-urlencoded")  # fmt: skip
_TEXT_SUFFIXES = ("+json", "+xml", "+yaml")
_WHAT_TO_SEND = 'Send {"url": "https://..."}, with "method": "HEAD" if only the headers matter.'


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    url: str
    method: Literal["GET", "HEAD"] = "GET"


class HttpGet:
    """Reads a URL that the operator's rules allow; `seconds` for a call, `max_bytes` read, `max_chars` told."""

    def __init__(
        self,
        client: EgressClient,
        *,
        seconds: float = DEFAULT_SECONDS,
        max_bytes: int = MAX_BYTES,
        max_chars: int = MAX_CHARS,
    ) -> None:
        self.schema = _schema(client)
        self._client = client
        self._seconds, self._max_bytes, self._max_chars = seconds, max_bytes, max_chars

    def label(self, arguments: JsonObject) -> CallLabel:
        """Name this call for the card, such as "Read /metrics of checkout.internal"."""
        target = parse_url(str(arguments.get("url", "")))
        if isinstance(target, Refusal):
            return CallLabel("Read a URL", "a URL that is not valid")
        verb = "Check" if arguments.get("method") == "HEAD" else "Read"
        path = "" if target.path == "/" else scrub(target.path)
        title = f"{verb} {_shortened(path)} of {target.netloc}" if path else f"{verb} {target.netloc}"
        return CallLabel(title, f"{target.netloc}{_shortened(path)}")

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolAnswer:
        """Read the URL; an answer with an error status is an answer, because that may be what is looked for."""
        asked = _parsed(arguments)
        request = EgressRequest(asked.url, context.request_id, asked.method, self._seconds, self._max_bytes)
        reply = await self._client.fetch(request, context.brake)
        if reply is None:
            return ToolAnswer("not started: the run was interrupted", CallOutcome.NOT_STARTED, method=asked.method)
        text = told(reply, asked.url, self._max_chars)
        return ToolAnswer(text, url=reply.url, method=asked.method, status=reply.status)


def _schema(client: EgressClient) -> ToolSchema:
    prefixes = [rule.shown for rule in client.rules.allow if READING & rule.methods]
    more = f" and {len(prefixes) - _LISTED_PREFIXES} more" if len(prefixes) > _LISTED_PREFIXES else ""
    allowed = ", ".join(prefixes[:_LISTED_PREFIXES]) + more if prefixes else "none yet"
    return ToolSchema(
        name=NAME,
        description="Read one URL (GET, or HEAD for the headers only). Redirects are followed where they are allowed. "
        f"Only URLs under these prefixes are allowed: {allowed}.",
        parameters={
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "The whole URL, with blanks and special characters as %XX"},
                "method": {"type": "string", "enum": ["GET", "HEAD"], "description": "GET if left out"},
            },
            "required": ["url"],
            "additionalProperties": False,
        },
        grade=Grade.READ,
    )


def _parsed(arguments: JsonObject) -> _Arguments:
    try:
        return _Arguments.model_validate(dict(arguments))
    except ValidationError as error:
        problems = "; ".join(_problem(str(entry["loc"][0]), entry["type"]) for entry in error.errors())
        raise ToolArgumentsError(f"{problems}. {_WHAT_TO_SEND}") from error


def _problem(name: str, kind: str) -> str:
    words = {
        "missing": "is missing",
        "extra_forbidden": "is not an argument of http_get",
        "literal_error": "must be GET or HEAD",
        "string_type": "must be a string",
    }
    return f"{name[:40]!r} {words.get(kind, 'is not valid')}"


def told(reply: Reply, url: str, max_chars: int = MAX_CHARS) -> str:
    """What the model is told of an answer: status, type, where it leads, and up to `max_chars` of the body."""
    head = [f"HTTP {reply.status} {responses.get(reply.status, '')}".rstrip()]
    if reply.content_type:
        head.append(f"content-type: {reply.content_type[:100]}")
    if reply.hops:
        head.append(f"redirected, the answer is from {scrub(reply.url)}")
    if reply.status in REDIRECTS and reply.location:
        head.append(f"redirects to {_destination(url, reply.location)}, which was not called")
    return "\n".join([*head, "", _body(reply, max_chars)])


def _destination(url: str, location: str) -> str:
    try:
        return scrub(urljoin(url, location))[:2_000]
    except ValueError:
        return "an address that is not valid"


def _body(reply: Reply, max_chars: int) -> str:
    if not reply.body:
        return "(empty body)"
    if not _is_text(reply):
        digest = hashlib.sha256(reply.body).hexdigest()
        return f"(not text, so not shown: {_size(reply)}, sha256 of what was read {digest})"
    # A body that was cut can end within a character; what is left of it is no error of the sender.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(reply.body, final=not reply.is_cut)
    return _clipped(text.replace("\x00", ""), max_chars) + (f"\n[{_size(reply)}]" if reply.is_cut else "")


def _is_text(reply: Reply) -> bool:
    kind = reply.content_type.partition(";")[0].strip().lower()
    return kind.startswith(_TEXT_TYPES) or kind.endswith(_TEXT_SUFFIXES) or (not kind and b"\x00" not in reply.body)


def _size(reply: Reply) -> str:
    if not reply.is_cut:
        return f"{len(reply.body):,} bytes"
    return f"only the first {len(reply.body):,} bytes were read, the whole length is not known"


def _clipped(text: str, limit: int) -> str:
    """Cut a text at the end of a line if one is near, and say how much is left out."""
    if len(text) <= limit:
        return text
    line_end = text.rfind("\n", max(0, limit - _BORDER_CHARS), limit + 1)
    border = line_end if line_end > 0 else limit
    return f"{text[:border]}\n[{len(text) - border:,} more characters left out]"


def _shortened(text: str) -> str:
    return text if len(text) <= _LABEL_CHARS else f"{text[: _LABEL_CHARS - 1]}…"
