"""The instruments of a process, read as Prometheus reads them."""

from prometheus_client.parser import text_string_to_metric_families

from bot import metrics
from bot.metrics import Metrics
from bot.rules.measures import MEASURES, Shape, Tally, exposed_name
from bot.rules.terms import CallOutcome

FULL = Tally(
    stops={"button": 3, "api": 1}, settled={"stopped": 4}, live={"running": 2}, approvals={"used": 1}, is_halted=True
)


def samples(written: bytes) -> dict[tuple[str, str], float]:
    families = text_string_to_metric_families(written.decode())
    found = [sample for family in families for sample in family.samples]
    return {(each.name, ",".join(each.labels.values())): each.value for each in found}


def test_every_measure_of_the_catalogue_is_written_out_under_its_name():
    counted = Metrics()
    counted.refused("never: link-local")
    counted.read_ended(CallOutcome.OK)

    names = {name for name, _ in samples(counted.written_out(FULL))}

    for each in MEASURES:
        assert exposed_name(each) + ("_count" if each.shape is Shape.HISTOGRAM else "") in names


def test_what_the_rows_say_stands_under_its_labels():
    found = samples(Metrics().written_out(FULL))

    assert found["steersman_stops_total", "button"] == 3
    assert found["steersman_stops_total", "api"] == 1
    assert found["steersman_runs_settled_total", "stopped"] == 4
    assert found["steersman_runs_live", "running"] == 2
    assert found["steersman_approvals_total", "used"] == 1
    assert found["steersman_halted", ""] == 1
    assert found["steersman_database_up", ""] == 1


def test_without_a_database_only_what_the_process_counted_is_written_out():
    counted = Metrics()
    counted.late_results.inc()
    counted.written_out(FULL)

    found = samples(counted.written_out(None))

    assert found["steersman_database_up", ""] == 0
    assert found["steersman_late_results_total", ""] == 1
    assert not [name for name, _ in found if name.startswith("steersman_stops")]


def test_the_share_of_superseded_reads_is_that_of_all_that_ended():
    counted = Metrics()
    for outcome in (CallOutcome.OK, CallOutcome.SUPERSEDED, CallOutcome.FAILED, CallOutcome.OK):
        counted.read_ended(outcome)

    found = samples(counted.written_out(None))

    assert found["steersman_reads_superseded_share", ""] == 0.25
    assert found["steersman_reads_total", "ok"] == 2


def test_a_length_of_time_falls_into_the_bucket_of_its_bound():
    counted = Metrics()
    counted.quiet_after_stop(0.06)
    counted.cut_after_steer(7.0)

    found = samples(counted.written_out(None))

    assert found["steersman_stop_to_quiet_seconds_bucket", "0.05"] == 0
    assert found["steersman_stop_to_quiet_seconds_bucket", "0.1"] == 1
    assert found["steersman_steer_to_cut_seconds_count", ""] == 1


def test_two_sets_of_instruments_share_nothing():
    one, other = Metrics(), Metrics()

    one.requests_prevented.inc()

    assert samples(other.written_out(None))["steersman_requests_prevented_total", ""] == 0


def test_fresh_instruments_stand_at_zero_and_are_the_current_ones():
    metrics.current().requests_already_out.inc(5)

    counted = metrics.fresh()

    assert metrics.current() is counted
    assert samples(counted.written_out(None))["steersman_requests_already_out_total", ""] == 0
