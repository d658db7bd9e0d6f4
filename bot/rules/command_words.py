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
})
