"""The numbers of this process, in Prometheus's words: `current()` is where whoever knows something counts it.

Owns the instruments and nothing else: it reads no database and listens to nobody. What the rows say is handed in
before the numbers are written out. A label is a word of ours, never a text of somebody else's: each new one is a
series that is kept for ever.
"""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bot.rules import measures
from bot.rules.measures import Measure, Tally
from bot.rules.terms import CallOutcome

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The instruments of one process, on a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests_prevented = self._counter(measures.PREVENTED)
        self.requests_already_out = self._counter(measures.ALREADY_OUT)
        self.late_results = self._counter(measures.LATE_RESULTS)
        self.claims_put_off = self._counter(measures.PUT_OFF)
        self._refusals = self._counter(measures.REFUSALS)
        self._reads = self._counter(measures.READS)
        self._superseded, self._all_reads = 0, 0
        self._share = Gauge(measures.SUPERSEDED_SHARE.name, measures.SUPERSEDED_SHARE.says, registry=self.registry)
        self._stop_to_quiet = self._histogram(measures.STOP_TO_QUIET)
        self._steer_to_cut = self._histogram(measures.STEER_TO_CUT)
        self._rows = _Rows()
        self.registry.register(self._rows)

    def refused(self, rule: str) -> None:
        """A rule refused a request; `rule` is the rule's name, with nothing of the request in it."""
        self._refusals.labels(rule).inc()

    def read_ended(self, outcome: CallOutcome) -> None:
        """A read has ended."""
        self._reads.labels(outcome.value).inc()
        self._all_reads += 1
        self._superseded += outcome is CallOutcome.SUPERSEDED
        self._share.set(self._superseded / self._all_reads)

    def quiet_after_stop(self, seconds: float) -> None:
        """A stopped run is settled, this long after its brake was pulled."""
        self._stop_to_quiet.observe(seconds)

    def cut_after_steer(self, seconds: float) -> None:
        """A steered run is cut, this long after its brake was pulled."""
        self._steer_to_cut.observe(seconds)

    def written_out(self, tally: Tally | None) -> bytes:
        """Everything, as Prometheus reads it; without a tally (the database is away) what the rows say is left out."""
        self._rows.tally = tally
        return generate_latest(self.registry)

    def _counter(self, measure: Measure) -> Counter:
        return Counter(measure.name, measure.says, [measure.label] if measure.label else [], registry=self.registry)

    def _histogram(self, measure: Measure) -> Histogram:
        return Histogram(measure.name, measure.says, buckets=measures.BUCKETS_S, registry=self.registry)


class _Rows(Collector):
    """What the rows said when they were last read."""

    def __init__(self) -> None:
        self.tally: Tally | None = None

    def collect(self) -> Iterator[Metric]:
        """The numbers of the rows, and whether there are any."""
        tally = self.tally
        yield _gauge(measures.DATABASE_UP, int(tally is not None))
        if tally is None:
            return
        yield _counted(measures.STOPS, tally.stops)
        yield _counted(measures.SETTLED, tally.settled)
        yield _counted(measures.APPROVALS, tally.approvals)
        live = GaugeMetricFamily(measures.LIVE.name, measures.LIVE.says, labels=[measures.LIVE.label])
        for state, number in tally.live.items():
            live.add_metric([state], number)
        yield live
        yield _gauge(measures.HALTED, int(tally.is_halted))


def _gauge(measure: Measure, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(measure.name, measure.says, value=value)


def _counted(measure: Measure, numbers: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(measure.name, measure.says, labels=[measure.label])
    for label, number in numbers.items():
        family.add_metric([label], number)
    return family


class _Current:
    """The instruments that count now; a test puts fresh ones in their place."""

    def __init__(self) -> None:
        self.metrics = Metrics()


_CURRENT = _Current()


def current() -> Metrics:
    """The instruments of this process."""
    return _CURRENT.metrics


def fresh() -> Metrics:
    """Put new instruments, all at zero, in the place of the old ones, for a test; they are returned."""
    _CURRENT.metrics = Metrics()
    return _CURRENT.metrics
