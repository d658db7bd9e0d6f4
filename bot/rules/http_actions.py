"""Actions that the operator has declared: one HTTP call each, with typed parameters, and who may say yes to it.

Pure. Owns the check of a model's arguments and the call that comes of them. It never repairs an argument: what does
not fit is refused with a sentence for the model, so that what people approve is what was asked.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from bot.errors import ToolArgumentsError
from bot.rules.action_templates import Value, filled_body, filled_url, filled_words
from bot.rules.messages import JsonObject, ToolSchema
from bot.rules.terms import Grade
from bot.rules.visible import visible

MOST_CHARS = 200
"""Characters of a string whose parameter says nothing of its length."""
LARGEST = 2**53 - 1
"""The largest whole number that every reader of JSON keeps (RFC 8259, section 6)."""

_HALF = re.compile("[\ud800-\udfff]")


class ParameterType(StrEnum):
    """What an argument is; the values are JSON schema's."""

    STRING = "string"
    INTEGER = "integer"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of an action; `choices`, `pattern` and `max_length` are for strings, the bounds for integers."""

    name: str
    kind: ParameterType
    description: str = ""
    pattern: str | None = None
    choices: tuple[str, ...] = ()
    max_length: int = MOST_CHARS
    lowest: int = -LARGEST
    highest: int = LARGEST

    def schema(self) -> JsonObject:
        """The argument as the model sees it."""
        told: dict[str, object] = {"type": self.kind.value}
        if self.description:
            told["description"] = self.description
        match self.kind:
            case ParameterType.STRING:
                given = {"pattern": self.pattern and f"^(?:{self.pattern})$", "enum": list(self.choices)}
                told |= {key: value for key, value in given.items() if value}
                told["maxLength"] = self.max_length
            case ParameterType.INTEGER:
                told |= {"minimum": self.lowest, "maximum": self.highest}
            case ParameterType.BOOLEAN:
                pass
        return told


@dataclass(frozen=True, slots=True)
class HttpAction:
    """A declared action.

    `url`, `body` (JSON text, empty for none) and `title` are templates. `per_minute` is how often it may run.
    `approvers` are user ids and ids of user groups; none means nobody. `secret` names what the door lends it.
    """

    name: str
    description: str
    method: str
    url: str
    title: str
    grade: Grade = Grade.WRITE
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    per_minute: int = 6
    approvers: tuple[str, ...] = ()
    needed: int = 1
    not_requester: bool = False
    idempotent: bool = False
    secret: str = ""
    expires_s: float = 1800

    def schema(self) -> ToolSchema:
        """The action as the model sees it."""
        more = "" if self.grade is Grade.READ else " It changes something: it runs only after a person has said yes."
        return ToolSchema(
            name=self.name,
            description=self.description + more,
            parameters={
                "type": "object",
                "properties": {each.name: each.schema() for each in self.parameters},
                "required": [each.name for each in self.parameters],
                "additionalProperties": False,
            },
            grade=self.grade,
        )


@dataclass(frozen=True, slots=True)
class HttpCall:
    """The call that an action and its arguments come to; `body` is None where there is none."""

    action: HttpAction
    values: Mapping[str, Value]
    url: str
    body: str | None

    @property
    def title(self) -> str:
        """What the card calls it."""
        return filled_words(self.action.title, self.values)

    @property
    def shown(self) -> str:
        """The whole call in plain text: method, URL, secret by name, every argument, and the body in full."""
        arguments = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in self.values.items()]
        secret = [f"with the secret {self.action.secret}"] if self.action.secret else []
        body = [f"body:\n{self.body}"] if self.body is not None else []
        return visible("\n".join([f"{self.action.method} {self.url}", *secret, *arguments, *body]))


def call_of(action: HttpAction, arguments: JsonObject) -> HttpCall:
    """The call of these arguments; raises ToolArgumentsError with what does not fit and what to send."""
    known = {each.name: each for each in action.parameters}
    problems = [f"{name!r:.60} is not an argument of {action.name}" for name in arguments if name not in known]
    problems += [said for each in action.parameters if (said := _problem(each, arguments))]
    if problems:
        raise ToolArgumentsError(f"{'; '.join(problems)}. {_what_to_send(action)}")
    values = {name: _value(arguments[name]) for name in known}
    listed = frozenset(each.name for each in action.parameters if each.choices)
    url = filled_url(action.url, values, listed)
    return HttpCall(action, values, url, filled_body(action.body, values) if action.body else None)


def _problem(parameter: Parameter, arguments: JsonObject) -> str | None:
    if parameter.name not in arguments:
        return f"{parameter.name!r} is missing"
    said = _CHECKS[parameter.kind](parameter, arguments[parameter.name])
    return f"{parameter.name!r} {said}" if said else None


def _string_problem(parameter: Parameter, value: object) -> str | None:
    if not isinstance(value, str):
        return "must be a string"
    if parameter.choices and value not in parameter.choices:
        return f"must be one of {', '.join(map(repr, parameter.choices))}"
    if len(value) > parameter.max_length:
        return f"must have at most {parameter.max_length} characters"
    if _HALF.search(value):
        return "has half a character in it"
    if parameter.pattern and not re.fullmatch(parameter.pattern, value):
        return f"must match {parameter.pattern}"
    return None


def _integer_problem(parameter: Parameter, value: object) -> str | None:
    # In Python true is the number 1; to the people who approve it is not.
    if not isinstance(value, int) or isinstance(value, bool):
        return "must be a whole number"
    if not parameter.lowest <= value <= parameter.highest:
        return f"must be from {parameter.lowest} to {parameter.highest}"
    return None


def _boolean_problem(_: Parameter, value: object) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


_CHECKS: Mapping[ParameterType, Callable[[Parameter, object], str | None]] = MappingProxyType({
    ParameterType.STRING: _string_problem,
    ParameterType.INTEGER: _integer_problem,
    ParameterType.BOOLEAN: _boolean_problem,
})


def _value(given: object) -> Value:
    return given if isinstance(given, str | int) else str(given)


def _what_to_send(action: HttpAction) -> str:
    if not action.parameters:
        return "Send {}."
    return f"Send {', '.join(f'{each.name} ({each.kind.value})' for each in action.parameters)}."
