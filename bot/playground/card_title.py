"""How a title that carries a state is told apart: bold words, a middle dot, then the state, which becomes a pill.

Pure, and only about looks: a message without such a title is shown as it is.
"""

import re
from dataclasses import dataclass

from bot.playground.inline_view import Reader, mrkdwn
from bot.playground.json_reading import JsonObject, flag_at, object_at, objects_at, text_at
from bot.playground.markup import Html, join, tag
from bot.playground.rich_text_view import inline

DOT = " · "
NOTHING = Html()
TITLE = re.compile(r"\*(?P<title>[^*\n]+)\* · (?P<state>[^\n]+)(?P<rest>\n.*)?", re.DOTALL)
# The first that is found in the state's words counts.
TONES = (
    (("needs a yes",), "amber"),
    (("steered", "taken back"), "purple"),
    (("stop", "failed", "ended without"), "red"),
    (("done",), "green"),
    (("paus", "waiting"), "amber"),
    (("investigating", "changing course"), "blue"),
)


@dataclass(frozen=True, slots=True)
class CardTitle:
    """A title, its state and what stands below them in the same block."""

    title: Html
    state: Html
    tone: str
    rest: Html = NOTHING

    def to_html(self) -> Html:
        """The title with its pill."""
        pill = tag("span", self.state, class_=f"pill {self.tone}", data_testid="state")
        return join((tag("p", tag("strong", self.title), " ", pill, class_="title"), self.rest))


def find_title(block: JsonObject, reader: Reader) -> CardTitle | None:
    """The title in a section or rich text block, or None where it has none."""
    if block.get("type") == "section":
        return _in_section(text_at(object_at(block, "text"), "text"), reader)
    return _in_rich_text(block, reader) if block.get("type") == "rich_text" else None


def tone_of(state: str) -> str:
    """The colour of a state's words."""
    small = state.lower()
    return next((tone for words, tone in TONES if any(word in small for word in words)), "grey")


def _in_section(stored: str, reader: Reader) -> CardTitle | None:
    found = TITLE.fullmatch(stored)
    if found is None:
        return None
    title, state, rest = found["title"], found["state"], (found["rest"] or "").strip()
    below = tag("p", mrkdwn(rest, reader)) if rest else NOTHING
    return CardTitle(mrkdwn(title, reader), mrkdwn(state, reader), tone_of(state), below)


def _in_rich_text(block: JsonObject, reader: Reader) -> CardTitle | None:
    sections = objects_at(block, "elements")
    elements = objects_at(sections[0], "elements") if len(sections) == 1 else []
    opening = text_at(elements[1], "text") if len(elements) > 1 else ""
    if not opening.startswith(DOT) or not flag_at(object_at(elements[0], "style"), "bold"):
        return None
    told = [{**elements[1], "text": opening.removeprefix(DOT)}, *elements[2:]]
    words = "".join(text_at(element, "text") for element in told)
    state = join(inline(element, reader) for element in told)
    return CardTitle(Html(inline({**elements[0], "style": {}}, reader)), state, tone_of(words))
