"""Five stories that the demo can tell without a person: completed, steered, stopped, paused and resumed, approved.

The people of the playground act the first four all at once, each in a thread of its own, and then the one that changes
the service, whose figures the others quote; what happened is read from outside. A
story waits for conditions, never for a time, and gives up at the limit.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import MappingProxyType

from bot.cli.demo_stage import Stage, Tell
from bot.cli.demo_watch import CardSeen, Watch, card_of
from bot.errors import PairingError
from bot.llm.validate import check_openai
from bot.playground.cast import ANA, BEN, INCIDENTS, User
from bot.rules.terms import SettleReason
from storage.outcomes import RunOutcome

QUESTION = "@Steersman why is checkout slow? (story: {})"
ORDER = "@Steersman restart checkout (story: {})"
HINT = "look at the gateway"
FURTHER = "@Steersman how is the service right now? (after the story: {})"
SLOW_PATH = "/slow"
"""What the scripted model reads in its second round; the sick service takes seconds for it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One settled run; `card` is what the playground holds of it."""

    story: str
    run: RunOutcome
    card: CardSeen | None
    history_valid: bool

    def to_json(self) -> dict[str, object]:
        """The line as it is printed; a card that the playground never got has no state."""
        state, buttons = (self.card.state, list(self.card.buttons)) if self.card else (None, [])
        return {
            "story": self.story,
            "run_id": self.run.run_id,
            "reason": self.run.reason,
            "final_event_id": self.run.final_event_id,
            "card": {"state": state, "buttons": buttons},
            "history_valid": self.history_valid,
        }


@dataclass(slots=True)
class Scene:
    """One thread, in which Ana does what a story says; `waits_for` is told where the story gives up."""

    stage: Stage
    watch: Watch
    story: str
    limit_s: float
    root: str = ""
    waits_for: str = "a first answer of the playground"
    runs: tuple[RunOutcome, ...] = field(default=())

    async def ask(self) -> None:
        """Ask the question that begins the thread."""
        words = ORDER if self.story == APPROVED else QUESTION
        self.root = (await self.stage.slack.say(ANA.id, INCIDENTS.id, words.format(self.story))).ts

    async def until_it_reads(self) -> None:
        """Wait until a call that takes seconds is at work."""
        self.waits_for = f"the run to read {SLOW_PATH}"
        await self.watch.reading(INCIDENTS.id, self.root, SLOW_PATH)

    async def reply(self, text: str) -> None:
        """Write into the thread."""
        await self.stage.slack.say(ANA.id, INCIDENTS.id, text, self.root)

    async def press(self, label: str, who: User = ANA) -> None:
        """Press a button of the newest card, as soon as it has one."""
        self.waits_for = f"a card with the button {label}"
        card = (await self.stage.slack.wait_for(lambda: self._offering(label), self.limit_s))[-1]
        await self.stage.slack.click(who.id, INCIDENTS.id, card.ts, card.buttons[label])

    async def until_over(self, expected: "Ends") -> None:
        """Wait until the runs are settled, and the cards say so."""
        self.waits_for = "the runs to be settled"
        self.runs = await self.watch.settled(INCIDENTS.id, self.root, len(expected))
        if tuple(run.reason for run in self.runs) == tuple(reason for reason, _ in expected):
            states = [state for _, state in expected]
            self.waits_for = f"the cards to say {', '.join(states)}"
            await self.stage.slack.wait_for(lambda: self._states() == states, self.limit_s)

    async def history_is_valid(self) -> bool:
        """Mention the bot once more, and judge the request that this causes."""
        self.waits_for = "a further run to be settled"
        marker = FURTHER.format(self.story)
        await self.reply(marker)
        await self.watch.settled(INCIDENTS.id, self.root, len(self.runs) + 1)
        return first_request_is_valid(self.stage, marker.removeprefix("@Steersman "))

    def card(self, run: RunOutcome) -> CardSeen | None:
        """The card of a run, as the playground holds it."""
        return next((card for card in self._cards() if card.post_key == run.post_key), None)

    def _cards(self) -> list[CardSeen]:
        thread = self.stage.slack.thread(INCIDENTS.id, self.root)
        return [card for message in thread if (card := card_of(message)) is not None]

    def _offering(self, label: str) -> list[CardSeen]:
        return [card for card in self._cards() if label in card.buttons]

    def _states(self) -> list[str | None]:
        cards = map(self.card, self.runs)
        return [card.state if card else None for card in cards]


Ends = tuple[tuple[SettleReason, str], ...]
Act = Callable[[Scene], Awaitable[None]]


async def _nothing(_: Scene) -> None:
    return


async def _steer(scene: Scene) -> None:
    await scene.until_it_reads()
    await scene.reply(HINT)


async def _stop(scene: Scene) -> None:
    await scene.until_it_reads()
    await scene.press("Stop")


async def _pause_and_resume(scene: Scene) -> None:
    await scene.until_it_reads()
    await scene.press("Pause")
    await scene.press("Resume")


async def _approve(scene: Scene) -> None:
    await scene.press("Approve", BEN)


APPROVED = "approved"
_DONE = (SettleReason.COMPLETED, "done")
STORIES: MappingProxyType[str, tuple[Act, Ends]] = MappingProxyType({
    "completed": (_nothing, (_DONE,)),
    "steered": (_steer, ((SettleReason.STEERED, "steered"), _DONE)),
    "stopped": (_stop, ((SettleReason.STOPPED, "stopped"),)),
    "paused and resumed": (_pause_and_resume, (_DONE,)),
    APPROVED: (_approve, (_DONE,)),
})
"""Story -> what Ana and Ben do after her question, and how each run of the thread has to end: its reason, its card."""


async def tell_stories(stage: Stage, limit_s: float, tell: Tell) -> list[Line]:
    """Tell every story, in at most `limit_s` seconds; a line for each run of theirs that was settled."""
    async with Watch.on(stage.database_url) as watch:
        scenes = {story: Scene(stage, watch, story, limit_s) for story in STORIES}
        changing = scenes.pop(APPROVED)
        lines = await asyncio.gather(*(_lines(scene, tell) for scene in scenes.values()))
        lines.append(await _lines(changing, tell))
    return [line for story in lines for line in story]


def are_as_they_should_be(lines: list[Line]) -> bool:
    """Whether every story ended as it has to, its cards say so, and the threads can go on."""
    told = {story: tuple(line for line in lines if line.story == story) for story in STORIES}
    return all(_ends(told[story]) == ends for story, (_, ends) in STORIES.items()) and all(map(_is_sound, lines))


def first_request_is_valid(stage: Stage, words: str) -> bool:
    """Whether the first request with these words in it kept the pairing rules: the model server's and our own."""
    requests = stage.model.requests if stage.model else []
    caused = next((each for each in requests if any(words in str(message) for message in each.messages)), None)
    if caused is None or caused.status != 200:
        return False
    try:
        check_openai(caused.body)
    except PairingError:
        return False
    return True


async def _lines(scene: Scene, tell: Tell) -> list[Line]:
    act, ends = STORIES[scene.story]
    is_valid = False
    try:
        async with asyncio.timeout(scene.limit_s):
            await scene.ask()
            await act(scene)
            await scene.until_over(ends)
            tell(scene.story, "told")
            is_valid = await scene.history_is_valid()
            tell(
                scene.story, "asked once more: " + ("the history is valid" if is_valid else "the history is NOT valid")
            )
    except TimeoutError:
        tell(scene.story, f"given up after {scene.limit_s:g} s; it waited for {scene.waits_for}")
    runs = scene.runs or await scene.watch.runs(INCIDENTS.id, scene.root)
    return [Line(scene.story, run, scene.card(run), is_valid) for run in runs if run.reason is not None]


def _ends(lines: tuple[Line, ...]) -> tuple[tuple[SettleReason | None, str | None], ...]:
    return tuple((line.run.reason, line.card.state if line.card else None) for line in lines)


def _is_sound(line: Line) -> bool:
    """Only a completed run has a final event; no run may leave a history that a model service refuses."""
    is_completed = line.run.reason is SettleReason.COMPLETED
    return line.history_valid and (line.run.final_event_id is not None) == is_completed
