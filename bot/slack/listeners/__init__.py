"""What of Slack's events we listen to: the manifest subscribes to exactly these."""

import re

from slack_bolt.async_app import AsyncApp

from bot.slack.listeners.buttons import Buttons
from bot.slack.listeners.messages import Messages

EVENTS: frozenset[str] = frozenset({"agent_session_stopped", "app_mention", "message"})
"""Slack's event types; a `message` stands for its subtypes and for every kind of conversation."""


def register(app: AsyncApp, messages: Messages, buttons: Buttons) -> None:
    """Register every listener; a button that we no longer know is answered too."""
    for event in sorted(EVENTS):
        app.event(event)(messages.event)
    app.action(re.compile(""))(buttons.press)
