"""What somebody is told, in private, who pressed a button or wrote a command word. Never silence."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Result(StrEnum):
    """What a command came to."""

    STOPPED = "stopped"
    STOPPING = "stopping"
    PAUSED = "paused"
    PAUSING = "pausing"
    RESUMED = "resumed"
    PAUSE_WITHDRAWN = "pause_withdrawn"
    ALREADY_STOPPING = "already_stopping"
    ALREADY_PAUSED = "already_paused"
    ALREADY_PAUSING = "already_pausing"
    NOT_PAUSED = "not_paused"
    STALE = "stale"
    ALREADY_ENDED = "already_ended"
    JUST_FINISHED = "just_finished"
    NOTHING = "nothing"
    NEWER_REQUEST = "newer_request"
    WAITS_FOR_APPROVAL = "waits_for_approval"
    TAKEN_BACK = "taken_back"
    TAKING_BACK = "taking_back"
    ALREADY_TAKING_BACK = "already_taking_back"
    STOP_IS_AT_WORK = "stop_is_at_work"
    NO_STEP_YET = "no_step_yet"
    NO_SUCH_STEP = "no_such_step"
    SET_ASIDE = "set_aside"


WORDS: Mapping[Result, str | None] = MappingProxyType({
    # What the card shows within a second needs no words.
    Result.STOPPED: None,
    Result.STOPPING: None,
    Result.PAUSED: None,
    Result.PAUSING: None,
    Result.RESUMED: None,
    Result.PAUSE_WITHDRAWN: "It goes on: the pause had not begun yet.",
    Result.ALREADY_STOPPING: "It is being stopped already.",
    Result.ALREADY_PAUSED: "It is paused already. Press Resume to go on, or Stop to end it.",
    Result.ALREADY_PAUSING: "It pauses as soon as the open call is back.",
    Result.NOT_PAUSED: "It is not paused: it is at work.",
    Result.STALE: "That button belongs to an earlier pause. Use the newest card.",
    Result.ALREADY_ENDED: "That run already ended.",
    Result.JUST_FINISHED: "It had just finished; the answer is below.",
    Result.NOTHING: "There is nothing to stop here: no analysis runs in this thread.",
    Result.NEWER_REQUEST: "What runs here was asked for after that stop. Send it again, or press Stop on the card.",
    Result.WAITS_FOR_APPROVAL: "It is not paused: it waits for somebody who may approve. Use the buttons on the card.",
    Result.TAKEN_BACK: None,
    Result.TAKING_BACK: None,
    Result.ALREADY_TAKING_BACK: "It is being taken back already. Look at the card.",
    Result.STOP_IS_AT_WORK: "It is being stopped. Go back to a step once the card says that it has stopped.",
    Result.NO_STEP_YET: "There is no step to go back to here.",
    Result.NO_SUCH_STEP: "This analysis has no such step. Open the menu again and choose another.",
    Result.SET_ASIDE: "That step is set aside already. Open the menu again to see what there is to go back to.",
})


class Decided(StrEnum):
    """What pressing Approve or Deny came to."""

    APPROVED = "approved"
    DENIED = "denied"
    YES_COUNTED = "yes_counted"
    VOTED_ALREADY = "voted_already"
    WAS_APPROVED = "was_approved"
    WAS_APPROVED_TOO_LATE_TO_DENY = "was_approved_too_late_to_deny"
    WAS_DENIED = "was_denied"
    WAS_EXPIRED = "was_expired"
    WAS_SUPERSEDED = "was_superseded"
    HELD_BACK = "held_back"
    OTHER_MESSAGE = "other_message"
    UNKNOWN = "unknown"
    OWN_REQUEST = "own_request"


DECISION_WORDS: Mapping[Decided, str | None] = MappingProxyType({
    Decided.APPROVED: None,
    Decided.DENIED: None,
    Decided.YES_COUNTED: "Your yes counts. Somebody else has to say yes too before it is done.",
    Decided.VOTED_ALREADY: "You have said yes already. Somebody else has to say yes too before it is done.",
    Decided.WAS_APPROVED: "It was already approved[ by {who}].",
    Decided.WAS_APPROVED_TOO_LATE_TO_DENY: "It was already approved[ by {who}]. To keep it from going on, press Stop.",
    Decided.WAS_DENIED: "It was already denied[ by {who}].",
    Decided.WAS_EXPIRED: "Nobody said yes in time, so it is not done any more. Mention me to ask for it again.",
    Decided.WAS_SUPERSEDED: "That is no longer valid: something else was asked since.",
    Decided.HELD_BACK: "The analysis is being stopped, paused or steered, so this is no longer decided.",
    Decided.OTHER_MESSAGE: "That button belongs to another message. Use the newest card.",
    Decided.UNKNOWN: "There is nothing of that kind to decide. Use the newest card.",
    Decided.OWN_REQUEST: "You asked for this analysis, so somebody else has to approve it.",
})
"""By wording templates; `who` is filled with those who decided."""
