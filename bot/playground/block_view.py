"""How each block looks on the page.

Pure. A block of a kind that is unknown here is shown by its name, so that nothing is lost without a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.playground.card_title import find_title
from bot.playground.element_view import Place, element
from bot.playground.inline_view import Reader, mrkdwn
from bot.playground.json_reading import JsonObject, flag_at, list_at, object_at, objects_at, text_at
from bot.playground.markdown_view import markdown
from bot.playground.markup import Html, join, tag, text
from bot.playground.rich_text_view import inline, inlines, rich_text, words

ICONS = {"complete": "✓", "error": "!", "in_progress": "", "pending": ""}
LONGEST_LABEL = 12


@dataclass(frozen=True, slots=True)
class BlockView:
    """The blocks of one message, for one reader."""

    reader: Reader
    place: Place

    def blocks(self, shown: Sequence[JsonObject]) -> Html:
        """Every block, in order; a title with a state is looked for in the first."""
        title = find_title(shown[0], self.reader) if shown else None
        if title is None:
            return join(self.block(block, in_card=False) for block in shown)
        return join((title.to_html(), *(self.block(block, in_card=True) for block in shown[1:])))

    def block(self, block: JsonObject, *, in_card: bool) -> Html:
        """One block; a rich text block of a card is shown as a line of code or as rows."""
        match block.get("type"):
            case "section":
                return self._section(block)
            case "rich_text":
                return self._card_lines(block) if in_card else tag("div", rich_text(block, self.reader), class_="rich")
            case "plan":
                return self._plan(block)
            case "task_card":
                return tag("div", tag("ul", self._task(block), class_="tasks"), class_="plan")
            case "context":
                return self._context(block)
            case "actions" | "context_actions":
                return self._actions(block)
            case _:
                return self._other(block)

    def _other(self, block: JsonObject) -> Html:
        match block.get("type"):
            case "header":
                return tag("h3", text_at(object_at(block, "text"), "text"))
            case "markdown":
                return tag("div", markdown(text_at(block, "text"), self.reader), class_="markdown")
            case "divider":
                return tag("hr")
            case "table":
                return self._table(block)
            case kind:
                return tag("p", f"[{kind}] {text_at(block, 'alt_text')}".rstrip(), class_="small")

    def text_object(self, found: JsonObject) -> Html:
        """A text object: markup only where it says so."""
        words = text_at(found, "text")
        return mrkdwn(words, self.reader) if found.get("type") == "mrkdwn" else text(words)

    def _section(self, block: JsonObject) -> Html:
        parts = [tag("p", self.text_object(object_at(block, "text")))] if "text" in block else []
        if fields := objects_at(block, "fields"):
            parts.append(tag("div", *(tag("p", self.text_object(field)) for field in fields), class_="fields"))
        if accessory := object_at(block, "accessory"):
            parts.append(tag("div", element(accessory, self.place, self.reader.user.id), class_="actions"))
        return tag("div", *parts, class_="section")

    def _card_lines(self, block: JsonObject) -> Html:
        sections = objects_at(block, "elements")
        has_code = any(flag_at(object_at(one, "style"), "code") for one in _inline_elements(sections))
        if len(sections) == 1 and has_code:
            return tag("div", inlines(sections[0], self.reader), class_="now")
        rows = join(self._row(section) for section in sections)
        return (
            tag("div", rows, class_="rows")
            if all(_is_section(one) for one in sections)
            else tag("div", rich_text(block, self.reader), class_="rich")
        )

    def _row(self, section: JsonObject) -> Html:
        """A line that opens with `Word: ` is shown as a row with a label; one that is bold throughout warns."""
        label, colon, _ = words(section).partition(": ")
        elements = objects_at(section, "elements")
        first = text_at(elements[0], "text") if elements else ""
        if not colon or len(label) > LONGEST_LABEL or not first.startswith(f"{label}:"):
            return tag("p", inlines(section, self.reader))
        warns = " warns" if all(flag_at(object_at(one, "style"), "bold") for one in elements) else ""
        opening = {**elements[0], "text": first.removeprefix(f"{label}:").lstrip()}
        rest = join(inline(one, self.reader) for one in (opening, *elements[1:]) if one.get("text") != "")
        return tag("p", tag("span", label, class_="label"), tag("span", rest), class_=f"row{warns}")

    def _plan(self, block: JsonObject) -> Html:
        tasks = tag("ul", *(self._task(task) for task in objects_at(block, "tasks")), class_="tasks")
        title = tag("summary", text_at(block, "title"))
        return tag("details", title, tasks, class_="plan", open=True, id=f"plan-{self.place.ts}-{block['block_id']}")

    def _task(self, task: JsonObject) -> Html:
        status = text_at(task, "status", "pending")
        notes = [
            tag("span", join(inlines(part, self.reader) for part in objects_at(object_at(task, key), "elements")),
                class_="note")
            for key in ("details", "output") if task.get(key)
        ]  # fmt: skip
        sources = [tag("span", text_at(source, "text"), class_="note") for source in objects_at(task, "sources")]
        icon = tag("span", ICONS.get(status, ""), class_=f"icon {status}", title=status.replace("_", " "))
        name = tag("span", text_at(task, "title"), class_="name")
        return tag("li", icon, name, *notes, *sources, data_testid=f"task-{text_at(task, 'task_id')}")

    def _context(self, block: JsonObject) -> Html:
        parts = [tag("span", self.text_object(found)) for found in objects_at(block, "elements")
                 if found.get("type") != "image"]  # fmt: skip
        return tag("p", *parts, class_="context")

    def _actions(self, block: JsonObject) -> Html:
        shown = [element(found, self.place, self.reader.user.id) for found in objects_at(block, "elements")]
        return tag("div", *shown, class_="actions")

    def _table(self, block: JsonObject) -> Html:
        rows = [row for row in list_at(block, "rows") if isinstance(row, list)]
        return tag("table", *(tag("tr", *(tag("td", self._cell(cell)) for cell in row)) for row in rows))

    def _cell(self, cell: JsonObject) -> Html:
        return rich_text(cell, self.reader) if cell.get("type") == "rich_text" else text(str(cell.get("text", "")))


def _inline_elements(sections: Sequence[JsonObject]) -> list[JsonObject]:
    return [one for section in sections for one in objects_at(section, "elements")]


def _is_section(found: JsonObject) -> bool:
    return found.get("type") == "rich_text_section"
