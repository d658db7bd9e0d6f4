"""What Slack accepts as the blocks of a message, and its word for what it refuses.

Pure: blocks in, the first problem out. Limits: Slack's reference of blocks, the checks of slack_sdk's own models, and
for the sum of all text what two teams measured (bolt-js#2509). A type that is not listed here is refused, also where
Slack itself would take it: Steersman has no use for it.
"""

from collections.abc import Iterator, Mapping, Sequence

from bot.playground.element_rules import (
    ACCESSORIES,
    CONTEXT_ACTIONS,
    INPUTS,
    INTERACTIVE,
    LONGEST_ID,
    PLAIN_TEXT,
    Check,
    Problem,
    Problems,
    check_count,
    check_element,
    check_image,
    check_length,
    check_optional,
    check_text,
    invalid,
)  # fmt: skip
from bot.playground.json_reading import JsonObject, as_object, list_at, object_at, objects_at, text_at
from bot.playground.rich_text_rules import check_rich_text

MOST_BLOCKS = 50
LONGEST_SUM = 13_200
LONGEST_MARKDOWN = 12_000
TASK_STATUSES = frozenset({"pending", "in_progress", "complete", "error"})
MOST_TASKS = 50
COUNTED = ("text", "title", "alt_text", "label")


def check_section(block: JsonObject, at: str) -> Problems:
    """A section: a text, or fields, and maybe one element beside it."""
    fields = list_at(block, "fields")
    if block.get("text") is None and not fields:
        yield invalid(at, "must have text or fields")
    if block.get("text") is not None:
        yield from check_text(block["text"], f"{at}/text", 3_000)
    if fields:
        yield from check_count(block, "fields", at, 10)
    for number, field in enumerate(fields):
        yield from check_text(field, f"{at}/fields/{number}", 2_000)
    if block.get("accessory") is not None:
        yield from check_element(object_at(block, "accessory"), f"{at}/accessory", ACCESSORIES)


def check_header(block: JsonObject, at: str) -> Problems:
    """A header."""
    yield from check_text(block.get("text"), f"{at}/text", 150, PLAIN_TEXT)


def check_context(block: JsonObject, at: str) -> Problems:
    """The small print: texts and pictures."""
    yield from check_count(block, "elements", at, 10)
    for number, element in enumerate(objects_at(block, "elements")):
        place = f"{at}/elements/{number}"
        if element.get("type") == "image":
            yield from check_image(element, place)
        else:
            yield from check_text(element, place, 3_000)


def check_actions(block: JsonObject, at: str) -> Problems:
    """A row of buttons and menus, no two with the same action id."""
    yield from check_count(block, "elements", at, 25)
    yield from _check_elements(block, at, INTERACTIVE)


def check_context_actions(block: JsonObject, at: str) -> Problems:
    """The row below an answer."""
    yield from check_count(block, "elements", at, 5)
    yield from _check_elements(block, at, CONTEXT_ACTIONS)


def check_markdown(block: JsonObject, at: str) -> Problems:
    """A text in Markdown."""
    yield from check_length(block.get("text"), f"{at}/text", 1, LONGEST_MARKDOWN)


def check_plan(block: JsonObject, at: str) -> Problems:
    """A plan: a title and its tasks, each with an id of its own."""
    yield from check_length(block.get("title"), f"{at}/title", 1, 256)
    tasks = objects_at(block, "tasks")
    if len(tasks) > MOST_TASKS:
        yield invalid(f"{at}/tasks", f"must have at most {MOST_TASKS} entries")
    yield from _check_unique(tasks, "task_id", f"{at}/tasks")
    for number, task in enumerate(tasks):
        yield from check_task(task, f"{at}/tasks/{number}")


def check_task(task: JsonObject, at: str) -> Problems:
    """One task, in a plan or by itself."""
    if task.get("type") != "task_card":
        yield invalid(f"{at}/type", "must be task_card")
    yield from check_length(task.get("task_id"), f"{at}/task_id", 1, LONGEST_ID)
    yield from check_length(task.get("title"), f"{at}/title", 1, 256)
    if task.get("status", "pending") not in TASK_STATUSES:
        yield invalid(f"{at}/status", f"must be one of {', '.join(sorted(TASK_STATUSES))}")
    for key in ("details", "output"):
        if task.get(key) is not None:
            yield from check_rich_text(object_at(task, key), f"{at}/{key}")
    for number, source in enumerate(objects_at(task, "sources")):
        if source.get("type") != "url" or not (text_at(source, "url") and text_at(source, "text")):
            yield invalid(f"{at}/sources/{number}", "must be of type url, with url and text")


def check_table(block: JsonObject, at: str) -> Problems:
    """A table."""
    yield from check_count(block, "rows", at, 100)
    for number, row in enumerate(list_at(block, "rows")):
        if not isinstance(row, list) or not 1 <= len(row) <= 20:
            yield invalid(f"{at}/rows/{number}", "must be a list of 1 to 20 cells")


def check_input(block: JsonObject, at: str) -> Problems:
    """A field of a modal."""
    yield from check_text(block.get("label"), f"{at}/label", 2_000, PLAIN_TEXT)
    yield from check_element(object_at(block, "element"), f"{at}/element", INPUTS)


def check_divider(_block: JsonObject, _at: str) -> Problems:
    """A line."""
    yield from ()


BLOCKS: Mapping[str, Check] = {
    "section": check_section, "header": check_header, "context": check_context, "actions": check_actions,
    "context_actions": check_context_actions, "divider": check_divider, "image": check_image,
    "markdown": check_markdown, "rich_text": check_rich_text, "table": check_table, "input": check_input,
    "plan": check_plan, "task_card": check_task,
}  # fmt: skip
PLAN_BLOCKS = frozenset({"plan", "task_card"})


class BlockRules:
    """The rules, with or without the newer plan blocks, which some workspaces do not have."""

    def __init__(self, *, plan_supported: bool = True) -> None:
        self._kinds = {kind: check for kind, check in BLOCKS.items() if plan_supported or kind not in PLAN_BLOCKS}

    def first_problem(self, blocks: Sequence[object], most: int = MOST_BLOCKS) -> Problem | None:
        """What Slack would name first, or None where it accepts the blocks."""
        return next(self._problems([as_object(block) for block in blocks], most), None)

    def _problems(self, blocks: Sequence[JsonObject], most: int) -> Iterator[Problem]:
        if len(blocks) > most:
            yield invalid("", f"must have at most {most} blocks")
        for number, block in enumerate(blocks):
            yield from self._check_block(block, f"/blocks/{number}")
        yield from _check_together(blocks)

    def _check_block(self, block: JsonObject, at: str) -> Problems:
        check = self._kinds.get(text_at(block, "type"))
        if check is None:
            yield invalid(f"{at}/type", "is no block type")
            return
        yield from check_optional(block, "block_id", at, LONGEST_ID)
        yield from check(block, at)


def text_length(found: object) -> int:
    """The number of characters of all text in a block or a list of blocks."""
    if isinstance(found, Mapping):
        own = sum(len(found[key]) for key in COUNTED if isinstance(found.get(key), str))
        return own + sum(text_length(part) for part in found.values())
    return sum(text_length(part) for part in found) if isinstance(found, list | tuple) else 0


def _check_together(blocks: Sequence[JsonObject]) -> Problems:
    yield from _check_unique(blocks, "block_id", "/blocks")
    kinds = {block.get("type") for block in blocks}
    if kinds >= PLAN_BLOCKS:
        yield invalid("/blocks", "may have a plan or task cards, not both")
    markdown = sum(len(text_at(block, "text")) for block in blocks if block.get("type") == "markdown")
    if markdown > LONGEST_MARKDOWN:
        yield Problem("msg_blocks_too_long", "/blocks", f"all markdown together must be under {LONGEST_MARKDOWN}")
    if text_length(blocks) > LONGEST_SUM:
        yield Problem("msg_blocks_too_long", "/blocks", f"all text together must be under {LONGEST_SUM}")


def _check_unique(rows: Sequence[JsonObject], key: str, at: str) -> Problems:
    named = [row[key] for row in rows if row.get(key)]
    if len(named) != len(set(map(str, named))):
        yield invalid(at, f"must not repeat a {key}")


def _check_elements(block: JsonObject, at: str, kinds: Mapping[str, Check]) -> Problems:
    elements = objects_at(block, "elements")
    yield from _check_unique(elements, "action_id", f"{at}/elements")
    for number, element in enumerate(elements):
        yield from check_element(element, f"{at}/elements/{number}", kinds)
