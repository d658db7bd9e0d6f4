"""The tools of a run as the settings make them, and actions that could never run: found at the start, in one line."""

import pytest

from bot.app.services import check_actions, egress_rules, tools
from bot.egress.client import EgressClient
from bot.errors import SettingsError
from bot.rules.terms import Grade
from bot.settings.environment import Settings
from bot.settings.sections import ConfigFile
from bot.tools.action import ActionRates

RULE = {"url": "https://deploy.example.com/services", "methods": ["POST"], "grade": "write"}
ACTION = {
    "description": "Restart a service",
    "url": "https://deploy.example.com/services/{service}/restart",
    "parameters": {"service": {}},
}


def settings(
    allow: object = RULE, name: str = "restart_service", secret_value: str = "", **changed: object
) -> Settings:
    config = {"egress": {"allow": [allow]}, "actions": {name: ACTION | changed}}
    environment = {"STEERSMAN_SECRET_DEPLOY": secret_value} if secret_value else {}
    return Settings(environment, ConfigFile.model_validate(config))


def problem(given: Settings) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        check_actions(given)
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


def test_every_declared_action_is_a_tool_beside_the_one_that_reads():
    given = settings()

    made = tools(given, EgressClient(egress_rules(given)), ActionRates())

    assert {name: tool.schema.grade for name, tool in made.items()} == {
        "http_get": Grade.READ,
        "restart_service": Grade.WRITE,
    }


def test_an_action_that_a_rule_lets_out_is_sound():
    check_actions(settings())


@pytest.mark.parametrize(
    ("allow", "words"),
    [
        ("https://other.example.com", "not under any allowed prefix"),
        ("https://deploy.example.com", "only GET and HEAD are allowed there"),
        (RULE | {"methods": ["PUT"]}, "only PUT are allowed there"),
        (RULE | {"grade": "read"}, "needs a rule of grade write"),
    ],
)
def test_an_action_that_no_rule_lets_out_names_the_rule_that_is_missing(allow, words):
    error = problem(settings(allow))

    assert error.name == "actions.restart_service.url"
    assert words in error.problem
    assert error.remedy == "Add a rule for the beginning of its URL, its method and its grade to egress.allow"


def test_an_action_may_not_take_the_name_of_a_tool():
    error = problem(settings(name="http_get"))

    assert (error.name, error.remedy) == ("actions.http_get", "Choose another name")


def test_a_secret_that_is_not_set_is_named_with_its_setting():
    error = problem(settings(secret="deploy"))

    assert error.name == "actions.restart_service.secret"
    assert "Set STEERSMAN_SECRET_DEPLOY, or STEERSMAN_SECRET_DEPLOY_FILE" in error.remedy


def test_a_secret_leaves_over_https():
    check_actions(settings(secret="deploy", secret_value="s3cret-value-of-mine"))


@pytest.mark.parametrize(("cidr", "is_sound"), [([], False), (["10.20.0.0/16"], True)])
def test_a_secret_leaves_over_plain_http_into_a_named_network_only(cidr, is_sound):
    plain = {"url": ACTION["url"].replace("https", "http"), "secret": "deploy", "secret_value": "s3cret-value-of-mine"}
    given = settings(RULE | {"url": "http://deploy.example.com/services", "cidr": cidr}, **plain)

    if is_sound:
        check_actions(given)
    else:
        assert "over plain http" in problem(given).problem
