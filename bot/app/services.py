"""What runs work with outside of us: the model's service, and the rules of the door out."""

from pathlib import Path

from bot.app.ids import mint_call_id
from bot.egress.rules import EgressRules
from bot.llm.anthropic_messages import AnthropicMessages
from bot.llm.event_stream import Timeouts
from bot.llm.openai_chat import OpenAIChat
from bot.llm.provider import Provider
from bot.llm.scripted import ScriptedProvider, load_script
from bot.settings.environment import ModelSetting, Settings


def egress_rules(settings: Settings) -> EgressRules:
    """The rules of the door out."""
    egress = settings.config.egress
    return EgressRules.parse(egress.allow, [each.address for each in egress.loopback])


def provider(model: ModelSetting, timeouts: Timeouts) -> Provider:
    """The model service of a setting."""
    if model.dialect == "openai":
        return OpenAIChat(model.base_url, model.key, mint_call_id, timeouts)
    if model.dialect == "anthropic":
        return AnthropicMessages(model.base_url, model.key, mint_call_id, timeouts)
    return ScriptedProvider(load_script(Path(model.name)), mint_call_id)
