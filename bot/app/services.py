"""What runs work with outside of us: the model's service, the rules of the door out, and the declared actions."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from bot.app.door import egress_rules
from bot.app.ids import mint_call_id
from bot.card.answer import parts
from bot.egress.client import EgressClient
from bot.egress.rules import Permit, Refusal
from bot.errors import SettingsError
from bot.llm.anthropic_messages import AnthropicMessages
from bot.llm.event_stream import Timeouts
from bot.llm.openai_chat import OpenAIChat
from bot.llm.provider import Provider
from bot.llm.scripted import ScriptedProvider, load_script
from bot.rules.action_templates import example_url
from bot.rules.http_actions import HttpAction
from bot.settings.environment import ModelSetting, Settings, setting_of_secret
from bot.tools.action import ActionRates, ActionTool
from bot.tools.http_get import NAME as HTTP_GET
from bot.tools.http_get import HttpGet
from bot.tools.tool import Tool


def tools(settings: Settings, client: EgressClient, rates: ActionRates) -> dict[str, Tool]:
    """The tools of one run, by name; `client` is its door, `rates` are those of the process."""
    seconds = settings.config.limits.tool_seconds
    expires = settings.config.approvals.expires_minutes
    actions = (each.action(name, expires) for name, each in settings.config.actions.items())
    made: list[Tool] = [
        HttpGet(client, seconds=seconds),
        *(ActionTool(each, client, rates, seconds=seconds) for each in actions),
    ]
    return {tool.schema.name: tool for tool in made}


def check_actions(settings: Settings) -> None:
    """Raise SettingsError for an action that could never run: its name is taken, or the door would not let it out."""
    rules = egress_rules(settings)
    for name, section in settings.config.actions.items():
        if name == HTTP_GET:
            raise SettingsError(f"actions.{name}", "is the name of a tool that is always there", "Choose another name")
        action = section.action(name)
        verdict = rules.judge(action.method, example_url(action.url), action.grade)
        if isinstance(verdict, Refusal):
            remedy = "Add a rule for the beginning of its URL, its method and its grade to egress.allow"
            raise SettingsError(f"actions.{name}.url", verdict.message, remedy)
        if action.secret:
            _check_secret(action, verdict, settings)


def _check_secret(action: HttpAction, permit: Permit, settings: Settings) -> None:
    """A secret has to be there, and may not cross a network that is nobody's in plain text."""
    if not settings.lent_secret(action.secret):
        setting = setting_of_secret(action.secret)
        remedy = f"Set {setting}, or {setting}_FILE to the file that holds it"
        raise SettingsError(f"actions.{action.name}.secret", f"{action.secret} is not set", remedy)
    if permit.target.scheme == "http" and not permit.rule.networks and not permit.loopback:
        problem = f"the secret {action.secret} would leave over plain http"
        raise SettingsError(f"actions.{action.name}.url", problem, "Write https, or name the network of its rule")


def answer_parts(settings: Settings) -> Callable[[str], tuple[str, ...]]:
    """How an answer is cut into posts, with links to Slack and to the hosts that may be read, and to no others."""
    rules = egress_rules(settings).allow

    def is_ours(host: str) -> bool:
        return f".{host}".endswith(".slack.com") or any(rule.covers_host(host) for rule in rules)

    return partial(parts, is_ours=is_ours)


def provider(model: ModelSetting, timeouts: Timeouts) -> Provider:
    """The model service of a setting."""
    if model.dialect == "openai":
        return OpenAIChat(model.base_url, model.key, mint_call_id, timeouts)
    if model.dialect == "anthropic":
        return AnthropicMessages(model.base_url, model.key, mint_call_id, timeouts)
    return ScriptedProvider(load_script(Path(model.name)), mint_call_id)
