"""What the model says in the benchmarks: the same three rounds and thirteen calls everywhere, or many small rounds."""

import random
from collections.abc import Iterable, Sequence

from bot.llm.script import Call, Gate, Play, Round, Script

FIRST, SECOND = 10, 3
"""The calls of the first and of the second round; the third is the answer."""
QUICK_MS = 20
SLOW_MS = (300, 1500)


def thirteen_calls(target: str) -> Script:
    """Three rounds without any wait."""
    urls = [f"{target}/now/{number}" for number in range(FIRST + SECOND)]
    return Script((
        Play(
            "",
            (
                Round("I read the metrics.", _calls(urls[:FIRST])),
                Round("Now the deploys.", _calls(urls[FIRST:])),
                Round("It was the deploy."),
            ),
        ),
    ))


def many_rounds(target: str, count: int, gates: Iterable[int], calls: int) -> Script:
    """Rounds of a few calls each; before some of them, by their number from 1, the model waits at a gate."""
    waiting = frozenset(gates)
    rounds = [
        Round(
            f"Step {number}.",
            _calls([f"{target}/now/{number}-{each}" for each in range(calls)]),
            gate=Gate(f"round-{number}", "before_first_chunk") if number in waiting else None,
        )
        for number in range(1, count + 1)
    ]
    return Script((Play("", (*rounds, Round("That was all."))),))


def slow_trials(target: str, names: Sequence[str], seed: int) -> Script:
    """A play for each trial, with a model and services that take their time; four calls in thirteen fail once."""
    chance = random.Random(seed)  # noqa: S311 - the same trials every time
    return Script(tuple(_slow(target, name, chance) for name in names))


def _slow(target: str, name: str, chance: random.Random) -> Play:
    waits = [QUICK_MS] * 3 + [chance.randint(*SLOW_MS) for _ in range(FIRST + SECOND - 3)]
    chance.shuffle(waits)
    again = set(chance.sample(range(FIRST + SECOND), 4))
    urls = [
        f"{target}/{'again' if number in again else 'after'}/{ms}/{name}-{number}" for number, ms in enumerate(waits)
    ]
    return Play(
        name,
        (
            Round("I read the metrics.", _calls(urls[:FIRST]), chunks=3, chunk_ms=30, first_ms=150),
            Round("Now the deploys.", _calls(urls[FIRST:]), chunks=3, chunk_ms=30, first_ms=150),
            Round("It was the deploy of the gateway.", chunks=10, chunk_ms=30, first_ms=150),
        ),
    )


def _calls(urls: Sequence[str]) -> tuple[Call, ...]:
    return tuple(Call("http_get", {"url": url}) for url in urls)
