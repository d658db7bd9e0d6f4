"""The writes that wait for a yes, as a card shows them: each in full, with who may say it and until when.

Pure. It never shortens what is to be approved: where a call does not fit, its buttons are left out with it.
"""

from dataclasses import dataclass

from bot.card import spans
from bot.card.button import Button, button
from bot.card.spans import Line
from bot.card.text import count, label
from bot.rules.card_facts import ApprovalFacts, CardFacts
from bot.rules.card_states import OF_AN_APPROVAL
from bot.rules.terms import ApprovalState
from bot.rules.visible import visible

LONGEST_TITLE = 120
MOST_NAMED = 8
"""Approvers named; the others are counted."""


@dataclass(frozen=True, slots=True)
class AskView:
    """One call that waits: `shown` is all of it, and nothing in it is read for markup."""

    title: str
    shown: str
    context_line: tuple[Line, ...]
    buttons: tuple[Button, ...]


def waiting(facts: CardFacts) -> tuple[ApprovalFacts, ...]:
    """The approvals that nobody has decided yet."""
    return tuple(each for each in facts.approvals if each.state is ApprovalState.WAITING)


def wants_yes(facts: CardFacts) -> bool | None:
    """Whether a call waits for a yes; None where nothing is known of approvals."""
    return bool(waiting(facts)) if facts.approvals else None


def asked(facts: CardFacts) -> Line:
    """What waits, by name: `restart checkout and 2 others`."""
    found = waiting(facts)
    if not found:
        return ()
    others = spans.own(f" and {count(len(found) - 1, 'other')}") if len(found) > 1 else ()
    return (*spans.foreign(found[0].title), *others)


def ask_views(facts: CardFacts) -> tuple[AskView, ...]:
    """Every call that waits for a yes, in order."""
    return tuple(_ask(facts.run_id, each) for each in waiting(facts))


def _ask(run_id: str, approval: ApprovalFacts) -> AskView:
    return AskView(
        title=label(approval.title, LONGEST_TITLE) or "A call",
        shown=visible(approval.shown),
        context_line=(_who(approval), _until(approval), _votes(approval)),
        buttons=tuple(button(action, run_id, approval.id) for action in OF_AN_APPROVAL),
    )


def _who(approval: ApprovalFacts) -> Line:
    named = [line for line in map(spans.approver, approval.approvers) if line]
    if not named:
        return spans.own("nobody is named who may approve this; whoever runs Steersman can name approvers")
    shown = spans.join(named[:MOST_NAMED], ", ")
    others = spans.own(f" and {count(len(named) - MOST_NAMED, 'other')}") if len(named) > MOST_NAMED else ()
    return (*spans.own("may approve: "), *shown, *others)


def _until(approval: ApprovalFacts) -> Line:
    return (*spans.own("until "), *spans.time(approval.expires_at))


def _votes(approval: ApprovalFacts) -> Line:
    said = f"{len(approval.votes)} of {approval.needed} yes"
    people = spans.join([line for line in map(spans.person, approval.votes) if line][:MOST_NAMED], ", ")
    return (*spans.own(f"{said}: "), *people) if people else spans.own(said)
