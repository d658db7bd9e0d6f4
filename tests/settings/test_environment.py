"""The settings: what is missing or wrong is one line that names it and says what to do, and shows no secret."""

import math

import pytest

from bot.errors import SettingsError
from bot.rules.redaction import Scrubber
from bot.settings.environment import Settings, read
from bot.settings.sections import ConfigFile

GOOD = {
    "SLACK_BOT_TOKEN": "xoxb-1-2",
    "SLACK_APP_TOKEN": "xapp-1-2",
    "STEERSMAN_MODEL": "openai:some-model",
    "OPENAI_API_KEY": "sk-0123456789abcdef",
    "ANTHROPIC_API_KEY": "ant-0123456789abcdef",
}


def settings(**environment: str) -> Settings:
    return read(GOOD | environment)


def problem(call) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        call()
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


def of_file(tmp_path, text: str | bytes) -> Settings:
    file = tmp_path / "steersman.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read({"STEERSMAN_CONFIG": str(file)})


def test_what_a_command_does_not_need_is_not_asked_for():
    bare = read({})

    assert (bare.config, bare.database_url, bare.secrets(), bare.key_setting) == (ConfigFile(), None, (), None)


def test_slack_is_reached_with_the_two_tokens():
    slack = settings().slack()

    assert (slack.bot_token, slack.app_token, slack.api_url) == ("xoxb-1-2", "xapp-1-2", "https://slack.com/api/")


@pytest.mark.parametrize("name", ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"])
@pytest.mark.parametrize(
    "value", ["", "   ", "xoxp-1", '"xoxb-1"', "xoxb-1 xoxb-2", "xapp-1 2", "xapp-\u00e9", "xoxb-1\n2"]
)
def test_a_token_that_is_none_is_named_and_not_shown(name, value):
    error = problem(settings(**{name: value}).slack)

    assert error.name == name
    assert "Copy it" in str(error)
    assert not value.strip() or value not in str(error)


def test_what_stands_around_a_value_does_not_belong_to_it():
    given = settings(SLACK_BOT_TOKEN=" xoxb-1-2\n", OPENAI_API_KEY="\tsk-0123456789abcdef \n", DATABASE_URL=" ")

    assert given.slack().bot_token == "xoxb-1-2"
    assert given.model().key == "sk-0123456789abcdef"
    assert given.database_url is None
    assert Scrubber(given.secrets()).text("it is xoxb-1-2.") == "it is [redacted]."


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("openai:gpt", ("openai", "gpt", "https://api.openai.com/v1", GOOD["OPENAI_API_KEY"])),
        ("anthropic:claude", ("anthropic", "claude", "https://api.anthropic.com", GOOD["ANTHROPIC_API_KEY"])),
        ("openai:org/model:free", ("openai", "org/model:free", "https://api.openai.com/v1", GOOD["OPENAI_API_KEY"])),
        ("scripted:a/file.toml", ("scripted", "a/file.toml", "", "")),
    ],
)
def test_a_model_is_named_with_its_dialect(chosen, expected):
    model = settings(STEERSMAN_MODEL=chosen).model()

    assert (model.dialect, model.name, model.base_url, model.key) == expected


@pytest.mark.parametrize("chosen", ["", "gpt", "openai", "openai:", "openai: ", "banana:gpt", "OPENAI:gpt"])
def test_a_model_of_nobody_is_refused_with_the_form(chosen):
    error = problem(settings(STEERSMAN_MODEL=chosen).model)

    assert (error.name, error.remedy) == ("STEERSMAN_MODEL", "Write openai:NAME, anthropic:NAME or scripted:FILE")


def test_a_key_in_the_place_of_the_model_is_not_shown():
    error = problem(settings(STEERSMAN_MODEL="sk-0123456789abcdef0123").model)

    assert "0123456789" not in str(error)


@pytest.mark.parametrize("value", ["", "two words", "line\nbreak", "\u201cquoted\u201d"])
def test_a_key_that_fits_in_no_header_is_named(value):
    error = problem(settings(OPENAI_API_KEY=value).model)

    assert error.name == "OPENAI_API_KEY"
    assert not value or value not in str(error)


GOOD_URLS = ["http://127.0.0.1:8080", "https://gateway.example.com/v1", "http://[::1]:9/x", "HTTPS://host"]
BAD_URLS = {
    "gateway.example.com": "http:// or https://",
    "ftp://host": "http:// or https://",
    "file:///etc/passwd": "http:// or https://",
    "https://": "no host",
    "https:///path": "no host",
    "https://ho st": "no host",
    "https://h\u00f6st": "no host",
    "https://host:port": "host or port",
    "https://host:99999": "host or port",
    "https://[::1": "host or port",
    "https://me:secret-of-mine@host": "a user name",
    "https://host/?key=secret-of-mine": "a user name",
    "https://host/#x": "a user name",
}


@pytest.mark.parametrize("url", GOOD_URLS)
def test_the_address_of_a_service_may_be_any_http_address(url):
    given = settings(OPENAI_BASE_URL=url, SLACK_API_URL=url)

    assert given.model().base_url == url
    assert given.slack().api_url == f"{url}/"


@pytest.mark.parametrize("url", BAD_URLS)
@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "SLACK_API_URL"])
def test_an_address_that_is_none_is_named_and_not_repeated(name, url):
    dialect = name.partition("_")[0].lower()
    given = settings(**{name: url, "STEERSMAN_MODEL": f"{dialect}:m"})

    error = problem(given.slack if name == "SLACK_API_URL" else given.model)

    assert error.name == name
    assert BAD_URLS[url] in error.problem
    assert "secret-of-mine" not in str(error)


def test_the_address_of_slack_ends_with_one_slash():
    assert settings(SLACK_API_URL="http://127.0.0.1:1/api//").slack().api_url == "http://127.0.0.1:1/api/"


def test_the_folder_of_the_embedded_database_may_be_in_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))

    assert settings(STEERSMAN_DATA="~/mine").home == tmp_path / "mine"
    assert settings().home == tmp_path / ".local/share/steersman"


@pytest.mark.parametrize(
    ("url", "password"),
    [
        ("postgresql://me:open-sesame@host/db", "open-sesame"),
        ("postgres://me:open%20sesame@host/db", "open sesame"),
        ("postgres://me:open%20sesame@host/db", "open%20sesame"),
        ("postgresql://host/db?user=me&password=open-sesame", "open-sesame"),
        ("postgresql://me:open/sesame#1@host/db", "open/sesame#1"),
        ("postgresql://me:open@sesame@host/db", "open@sesame"),
        ("postgresql://me:open[sesame@host/db", "open[sesame"),
    ],
)
def test_the_password_of_the_database_is_a_secret_in_each_spelling(url, password):
    secrets = settings(DATABASE_URL=url).secrets()

    assert password in secrets
    assert password not in Scrubber(secrets).text(f"cannot connect with {password} to the host")


@pytest.mark.parametrize(
    "url", ["", "postgresql://host/db", "postgresql://me@host/db", "nonsense", "postgresql://me:me@host"]
)
def test_an_address_without_a_password_gives_no_secret(url):
    assert read({"DATABASE_URL": url}).secrets() == ()


def test_every_key_and_token_is_a_secret():
    given = settings(PGPASSWORD="open-sesame")

    assert set(given.secrets()) == {*GOOD.values(), "open-sesame"} - {GOOD["STEERSMAN_MODEL"]}


def test_the_file_is_read(tmp_path):
    given = of_file(
        tmp_path,
        '[policy]\nalert_apps = ["A01"]\napprovers = ["U1", "W2"]\n[limits]\npatience_s = 2\nrounds = 3\n'
        '[egress]\nallow = ["https://a.example.com"]\n[[egress.loopback]]\naddress = "127.0.0.1:1"\n',
    ).config

    assert (given.policy.alert_apps, given.policy.approvers) == ({"A01"}, {"U1", "W2"})
    assert (given.limits.patience_s, given.limits.rounds) == (2.0, 3)
    assert (given.egress.allow, given.egress.loopback[0].address) == (("https://a.example.com",), "127.0.0.1:1")


WRONG_FILES = {
    "limits.rounds": ["0", "1001", '"50"', "true", "2.5", "[1]"],
    "limits.patience_s": ["-1", "nan", "inf", "true", '"5"', "3601"],
    "limits.runs_at_once": ["0", "201"],
    "limits.pause_hours": ["0", "inf", "9000"],
    "limits.lease_s": ["0.1", "nan", "601"],
    "limits.tool_seconds": ["0", "31"],
    "limits.model_idle_seconds": ["0", "inf"],
    "limits.answer_tokens": ["0", "1.5"],
    "limits.speed": ["1"],
    "limits.run_minutes": ["0", "inf", '"60"'],
    "limits.run_tokens": ["0", "1.5", "true"],
    "limits.run_cost_usd": ["0", "-1", "nan"],
    "limits.live_runs_per_person": ["0", "1.5"],
    "limits.live_runs_per_channel": ["0"],
    "limits.live_runs_per_workspace": ["-1"],
    "models.prices": [
        "1",
        '[{ name = "m" }]',
        '[{ name = "", input = 1, output = 1 }]',
        '[{ name = "m", input = -1, output = 1 }]',
        '[{ name = "m", input = 1, output = "1" }]',
    ],
    "policy.alert_apps": ['"A01"', "[1]", '["@bot"]', '[""]'],
    "policy.approvers": ['["ana"]', '["u1"]', "true"],
    "egress.allow": ['"https://a"', "[1]"],
    "egress.loopback": ['"127.0.0.1:1"', "[1]", "[{}]", '[{ address = "a", more = 1 }]'],
    "egress.deny": ["[]"],
}


@pytest.mark.parametrize(("name", "value"), [(name, each) for name, values in WRONG_FILES.items() for each in values])
def test_a_wrong_value_in_the_file_is_named(tmp_path, name, value):
    section, _, key = name.partition(".")

    error = problem(lambda: of_file(tmp_path, f"[{section}]\n{key} = {value}\n"))

    assert error.name.startswith(name)
    assert "steersman.toml" in error.remedy


@pytest.mark.parametrize("text", ["a = = 1", "[limits", "[nonsense]\nx = 1", b"\xff", "x = 1"])
def test_a_file_that_is_none_of_ours_is_named(tmp_path, text):
    error = problem(lambda: of_file(tmp_path, text))

    assert error.name in {"STEERSMAN_CONFIG", "nonsense", "x"}
    assert "steersman.toml" in str(error)


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()])
def test_a_file_that_cannot_be_read_is_named(tmp_path, make):
    path = tmp_path / "gone.toml"
    make(path)

    error = problem(lambda: read({"STEERSMAN_CONFIG": str(path)}))

    assert (error.name, str(path) in error.problem) == ("STEERSMAN_CONFIG", True)


def test_what_is_left_out_has_a_limit_of_its_own():
    limits = ConfigFile().limits

    off = {name for name, value in limits.model_dump().items() if value is None}
    assert off == {"run_tokens", "run_cost_usd", *(name for name in limits.model_dump() if name.startswith("live_"))}
    assert all(math.isfinite(value) and value > 0 for value in limits.model_dump(exclude=off).values())


def test_which_tools_a_channel_and_a_requester_have_is_read_from_the_file(tmp_path):
    text = '[[policy.tools]]\nchannel = "C1"\nrequester = "guest"\nallow = ["http_get"]\n[[policy.tools]]\nallow = []'

    one, other = of_file(tmp_path, text).config.policy.tools

    assert (one.channel, one.requester, one.allow) == ("C1", "guest", {"http_get"})
    assert (other.channel, other.requester, other.allow) == (None, None, frozenset())


@pytest.mark.parametrize(
    "text",
    [
        '[[policy.tools]]\nchannel = "#incidents"\nallow = []',
        '[[policy.tools]]\nrequester = "boss"\nallow = []',
        '[[policy.tools]]\nchannel = "C1"',
        '[[policy.tools]]\nchannel = "C1"\nallow = []\n[[policy.tools]]\nchannel = "C1"\nallow = ["http_get"]',
    ],
)
def test_a_rule_of_tools_that_is_none_is_named(tmp_path, text):
    error = problem(lambda: of_file(tmp_path, text))

    assert error.name.startswith("policy.tools")


def test_the_port_is_off_unless_it_is_set():
    assert settings().port() is None
    assert settings(STEERSMAN_API_TOKEN="a-token").port() is None


def test_the_port_stays_on_this_machine_unless_told_otherwise():
    port = settings(STEERSMAN_HTTP_PORT="8080").port()

    assert (port.host, port.number, port.token) == ("127.0.0.1", 8080, None)


def test_the_port_may_be_opened_to_others_and_take_orders():
    port = settings(STEERSMAN_HTTP_PORT="0", STEERSMAN_HTTP_HOST="0.0.0.0", STEERSMAN_API_TOKEN=" a-token ").port()

    assert (port.host, port.number, port.token) == ("0.0.0.0", 0, "a-token")


@pytest.mark.parametrize("number", ["http", "-1", "65536", "80.5", "٨٠", "0x50", "99999999999999999999"])
def test_what_is_no_port_is_named(number):
    error = problem(settings(STEERSMAN_HTTP_PORT=number).port)

    assert error.name == "STEERSMAN_HTTP_PORT"


def test_a_token_that_no_header_can_carry_is_named_and_not_shown():
    error = problem(settings(STEERSMAN_HTTP_PORT="1", STEERSMAN_API_TOKEN="two words").port)

    assert (error.name, "two words" in str(error)) == ("STEERSMAN_API_TOKEN", False)


def test_the_token_of_the_port_is_a_secret():
    assert "a-token-of-ours" in settings(STEERSMAN_API_TOKEN="a-token-of-ours").secrets()


def test_work_alone_needs_no_token_to_listen_with():
    slack = settings(SLACK_APP_TOKEN="").slack(listens=False)

    assert (slack.bot_token, slack.app_token) == ("xoxb-1-2", "")


def test_prices_are_read_with_the_names_of_their_models(tmp_path):
    given = of_file(tmp_path, '[[models.prices]]\nname = "gpt-x"\ninput = 1.25\noutput = 10\n')

    assert [(each.name, each.input, each.output, each.cached) for each in given.config.models.prices] == [
        ("gpt-x", 1.25, 10.0, None)
    ]
