"""The results, one JSON file a benchmark, and the tables of docs/measurements.md, which are made from those alone."""

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from docs.tables import filled

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "measurements.md"
NAMES = ("ack", "cost", "interrupts", "brake")
NOT_YET = "Not measured yet: run `make bench` on a machine that does nothing else."


@dataclass(frozen=True, slots=True)
class Machine:
    """What a measurement was made on; the loads are those of the last minute, before and after it."""

    measured_at: str
    python: str
    cpus: int
    load_before: float
    load_after: float = 0.0


def machine() -> Machine:
    """This machine, now."""
    at = datetime.now(tz=UTC).isoformat(timespec="seconds")
    return Machine(at, platform.python_version(), os.cpu_count() or 0, _load())


def told(before: Machine, size: object, measured: Mapping[str, object]) -> Mapping[str, Any]:
    """A whole result: the machine, how much was done, and what came out; `size` is a dataclass."""
    here = {**asdict(before), "load_after": _load()}
    return {"machine": here, "size": asdict(size), "measured": measured}  # type: ignore[call-overload]


def write(name: str, result: Mapping[str, object], folder: Path = FOLDER) -> None:
    """Keep a result, in place of an older one."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(f"{json.dumps(result, indent=1)}\n", encoding="utf-8")


def page(text: str, folder: Path = FOLDER) -> str:
    """The page with a table for each benchmark in its place."""
    return filled(text, {name: table(name, _read(name, folder)) for name in NAMES})


def table(name: str, result: Mapping[str, Any] | None) -> str:
    """The table of one result; a line that says so where there is none."""
    if result is None:
        return NOT_YET
    here = result["machine"]
    made = (
        f"Measured at {here['measured_at']} on {here['cpus']} CPUs with Python {here['python']}; "
        f"load {here['load_before']} before, {here['load_after']} after."
    )
    return f"{made}\n\n{TABLES[name](result['measured'])}"


def _ack(measured: Mapping[str, Any]) -> str:
    heads = ["event", "n", "median, ms", "bare", "times", "p95, ms", "bare", "times"]
    rows = [
        [kind, found["steersman_ms"]["n"], *_beside(found, "p50"), *_beside(found, "p95")]
        for kind, found in measured["events"].items()
    ]
    cpu = measured["an_event"]
    spent = f"CPU an event: {cpu['steersman_cpu_ms']} ms, the bare listener {cpu['bare_cpu_ms']} ms."
    return f"{_rows(heads, rows)}\n\n{spent}"


def _beside(found: Mapping[str, Any], key: str) -> tuple[object, object, object]:
    return found["steersman_ms"][key], found["bare_ms"][key], found["times"][key]


def _cost(measured: Mapping[str, Any]) -> str:
    run = measured["run"]
    cpu = [[run["steersman_cpu_ms"]["p50"], run["bare_cpu_ms"]["p50"], run["times"], run["idle_cpu_ms_a_second"]]]
    of_run = _rows(["CPU of a run, ms", "bare loop, ms", "times", "CPU at rest, ms a second"], cpu)
    keys = ("history", "statements", "transactions", "bytes", "cpu_ms")
    heads = ["history, entries", "statements a round", "transactions a round", "bytes a round", "CPU a round, ms"]
    return f"{of_run}\n\n{_rows(heads, [[each[key] for key in keys] for each in measured['round']])}"


def _interrupts(measured: Mapping[str, Any]) -> str:
    ways = {"commit_to_brake_ms": "commit to brake", "brake_to_last_request_ms": "brake to last request"}
    rows = [[name, *(measured[key][each] for each in ("n", "p50", "p99", "max"))] for key, name in ways.items()]
    counts = ", ".join(f"{measured[key]} {words}" for key, words in COUNTS.items())
    return f"{_rows(['from, to', 'n', 'p50, ms', 'p99, ms', 'max, ms'], rows)}\n\n{counts}."


def _brake(measured: Mapping[str, Any]) -> str:
    """Ours and theirs; `minus floor` is the CPU of a run less that of the bare loop."""
    heads = [
        "runtime", "store", "n", "requests issued after stop", "quiet p50 / p95, ms", "settled p50 / p95, ms",
        "says stopped", "next message ok", "results kept", "steer p50 / p95, ms", "CPU of a run minus floor, ms",
    ]  # fmt: skip
    rows = measured["rows"]
    floor = next((_cpu(row) for row in rows if row["driver"] == "floor"), None)
    return _rows(heads, [_brake_row(row, floor) for row in rows])


def _brake_row(row: Mapping[str, Any], floor: float | None) -> Sequence[object]:
    steer = row["steer_native"] or row["steer_rerun"] or {}
    cpu = _cpu(row)
    return [
        row["driver"] if row["tool"] == "async" else f"{row['driver']}, blocking tool",
        row["store"] if row["driver"] not in IN_MEMORY else "memory",
        row["trials"],
        f"{row['issued_mean']:.2f} (at most {row['issued_max']})",
        _pair(row, "quiet"),
        _pair(row, "settle"),
        f"{row['status']['stopped']}/{row['trials']}",
        f"{row['next_ok']}/{row['trials']}",
        f"{row['kept_tools']}/{row['completed_tools']}",
        f"{steer['p50_ms']:.0f} / {steer['p95_ms']:.0f}" if steer else "-",
        f"{cpu - floor:.0f}" if cpu is not None and floor is not None else "-",
    ]


IN_MEMORY = frozenset({"floor", "naive_flag", "naive_cancel", "pydantic_ai_token", "holmes"})
"""Drivers that keep nothing, whatever store they are offered."""


def _pair(row: Mapping[str, Any], name: str) -> str:
    return f"{row[f'{name}_p50_ms']:.0f} / {row[f'{name}_p95_ms']:.0f}"


def _cpu(row: Mapping[str, Any]) -> float | None:
    return (row["zero"] or {}).get("cpu_mean") if row["tool"] == "async" else None


COUNTS = {
    "stops": "stops in all",
    "with_a_brake": "of runs that a worker had",
    "before_a_worker": "before one had them",
    "after_the_end": "after the end",
    "runs_with_a_late_request": "runs from which a request came later than 5 ms after the brake",
}
TABLES = {"ack": _ack, "cost": _cost, "interrupts": _interrupts, "brake": _brake}


def _rows(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(_shown(each) for each in line)} |" for line in lines)


def _shown(value: object) -> str:
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)


def _read(name: str, folder: Path) -> Mapping[str, Any] | None:
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _load() -> float:
    return round(os.getloadavg()[0], 2)
