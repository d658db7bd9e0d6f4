"""`python -m benchmarks.brake_run`: the brake benchmark, ours and theirs in one run, and its table for the docs.

The peers' environments are outside the repository, in the folder that BRAKE_VENVS names (benchmarks/brake/README.md).
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import results

BENCH = results.ROOT / "benchmarks" / "brake" / "bench.py"
OWN_VENV = "ours"
KEPT = (
    "driver", "tool", "store", "trials", "excluded_finished", "load1", "lag_p99_ms", "ghost5_mean", "ghost5_max",
    "issued_mean", "issued_max", "llm_after_total", "quiet_p50_ms", "quiet_p95_ms", "settle_p50_ms", "settle_p95_ms",
    "active_after_ack_trials", "status", "next_ok", "next_400", "bricked", "kept_tools", "completed_tools",
    "lost_prompt", "steer_native", "steer_rerun", "prestop", "zero", "real_wall_s", "burst",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Size:
    """How many runs of each driver are stopped; seconds that the whole may take."""

    stops: int = 40
    budget_s: int = 900


def main(
    drivers: Annotated[str, typer.Option(help="Of benchmarks/brake/drivers, joined by commas; all if left out.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Try it small; print, and keep nothing.")] = False,
) -> None:
    """Measure the brakes."""
    venvs = Path(os.environ.get("BRAKE_VENVS", ".brake-venvs")).resolve()
    venvs.mkdir(parents=True, exist_ok=True)
    if not (venvs / OWN_VENV).exists():
        (venvs / OWN_VENV).symlink_to(Path(sys.prefix))
    size, before = Size(), results.machine()
    with tempfile.TemporaryDirectory(prefix="brake-") as out:
        rows = _bench(Path(out), venvs, _arguments(drivers, size, quick=quick))
    if quick:
        return
    results.write("brake", results.told(before, size, {"rows": rows}))
    results.PAGE.write_text(results.page(results.PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def _arguments(drivers: str, size: Size, *, quick: bool) -> list[str]:
    asked = ["--drivers", drivers] if drivers else []
    return [*asked, *(["--quick"] if quick else []), "--budget", str(size.budget_s)]


def _bench(out: Path, venvs: Path, arguments: Sequence[str]) -> list[Mapping[str, Any]]:
    environment = {**os.environ, "BRAKE_OUT": str(out), "BRAKE_VENVS": str(venvs)}
    subprocess.run([sys.executable, str(BENCH), *arguments], check=True, env=environment)  # noqa: S603 - our own file
    found = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return [{**{key: row.get(key) for key in KEPT}, "stop_by": row["meta"]["stop"]} for row in found]


if __name__ == "__main__":
    typer.run(main)
