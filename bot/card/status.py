"""The answer to the word `status`: the card in one line, with the way to it."""

from bot.card import spans
from bot.card.text import escape
from bot.card.view import view
from bot.rules.card_facts import CardFacts


def status_line(facts: CardFacts, link: str | None, now: float) -> str:
    """Title, state and current line of a run, escaped for mrkdwn, and a link to its card where it has one."""
    shown = view(facts, now)
    words = [shown.title, spans.plain(shown.badge), spans.plain(shown.now_line)]
    line = " · ".join(escape(each) for each in words if each)
    return f"{line} · <{link}|card>" if link else line
