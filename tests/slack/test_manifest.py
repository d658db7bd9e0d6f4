"""The manifest asks Slack for what the code uses: nothing is missing, and nothing is asked for in vain."""

import ast
import inspect
import re
from pathlib import Path
from typing import Annotated, Literal

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.listeners import EVENTS

ROOT = Path(__file__).parents[2]
MANIFEST = yaml.safe_load((ROOT / "manifest.yml").read_text("utf-8"))

SUBSCRIPTIONS = {
    "app_mention": {"app_mention"},
    "message": {"message.channels", "message.groups", "message.im"},
    "agent_session_stopped": {"agent_session_stopped"},
}
"""What has to be subscribed to for an event to come; a `message` comes by the kind of its conversation."""

EVENT_SCOPES = {
    "app_mention": {"app_mentions:read"},
    "message.channels": {"channels:history"},
    "message.groups": {"groups:history"},
    "message.im": {"im:history"},
    "agent_session_stopped": set(),
}
FEATURE_SCOPES = {"agent_view": {"assistant:write"}, "app_home": set(), "bot_user": set()}
METHOD_SCOPES = {
    "agents.sessions.setStatus": {"chat:write"},
    "apps.connections.open": set(),  # by the app's own token, not the bot's
    "auth.test": set(),
    "chat.delete": {"chat:write"},
    "chat.getPermalink": set(),
    "chat.postEphemeral": {"chat:write"},
    "chat.postMessage": {"chat:write"},
    "chat.update": {"chat:write"},
    "conversations.replies": {"channels:history", "groups:history", "im:history"},
    "usergroups.users.list": {"usergroups:read"},
    "users.info": {"users:read"},
    "views.open": set(),
}

CLIENT_METHODS = {
    name: name.replace("_", ".")
    for name, member in vars(AsyncWebClient).items()
    if inspect.iscoroutinefunction(member) and "_" in name
}


def methods_in(source):
    """The Web API methods that a piece of code names, by the client's attribute or by Slack's own name."""
    nodes = list(ast.walk(ast.parse(source)))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {dotted for name, dotted in CLIENT_METHODS.items() if name in attributes or dotted in texts}


def methods_used():
    # The playground is Slack's side: it answers the methods.
    files = [path for path in (ROOT / "bot").rglob("*.py") if "playground" not in path.parts]
    return {method for path in files for method in methods_in(path.read_text("utf-8"))}


def scopes_of_events_and_features():
    events = (EVENT_SCOPES[event] for event in MANIFEST["settings"]["event_subscriptions"]["bot_events"])
    features = (FEATURE_SCOPES[feature] for feature in MANIFEST["features"])
    return set().union(*events, *features)


def text(most):
    return Annotated[str, StringConstraints(min_length=1, max_length=most)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Version(Strict):
    major_version: Literal[1, 2]
    minor_version: int


class DisplayInformation(Strict):
    name: text(35)
    description: text(140)
    background_color: Annotated[str, StringConstraints(pattern=r"^#(?:[0-9a-fA-F]{3}){1,2}$")]


class Prompt(Strict):
    title: text(75)
    message: text(300)


class AgentView(Strict):
    agent_description: text(300)
    suggested_prompts: Annotated[list[Prompt], Field(max_length=4)]


class AppHome(Strict):
    home_tab_enabled: bool
    messages_tab_enabled: Literal[True]
    messages_tab_read_only_enabled: Literal[False]


class BotUser(Strict):
    display_name: text(80)
    always_online: bool


class Features(Strict):
    """No slash commands, no shortcuts: nothing listens to them."""

    agent_view: AgentView
    app_home: AppHome
    bot_user: BotUser


class Scopes(Strict):
    bot: Annotated[list[text(50)], Field(max_length=255)]


class Grants(Strict):
    scopes: Scopes


class Subscriptions(Strict):
    bot_events: Annotated[list[text(50)], Field(max_length=100)]


class Interactivity(Strict):
    is_enabled: Literal[True]


class Settings(Strict):
    event_subscriptions: Subscriptions
    interactivity: Interactivity
    org_deploy_enabled: Literal[False]
    socket_mode_enabled: Literal[True]
    token_rotation_enabled: Literal[False]


class Manifest(Strict):
    """The parts that we use, with the limits of Slack's own manifest schema."""

    version: Version = Field(alias="_metadata")
    display_information: DisplayInformation
    features: Features
    oauth_config: Grants
    settings: Settings


def test_the_manifest_keeps_slacks_limits():
    manifest = Manifest.model_validate(MANIFEST)

    assert manifest.display_information.name == "Steersman"


def test_a_name_that_is_too_long_for_slack_would_be_found():
    display = {**MANIFEST["display_information"], "name": "x" * 36}

    with pytest.raises(ValueError, match="at most 35"):
        Manifest.model_validate({**MANIFEST, "display_information": display})


def test_every_event_that_is_listened_to_is_subscribed_to_and_no_other():
    needed = set().union(*(SUBSCRIPTIONS[event] for event in EVENTS))

    assert set(MANIFEST["settings"]["event_subscriptions"]["bot_events"]) == needed


def test_every_method_that_is_called_is_known_with_its_scopes():
    assert methods_used() - set(METHOD_SCOPES) == set()


def test_every_scope_that_is_needed_is_asked_for():
    needed = scopes_of_events_and_features().union(*(METHOD_SCOPES[method] for method in methods_used()))

    assert needed - set(MANIFEST["oauth_config"]["scopes"]["bot"]) == set()


def test_no_scope_is_asked_for_in_vain():
    needed = scopes_of_events_and_features().union(*(METHOD_SCOPES[method] for method in methods_used()))

    assert set(MANIFEST["oauth_config"]["scopes"]["bot"]) - needed == set()


def test_nothing_is_asked_for_twice():
    scopes = MANIFEST["oauth_config"]["scopes"]["bot"]
    events = MANIFEST["settings"]["event_subscriptions"]["bot_events"]

    assert (scopes, events) == (sorted(set(scopes)), sorted(set(events)))


def test_the_stop_button_of_slack_is_declared_and_heard_together():
    has_button = "agent_view" in MANIFEST["features"]

    assert has_button is ("agent_session_stopped" in EVENTS)


def test_every_scope_says_in_the_manifest_what_it_is_for():
    lines = (ROOT / "manifest.yml").read_text("utf-8").splitlines()

    scopes = [line for line in lines if re.match(r"\s+- [a-z_]+:[a-z]+\b", line)]

    assert len(scopes) == len(MANIFEST["oauth_config"]["scopes"]["bot"])
    assert all(" # " in line for line in scopes)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("await client.chat_update(channel=c)", {"chat.update"}),
        ("post = self._client.chat_postMessage", {"chat.postMessage"}),
        ("await client.api_call('users.info', params=p)", {"users.info"}),
        ("await client.agents_sessions_setStatus()", {"agents.sessions.setStatus"}),
        ("await client.reactions_add()", {"reactions.add"}),
        ("chat_update = 1", set()),
        ("'the method chat.update is called'", set()),
    ],
)
def test_a_method_is_found_however_it_is_called(source, expected):
    assert methods_in(source) == expected
