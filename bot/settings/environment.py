"""The settings: the environment, and one TOML file. What is missing or wrong is one line that says what to do."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import ValidationError

from bot.errors import SettingsError
from bot.rules.redaction import scrub
from bot.settings.sections import ConfigFile

SLACK_API_URL = "https://slack.com/api/"
BASE_URLS: Mapping[str, tuple[str, str]] = MappingProxyType({
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
})
MODELS = ("openai", "anthropic", "scripted")
KEY_SETTINGS: Mapping[str, str] = MappingProxyType({"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"})
WHERE = "The file is named by STEERSMAN_CONFIG."
SECRETS = (
    "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PGPASSWORD", "STEERSMAN_API_TOKEN",
)  # fmt: skip
SECRETS_OF_TOOLS = "STEERSMAN_SECRET_"
"""How the names of the secrets begin that tools and actions are lent."""
IN_A_FILE = "_FILE"
"""NAME_FILE names a file that holds the value of NAME, as orchestrators mount secrets."""
LARGEST_SECRET = 64 * 1024
URL_FORM = "Write http:// or https://, a host, and a path if there is one"

LOOPBACK = "127.0.0.1"
LAST_PORT = 65535
MODEL_FORM = "Write openai:NAME, anthropic:NAME or scripted:FILE"


@dataclass(frozen=True, slots=True)
class ModelSetting:
    """Which model is asked: the dialect, its name (a file for `scripted`), and where and with which key."""

    dialect: str
    name: str
    base_url: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class SlackSetting:
    """How Slack is reached; without the app's token nobody can listen, and work does not need it."""

    bot_token: str
    app_token: str
    api_url: str


@dataclass(frozen=True, slots=True)
class PortSetting:
    """The bot's own HTTP port; number 0 is any free one, and without a token it takes no orders."""

    host: str
    number: int
    token: str | None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that is set; what a command does not need it does not ask for."""

    environment: Mapping[str, str]
    config: ConfigFile

    @property
    def database_url(self) -> str | None:
        """The database; None for the embedded one."""
        return self._given("DATABASE_URL") or None

    @property
    def home(self) -> Path:
        """Where the embedded database lives."""
        return Path(self._given("STEERSMAN_DATA") or "~/.local/share/steersman").expanduser()

    @property
    def key_setting(self) -> str | None:
        """The name of the setting that holds the model's key; None where it needs none."""
        return KEY_SETTINGS.get(self._given("STEERSMAN_MODEL").partition(":")[0])

    def slack(self, *, listens: bool = True) -> SlackSetting:
        """How Slack is reached; raises SettingsError where a token is missing or is another kind of token."""
        where = "Basic Information, App-Level Tokens, connections:write"
        return SlackSetting(
            bot_token=self._token("SLACK_BOT_TOKEN", "xoxb-", "OAuth & Permissions, Bot User OAuth Token"),
            app_token=self._token("SLACK_APP_TOKEN", "xapp-", where) if listens else "",
            api_url=f"{self._url('SLACK_API_URL', SLACK_API_URL).rstrip('/')}/",
        )

    def model(self) -> ModelSetting:
        """Which model is asked; raises SettingsError."""
        chosen = self._needed("STEERSMAN_MODEL", MODEL_FORM)
        dialect, _, name = chosen.partition(":")
        if dialect not in MODELS or not name.strip():
            # Somebody may have put the key in the wrong place.
            raise SettingsError("STEERSMAN_MODEL", f"{scrub(chosen)!r} names no model", MODEL_FORM)
        if dialect == "scripted":
            return ModelSetting(dialect, name.strip())
        setting, url = KEY_SETTINGS[dialect], BASE_URLS[dialect]
        key = self._sound(setting, self._needed(setting, f"Set the key of the model service for {dialect}:{name}"))
        return ModelSetting(dialect, name.strip(), self._url(*url), key)

    def port(self) -> PortSetting | None:
        """The bot's own HTTP port; None where none is set. Raises SettingsError."""
        given = self._given("STEERSMAN_HTTP_PORT")
        if not given:
            return None
        if not (given.isascii() and given.isdecimal()) or int(given) > LAST_PORT:
            raise SettingsError(
                "STEERSMAN_HTTP_PORT", f"{given[:20]!r} is no port", f"Write a number up to {LAST_PORT}"
            )
        token = self._given("STEERSMAN_API_TOKEN")
        host = self._given("STEERSMAN_HTTP_HOST") or LOOPBACK
        return PortSetting(host, int(given), self._sound("STEERSMAN_API_TOKEN", token) if token else None)

    def secrets(self) -> tuple[str, ...]:
        """Every value that may never be shown, in each spelling that it was given in. Never raises."""
        names = (*SECRETS, *sorted(name for name in self.environment if name.startswith(SECRETS_OF_TOOLS)))
        given = [value for name in names if (value := self._given(name))]
        return (*given, *_passwords(self._given("DATABASE_URL")))

    def lent_secret(self, name: str) -> str:
        """The value that is lent under a name of the file; empty where its setting is not there."""
        return self._given(setting_of_secret(name))

    def _token(self, name: str, prefix: str, where: str) -> str:
        remedy = f"Copy it from your app's page: {where}"
        value = self._needed(name, remedy)
        if not value.startswith(prefix):
            raise SettingsError(name, f"does not begin with {prefix}", remedy)
        return self._sound(name, value)

    def _sound(self, name: str, value: str) -> str:
        """A key as it can stand in a header."""
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise SettingsError(name, "has a space, a line break or another strange character in it", "Copy it again")
        return value

    def _url(self, name: str, default: str) -> str:
        value = self._given(name) or default
        problem = _url_problem(value)
        if problem is not None:
            raise SettingsError(name, problem, URL_FORM)
        return value

    def _needed(self, name: str, remedy: str) -> str:
        value = self._given(name)
        if not value:
            raise SettingsError(name, "is not set", remedy)
        return value

    def _given(self, name: str) -> str:
        return self.environment.get(name, "").strip()


def read(environment: Mapping[str, str]) -> Settings:
    """The settings of an environment; raises SettingsError for a file that is not there or does not fit.

    A secret may stand in a file that NAME_FILE names; its value is then as if it stood in NAME.
    """
    environment = {**environment, **_filed(environment)}
    path = environment.get("STEERSMAN_CONFIG", "").strip()
    return Settings(environment, _config(Path(path)) if path else ConfigFile())


def setting_of_secret(name: str) -> str:
    """The setting that holds the secret of this name; the value may stand in a file that SETTING_FILE names."""
    return f"{SECRETS_OF_TOOLS}{name.upper().replace('-', '_')}"


def _filed(environment: Mapping[str, str]) -> dict[str, str]:
    """The secrets that stand in files, by their names."""
    named = {name: path.strip() for name, path in environment.items() if _names_a_file(name) and path.strip()}
    return {name.removesuffix(IN_A_FILE): _secret_in(name, path, environment) for name, path in named.items()}


def _names_a_file(name: str) -> bool:
    secret = name.removesuffix(IN_A_FILE)
    return secret != name and (secret in {*SECRETS, "DATABASE_URL"} or secret.startswith(SECRETS_OF_TOOLS))


def _secret_in(name: str, path: str, environment: Mapping[str, str]) -> str:
    if environment.get(name.removesuffix(IN_A_FILE), "").strip():
        raise SettingsError(name, f"{name.removesuffix(IN_A_FILE)} is set too", "Set one of the two")
    try:
        with Path(path).open("rb") as file:
            value = file.read(LARGEST_SECRET).decode().strip()
    except (OSError, ValueError) as error:
        # What stands in the place of the path may be the secret itself, so it is not repeated.
        why = getattr(error, "strerror", None) or "what it holds is no text"
        raise SettingsError(name, why, "Name a file that can be read") from None
    if not value:
        raise SettingsError(name, "the file is empty", "Write the secret into it")
    return value


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
        problem = str(first["msg"]).removeprefix("Value error, ")
        raise SettingsError(place, problem, f"Mend it in {path}. {WHERE}") from error


def _url_problem(url: str) -> str | None:
    """What is wrong with the address of a service; it is not repeated, since there may be a password in it."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "its host or port cannot be read"
    if parts.scheme not in {"http", "https"}:
        return "it does not begin with http:// or https://"
    if not host or not (url.isascii() and url.isprintable()) or " " in url:
        return "it has no host that can be read"
    if parts.username is not None or parts.query or parts.fragment:
        return "it has a user name, a ? or a # in it"
    return None


def _passwords(url: str) -> set[str]:
    """The passwords in the address of a database, as they stand there and as they are meant."""
    try:
        parts = urlsplit(url)
        named = parse_qs(parts.query).get("password", [])
    except ValueError:
        parts, named = None, []
    if parts is not None and parts.username is not None:
        user, password = parts.username, parts.password or ""
    else:
        # Not every character that people have in a password may stand in an address; it is a secret all the same.
        user, _, password = url.partition("://")[2].rpartition("@")[0].partition(":")
    # The name of the user as the password is no secret, and would black out half the log.
    return {each for each in (password, unquote(password), *named) if each and each != user}
