"""What goes into the door and what comes out of it: a call, its reply, and the note of each HTTP request it made."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from bot.egress.headers import Headers
from bot.egress.permits import READING, SecretUse
from bot.egress.rules import Asked
from bot.rules.terms import Grade

DEFAULT_SECONDS = 15.0
MAX_SECONDS = 30.0
MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class EgressRequest:
    """One call; `seconds` is for all of it (30 at most), look-up, redirects and second try included.

    `grade` says what the caller is allowed to do: a write needs a rule of grade write. Only a read, or a write that
    is `idempotent`, is ever repeated. `lend` names a secret that goes with it where its rule names none.
    """

    url: str
    request_id: str
    method: str = "GET"
    seconds: float = DEFAULT_SECONDS
    max_bytes: int = MAX_BYTES
    headers: Headers = ()
    body: bytes | None = None
    grade: Grade = Grade.READ
    idempotent: bool = False
    lend: SecretUse | None = None

    @property
    def asked(self) -> Asked:
        """What the rules judge of it."""
        return Asked(self.url, self.method, self.grade, self.headers)

    @property
    def may_repeat(self) -> bool:
        """Whether a second try does no harm."""
        return self.grade is Grade.READ or self.idempotent

    @property
    def follows(self) -> bool:
        """Whether a redirect of it may be followed: whatever may change something goes nowhere else."""
        return self.grade is Grade.READ and self.method in READING


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: `url` without its query, after redirects; `is_cut` where the body went on after max_bytes.

    `peer` is the address that answered, `hops` the URLs that redirected to it, `retry_after` in seconds.
    """

    url: str
    status: int
    content_type: str
    location: str
    body: bytes
    is_cut: bool
    announced_bytes: int | None
    peer: str = ""
    hops: tuple[str, ...] = ()
    retry_after: float | None = None


class AttemptOutcome(StrEnum):
    """How one HTTP request ended."""

    ANSWERED = "answered"
    BLOCKED = "blocked"
    UNREACHABLE = "unreachable"
    BROKE_OFF = "broke_off"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    HELD_BACK = "held_back"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One HTTP request of a call, or one that a rule refused before it left.

    `number` counts from 1 within the call: a redirect, a second try and a robots.txt are requests of their own.
    `url` has no query values. `rule` is the prefix that allowed it or, where it was blocked, the rule that refused it.
    `started`, `written` (when its first byte was written, None if none was) and `ended` are on the event loop's clock.
    """

    request_id: str
    number: int
    method: str
    url: str
    address: str | None
    status: int | None
    outcome: AttemptOutcome
    rule: str | None
    received_bytes: int
    started: float
    written: float | None
    ended: float

    @property
    def elapsed_ms(self) -> int:
        """From the look-up to the end."""
        return round((self.ended - self.started) * 1000)


Recorder: TypeAlias = Callable[[Attempt], Coroutine[Any, Any, None]]
"""Is told of each attempt when it has ended, in the order in which they ended."""
