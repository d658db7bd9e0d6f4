"""What ails the sick checkout service: one state, and everything it shows of itself computed from it.

A deploy cut the connection pool of the payment gateway; requests wait for a connection. Nothing is written down
twice, so a figure in an answer was read from the service or it is wrong. Pure: the service hands in the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

CUT_FROM, CUT_TO = 256, 64
CHANGE = f"gateway client: pool_size {CUT_FROM} -> {CUT_TO}"
LOG_STEP = timedelta(seconds=7)
TRACES = 5


@dataclass(frozen=True, slots=True)
class Sickness:
    """The state; `seed` moves every figure that is not said outright, so that no answer can be known beforehand."""

    deployed_at: datetime
    seed: int = 0
    pool_size: int = CUT_TO
    restarts: int = 0

    @property
    def deploy_id(self) -> str:
        """The deploy that cut the pool."""
        return f"d-{4100 + self.seed % 800}"

    @property
    def demand(self) -> int:
        """How many connections the load of today needs."""
        return 95 + self.seed % 23

    @property
    def in_use(self) -> int:
        """How many connections are in use."""
        return min(self.demand, self.pool_size)

    @property
    def waiting(self) -> int:
        """How many requests wait for a connection."""
        return self.demand - self.in_use

    @property
    def upstream(self) -> float:
        """The 95th percentile of the payment provider's own answers, in seconds."""
        return 0.161 + self.seed % 29 / 1000

    @property
    def wait(self) -> float:
        """The 95th percentile of the wait for a connection, in seconds."""
        return self.waiting * (0.121 + self.seed % 7 / 1000)

    @property
    def p95(self) -> float:
        """The 95th percentile of a checkout, in seconds."""
        return self.wait + self.upstream + self.database + 0.09

    @property
    def database(self) -> float:
        """The 95th percentile of a query, in seconds."""
        return 0.009 + self.seed % 5 / 1000

    @property
    def error_rate(self) -> float:
        """The share of checkouts that fail: those that waited longer than the pool lets them."""
        return 0.002 + self.waiting / 1000


def facts(state: Sickness, now: datetime) -> list[tuple[str, str]]:
    """The state in words, for a person who looks on: (label, value)."""
    return [
        ("p95 of checkout", f"{state.p95:.3f} s"),
        ("error rate", f"{state.error_rate:.3f}"),
        ("gateway pool", f"{state.in_use} of {state.pool_size} in use"),
        ("waiting for a connection", f"{state.waiting}"),
        ("p95 of that wait", f"{state.wait:.3f} s"),
        ("p95 of the payment provider", f"{state.upstream:.3f} s"),
        ("restarts of checkout", f"{state.restarts}"),
        ("last deploy", f"{state.deploy_id}, {_minutes(state.deployed_at, now)} min ago: {CHANGE}"),
    ]


def metrics_text(state: Sickness) -> str:
    """The metrics of checkout, in Prometheus' text format."""
    return "".join([
        _summary("checkout_request_duration_seconds", "Time to answer a checkout.", state.p95 / 3, state.p95),
        _gauge("checkout_requests_per_second", "Checkouts a second.", f"{104 + state.seed % 31}"),
        _gauge("checkout_error_rate", "Share of checkouts that failed.", f"{state.error_rate:.3f}"),
        _summary("checkout_db_query_duration_seconds", "Time of a query.", state.database / 2, state.database),
        _gauge("checkout_cpu_ratio", "Share of the processor in use.", f"{0.31 + state.seed % 9 / 100:.2f}"),
        _pool_metrics(state),
    ])


def gateway_metrics_text(state: Sickness) -> str:
    """The metrics of the gateway client, in Prometheus' text format."""
    name = "gateway_upstream_duration_seconds"
    upstream = _summary(name, "Time of the payment provider.", state.upstream / 2, state.upstream)
    errors = _gauge("gateway_upstream_error_rate", "Share of the provider's answers that were errors.", "0.000")
    return _pool_metrics(state) + upstream + errors


def _pool_metrics(state: Sickness) -> str:
    return "".join([
        _gauge("gateway_pool_size", "Connections the pool may hold.", f"{state.pool_size}"),
        _gauge("gateway_pool_in_use", "Connections in use.", f"{state.in_use}"),
        _gauge("gateway_pool_waiting", "Requests that wait for a connection.", f"{state.waiting}"),
        _summary("gateway_pool_wait_seconds", "Wait for a connection.", state.wait / 2, state.wait),
    ])


def _gauge(name: str, words: str, value: str) -> str:
    return f"# HELP {name} {words}\n# TYPE {name} gauge\n{name} {value}\n"


def _summary(name: str, words: str, median: float, p95: float) -> str:
    head = f"# HELP {name} {words}\n# TYPE {name} summary\n"
    return f'{head}{name}{{quantile="0.5"}} {median:.3f}\n{name}{{quantile="0.95"}} {p95:.3f}\n'


def log_lines(state: Sickness, now: datetime, limit: int) -> list[str]:
    """The newest lines of the log, oldest first."""
    return [_log_line(state, now - age * LOG_STEP, age) for age in range(limit - 1, -1, -1)]


def _log_line(state: Sickness, at: datetime, age: int) -> str:
    if at < state.deployed_at or not state.waiting or age % 4 == 3:
        return f"{_moment(at)} INFO checkout order placed in {0.31 + age % 7 / 100:.2f}s"
    waited = max(state.wait * (1 - age % 5 / 20), 0)
    pool = f"size={state.pool_size} in_use={state.in_use} waiting={state.waiting}"
    return f"{_moment(at)} WARN checkout.gateway pool exhausted {pool} waited={waited:.3f}s"


def traces_text(state: Sickness) -> str:
    """Where the slowest checkouts spent their time."""
    rows = [_trace(state, number) for number in range(1, TRACES + 1)]
    return "slowest checkouts of the last 5 minutes\n" + "\n".join(rows) + "\n"


def _trace(state: Sickness, number: int) -> str:
    wait = state.wait * (1.2 - number / 10)
    total = wait + state.upstream + state.database + 0.09
    parts = f"pool_wait={wait:.3f}s provider={state.upstream:.3f}s database={state.database:.3f}s"
    return f"trace {number}: total={total:.3f}s {parts}"


def deploys(state: Sickness, now: datetime) -> list[Mapping[str, object]]:
    """The deploys of the last days, newest first."""
    older = [("copy of the order page", 26), ("library updates", 51)]
    newest = _deploy(state.deploy_id, CHANGE, state.deployed_at, now)
    rest = [
        _deploy(f"d-{4100 + state.seed % 800 - back}", change, state.deployed_at - timedelta(hours=hours), now)
        for back, (change, hours) in enumerate(older, start=1)
    ]
    return [newest, *rest]


def _deploy(deploy_id: str, change: str, at: datetime, now: datetime) -> Mapping[str, object]:
    ago = {"at": _moment(at), "minutes_ago": _minutes(at, now)}
    return {"id": deploy_id, "service": "checkout", **ago, "change": change}


def _minutes(at: datetime, now: datetime) -> int:
    return int((now - at).total_seconds()) // 60


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def config(state: Sickness) -> Mapping[str, object]:
    """The settings of the gateway client."""
    return {
        "pool_size": state.pool_size,
        "pool_size_before_deploy": CUT_FROM,
        "set_by_deploy": state.deploy_id,
        "acquire_timeout_seconds": 8,
        "provider": "payments.example",
    }


def restarted(state: Sickness) -> Sickness:
    """The state after a restart: checkout reads its settings anew, and has the pool of before the deploy again."""
    return replace(state, pool_size=CUT_FROM, restarts=state.restarts + 1)


def restart_told(state: Sickness, service: str) -> Mapping[str, object]:
    """What a restart answers."""
    return {"restarted": service, "restarts": state.restarts, "pool_size": state.pool_size, "status": "ok"}


def health(state: Sickness) -> Mapping[str, str]:
    """How the service sees itself."""
    return {
        "status": "degraded" if state.waiting else "ok",
        "checkout": "slow" if state.waiting else "ok",
        "database": "ok",
        "payment_provider": "ok",
    }
