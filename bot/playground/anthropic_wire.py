"""The Anthropic messages dialect as a server speaks it: POST /v1/messages, streamed."""

from collections.abc import Iterator, Mapping

from bot.llm.script import Call, Line, Send, Speaker, wire_arguments
from bot.playground.anthropic_judge import judge_anthropic
from bot.playground.model_dialect import Dialect, content_text, event, halves, input_tokens, tokens
from bot.playground.openai_judge import Refusal

ERRORS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class AnthropicWire:
    """One streamed message."""

    def __init__(self, number: int, body: Mapping[str, object]) -> None:
        self._number, self._model = number, body.get("model")
        self._input = input_tokens(body)
        self._characters = 0
        self._blocks = 0
        self._calls = 0
        self._text_is_open = False

    def start(self) -> bytes:
        """Open the message."""
        usage = {"input_tokens": self._input, "output_tokens": 1}
        head = {"id": f"msg_{self._number}", "type": "message", "role": "assistant", "model": self._model}
        message = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return _typed("message_start", message=message) + _typed("ping")

    def piece(self, sent: Send) -> bytes:
        """Send a piece of text, or a whole call as a block of its own."""
        if isinstance(sent.piece, str):
            self._characters += len(sent.piece)
            opened = b"" if self._text_is_open else self._open({"type": "text", "text": ""})
            self._text_is_open = True
            return opened + self._delta({"type": "text_delta", "text": sent.piece})
        return self._close_text() + self._call(sent.piece, wire_arguments(sent))

    def failure(self) -> bytes:
        """Say in the stream that something went wrong; the HTTP status was 200."""
        return _typed("error", error={"type": "api_error", "message": "Internal server error"})

    def finish(self, at_limit: bool) -> bytes:
        """End the message properly."""
        ended = "max_tokens" if at_limit else "tool_use" if self._calls else "end_turn"
        delta = {"stop_reason": ended, "stop_sequence": None}
        usage = {"output_tokens": tokens(self._characters)}
        return self._close_text() + _typed("message_delta", delta=delta, usage=usage) + _typed("message_stop")

    def _call(self, call: Call, arguments: str) -> bytes:
        self._characters += len(arguments)
        call_id = f"toolu_{self._number}_{self._calls}"
        self._calls += 1
        opened = self._open({"type": "tool_use", "id": call_id, "name": call.name, "input": {}})
        deltas = [self._delta({"type": "input_json_delta", "partial_json": half}) for half in ("", *halves(arguments))]
        return opened + b"".join(deltas) + self._close()

    def _open(self, block: Mapping[str, object]) -> bytes:
        return _typed("content_block_start", index=self._blocks, content_block=block)

    def _delta(self, delta: Mapping[str, object]) -> bytes:
        return _typed("content_block_delta", index=self._blocks, delta=delta)

    def _close(self) -> bytes:
        self._blocks += 1
        return _typed("content_block_stop", index=self._blocks - 1)

    def _close_text(self) -> bytes:
        was_open, self._text_is_open = self._text_is_open, False
        return self._close() if was_open else b""


def _typed(kind: str, **fields: object) -> bytes:
    return event({"type": kind, **fields}, kind)


def _lines(body: Mapping[str, object]) -> tuple[Line, ...]:
    messages = body.get("messages")
    return tuple(line for message in (messages if isinstance(messages, list) else ()) for line in _spoken(message))


def _spoken(message: Mapping[str, object]) -> Iterator[Line]:
    content = message.get("content")
    if message.get("role") == "assistant":
        yield Line(Speaker.ASSISTANT, content_text(content))
    elif isinstance(content, str):
        yield Line(Speaker.USER, content)
    elif isinstance(content, list):
        yield from map(_line, content)


def _line(block: Mapping[str, object]) -> Line:
    if block.get("type") == "tool_result":
        return Line(Speaker.RESULT, content_text(block.get("content")))
    return Line(Speaker.USER, content_text([block]))


def _error_body(status: int, refusal: Refusal) -> Mapping[str, object]:
    kind = ERRORS.get(status, ERRORS[400] if status < 500 else ERRORS[500])
    return {"type": "error", "error": {"type": kind, "message": refusal.message}, "request_id": "req_local"}


ANTHROPIC = Dialect(
    name="anthropic",
    path="/v1/messages",
    key_header="x-api-key",
    key_prefix="",
    needed_header="anthropic-version",
    judge=judge_anthropic,
    lines=_lines,
    error_body=_error_body,
    wire=AnthropicWire,
)
