"""The door out: every HTTP request of a run's tools leaves through here.

Owns what one run may do at a time, and the deadline. It must never look a name up twice for one connection, read
proxies or credentials from the environment, or keep a connection after its call.
"""

import asyncio

from bot.egress.call import Call, Door, EgressMeans
from bot.egress.calls import (
    DEFAULT_SECONDS,
    MAX_BYTES,
    MAX_SECONDS,
    Attempt,
    AttemptOutcome,
    EgressRequest,
    Recorder,
    Reply,
)
from bot.egress.decisions import Resolver, system_resolver
from bot.egress.loans import Loan
from bot.egress.rules import EgressRules
from bot.errors import ToolTimeoutError
from bot.interrupts.brake import Brake
from bot.interrupts.retries import READS, RetryPolicy
from bot.rules.redaction import scrub_url

__all__ = [
    "DEFAULT_SECONDS",
    "MAX_BYTES",
    "MAX_SECONDS",
    "PER_RUN",
    "Attempt",
    "AttemptOutcome",
    "EgressClient",
    "EgressMeans",
    "EgressRequest",
    "Recorder",
    "Reply",
    "Resolver",
    "system_resolver",
]

PER_RUN = 3
"""How many requests of one run are on their way at a time."""


class EgressClient:
    """The door of one run; make one per run, because its places and its loan of secrets are the run's."""

    def __init__(
        self,
        rules: EgressRules,
        means: EgressMeans | None = None,
        *,
        retry: RetryPolicy = READS,
        record: Recorder | None = None,
    ) -> None:
        self.rules, self._means = rules, means or EgressMeans()
        self._door = Door(rules, self._means, retry, record, Loan(self._means.secret_of))
        self._places = asyncio.Semaphore(PER_RUN)

    async def fetch(self, request: EgressRequest, brake: Brake) -> Reply | None:
        """Make a call; None where the brake was pulled before anything left.

        Raises ToolBlockedError where a rule refuses, ToolUnreachableError where no connection came about,
        ToolTimeoutError past the deadline, ToolError where it fails; `sent` of the error says whether the request may
        have reached its target. Cancelled from outside it closes its connection at once.
        """
        seconds = min(request.seconds, MAX_SECONDS)
        # The clock starts with the place: a call that waits behind three slow ones has not been slow itself.
        async with self._places:
            call: Call | None = None
            try:
                async with asyncio.timeout(seconds) as deadline:
                    call = Call(self._door, request, brake, deadline)
                    return await call.run()
            except TimeoutError as error:
                problem = f"{scrub_url(request.url)[:300]} gave no complete answer within {seconds:g} s"
                raise ToolTimeoutError(problem, sent=call is not None and call.sent) from error
