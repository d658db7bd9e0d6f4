"""`python -m benchmarks [NAME ...]`: measure, keep the results, and write the tables that are made from them.

`--quick` only tries whether everything runs: it prints what it finds and keeps nothing. `--table` measures nothing and
writes the tables anew.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from benchmarks import ack, cost, interrupts, results
from benchmarks.ground import ground

WHOLE: Mapping[str, tuple[Any, Any]] = {
    "ack": (ack.measure, ack.Size()),
    "cost": (cost.measure, cost.Size()),
    "interrupts": (interrupts.measure, interrupts.Size()),
}
QUICK: Mapping[str, Any] = {
    "ack": ack.Size(gestures=20, rounds=2),
    "cost": cost.Size(rounds=1, runs=1, lengths=(10, 30), stretch=2, idle_s=0.2),
    "interrupts": interrupts.Size(trials=6, at_once=6, life_s=1.0),
}


def main(
    names: Annotated[list[str] | None, typer.Argument(help=f"Of {', '.join(WHOLE)}; all where none is named.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Try them small; print, and keep nothing.")] = False,
    table: Annotated[bool, typer.Option("--table", help="Measure nothing; write the tables anew.")] = False,
) -> None:
    """Measure what Steersman costs, and write it down."""
    unknown = sorted(set(names or ()) - set(WHOLE))
    if unknown:
        raise typer.BadParameter(f"no benchmark is named {unknown[0]}; there are {', '.join(WHOLE)}")
    if not table:
        asyncio.run(_measure(names or list(WHOLE), quick=quick))
    if not quick:
        results.PAGE.write_text(results.page(results.PAGE.read_text(encoding="utf-8")), encoding="utf-8")


async def _measure(names: list[str], *, quick: bool) -> None:
    async with ground() as place:
        for name in names:
            typer.echo(f"measuring {name}", err=True)
            measure, size = WHOLE[name]
            size, before = QUICK[name] if quick else size, results.machine()
            result = results.told(before, size, await measure(place, size))
            typer.echo(json.dumps({name: result}, indent=1))
            if not quick:
                results.write(name, result)


if __name__ == "__main__":
    typer.run(main)
