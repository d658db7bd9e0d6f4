"""Why a run failed, in words for the people in the thread: what happened, and who can do what about it.

Never names a class, a module or a file of ours, and never lets a traceback through. Plain text: the card escapes it.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from bot.rules.terms import FailureClass, SettleReason
from bot.rules.wording import filled

LONGEST = 300
"""Characters; what a phone shows without folding (card: words and shapes)."""

_OPERATOR = "Whoever runs Steersman:"
_LOG = f"{_OPERATOR} look for this run in the log."

FAILURE_WORDS: Mapping[FailureClass, str] = MappingProxyType({
    FailureClass.MODEL_AUTH: f"The model service refused our key[ ({{status}})]. {_OPERATOR} check {{setting}}.",
    FailureClass.MODEL_NOT_FOUND: (
        "The model service does not know this model or address[ ({status})]. "
        f"{_OPERATOR} check STEERSMAN_MODEL and the address of the service."
    ),
    FailureClass.MODEL_REQUEST: (
        f"The model service refused what we sent[ ({{status}})]. Asking again will not help. {_LOG}"
    ),
    FailureClass.MODEL_RATE_LIMITED: (
        "The model service asks us to slow down[ ({status})]. Ask again in a few minutes. "
        "If it goes on, whoever runs Steersman: raise the limits of the key in {setting}."
    ),
    FailureClass.MODEL_OVERLOADED: (
        "The model service is overloaded or down[ ({status})]. Ask again in a few minutes."
    ),
    FailureClass.MODEL_UNREACHABLE: (
        "The model service could not be reached. Ask again in a few minutes. "
        "If it goes on, whoever runs Steersman: check the network and the model's address."
    ),
    FailureClass.MODEL_STREAM: "The model's message broke off before its end. Ask again.",
    FailureClass.MODEL_UNKNOWN: f"The model service failed in a way we do not know[ ({{status}})]. Ask again. {_LOG}",
    FailureClass.MODEL_LIMIT: (
        "The model's message was longer than it may be and was cut off. Ask for less at once. "
        f"{_OPERATOR} raise answer_tokens under limits in the settings file."
    ),
    FailureClass.HISTORY: (
        f"What was said in this thread could not be sent to the model. Ask again in a new thread. {_LOG}"
    ),
    FailureClass.BUDGET: (
        "This analysis has used up what it may use. Ask a narrower question. "
        f"{_OPERATOR} raise rounds, run_tokens or run_cost_usd under limits in the settings file."
    ),
    FailureClass.INTERNAL: f"Something went wrong inside Steersman. Ask again. {_LOG}",
})

SAYS_WHY = frozenset({
    FailureClass.MODEL_NOT_FOUND,
    FailureClass.MODEL_REQUEST,
    FailureClass.MODEL_UNKNOWN,
    FailureClass.BUDGET,
})
"""Where the detail tells people something that the words do not."""

TIMED_OUT = "It took longer than an analysis may take. Ask again, if you can with a narrower question."
PAUSE_TIMED_OUT = "It was paused, and nobody resumed it in time. Ask again to start over."
ABANDONED = f"It was started several times and broke off each time. Ask again. {_LOG}"

_TRACE = re.compile(r"traceback|file \"|^\s+at ", re.IGNORECASE)
_CLASS_NAME = re.compile(r"\b(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning)\b:?\s*")


def failure_words(
    failure: FailureClass, *, status: int | None = None, setting: str | None = None, detail: str = ""
) -> str:
    """What to say, in at most LONGEST characters.

    `status` is the model service's HTTP status, `setting` the name of the setting that holds the key, `detail` what
    the other side said, scrubbed; as much of it is quoted as there is room for.
    """
    values = {"setting": setting or "the key of the model service"}
    if status is not None:
        values["status"] = str(status)
    words = filled(FAILURE_WORDS[failure], values)[:LONGEST]
    said = _quoted(detail, LONGEST - len(words)) if failure in SAYS_WHY else ""
    return words + said


def ending_words(reason: SettleReason, *, was_paused: bool) -> str | None:
    """What to say of a run that ran out of time or of workers; None for every other reason."""
    if reason is SettleReason.TIMED_OUT:
        return PAUSE_TIMED_OUT if was_paused else TIMED_OUT
    return ABANDONED if reason is SettleReason.ABANDONED else None


def _quoted(detail: str, room: int) -> str:
    """The first line of the detail as a quotation that fits, cut between words; empty where nothing is left."""
    if _TRACE.search(detail):
        return ""
    said = " ".join(_CLASS_NAME.sub("", detail.strip().partition("\n")[0]).split())
    opening, closing = ' It said: "', '"'
    space = room - len(opening) - len(closing)
    if len(said) > space:
        said = said[: max(space, 0)].rpartition(" ")[0]
    return f"{opening}{said}{closing}" if said else ""
