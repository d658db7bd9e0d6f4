"""The sections of the operator's file, steersman.toml: what each may be, and what holds where it is left out."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Strict, StringConstraints, Tag, field_validator

from bot.rules.terms import Grade
from bot.rules.tool_access import RequesterClass
from bot.settings.actions import ActionSection, Name, SecretName

AppId = Annotated[str, StringConstraints(pattern="^A[A-Z0-9]+$")]
ChannelId = Annotated[str, StringConstraints(pattern="^[CDG][A-Z0-9]+$")]
UserId = Annotated[str, StringConstraints(pattern="^[UW][A-Z0-9]+$")]
Contact = Annotated[str, StringConstraints(pattern=r"^[!-'*-~]{0,200}$")]
# Strict: `true` is no number, and what stands in quotes is none either.
Number = Annotated[int, Strict()]
Length = Annotated[float, Strict()]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Loopback(_Section):
    """A service on this machine that runs may read; only the operator's own file may name one."""

    address: str


class Allow(_Section):
    """One rule of what tools may reach, with everything that can be said of it (docs/operating.md)."""

    url: str
    ports: tuple[Number, ...] = ()
    cidr: tuple[str, ...] = ()
    methods: tuple[str, ...] = ("GET", "HEAD")
    grade: Grade = Grade.READ
    rate: Length | None = Field(None, gt=0, le=1000)
    api: Annotated[bool, Strict()] = False
    secret: SecretName | None = None
    secret_header: str = "Authorization"  # noqa: S105 - the name of a header
    secret_scheme: str | None = None


def _form(entry: object) -> str:
    return "text" if isinstance(entry, str) else "table"


class Egress(_Section):
    """What tools may reach: URL prefixes or tables, host:port pairs on this machine, and whom to tell of trouble."""

    allow: tuple[
        Annotated[Annotated[str, Tag("text")] | Annotated[Allow, Tag("table")], Discriminator(_form)], ...
    ] = ()
    loopback: tuple[Loopback, ...] = ()
    contact: Contact = ""


class ToolsOf(_Section):
    """Which tools a channel and a class of requester have; what is left out stands for any."""

    channel: ChannelId | None = None
    requester: RequesterClass | None = None
    allow: frozenset[str]


class Policy(_Section):
    """Who counts as what: app ids of alert bots, user ids of approvers; and which tools are for whom."""

    alert_apps: frozenset[AppId] = frozenset()
    approvers: frozenset[UserId] = frozenset()
    tools: tuple[ToolsOf, ...] = ()

    @field_validator("tools")
    @classmethod
    def _one_rule_each(cls, tools: tuple[ToolsOf, ...]) -> tuple[ToolsOf, ...]:
        if len({(each.channel, each.requester) for each in tools}) < len(tools):
            raise ValueError("two entries are for the same channel and requester")
        return tools


class Limits(_Section):
    """How far a run may go, and how long things are waited for; seconds where not said otherwise."""

    rounds: Number = Field(50, ge=1, le=1000)
    patience_s: Length | None = Field(5.0, ge=0, le=3600)
    runs_at_once: Number = Field(10, ge=1, le=200)
    pause_hours: Length = Field(72.0, gt=0, le=8760)
    drain_s: Length = Field(25.0, ge=1, le=3600)
    lease_s: Length = Field(15.0, gt=0.2, le=600)
    tool_seconds: Length = Field(15.0, gt=0, le=30)
    model_tries: Number = Field(3, ge=1, le=10)
    model_idle_seconds: Length = Field(60.0, gt=0, le=3600)
    answer_tokens: Number = Field(4096, ge=1, le=1_000_000)
    run_minutes: Length = Field(60.0, gt=0, le=10_000)
    run_tokens: Number | None = Field(None, ge=1)
    run_cost_usd: Length | None = Field(None, gt=0)
    live_runs_per_person: Number | None = Field(None, ge=1)
    live_runs_per_channel: Number | None = Field(None, ge=1)
    live_runs_per_workspace: Number | None = Field(None, ge=1)


class Price(_Section):
    """What a model costs: US dollars for a million tokens."""

    name: str = Field(min_length=1)
    input: Length = Field(ge=0)
    output: Length = Field(ge=0)
    cached: Length | None = Field(None, ge=0)


class Models(_Section):
    """What is known of the models: their prices."""

    prices: tuple[Price, ...] = ()


class Approvals(_Section):
    """How long a question to the approvers stands, and how long a stop waits for a write that is under way."""

    expires_minutes: Length = Field(30.0, gt=0, le=720)
    # The watchdog settles a run that has been stopping for four seconds: a longer grace would be none.
    write_grace_s: Length = Field(3.0, ge=0, le=4)


class ConfigFile(_Section):
    """The TOML file."""

    egress: Egress = Egress()
    policy: Policy = Policy()
    limits: Limits = Limits()
    actions: dict[Name, ActionSection] = {}
    approvals: Approvals = Approvals()
    models: Models = Models()
