"""The OpenAI chat dialect as a server speaks it: POST /v1/chat/completions, streamed."""

from collections.abc import Mapping

from bot.llm.script import Call, Line, Send, Speaker, wire_arguments
from bot.playground.model_dialect import Dialect, content_text, event, halves, input_tokens, tokens
from bot.playground.openai_judge import Refusal, judge_openai

ERRORS: Mapping[int, tuple[str, str | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}
SPEAKERS: Mapping[object, Speaker] = {
    "user": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "tool": Speaker.RESULT,
}


class OpenAiWire:
    """One streamed chat completion."""

    def __init__(self, number: int, body: Mapping[str, object]) -> None:
        self._number, self._model = number, body.get("model")
        options = body.get("stream_options")
        self._counts = isinstance(options, dict) and options.get("include_usage") is True
        self._input = input_tokens(body)
        self._characters = 0
        self._calls = 0

    def start(self) -> bytes:
        """Open the message."""
        return self._chunk({"role": "assistant", "content": ""})

    def piece(self, sent: Send) -> bytes:
        """Send a piece of text, or a whole call in three deltas."""
        if isinstance(sent.piece, str):
            self._characters += len(sent.piece)
            return self._chunk({"content": sent.piece})
        return self._call(sent.piece, wire_arguments(sent))

    def failure(self) -> bytes:
        """Say in the stream that something went wrong; the HTTP status was 200."""
        error = {"message": "The server had an error while processing your request.", "type": "server_error"}
        return event({"error": {**error, "param": None, "code": None}})

    def finish(self, at_limit: bool) -> bytes:
        """End the message properly."""
        ended = "length" if at_limit else "tool_calls" if self._calls else "stop"
        usage = event(self._body(choices=[], usage=self._usage())) if self._counts else b""
        return self._chunk({}, ended) + usage + b"data: [DONE]\n\n"

    def _call(self, call: Call, arguments: str) -> bytes:
        index, self._calls = self._calls, self._calls + 1
        self._characters += len(arguments)
        opener = {"index": index, "id": f"call_{self._number}_{index}", "type": "function"}
        deltas = [{**opener, "function": {"name": call.name, "arguments": ""}}]
        deltas += [{"index": index, "function": {"arguments": half}} for half in halves(arguments)]
        return b"".join(self._chunk({"tool_calls": [delta]}) for delta in deltas)

    def _chunk(self, delta: Mapping[str, object], ended: str | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": ended}]
        return event(self._body(choices=choices, **({"usage": None} if self._counts else {})))

    def _body(self, **fields: object) -> Mapping[str, object]:
        head = {"id": f"chatcmpl-{self._number}", "object": "chat.completion.chunk", "created": 0}
        return {**head, "model": self._model, **fields}

    def _usage(self) -> Mapping[str, int]:
        spoken = tokens(self._characters)
        return {"prompt_tokens": self._input, "completion_tokens": spoken, "total_tokens": self._input + spoken}


def _lines(body: Mapping[str, object]) -> tuple[Line, ...]:
    messages = body.get("messages")
    return tuple(
        Line(SPEAKERS[message.get("role")], content_text(message.get("content")))
        for message in (messages if isinstance(messages, list) else ())
        if message.get("role") in SPEAKERS
    )


def _error_body(status: int, refusal: Refusal) -> Mapping[str, object]:
    kind, code = ERRORS.get(status, ERRORS[400] if status < 500 else ("server_error", None))
    return {"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.code or code}}


OPENAI = Dialect(
    name="openai",
    path="/v1/chat/completions",
    key_header="Authorization",
    key_prefix="Bearer ",
    needed_header=None,
    judge=judge_openai,
    lines=_lines,
    error_body=_error_body,
    wire=OpenAiWire,
)
