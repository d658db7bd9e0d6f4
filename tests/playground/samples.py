"""Blocks for the playground's tests: the parts of a card, small."""

Json = dict[str, object]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def section(text: str, **rest: object) -> Json:
    return {"type": "section", "text": mrkdwn(text), **rest}


def text(words: str, **style: bool) -> Json:
    return {"type": "text", "text": words, **({"style": style} if style else {})}


def rich(*elements: Json, **rest: object) -> Json:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(elements)}], **rest}


def lines(*sections: list[Json]) -> Json:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": one} for one in sections]}


def button(action_id: str, label: str = "Stop", **rest: object) -> Json:
    return {"type": "button", "action_id": action_id, "text": plain(label), "value": f"v1:{action_id}", **rest}


def option(value: str, label: str | None = None) -> Json:
    return {"text": plain(label or value), "value": value}


def overflow(action_id: str, *options: Json) -> Json:
    return {"type": "overflow", "action_id": action_id, "options": list(options)}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def context(*texts: str) -> Json:
    return {"type": "context", "elements": [mrkdwn(words) for words in texts]}


def task(task_id: str, status: str = "complete", **rest: object) -> Json:
    return {"type": "task_card", "task_id": task_id, "title": f"Read {task_id}", "status": status, **rest}


def plan(*tasks: Json, **rest: object) -> Json:
    return {"type": "plan", "title": "Steps", "tasks": list(tasks), **rest}


def feedback(action_id: str = "feedback") -> Json:
    pair = {
        "type": "feedback_buttons", "action_id": action_id,
        "positive_button": {"text": plain("Good"), "value": "+"},
        "negative_button": {"text": plain("Bad"), "value": "-"},
    }  # fmt: skip
    return {"type": "context_actions", "elements": [pair]}


def confirm(**rest: object) -> Json:
    words = {"title": plain("Stop?"), "text": plain("It ends."), "confirm": plain("Stop"), "deny": plain("Keep")}
    return {**words, **rest}


def modal(*blocks: Json, **rest: object) -> Json:
    frame = {"type": "modal", "title": plain("Go back"), "submit": plain("Go"), "close": plain("Leave")}
    return {**frame, "blocks": list(blocks), **rest}


def field(block_id: str, action_id: str) -> Json:
    element = {"type": "plain_text_input", "action_id": action_id}
    return {"type": "input", "block_id": block_id, "label": plain("Why"), "element": element}


CARD = (
    section("*Root-cause analysis* · running", block_id="rca:title"),
    rich(text("Step 4  "), text("query_logs", code=True), block_id="rca:now"),
    plan(task("s1", output=rich(text("HTTP 200, 812 ms"))), task("s4", "in_progress"), block_id="rca:plan"),
    context("started <!date^1700000000^{time}|15:13> · elapsed 42 s · run r_42"),
    actions(button("rca_pause", "Pause"), button("rca_stop", style="danger", confirm=confirm(style="danger"))),
)
"""A running card, as Slack takes it."""
