"""Going back to a step, as a person does it: the card's menu, the modal, a choice, and Go back."""

from tests.stories.stage import ANA, WITHIN_S, Stage, Thread

MENU = "steersman_more"


async def opens(stage: Stage, thread: Thread, by: str = ANA, number: int = -1):
    """Open the modal from a card's menu, and wait until the person sees it."""

    def choice():
        cards = thread.cards()
        rows = [block["elements"] for block in cards[number].blocks if block["type"] == "actions"] if cards else []
        menus = [element for row in rows for element in row if element["action_id"] == MENU]
        values = [option["value"] for menu in menus for option in menu["options"]]
        return next(((cards[number], value) for value in values if value.startswith("back:")), None)

    card, value = await stage.slack.wait_for(choice, WITHIN_S)
    known = set(stage.slack.workspace.views)
    await stage.slack.click(by, thread.channel, card.ts, MENU, value)
    news = await stage.slack.wait_for(lambda: set(stage.slack.workspace.views) - known, WITHIN_S)
    return stage.slack.workspace.views[news.pop()]


def options_of(view) -> dict[str, dict]:
    """The options of an open modal by their words, in order."""
    return {option["text"]["text"]: option for option in _field(view)["element"]["options"]}


async def chooses(stage: Stage, view, words: str, by: str = ANA):
    """Choose the option that begins with these words, and submit."""
    chosen = next(option for text, option in options_of(view).items() if text.startswith(words))
    return await submits(stage, view, chosen, by)


async def submits(stage: Stage, view, chosen, by: str = ANA):
    """Submit a choice, be it offered or not."""
    field = _field(view)
    value = {"type": field["element"]["type"], "selected_option": chosen}
    values = {field["block_id"]: {field["element"]["action_id"]: value}}
    return await stage.slack.submit_view(by, view.id, values)


async def goes_back(stage: Stage, thread: Thread, words: str, by: str = ANA, number: int = -1):
    """Open the menu of a card and go back to the step that begins with these words."""
    view = await opens(stage, thread, by, number)
    return await chooses(stage, view, words, by)


def errors_of(stage: Stage, view) -> dict[str, str]:
    """What a modal says is wrong."""
    return stage.slack.workspace.views[view.id].errors


def _field(view):
    return next(block for block in view.view["blocks"] if block["type"] == "input")
