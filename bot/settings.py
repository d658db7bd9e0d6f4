"""The settings: the environment, and one TOML file. What is missing or wrong is one line that says what to do."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.errors import SettingsError

SLACK_API_URL = "https://slack.com/api/"
OPENAI_BASE_URL = "https://api.openai.com/v1"
ANTHROPIC_BASE_URL = "https://api.anthropic.com"
MODELS = ("openai", "anthropic", "scripted")
WHERE = "The file is named by STEERSMAN_CONFIG."


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Loopback(_Section):
    """A service on this machine that runs may read; only the operator's own file may name one."""

    address: str


class Egress(_Section):
    """What tools may reach: URL prefixes, and host:port pairs on this machine."""

    allow: tuple[str, ...] = ()
    loopback: tuple[Loopback, ...] = ()


class Policy(_Section):
    """Who counts as what: app ids of alert bots, user ids of approvers."""

    alert_apps: frozenset[str] = frozenset()
    approvers: frozenset[str] = frozenset()


class Limits(_Section):
    """How far a run may go, and how long things are waited for; seconds where not said otherwise."""

    rounds: int = Field(50, ge=1, le=1000)
    patience_s: float | None = Field(5.0, ge=0)
    runs_at_once: int = Field(10, ge=1, le=200)
    pause_hours: float = Field(72.0, gt=0)
    lease_s: float = Field(15.0, gt=0.2)
    tool_seconds: float = Field(15.0, gt=0, le=30)


class ConfigFile(_Section):
    """The TOML file."""

    egress: Egress = Egress()
    policy: Policy = Policy()
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class ModelSetting:
    """Which model is asked: the dialect, its name (a file for `scripted`), and where and with which key."""

    dialect: str
    name: str
    base_url: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class SlackSetting:
    """How Slack is reached."""

    bot_token: str
    app_token: str
    api_url: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that is set; what a command does not need it does not ask for."""

    environment: Mapping[str, str]
    config: ConfigFile

    @property
    def database_url(self) -> str | None:
        """The database; None for the embedded one."""
        return self.environment.get("DATABASE_URL") or None

    @property
    def data_folder(self) -> Path:
        """Where the embedded database lives."""
        chosen = self.environment.get("STEERSMAN_DATA")
        return Path(chosen) if chosen else Path.home() / ".local" / "share" / "steersman"

    def slack(self) -> SlackSetting:
        """How Slack is reached; raises SettingsError where a token is missing or is another kind of token."""
        return SlackSetting(
            bot_token=self._token("SLACK_BOT_TOKEN", "xoxb-", "OAuth & Permissions, Bot User OAuth Token"),
            app_token=self._token("SLACK_APP_TOKEN", "xapp-", "Basic Information, App-Level Tokens, connections:write"),
            api_url=_with_slash(self.environment.get("SLACK_API_URL") or SLACK_API_URL),
        )

    def model(self) -> ModelSetting:
        """Which model is asked; raises SettingsError."""
        chosen = self._needed("STEERSMAN_MODEL", "Write openai:NAME, anthropic:NAME or scripted:FILE")
        dialect, _, name = chosen.partition(":")
        if dialect not in MODELS or not name:
            raise SettingsError(
                "STEERSMAN_MODEL", f"{chosen!r} names no model", "Write openai:NAME, anthropic:NAME or scripted:FILE"
            )
        if dialect == "scripted":
            return ModelSetting(dialect, name)
        prefix, default = ("OPENAI", OPENAI_BASE_URL) if dialect == "openai" else ("ANTHROPIC", ANTHROPIC_BASE_URL)
        key = self._needed(f"{prefix}_API_KEY", f"Set the key of the model service for {chosen}")
        return ModelSetting(dialect, name, self.environment.get(f"{prefix}_BASE_URL") or default, key)

    def secrets(self) -> tuple[str, ...]:
        """Every value that may never be shown."""
        names = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")
        return tuple(value for name in names if (value := self.environment.get(name)))

    def _token(self, name: str, prefix: str, where: str) -> str:
        value = self._needed(name, f"Copy it from your app's page: {where}")
        if not value.startswith(prefix):
            raise SettingsError(name, f"does not begin with {prefix}", f"Copy it from your app's page: {where}")
        return value

    def _needed(self, name: str, remedy: str) -> str:
        value = self.environment.get(name, "").strip()
        if not value:
            raise SettingsError(name, "is not set", remedy)
        return value


def read(environment: Mapping[str, str]) -> Settings:
    """The settings of an environment; raises SettingsError for a file that is not there or does not fit."""
    path = environment.get("STEERSMAN_CONFIG")
    return Settings(environment, _config(Path(path)) if path else ConfigFile())


def _config(path: Path) -> ConfigFile:
    try:
        parsed: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsError("STEERSMAN_CONFIG", f"{path}: {error.strerror}", "Name a file that can be read") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError("STEERSMAN_CONFIG", f"{path}: {error}", "Mend that line of the TOML file") from error
    try:
        return ConfigFile.model_validate(parsed)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        raise SettingsError(place, str(first["msg"]), f"Mend it in {path}. {WHERE}") from error


def _with_slash(url: str) -> str:
    return url if url.endswith("/") else f"{url}/"
