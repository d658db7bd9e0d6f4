"""One call on its way: its tries, its redirects, its waits, and a note of every HTTP request it made.

Owns the order of the checks for each request: rules and addresses, robots.txt, the pace, the secret, and the brake
last. It must never carry a secret or a caller's header to another origin.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import httpcore

from bot.egress.calls import Attempt, AttemptOutcome, EgressRequest, Recorder, Reply
from bot.egress.decisions import Admitted, Resolver, decide, system_resolver
from bot.egress.exchange import HeldBackError, Outgoing, Ways, Wire, exchange
from bot.egress.loans import Loan, SecretSource, no_secrets
from bot.egress.rate_limit import Pace
from bot.egress.redirects import REDIRECTS, Hop, next_hop, refusal_of_write
from bot.egress.robots import MAX_TEXT, PATH, RobotsBook
from bot.egress.rules import EgressRules, Permit, Refusal, Target
from bot.egress.urls import recorded_url, shown_location
from bot.errors import ToolBlockedError, ToolError, ToolUnreachableError
from bot.interrupts.brake import Brake
from bot.interrupts.races import to_the_end
from bot.interrupts.retries import ONCE, Attempts, Jitter, RetryPolicy, no_jitter
from bot.rules.redaction import scrub_url

_TRY_AGAIN = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class EgressMeans:
    """What the doors of all runs of a process share; `robots` None asks no robots.txt."""

    resolve: Resolver = system_resolver
    network: httpcore.AsyncNetworkBackend = field(default_factory=httpcore.AnyIOBackend)
    tls: ssl.SSLContext | None = None
    user_agent: str = "steersman"
    pace: Pace = field(default_factory=Pace)
    robots: RobotsBook | None = field(default_factory=RobotsBook)
    secret_of: SecretSource = no_secrets
    jitter: Jitter = no_jitter


@dataclass(frozen=True, slots=True)
class Door:
    """What the calls of one run share."""

    rules: EgressRules
    means: EgressMeans
    retry: RetryPolicy
    record: Recorder | None
    loan: Loan


@dataclass(slots=True)
class _Note:
    """An attempt while it is under way."""

    url: str
    wire: Wire
    started: float
    number: int = 0
    rule: str | None = None
    outcome: AttemptOutcome = AttemptOutcome.ANSWERED


class Call:
    """One call; `sent` says whether any request of it may have reached its target."""

    def __init__(self, door: Door, request: EgressRequest, brake: Brake, deadline: asyncio.Timeout) -> None:
        self._door, self._request, self._brake, self._deadline = door, request, brake, deadline
        self._clock = asyncio.get_running_loop().time
        self._made = 0
        self.sent = False

    async def run(self) -> Reply | None:
        """Make the call, and once more where that does no harm; None where the brake came before anything left."""
        policy = self._door.retry if self._request.may_repeat else ONCE
        attempts = Attempts(self._brake, policy, self._door.means.jitter, until=self._deadline.when())
        outcome: Reply | ToolUnreachableError | None = None
        async for _attempt in attempts:
            outcome = await self._try() or outcome
            if isinstance(outcome, Reply):
                if outcome.status not in _TRY_AGAIN:
                    break
                attempts.asked_to_wait(outcome.retry_after)
        if isinstance(outcome, ToolUnreachableError):
            raise outcome
        return outcome

    async def _try(self) -> Reply | ToolUnreachableError | None:
        try:
            return await self._chain()
        except ToolUnreachableError as error:
            return error

    async def _chain(self) -> Reply | None:
        """Follow redirects to their end; where the brake comes in between, the last redirect is what is known."""
        hop: Hop | None = Hop(self._request.asked)
        reply: Reply | None = None
        while hop is not None:
            try:
                target, answer = await self._step(hop)
            except HeldBackError:
                break
            reply = replace(answer, hops=hop.behind)
            hop = self._next(hop, target, reply)
        return reply

    def _next(self, hop: Hop, target: Target, reply: Reply) -> Hop | None:
        if reply.status not in REDIRECTS or not reply.location:
            return None
        if not self._request.follows:
            refused = refusal_of_write(reply.status, reply.location)
            if refused is not None:
                raise ToolBlockedError(refused.rule, refused.message, sent=True)
            return None
        following = next_hop(hop, target, reply.status, reply.location)
        if isinstance(following, Refusal):
            shown = shown_location(target, reply.location)
            raise ToolBlockedError(following.rule, f"redirect to {shown}: {following.message}", sent=True)
        return following

    async def _step(self, hop: Hop) -> tuple[Target, Reply]:
        async with self._noted(hop.asked.method, recorded_url(hop.asked.url)) as note:
            admitted = await self._admitted(hop)
            permit = admitted.permit
            note.url, note.rule = permit.target.recorded, permit.rule.shown
            await self._ask_robots(admitted, hop)
            # The secret is put in when the wait is over: the loan may end meanwhile.
            await self._turn(permit)
            return permit.target, await self._send(admitted, self._outgoing(permit, hop), note)

    async def _admitted(self, hop: Hop) -> Admitted:
        try:
            decision = await decide(self._door.rules, hop.asked, self._door.means.resolve)
        except OSError as error:
            problem = f"the look-up of its name failed: {str(error) or 'no answer in time'}"
            raise ToolUnreachableError(f"{scrub_url(hop.asked.url)[:300]} cannot be reached: {problem}") from error
        if isinstance(decision, Refusal):
            led_here = f"redirect to {scrub_url(hop.asked.url)[:300]}: " if hop.behind else ""
            raise ToolBlockedError(decision.rule, f"{led_here}{decision.message}", sent=bool(hop.behind))
        return decision

    async def _ask_robots(self, admitted: Admitted, hop: Hop) -> None:
        permit, robots = admitted.permit, self._door.means.robots
        if robots is None or not permit.asks_robots:
            return
        asked = Admitted(replace(permit, target=replace(permit.target, path=PATH, query="")), admitted.addresses)

        async def fetch() -> Reply:
            outgoing = Outgoing("GET", self._own_headers(asked.permit), None, MAX_TEXT)
            async with self._noted("GET", asked.permit.target.recorded) as note:
                note.rule = permit.rule.shown
                await self._turn(permit)
                return await self._send(asked, outgoing, note)

        refused = await robots.judge(permit.target, fetch)
        if refused is not None:
            raise ToolBlockedError(refused.rule, refused.message, sent=bool(hop.behind))

    async def _turn(self, permit: Permit) -> None:
        """Wait for the host's turn; the clock of the call stands still meanwhile, since it is not slow itself."""
        if permit.rate is None:
            return
        left = (self._deadline.when() or 0.0) - self._clock()
        self._deadline.reschedule(None)
        try:
            if not await self._door.means.pace.turn(permit.target.host, permit.rate, self._brake):
                raise HeldBackError
        finally:
            self._deadline.reschedule(self._clock() + left)

    def _outgoing(self, permit: Permit, hop: Hop) -> Outgoing:
        headers = [*self._own_headers(permit), *hop.asked.headers]
        use = permit.rule.secret or self._request.lend
        if use is not None and hop.with_secrets:
            name, value = self._door.loan.header(use, self._brake)
            headers = [header for header in headers if header[0].lower() != name.lower()] + [(name, value)]
        body = self._request.body if self._request.body is not None or self._request.follows else b""
        return Outgoing(hop.asked.method, tuple(headers), body, self._request.max_bytes)

    def _own_headers(self, permit: Permit) -> tuple[tuple[str, str], ...]:
        return (
            ("Host", permit.target.netloc),
            ("User-Agent", self._door.means.user_agent),
            ("Accept", "*/*"),
            # A compressed body can grow a millionfold when it is unpacked, past every cap on what was read.
            ("Accept-Encoding", "identity"),
            ("Connection", "close"),
            ("X-Request-Id", self._request.request_id),
            ("Idempotency-Key", self._request.request_id),
        )

    async def _send(self, admitted: Admitted, outgoing: Outgoing, note: _Note) -> Reply:
        means, shown = self._door.means, admitted.permit.target.shown
        self._made += 1
        note.number, note.started = self._made, self._clock()
        try:
            return await exchange(Ways(means.network, means.tls), admitted, outgoing, note.wire)
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            note.outcome = AttemptOutcome.UNREACHABLE
            raise ToolUnreachableError(f"{shown} cannot be reached: {str(error) or 'no connection'}") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            note.outcome = AttemptOutcome.BROKE_OFF
            problem = f"the answer of {shown} broke off: {str(error) or 'the connection was closed'}"
            raise ToolError(problem, sent=note.wire.written is not None) from error
        finally:
            self.sent = self.sent or note.wire.written is not None

    @contextlib.asynccontextmanager
    async def _noted(self, method: str, url: str) -> AsyncIterator[_Note]:
        """Note one HTTP request, however it ends; the note is written down whole even when the call is cancelled."""
        note = _Note(url, Wire(self._brake), self._clock())
        try:
            yield note
        except ToolBlockedError as blocked:
            note.outcome, note.rule = AttemptOutcome.BLOCKED, blocked.rule
            raise
        except HeldBackError:
            note.outcome = AttemptOutcome.HELD_BACK
            raise
        except ToolUnreachableError:
            note.outcome = AttemptOutcome.UNREACHABLE
            raise
        except asyncio.CancelledError:
            note.outcome = self._why_cancelled()
            raise
        finally:
            await self._record(note, method)

    def _why_cancelled(self) -> AttemptOutcome:
        until = self._deadline.when()
        over = until is not None and self._clock() >= until
        return AttemptOutcome.TIMED_OUT if over else AttemptOutcome.CANCELLED

    async def _record(self, note: _Note, method: str) -> None:
        if self._door.record is None:
            return
        if not note.number:
            self._made += 1
            note.number = self._made
        wire = note.wire
        attempt = Attempt(
            request_id=self._request.request_id,
            number=note.number,
            method=method[:16],
            url=note.url,
            address=wire.peer or None,
            status=wire.status,
            outcome=note.outcome,
            rule=note.rule,
            received_bytes=wire.received_bytes,
            started=note.started,
            written=wire.written,
            ended=self._clock(),
        )
        await to_the_end(self._door.record(attempt))
