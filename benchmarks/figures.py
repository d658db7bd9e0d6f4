"""Numbers from samples: medians, percentiles, ratios. Pure; it rounds nothing away that a reader could need."""

import math
from collections.abc import Sequence

Numbers = dict[str, float]


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that at least so many percent of the samples do not exceed; ValueError without samples."""
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def spread(samples: Sequence[float]) -> Numbers:
    """How many there are, their median, their 95th and 99th percentile, and the largest."""
    return {
        "n": len(samples),
        "p50": rounded(percentile(samples, 50)),
        "p95": rounded(percentile(samples, 95)),
        "p99": rounded(percentile(samples, 99)),
        "max": rounded(max(samples)),
    }


def ratio(ours: float, theirs: float) -> float:
    """How many times as much ours is; infinite where theirs is nothing."""
    return rounded(ours / theirs) if theirs else math.inf


def rounded(number: float) -> float:
    """Three significant digits below a thousand, whole numbers above."""
    if number == 0 or abs(number) >= 1000:
        return float(round(number))
    return round(number, 2 - math.floor(math.log10(abs(number))))
