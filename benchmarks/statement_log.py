"""What the log of PostgreSQL says of a stretch of work: its statements, by process and by transaction.

Pure. It reads the log that ground.py asks for (`log_statement = all`, each line begun by the process and a bar), so
that statements are counted by the server and not by who sends them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_LINE = re.compile(r"^(\d+)\|(\w+):\s+(.*)$")
_STATEMENT = re.compile(r"^(?:statement|execute [^:]*): ?(.*)$")
_ENDS = ("COMMIT", "ROLLBACK")
_SAYS_NOTHING = re.compile(r"^(?:BEGIN|ROLLBACK|;)?;?$", re.IGNORECASE)


@dataclass(slots=True)
class Group:
    """A transaction with what was sent on its connection just before it: a check that the connection is alive."""

    statements: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)

    def names(self, ids: Iterable[str]) -> bool:
        """Whether a parameter of it is one of these ids."""
        return any(f"'{each}'" in line for each in ids for line in self.parameters)


@dataclass(frozen=True, slots=True)
class Counted:
    """Statements, and the transactions that they were in."""

    statements: int
    transactions: int


def groups(log: str) -> list[Group]:
    """The transactions of a stretch of log, in the order of their ends."""
    done: list[Group] = []
    open_by_process: dict[str, Group] = {}
    for process, kind, text in _entries(log):
        group = open_by_process.setdefault(process, Group())
        if kind == "DETAIL":
            group.parameters.append(text)
        statement = _STATEMENT.match(text) if kind == "LOG" else None
        if statement is None:
            continue
        group.statements.append(statement[1])
        if _is_end(statement[1]) and not _is_check(group.statements):
            done.append(open_by_process.pop(process))
    return done


def counted(log: str, ids: Sequence[str]) -> Counted:
    """How many statements and transactions name one of these ids in a parameter."""
    named = [group for group in groups(log) if group.names(ids)]
    return Counted(sum(len(group.statements) for group in named), len(named))


def _entries(log: str) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for line in log.splitlines():
        begun = _LINE.match(line)
        if begun:
            found.append((begun[1], begun[2], begun[3]))
        elif found:
            process, kind, text = found[-1]
            found[-1] = (process, kind, f"{text} {line.strip()}")
    return found


def _is_end(statement: str) -> bool:
    return statement.upper().startswith(_ENDS)


def _is_check(statements: Sequence[str]) -> bool:
    return all(_SAYS_NOTHING.match(each.strip()) for each in statements)
