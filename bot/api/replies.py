"""What the HTTP port answers: JSON objects, and for everything that is refused one form of error with a clear line."""

from collections.abc import Mapping

from aiohttp import web


class RefusedError(Exception):
    """A request that is not carried out; `code` is for programs, `says` for people."""

    def __init__(self, status: int, code: str, says: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(says)
        self.status, self.code, self.says, self.headers = status, code, says, headers or {}


def reply(status: int, body: Mapping[str, object], headers: Mapping[str, str] | None = None) -> web.Response:
    """A JSON object as the answer."""
    return web.json_response(dict(body), status=status, headers=headers)


def refusal(refused: RefusedError) -> web.Response:
    """The answer to a request that is not carried out."""
    return reply(refused.status, {"error": {"code": refused.code, "message": refused.says}}, refused.headers)


def of_server(refused: web.HTTPException) -> RefusedError:
    """What the server itself refuses (no such path, no such method, too much of a body), in our form."""
    allowed = {"Allow": refused.headers["Allow"]} if "Allow" in refused.headers else {}
    code = "_".join((refused.reason or "refused").lower().split())
    return RefusedError(refused.status, code, _WORDS.get(refused.status, refused.reason or "refused"), allowed)


_WORDS = {
    404: "There is nothing here. POST /v1/runs/ID/interrupts, GET /healthz, /readyz and /metrics are what there is.",
    405: "This path does not take this method.",
    413: "The body is too long.",
}
