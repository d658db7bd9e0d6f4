"""Who somebody is to a thread, and who may press what.

The table of the design, section 5, "Who may press what", total over actions and sources; what it does not name is
refused. It is asked at the moment of the press, with what the database says of the person, never with what a button
carries.
"""

from collections.abc import Mapping
from enum import StrEnum
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING

from bot.rules.markdown import table
from bot.rules.terms import Command, PersonClass, Source

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from bot.rules.inbound_message import AuthorFacts, OurIds


class Action(StrEnum):
    """What somebody may ask of a run."""

    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    ROLL_BACK = "roll_back"
    APPROVE = "approve"
    STATUS = "status"
    VIEW_AUDIT = "view_audit"
    CHANGE_POLICY = "change_policy"


class Right(StrEnum):
    """What a source may do with an action."""

    YES = "yes"
    IF_NAMED = "if named as an approver"
    NO = "no"


INSIDERS = (Source.REQUESTER, Source.TEAMMATE, Source.GUEST)
"""People of our own workspace."""

PEOPLE = (*INSIDERS, Source.EXTERNAL)

_GRANTED: Mapping[Action, tuple[Right, Right, Right]] = MappingProxyType({
    # the rights of the requester, a teammate, a guest; everybody else has none
    Action.STOP: (Right.YES, Right.YES, Right.YES),
    Action.PAUSE: (Right.YES, Right.YES, Right.YES),
    Action.RESUME: (Right.YES, Right.IF_NAMED, Right.IF_NAMED),
    Action.ROLL_BACK: (Right.YES, Right.IF_NAMED, Right.IF_NAMED),
    Action.APPROVE: (Right.IF_NAMED, Right.IF_NAMED, Right.IF_NAMED),
    Action.STATUS: (Right.YES, Right.YES, Right.YES),
    # What a run did names places that a guest's channels may not.
    Action.VIEW_AUDIT: (Right.YES, Right.YES, Right.IF_NAMED),
    Action.CHANGE_POLICY: (Right.IF_NAMED, Right.IF_NAMED, Right.IF_NAMED),
})

ACCESS: Mapping[tuple[Action, Source], Right] = MappingProxyType({
    (action, source): dict(zip(INSIDERS, _GRANTED[action], strict=True)).get(source, Right.NO)
    for action, source in product(Action, Source)
})

ACTION_OF: Mapping[Command, Action] = MappingProxyType({
    Command.STOP: Action.STOP,
    Command.PAUSE: Action.PAUSE,
    Command.RESUME: Action.RESUME,
    Command.STATUS: Action.STATUS,
})

_OUTSIDE = "Only people of the workspace that runs me can do that. Ask one of them."

_REFUSALS: Mapping[Action, str] = MappingProxyType({
    Action.STOP: "You cannot stop this. Ask somebody of this workspace.",
    Action.PAUSE: "You cannot pause this. Ask somebody of this workspace.",
    Action.RESUME: "Only who asked for this analysis, or an approver, can resume it. Ask one of them.",
    Action.ROLL_BACK: "Only who asked for this analysis, or an approver, can take it back. Ask one of them.",
    Action.APPROVE: "Only the approvers named on the card can decide this. To keep it from happening, press Stop.",
    Action.STATUS: "You cannot see this. Ask somebody of this workspace.",
    Action.VIEW_AUDIT: "Guests cannot see what an analysis did. Ask a member of this workspace.",
    Action.CHANGE_POLICY: "Only approvers can change the rules of a channel. Ask one of them, or whoever runs me.",
})


def may(action: Action, source: Source, *, is_approver: bool) -> bool:
    """Whether this source may; `is_approver` means named in a list that is not empty."""
    right = ACCESS[action, source]
    return right is Right.YES or (right is Right.IF_NAMED and is_approver)


def refusal(action: Action, source: Source) -> str | None:
    """What a refused person is told, in private: why, and what would work. None for what is no person."""
    if source is Source.EXTERNAL:
        return _OUTSIDE
    return _REFUSALS[action] if source in INSIDERS else None


def source_of(
    facts: "AuthorFacts",
    person_class: PersonClass,
    is_requester: bool,
    listed_alert_apps: "AbstractSet[str]",
    our: "OurIds",
) -> Source:
    """Whom this comes from; what is not certain is taken for the strictest that it can be.

    `listed_alert_apps` holds app ids, or bot ids of webhooks that have no app. A person whose class is not known yet
    is a guest if the payload names our team, and otherwise external.
    """
    if facts.is_self:
        return Source.SELF
    if facts.is_system or (facts.user_id is None and not facts.is_app):
        return Source.SYSTEM
    is_foreign = facts.team_id is not None and facts.team_id != our.team_id
    if facts.is_app:
        # Another company's copy of a listed app has the same app id, and posts in shared channels.
        is_listed = not is_foreign and not listed_alert_apps.isdisjoint({facts.app_id, facts.bot_id} - {None})
        return Source.ALERT_BOT if is_listed else Source.OTHER_BOT
    if is_foreign or person_class is PersonClass.EXTERNAL:
        return Source.EXTERNAL
    return Source.REQUESTER if is_requester else _class_to_source(person_class, facts.team_id == our.team_id)


def _class_to_source(person_class: PersonClass, is_ours: bool) -> Source:
    if person_class is PersonClass.MEMBER:
        return Source.TEAMMATE
    return Source.GUEST if person_class is PersonClass.GUEST or is_ours else Source.EXTERNAL


def as_markdown() -> dict[str, str]:
    """The table for the documents."""
    header = ("action", *(source.value for source in INSIDERS), "external people and bots")
    columns = (*INSIDERS, Source.EXTERNAL)
    rows = [(action.value.replace("_", " "), *(ACCESS[action, each].value for each in columns)) for action in Action]
    return {"access": table(header, rows)}
