"""`[actions]` of the operator's file: what is declared, and a line for every mistake, with place and remedy."""

import re
import tomllib
from pathlib import Path

import pytest

from bot.errors import SettingsError
from bot.rules.http_actions import HttpAction, Parameter, ParameterType
from bot.rules.terms import Grade
from bot.settings.actions import ActionSection
from bot.settings.environment import read

WHOLE = """
[actions.restart_service]
description = "Restart a service"
method = "POST"
url = "https://deploy.example.com/services/{service}/restart?zone={zone}"
body = '{"replicas": "{replicas}", "drain": "{drain}"}'
title = "restart {service}"
approvers = ["U0ANA", "W0BEN", "S0ONCALL"]
needed = 2
not_requester = true
idempotent = true
secret = "deploy_token"
rate = 3
expires_minutes = 15

[actions.restart_service.parameters.service]
description = "Which one"
enum = ["checkout", "gateway"]

[actions.restart_service.parameters.zone]
pattern = "[a-z]+-[0-9]"
max_length = 20

[actions.restart_service.parameters.replicas]
type = "integer"
min = 1
max = 5

[actions.restart_service.parameters.drain]
type = "boolean"
"""
SMALL = {
    "description": '"Flush the cache"',
    "url": '"https://cache.example.com/flush/{name}"',
    "parameters": "{name = {}}",
}


def action_of(tmp_path, text: str, name: str = "restart_service") -> HttpAction:
    file = tmp_path / "steersman.toml"
    file.write_text(text, "utf-8")
    return read({"STEERSMAN_CONFIG": str(file)}).config.actions[name].action(name)


def small(tmp_path, **changed: str) -> HttpAction:
    """A small action with some lines changed; a value is TOML."""
    lines = [f"{key} = {value}" for key, value in (SMALL | changed).items() if value]
    return action_of(tmp_path, "[actions.flush]\n" + "\n".join(lines), "flush")


def problem(tmp_path, **changed: str) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        small(tmp_path, **changed)
    assert len(str(caught.value).splitlines()) == 1
    assert "Mend it in" in caught.value.remedy
    return caught.value


def test_an_action_is_read_with_everything_that_can_be_said_of_it(tmp_path):
    action = action_of(tmp_path, WHOLE)

    assert action == HttpAction(
        name="restart_service",
        description="Restart a service",
        method="POST",
        url="https://deploy.example.com/services/{service}/restart?zone={zone}",
        title="restart {service}",
        grade=Grade.WRITE,
        parameters=(
            Parameter("service", ParameterType.STRING, "Which one", choices=("checkout", "gateway")),
            Parameter("zone", ParameterType.STRING, pattern="[a-z]+-[0-9]", max_length=20),
            Parameter("replicas", ParameterType.INTEGER, lowest=1, highest=5),
            Parameter("drain", ParameterType.BOOLEAN),
        ),
        body='{"replicas": "{replicas}", "drain": "{drain}"}',
        per_minute=3,
        approvers=("U0ANA", "W0BEN", "S0ONCALL"),
        needed=2,
        not_requester=True,
        idempotent=True,
        secret="deploy_token",
        expires_s=900.0,
    )


def test_what_is_left_out_is_the_careful_choice(tmp_path):
    action = small(tmp_path)

    assert (action.method, action.grade, action.title) == ("POST", Grade.WRITE, "flush")
    assert (action.approvers, action.needed, action.idempotent, action.secret) == ((), 1, False, "")
    assert (action.per_minute, action.expires_s) == (6, 1800)


def test_without_the_section_there_are_no_actions():
    assert read({}).config.actions == {}


@pytest.mark.parametrize(
    "changed",
    [
        {"method": '"GET"', "grade": '"read"'},
        {"method": '"HEAD"', "grade": '"read"'},
        {"grade": '"read"', "post_query": "true", "body": """'{"q": "{name}"}'"""},
        {"method": '"GET"'},
    ],
)
def test_a_read_is_a_get_a_head_or_a_declared_post_query(tmp_path, changed):
    action = small(tmp_path, **changed)

    assert action.grade.value == changed.get("grade", '"write"').strip('"')


MISTAKES = [
    ({"description": ""}, "actions.flush.description", "required"),
    ({"description": '" "'}, "actions.flush.description", "at least 1 character"),
    ({"url": ""}, "actions.flush.url", "required"),
    ({"url": '"cache.example.com/{name}"'}, "actions.flush.url", "write http:// or https://"),
    ({"url": '"https://{name}/x"'}, "actions.flush.url", "a host without holes"),
    ({"url": '"https://a.example/x?{name}=1"'}, "actions.flush.url", "write ?name={hole}"),
    ({"url": '"https://me:pw@a.example/{name}"'}, "actions.flush.url", "without holes or user name"),
    ({"method": '"FETCH"'}, "actions.flush.method", "'GET', 'HEAD', 'POST'"),
    ({"method": '"get"'}, "actions.flush.method", "'GET', 'HEAD', 'POST'"),
    ({"body": "'{name}'"}, "actions.flush.body", "is no JSON"),
    ({"body": """'{"{name}": 1}'"""}, "actions.flush.body", "Write holes in values only"),
    ({"method": '"GET"', "body": """'["{name}"]'"""}, "actions.flush", "a GET has no body"),
    ({"grade": '"unknown"'}, "actions.flush.grade", "'read' or 'write'"),
    ({"grade": '"read"'}, "actions.flush", "a POST is no read"),
    ({"grade": '"read"', "method": '"DELETE"'}, "actions.flush", "a DELETE is no read"),
    ({"post_query": "true"}, "actions.flush", "a POST that only reads"),
    ({"grade": '"read"', "method": '"GET"', "approvers": '["U1"]'}, "actions.flush", "a read needs no yes"),
    ({"approvers": '["ana"]'}, "actions.flush.approvers.0", "pattern"),
    ({"approvers": '["C0CHANNEL"]'}, "actions.flush.approvers.0", "pattern"),
    ({"approvers": '"U1"'}, "actions.flush.approvers", "tuple"),
    ({"needed": "3"}, "actions.flush.needed", "1 or 2"),
    ({"needed": "2", "approvers": '["U1"]'}, "actions.flush", "Name another, or a user group"),
    ({"needed": "2", "approvers": '["U1", "U1"]'}, "actions.flush", "Name another, or a user group"),
    ({"rate": "0"}, "actions.flush.rate", "greater than or equal to 1"),
    ({"rate": "true"}, "actions.flush.rate", "integer"),
    ({"expires_minutes": "0"}, "actions.flush.expires_minutes", "greater than or equal to 1"),
    ({"expires_minutes": "721"}, "actions.flush.expires_minutes", "less than or equal to 720"),
    ({"idempotent": '"yes"'}, "actions.flush.idempotent", "boolean"),
    ({"secret": '"two words"'}, "actions.flush.secret", "pattern"),
    ({"title": '"flush {other}"'}, "actions.flush", "{other} is a hole without a parameter"),
    ({"parameters": ""}, "actions.flush", "{name} is a hole without a parameter"),
    ({"parameters": "{name = {}, idle = {}}"}, "actions.flush", "Write {idle} where it belongs"),
    ({"parameters": "{Name = {}}"}, "actions.flush.parameters.Name.[key]", "pattern"),
    ({"parameters": '{name = {type = "number"}}'}, "actions.flush.parameters.name.type", "'boolean'"),
    ({"parameters": '{name = {pattern = "("}}'}, "actions.flush.parameters.name.pattern", "no regular expression"),
    ({"parameters": "{name = {min = 1}}"}, "actions.flush.parameters.name", "min means nothing for type string"),
    ({"parameters": '{name = {type = "integer", enum = ["a"]}}'}, "actions.flush.parameters.name", "enum means"),
    ({"parameters": '{name = {type = "boolean", max = 2}}'}, "actions.flush.parameters.name", "max means nothing"),
    ({"parameters": '{name = {type = "integer", min = 2, max = 1}}'}, "actions.flush.parameters.name", "min is above"),
    ({"parameters": "{name = {max_length = 0}}"}, "actions.flush.parameters.name.max_length", "greater than"),
    ({"parameters": "{name = {default = 1}}"}, "actions.flush.parameters.name.default", "not permitted"),
    ({"header": '"X"'}, "actions.flush.header", "not permitted"),
]


@pytest.mark.parametrize(("changed", "place", "words"), MISTAKES)
def test_a_mistake_is_one_line_that_names_its_place_and_what_to_write(tmp_path, changed, place, words):
    error = problem(tmp_path, **changed)

    assert error.name == place
    assert words in str(error)


@pytest.mark.parametrize("name", ["Restart", "restart-service", '"restart service"', "_x", "1x"])
def test_a_name_that_a_model_could_not_call_is_refused(tmp_path, name):
    text = f'[actions.{name}]\ndescription = "x"\nurl = "https://a.example/x"\n'

    with pytest.raises(SettingsError, match="should match pattern"):
        action_of(tmp_path, text, name)


def test_zero_as_a_bound_is_a_bound(tmp_path):
    action = small(tmp_path, parameters='{name = {type = "integer", min = 0, max = 0}}')

    assert (action.parameters[0].lowest, action.parameters[0].highest) == (0, 0)


def test_a_long_listed_value_is_no_longer_than_its_parameter_allows(tmp_path):
    action = small(tmp_path, parameters=f'{{name = {{enum = ["{"x" * 200}"]}}}}')

    assert action.parameters[0].max_length == 200


def test_the_example_of_the_documents_is_one_that_is_read(tmp_path):
    page = Path("docs/operating.md").read_text("utf-8").partition("## Actions")[2]
    example = re.search(r"```toml\n(.*?)```", page, re.DOTALL)

    action = action_of(tmp_path, example[1] if example else "")

    assert (action.title, action.approvers, len(action.parameters)) == (
        "restart {service}",
        ("U0123ABCD", "S0456EFGH"),
        4,
    )


@pytest.mark.parametrize(("own", "seconds"), [("", 600), ("expires_minutes = 15", 900)])
def test_a_question_stands_as_long_as_its_action_says_or_else_as_long_as_all_do(own, seconds):
    text = f'description = "Flush."\nurl = "https://api.example.com/flush"\napprovers = ["U1"]\n{own}'

    action = ActionSection.model_validate(tomllib.loads(text)).action("flush", 10.0)

    assert action.expires_s == seconds
