"""One claim of a run: model message, tool batch, cut point, and again.

It asks at every cut point whether it may go on, and never decides that by itself. How it ends is a value. It never
talks to Slack: what Slack alone knows comes in as a callable.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from bot.agent import history as projection
from bot.agent.asking import Patience, asked_again
from bot.agent.batch import Batch, BatchRunner
from bot.agent.failures import failed
from bot.agent.run_writer import RunWriter
from bot.errors import HistoryError, LedgerError, ModelError, ModelRequestError, ModelStreamError
from bot.interrupts.brake import Brake
from bot.interrupts.races import Done, unless_pulled
from bot.llm.provider import ModelReply, ModelRequest, Provider
from bot.llm.validate import check_messages
from bot.rules.blank import is_blank
from bot.rules.limits import NO_RUN_LIMITS, RunLimits
from bot.rules.messages import Message, ToolCall, Usage
from bot.rules.prices import Price, cost_of
from bot.rules.redaction import Scrubber
from bot.rules.scrubbed_messages import scrubbed
from bot.rules.terms import FailureClass
from bot.rules.turn_ends import Cut, Empty, End, Failed, Finished
from bot.telemetry import log
from bot.tools import counting
from bot.tools.gate import ToolGate
from storage import audit, runs
from storage.engine import Database, Transaction
from storage.history import Appended
from storage.interrupts import ProbeAnswer
from storage.queue import Claimed
from storage.threads import Place
from storage.usage import Spent


@dataclass(frozen=True, slots=True)
class LetGo:
    """The claim is over and the run is not: it was suspended, or another worker has it."""


async def every_tool(_tx: Transaction, _claimed: Claimed) -> AbstractSet[str] | None:
    """The tools of a run where no rule names any: all of them."""
    return None


@dataclass(frozen=True, slots=True)
class TurnMeans:
    """What a turn works with; `read_earlier` gives the words of a thread before the bot was asked, None if it fails.

    `permitted` names the tools of this channel and requester, None for all; it is asked at each claim.
    """

    database: Database
    provider: Provider
    model: str
    make_gate: Callable[[], ToolGate]
    system_prompt: str
    mint_id: Callable[[], str]
    read_earlier: Callable[[Place, AbstractSet[str]], Coroutine[Any, Any, str | None]]
    permitted: Callable[[Transaction, Claimed], Awaitable[AbstractSet[str] | None]] = every_tool
    patience_s: float | None = 5.0
    max_rounds: int = 50
    answer_tokens: int = 4096
    model_patience: Patience = field(default_factory=Patience)
    scrubber: Scrubber = field(default_factory=Scrubber)
    limits: RunLimits = NO_RUN_LIMITS
    prices: Mapping[str, Price] = field(default_factory=dict)


NO_EARLIER = "(The earlier messages of this thread could not be read: you have seen none of them.)"


class TurnLoop:
    """The loop of one claim."""

    def __init__(self, means: TurnMeans, claimed: Claimed, brake: Brake, writer: RunWriter) -> None:
        self._means, self._claimed, self._brake, self._writer = means, claimed, brake, writer
        self._gate = means.make_gate()
        self._batches = BatchRunner(self._gate, writer, claimed.claim, brake, means.patience_s)
        self._model = _fixed(claimed.run.model, means)
        self._flat = claimed.run.flat

    async def run(self) -> End | LetGo:
        """Go on until the run ends, is suspended, or is lost."""
        over = await self._cut_point(self._fix_model) or await self._prepare()
        while over is None:
            over = await self._round()
        return over

    async def _cut_point(self, also: Callable[[Transaction], Awaitable[None]] | None = None) -> End | LetGo | None:
        """Probe; None when the run goes on, and then `also` is written."""
        if self._brake.is_lost:
            # The database may still know no other owner, but this worker no longer believes itself.
            return LetGo()
        pulls = self._brake.pulls
        probed = await self._writer.probe(also)
        if probed.answer is ProbeAnswer.CUT and probed.cut is not None:
            return Cut(probed.cut)
        if probed.answer is not ProbeAnswer.GO_ON:
            return LetGo()
        self._brake.rearm(pulls)
        if self._batches.ledger.balance:
            raise LedgerError(f"the run would go on with {self._batches.ledger.balance} open calls")
        return None

    async def _fix_model(self, tx: Transaction) -> None:
        """Write down, with the run's first look, which model it is worked on by, and see which tools it has."""
        self._gate.permit(await self._means.permitted(tx, self._claimed))
        if self._claimed.run.model is None:
            await runs.change(tx, self._claimed.claim.run_id, model=_named(self._means.provider.name, self._model))

    async def _prepare(self) -> End | LetGo | None:
        """Read what was said before, and run again what was open when another worker was lost."""
        over: End | LetGo | None = None
        is_read = self._claimed.earlier_read
        while over is None and not is_read:
            is_read = await self._read_earlier()
            over = None if is_read else await self._cut_point()
        left_open = projection.open_calls(self._writer.events)
        if over is None and left_open:
            over = await self._run_again(left_open)
        return over

    async def _read_earlier(self) -> bool:
        """Tell the model what was said in the thread before; False when the brake came first."""
        known = frozenset(str(event.body.get("slack_ts")) for event in self._writer.events)
        earlier = await unless_pulled(self._brake, self._means.read_earlier(self._claimed.place, known))
        if earlier is None:
            return False
        text = NO_EARLIER if earlier.value is None else earlier.value
        return await self._writer.context(text) is Appended.STORED

    async def _round(self) -> End | LetGo | None:
        if self._writer.rounds >= self._means.max_rounds:
            return Failed(FailureClass.BUDGET, f"{self._means.max_rounds} rounds")
        asked = await self._ask()
        if not isinstance(asked, Done):
            return asked or await self._cut_point()
        reply = asked.value
        # Whatever comes after this sees the message without its secrets: the history, the card, the tools.
        clean = scrubbed(reply.message, self._means.scrubber)
        lost_blocks = bool(reply.message.provider_blocks) and not clean.provider_blocks
        return await self._take(replace(reply, message=clean), flat=lost_blocks)

    async def _take(self, reply: ModelReply, *, flat: bool) -> End | LetGo | None:
        """Store a finished message; then it is the end, or its calls are run."""
        spent = self._spent(reply.usage)
        nothing = _without_message(reply)
        if nothing is not None:
            await self._writer.spent(spent)
            return nothing
        planned = {call.id: self._gate.plan(call, self._means.mint_id()) for call in reply.message.calls}
        questions = self._gate.questions(self._claimed.claim.run_id, reply.message.calls, planned)
        stored = await self._writer.message(reply.message, list(planned.values()), spent, questions, flat=flat)
        if stored is not Appended.STORED:
            return await self._cut_point()
        if not reply.message.calls:
            return Finished(self._writer.events[-1].seq)
        return await self._work_off(Batch(reply.message.calls, planned))

    async def _work_off(self, batch: Batch) -> End | LetGo | None:
        """Run a batch up to its cut point; a run that waits for people has none, and lets its worker go."""
        if batch.calls and await self._batches.run(batch):
            return LetGo()
        return await self._cut_point()

    async def _run_again(self, left_open: tuple[ToolCall, ...]) -> End | LetGo | None:
        """Answer the calls that were left open: none was answered, reads may run again, and people may have decided.

        A call that the audit does not know is not this run's: what an older fault left open is mended, not run.
        """
        claim = self._claimed.claim
        rows = await self._writer.persist(lambda tx: audit.rows_of(tx, claim.run_id, [call.id for call in left_open]))
        known = [call for call in left_open if call.id in rows]
        planned = {call.id: self._gate.plan(call, rows[call.id].request_id) for call in known}
        return await self._work_off(Batch(known, planned))

    async def _ask(self) -> Done[ModelReply] | End | None:
        """Ask the model; None when the brake ended it, an end when it failed.

        A checked history that the provider refuses is tried once more as plain text: a thread is never bricked.
        """
        try:
            messages = await self._messages()
            return await asked_again(self._brake, self._means.model_patience, lambda: self._stream(messages))
        except ModelRequestError as refused:
            if self._flat:
                return failed(refused, self._means.scrubber.text)
            await self._go_flat(refused, refused.status)
            return await self._ask()
        except (ModelError, HistoryError) as error:
            return failed(error, self._means.scrubber.text)

    async def _stream(self, messages: tuple[Message, ...]) -> Done[ModelReply] | None:
        if self._brake.is_pulled:
            # A request that does not leave costs nothing.
            counting.prevented()
            return None
        tools, limit = self._gate.schemas(), self._means.answer_tokens
        request = ModelRequest(self._model, self._means.system_prompt, messages, tools, limit)
        try:
            done = await unless_pulled(self._brake, self._one_message(request))
        except ModelStreamError:
            await self._writer.spent(self._estimate(request))
            raise
        if done is None:
            await self._writer.spent(self._estimate(request))
        return done

    async def _one_message(self, request: ModelRequest) -> ModelReply:
        async with self._means.provider.stream(request) as stream:
            return await stream.reply()

    def _estimate(self, request: ModelRequest) -> Spent:
        """What a call that was cut or broke off has cost: nobody reports it, and it is not free."""
        characters = len(request.system) + sum(len(str(message)) for message in request.messages)
        return self._spent(Usage(characters // 4, 0, reported=False))

    def _spent(self, tokens: Usage) -> Spent:
        cost = cost_of(self._means.prices.get(self._model), tokens)
        return Spent(self._means.provider.name, self._model, tokens, cost)

    async def _messages(self) -> tuple[Message, ...]:
        """The history as the model is sent it: mended where an older fault left a hole, and checked."""
        mended = projection.mend(projection.project(self._writer.events))
        if mended.fixes:
            log.warning("history.mended", run_id=self._claimed.claim.run_id, fixes=len(mended.fixes))
        try:
            return _checked(projection.flat(mended.messages) if self._flat else self._sent(mended.messages))
        except HistoryError as broken:
            if self._flat:
                raise
            await self._go_flat(broken)
            return _checked(projection.flat(mended.messages))

    def _sent(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages with the rounds as plain text whose blocks could not be kept."""
        told_flat = projection.told_flat(self._writer.events)
        return projection.flat(messages, told_flat) if told_flat else messages

    async def _go_flat(self, why: ModelError | HistoryError, status: int | None = None) -> None:
        """From here on the run's older tool rounds are told as plain text; once in a run, and worth an alarm."""
        self._flat = True
        await self._writer.flatten()
        log.warning("history.sent_flat", run_id=self._claimed.claim.run_id, error=str(why), status=status)


def _checked(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    check_messages(messages)
    return messages


def _without_message(reply: ModelReply) -> End | None:
    """The end of a run whose model finished, and said nothing that may be kept."""
    if reply.stopped_at_limit:
        return Failed(FailureClass.MODEL_LIMIT)
    if is_blank(reply.message.text) and not reply.message.calls:
        return Empty()
    return None


def _named(provider: str, model: str) -> str:
    return f"{provider}:{model}"


def _fixed(written: str | None, means: TurnMeans) -> str:
    """The model of a run: the one it began with, unless the service that has it is no longer ours to ask."""
    provider, _, model = (written or "").partition(":")
    if provider == means.provider.name:
        return model
    if written:
        log.warning("model.changed", began_with=written, goes_on_with=_named(means.provider.name, means.model))
    return means.model
