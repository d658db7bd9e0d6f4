"""How a modal looks on the page: its blocks, its fields and the two buttons below.

Pure. The page's script gathers the fields by their data attributes.
"""

from bot.playground.block_view import BlockView
from bot.playground.element_view import Place
from bot.playground.inline_view import Reader
from bot.playground.json_reading import JsonObject, object_at, objects_at, text_at
from bot.playground.markup import Html, tag
from bot.playground.workspace import View


def modal(view: View | None, reader: Reader) -> Html:
    """An open modal, or nothing."""
    if view is None:
        return Html()
    drawn = BlockView(reader, Place("", ""))
    blocks = [
        _field(block, text_at(view.errors, text_at(block, "block_id"))) if block.get("type") == "input"
        else drawn.block(block, in_card=False)
        for block in objects_at(view.view, "blocks")
    ]  # fmt: skip
    submit = _text(view.view, "submit")
    ok = [tag("button", submit, type="submit", class_="btn primary", data_testid="modal-submit")] if submit else []
    close = tag(
        "button", _text(view.view, "close") or "Close", type="button", class_="btn", data_do="close-view",
        data_view=view.id, data_testid="modal-close",
    )  # fmt: skip
    title = tag("h2", _text(view.view, "title"))
    form = tag("form", title, *blocks, tag("p", close, *ok, class_="actions"), id=view.id, data_view=view.id)
    return tag("div", form, class_="shade", role="dialog", aria_modal="true", data_testid="modal")


def _field(block: JsonObject, error: str) -> Html:
    element = object_at(block, "element")
    names = {"data_block": text_at(block, "block_id"), "data_action_id": text_at(element, "action_id")}
    kind, name = text_at(element, "type"), f"field-{names['data_action_id']}"
    if kind == "plain_text_input":
        value = text_at(element, "initial_value")
        field = tag("textarea", value, rows="2", data_kind=kind, data_testid=name, **names)
    elif kind == "radio_buttons":
        field = _radio_buttons(element, name, names)
    else:
        options = [
            tag("option", _text(option, "text"), value=text_at(option, "value"))
            for option in objects_at(element, "options")
        ]
        field = tag("select", *options, data_kind=kind, data_testid=name, **names)
    wrong = [tag("span", error, class_="wrong")] if error else []
    frame = "fieldset" if kind == "radio_buttons" else "label"
    return tag(frame, tag("strong", _text(block, "label")), field, *wrong)


def _radio_buttons(element: JsonObject, name: str, names: dict[str, str]) -> Html:
    """The options below one another, each with its description; Slack sends none without a choice."""
    options = [
        tag(
            "label",
            tag("input", type="radio", name_=name, value=text_at(option, "value"), required="",
                data_testid=f"choice-{text_at(option, 'value')}"),
            tag("span", _text(option, "text")),
            tag("span", _text(option, "description"), class_="small"),
        )
        for option in objects_at(element, "options")
    ]  # fmt: skip
    return tag("div", *options, class_="radio", data_kind="radio_buttons", data_testid=name, **names)


def _text(source: JsonObject, key: str) -> str:
    return text_at(object_at(source, key), "text")
