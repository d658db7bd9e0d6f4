"""What is measured: the name of every metric, what it counts, and where the number comes from.

What stands in rows is read from the rows when somebody asks, so it is the same from every process and survives a
restart; what only a process can know (what left it, how long it took) is counted by that process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bot.rules.markdown import table


class From(StrEnum):
    """Where a number comes from, which says how the numbers of several processes go together."""

    ROWS = "rows"
    PROCESS = "process"


class Shape(StrEnum):
    """What kind of number it is, in the words of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric; times in seconds."""

    name: str
    shape: Shape
    source: From
    says: str
    label: str = ""


STOPS = Measure(
    "steersman_stops", Shape.COUNTER, From.ROWS, "stops that were asked for, by what they came from", "source"
)
SETTLED = Measure("steersman_runs_settled", Shape.COUNTER, From.ROWS, "runs that ended, by how", "reason")
LIVE = Measure("steersman_runs_live", Shape.GAUGE, From.ROWS, "runs that have not ended, by how far they are", "state")
APPROVALS = Measure("steersman_approvals", Shape.COUNTER, From.ROWS, "approvals by what became of them", "outcome")
HALTED = Measure("steersman_halted", Shape.GAUGE, From.ROWS, "1 while a halt stands")
DATABASE_UP = Measure("steersman_database_up", Shape.GAUGE, From.PROCESS, "1 while this process reaches the database")
PREVENTED = Measure(
    "steersman_requests_prevented",
    Shape.COUNTER,
    From.PROCESS,
    "calls and model requests that a brake kept from leaving",
)
ALREADY_OUT = Measure(
    "steersman_requests_already_out",
    Shape.COUNTER,
    From.PROCESS,
    "requests that had left at most 100 ms before a stop reached their run",
)
LATE_RESULTS = Measure(
    "steersman_late_results",
    Shape.COUNTER,
    From.PROCESS,
    "results that came when nobody waited for them any more; they are in the audit and nowhere else",
)
REFUSALS = Measure(
    "steersman_policy_refusals", Shape.COUNTER, From.PROCESS, "requests that a rule refused, by the rule", "rule"
)
PUT_OFF = Measure(
    "steersman_claims_put_off", Shape.COUNTER, From.PROCESS, "claims that broke: their thread was made to wait"
)
READS = Measure("steersman_reads", Shape.COUNTER, From.PROCESS, "reads that ended, by how", "outcome")
SUPERSEDED_SHARE = Measure(
    "steersman_reads_superseded_share",
    Shape.GAUGE,
    From.PROCESS,
    "the share of reads that a message superseded, from 0 to 1",
)
STOP_TO_QUIET = Measure(
    "steersman_stop_to_quiet_seconds",
    Shape.HISTOGRAM,
    From.PROCESS,
    "from the pull of a run's brake for a stop until nothing of the run is at work and it is settled",
)
STEER_TO_CUT = Measure(
    "steersman_steer_to_cut_seconds",
    Shape.HISTOGRAM,
    From.PROCESS,
    "from the pull of a run's brake for a steer until the run is cut",
)

MEASURES = (
    STOPS,
    SETTLED,
    LIVE,
    APPROVALS,
    HALTED,
    DATABASE_UP,
    PREVENTED,
    ALREADY_OUT,
    LATE_RESULTS,
    REFUSALS,
    PUT_OFF,
    READS,
    SUPERSEDED_SHARE,
    STOP_TO_QUIET,
    STEER_TO_CUT,
)

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 10.0)
"""Upper bounds; 0.1 and 5 are what a stop is promised (reach the brake, be settled), 4 is the watchdog's."""

ALREADY_OUT_S = 0.1
"""Seconds before a stop in which a request counts as already out."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What the rows say, each by the label of its measure."""

    stops: Mapping[str, int] = field(default_factory=dict)
    settled: Mapping[str, int] = field(default_factory=dict)
    live: Mapping[str, int] = field(default_factory=dict)
    approvals: Mapping[str, int] = field(default_factory=dict)
    is_halted: bool = False


def exposed_name(measure: Measure) -> str:
    """The name as Prometheus shows it: a counter's ends in _total."""
    return f"{measure.name}_total" if measure.shape is Shape.COUNTER else measure.name


def as_markdown() -> dict[str, str]:
    """The metrics as a table for the documents."""
    rows = [
        (f"`{exposed_name(each)}`", each.shape.value, each.label or "-", each.source.value, each.says)
        for each in MEASURES
    ]
    return {"measures": table(("metric", "kind", "label", "from", "what it says"), rows)}
