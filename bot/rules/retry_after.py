"""How long a service asks us to wait before the next try.

Pure: a date counts from the response's own Date, so no clock is read.
"""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from `retry-after` and `date` (names in lower case); None where it does not say so."""
    asked = headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        seconds = _seconds_until(asked, headers.get("date", ""))
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _seconds_until(asked: str, date: str) -> float:
    try:
        return (parsedate_to_datetime(asked) - parsedate_to_datetime(date)).total_seconds()
    except (TypeError, ValueError):
        return math.nan
