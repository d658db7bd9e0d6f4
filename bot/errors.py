"""Every error that Steersman raises, in one tree.

SteersmanError
├── SettingsError                 a setting is missing or wrong: exit code 2, one line
├── DatabaseUnavailableError      PostgreSQL cannot be reached or is not ready
│   └── DatabaseBusyError         it is there, but another transaction was in the way: nothing was written
├── LedgerError
│   ├── DuplicateCallError        a call id was opened twice
│   └── UnpairedResponseError     a response has no open call
├── HistoryError
│   └── PairingError              a request breaks a provider's pairing rules
├── ModelError                    the model service gave no usable message
│   ├── ModelAuthError            401, 403: the key is refused
│   ├── ModelNotFoundError        404: no such model or address
│   ├── ModelRequestError         400, 422: the request is refused
│   ├── ModelRateLimitedError     429
│   ├── ModelOverloadedError      5xx, 529, an overload named in the stream
│   ├── ModelUnreachableError     no connection, or silence past the idle limit
│   └── ModelStreamError          the stream ended without its proper end, or broke its own format
├── ToolError                     a call failed; the text is told to the model
│   ├── ToolArgumentsError        the arguments do not fit the tool
│   ├── ToolBlockedError          a rule refused the call
│   ├── ToolUnreachableError      no connection came about: nothing was sent
│   └── ToolTimeoutError          the call took longer than its deadline
└── SlackError                    Slack refused a call
    ├── SlackPermanentError       repeating cannot help: message or channel gone, token revoked
    ├── SlackRateLimitedError     429: nothing may be sent before retry_after seconds have passed
    └── SlackUnansweredError      no answer came: Slack may have done it or not

The class docstring is the message where no other is given. Facts are attributes, not text to parse.
"""


class SteersmanError(Exception):
    """Something went wrong in Steersman."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


class SettingsError(SteersmanError):
    """A setting is missing or wrong."""

    def __init__(self, name: str, problem: str, remedy: str) -> None:
        super().__init__(f"{name}: {problem}. {remedy}")
        self.name, self.problem, self.remedy = name, problem, remedy


class DatabaseUnavailableError(SteersmanError):
    """The database cannot be reached."""


class DatabaseBusyError(DatabaseUnavailableError):
    """Another transaction was in the way, or the statement took too long; nothing was written."""


class LedgerError(SteersmanError):
    """The ledger of open calls would become untrue."""


class DuplicateCallError(LedgerError):
    """A call with this id is already open."""

    def __init__(self, call_id: str) -> None:
        super().__init__(f"the call {call_id} is already open")
        self.call_id = call_id


class UnpairedResponseError(LedgerError):
    """A response came for a call that is not open."""

    def __init__(self, call_id: str) -> None:
        super().__init__(f"no open call {call_id} waits for this response")
        self.call_id = call_id


class HistoryError(SteersmanError):
    """The history of a thread cannot be sent."""


class PairingError(HistoryError):
    """A request breaks the pairing rules of a provider."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule


class ModelError(SteersmanError):
    """The model service gave no usable message."""

    def __init__(self, message: str | None = None, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ModelAuthError(ModelError):
    """The model service refused our key."""


class ModelNotFoundError(ModelError):
    """The model service does not know this model or address."""


class ModelRequestError(ModelError):
    """The model service refused the request as wrong."""


class ModelRateLimitedError(ModelError):
    """The model service asks us to slow down."""

    def __init__(
        self, message: str | None = None, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, status=status)
        self.retry_after = retry_after


class ModelOverloadedError(ModelError):
    """The model service is overloaded or down."""


class ModelUnreachableError(ModelError):
    """The model service cannot be reached."""


class ModelStreamError(ModelError):
    """The model's message broke off before its end."""


class ToolError(SteersmanError):
    """A tool call failed; `sent` says whether its request may have reached its target."""

    def __init__(self, message: str | None = None, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent


class ToolArgumentsError(ToolError):
    """The arguments do not fit the tool."""


class ToolBlockedError(ToolError):
    """A rule does not allow this call."""

    def __init__(self, rule: str, message: str, *, sent: bool = False) -> None:
        super().__init__(f"blocked by {rule}: {message}", sent=sent)
        self.rule = rule


class ToolUnreachableError(ToolError):
    """No connection came about, so nothing was sent."""


class ToolTimeoutError(ToolError):
    """The call took longer than its deadline."""


class SlackError(SteersmanError):
    """Slack refused a call."""

    def __init__(self, method: str, error: str) -> None:
        super().__init__(f"{method}: {error}")
        self.method, self.error = method, error


class SlackPermanentError(SlackError):
    """Slack refused a call, and repeating it cannot help."""


class SlackUnansweredError(SlackError):
    """No answer came: Slack may have done it or not."""


class SlackRateLimitedError(SlackError):
    """Slack asks us to wait before the next call of this method."""

    def __init__(self, method: str, retry_after: float) -> None:
        super().__init__(method, "ratelimited")
        self.retry_after = retry_after
