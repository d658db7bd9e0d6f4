"""`[actions]` of the operator's file: HTTP calls with a name, typed parameters, and who may say yes to them.

Every mistake is one line that names the place and says what to write instead.
"""

import json
import re
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, StringConstraints, model_validator

from bot.rules.action_templates import holes, holes_of_body, url_problem
from bot.rules.http_actions import LARGEST, MOST_CHARS, HttpAction, Parameter, ParameterType
from bot.rules.terms import Grade

Name = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]{0,63}$")]
SecretName = Annotated[str, StringConstraints(pattern="^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
Approver = Annotated[str, StringConstraints(pattern="^[UWS][A-Z0-9]+$")]
Number = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, max_length=120)]
Choice = Annotated[str, StringConstraints(min_length=1, max_length=MOST_CHARS)]

_READING = frozenset({"GET", "HEAD"})
_T = TypeVar("_T")


def _checked(problem: Callable[[_T], str | None]) -> AfterValidator:
    def check(value: _T) -> _T:
        said = problem(value)
        if said is not None:
            raise ValueError(said)
        return value

    return AfterValidator(check)


def _pattern_problem(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except (re.error, RecursionError) as error:
        return f"is no regular expression ({error}). Write one that fits the whole value, such as [a-z0-9-]+"
    return None


def _json_problem(body: str) -> str | None:
    try:
        holes_of_body(body) if body else None
    except json.JSONDecodeError as error:
        return f'is no JSON ({error.msg}, line {error.lineno}). Write JSON text such as {{"service": "{{service}}"}}'
    except (ValueError, RecursionError) as error:
        return f"has {error}. Write holes in values only"
    return None


def _url_problem(url: str) -> str | None:
    said = url_problem(url)
    return f"has {said}" if said else None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ActionParameter(_Part):
    """One argument: `pattern`, `enum` and `max_length` are for strings, `min` and `max` for integers."""

    type: Literal["string", "integer", "boolean"] = "string"
    description: str = Field("", max_length=1000)
    pattern: Annotated[str, _checked(_pattern_problem)] | None = None
    enum: Annotated[tuple[Choice, ...], Field(max_length=100)] = ()
    max_length: Number | None = Field(None, ge=1, le=2000)
    min: Number | None = Field(None, ge=-LARGEST, le=LARGEST)
    max: Number | None = Field(None, ge=-LARGEST, le=LARGEST)

    @model_validator(mode="after")
    def _fits_its_type(self) -> "ActionParameter":
        foreign = {"string": ("min", "max"), "integer": ("pattern", "enum", "max_length")}
        strange = foreign.get(self.type, ("pattern", "enum", "max_length", "min", "max"))
        for name in strange:
            if getattr(self, name):
                raise ValueError(f"{name} means nothing for type {self.type}. Leave it out, or choose another type")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is above max. Swap them")
        return self

    def parameter(self, name: str) -> Parameter:
        """The argument as the rules know it."""
        return Parameter(
            name=name,
            kind=ParameterType(self.type),
            description=self.description,
            pattern=self.pattern,
            choices=self.enum,
            max_length=self.max_length or max([MOST_CHARS, *map(len, self.enum)]),
            lowest=-LARGEST if self.min is None else self.min,
            highest=LARGEST if self.max is None else self.max,
        )


class ActionSection(_Part):
    """One action."""

    description: Words
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    url: Annotated[str, StringConstraints(max_length=2000), _checked(_url_problem)]
    body: Annotated[str, StringConstraints(max_length=20_000), _checked(_json_problem)] = ""
    parameters: Annotated[dict[Name, ActionParameter], Field(max_length=30)] = {}
    title: Title = ""
    grade: Literal["read", "write"] = "write"
    post_query: Flag = False
    rate: Number = Field(6, ge=1, le=600)
    approvers: tuple[Approver, ...] = ()
    needed: Literal[1, 2] = 1
    not_requester: Flag = False
    idempotent: Flag = False
    secret: SecretName | None = None
    expires_minutes: Number | None = Field(None, ge=1, le=720)

    @model_validator(mode="after")
    def _is_consistent(self) -> "ActionSection":
        for problem in (self._holes_problem, self._grade_problem, self._approval_problem):
            said = problem()
            if said is not None:
                raise ValueError(said)
        return self

    def action(self, name: str, expires_minutes: float = 30.0) -> HttpAction:
        """The action as the rules know it; `expires_minutes` holds where it says nothing of its own."""
        return HttpAction(
            name=name,
            description=self.description,
            method=self.method,
            url=self.url,
            title=self.title or name.replace("_", " "),
            grade=Grade(self.grade),
            parameters=tuple(each.parameter(key) for key, each in self.parameters.items()),
            body=self.body,
            per_minute=self.rate,
            approvers=self.approvers,
            needed=self.needed,
            not_requester=self.not_requester,
            idempotent=self.idempotent,
            secret=self.secret or "",
            expires_s=(self.expires_minutes or expires_minutes) * 60.0,
        )

    def _holes_problem(self) -> str | None:
        sent = holes(self.url) | (holes_of_body(self.body) if self.body else frozenset())
        known = self.parameters.keys()
        if strange := sorted((sent | holes(self.title)) - known):
            return f"{{{strange[0]}}} is a hole without a parameter. Declare it under parameters, or take it out"
        if idle := sorted(known - sent):
            return f"the parameter {idle[0]} is in neither url nor body. Write {{{idle[0]}}} where it belongs"
        return None

    def _grade_problem(self) -> str | None:
        if self.method in _READING and self.body:
            return f"a {self.method} has no body. Leave the body out, or choose another method"
        if self.post_query and (self.method, self.grade) != ("POST", "read"):
            return 'post_query declares a POST that only reads. Write it with method = "POST" and grade = "read" only'
        if self.grade == "read" and self.method not in _READING and not self.post_query:
            return f'a {self.method} is no read. Write grade = "write"; for a POST that only reads, post_query = true'
        return None

    def _approval_problem(self) -> str | None:
        if self.grade == "read":
            is_set = self.approvers or self.needed > 1 or self.not_requester
            return "a read needs no yes. Leave approvers, needed and not_requester out" if is_set else None
        named = set(self.approvers)
        if self.needed == 2 and len(named) == 1 and not named.pop().startswith("S"):
            return "two people are needed and one is named. Name another, or a user group"
        return None
