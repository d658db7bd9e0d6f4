"""The door as the operator's file describes it: tables, secrets by name, a contact in the User-Agent."""

import pytest

from bot.app.door import egress_means, egress_rules
from bot.errors import SettingsError
from bot.rules.terms import Grade
from bot.settings.environment import read

TABLES = """
[egress]
contact = "mailto:sre@example.com"

[[egress.allow]]
url = "https://grafana.example.com/api"
ports = [8443]
methods = ["GET", "POST"]
rate = 5.0
api = true
secret = "grafana-key"

[[egress.allow]]
url = "http://prometheus.internal:9090"
cidr = ["10.20.0.0/16"]
grade = "write"
secret = "prom"
secret_header = "X-Key"
"""
SECRETS = {"STEERSMAN_SECRET_GRAFANA_KEY": "planted-one", "STEERSMAN_SECRET_PROM": "planted-two"}


def settings(tmp_path, text: str, **environment: str):
    path = tmp_path / "steersman.toml"
    path.write_text(text, "utf-8")
    return read({"STEERSMAN_CONFIG": str(path), **environment})


def test_a_table_says_everything_that_a_rule_can_be(tmp_path):
    grafana, prometheus = egress_rules(settings(tmp_path, TABLES, **SECRETS)).allow

    assert (grafana.ports, grafana.methods, grafana.rate) == ((443, 8443), {"GET", "POST"}, 5.0)
    assert (grafana.api, grafana.grade, grafana.secret.name) == (True, Grade.READ, "grafana-key")
    assert (grafana.secret.header, grafana.secret.scheme) == ("Authorization", "Bearer")
    assert [str(each) for each in prometheus.networks] == ["10.20.0.0/16"]
    assert (prometheus.grade, prometheus.secret.header, prometheus.secret.scheme) == (Grade.WRITE, "X-Key", "")


def test_texts_and_tables_may_stand_side_by_side(tmp_path):
    text = '[egress]\nallow = ["https://a.example.com", { url = "https://b.example.com", api = true }]\n'

    first, second = egress_rules(settings(tmp_path, text)).allow

    assert (first.api, second.api) == (False, True)


def test_a_secret_is_lent_from_its_setting_or_its_file_and_is_known_to_the_scrubber(tmp_path):
    held = tmp_path / "prom"
    held.write_text("planted-two\n", "utf-8")
    given = {"STEERSMAN_SECRET_GRAFANA_KEY": "planted-one", "STEERSMAN_SECRET_PROM_FILE": str(held)}

    found = settings(tmp_path, TABLES, **given)

    lend = egress_means(found).secret_of
    assert (lend("grafana-key"), lend("prom"), lend("other")) == ("planted-one", "planted-two", "")
    assert {"planted-one", "planted-two"} <= set(found.secrets())


def test_a_secret_that_is_not_set_is_named_at_the_start(tmp_path):
    found = settings(tmp_path, TABLES, STEERSMAN_SECRET_PROM="planted-two")

    with pytest.raises(SettingsError, match="Set STEERSMAN_SECRET_GRAFANA_KEY, or STEERSMAN_SECRET_GRAFANA_KEY_FILE"):
        egress_rules(found)


def test_the_user_agent_names_the_product_and_whom_to_tell(tmp_path):
    agent = egress_means(settings(tmp_path, TABLES, **SECRETS)).user_agent
    plain = egress_means(settings(tmp_path, "")).user_agent

    assert agent.startswith("steersman/")
    assert agent.endswith(" (+mailto:sre@example.com)")
    assert "(" not in plain


@pytest.mark.parametrize(
    "line",
    ['methods = "GET"', 'grade = "admin"', "rate = 0", "api = 1", 'ports = ["443"]', 'secret = "a b"', "more = 1"],
)
def test_a_wrong_line_of_a_table_is_named(tmp_path, line: str):
    text = f'[[egress.allow]]\nurl = "https://a.example.com"\n{line}\n'

    with pytest.raises(SettingsError) as caught:
        settings(tmp_path, text)

    assert caught.value.name.startswith("egress.allow.0.")
    assert line.partition(" ")[0] in caught.value.name


@pytest.mark.parametrize("contact", ["a b", "x\\ny", "(nested)", "é"])
def test_a_contact_that_no_header_can_carry_is_refused(tmp_path, contact: str):
    with pytest.raises(SettingsError, match=r"egress\.contact"):
        settings(tmp_path, f'[egress]\ncontact = "{contact}"\n')
