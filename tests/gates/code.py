"""What the house style asks of a Python file, as checks from (path, text) to a list of faults.

A check reads no other file, so that a test can hand it a planted fault. The limits are those of CONTRIBUTING.md.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_FUNCTION = 40
LONGEST_FILE = 300
LONGEST_TEST_FILE = 400
NOT_IN_A_NAME = frozenset({"manager", "helper", "util", "common", "base", "data", "info", "process", "handler"})
NAMES_BY_OTHERS = {
    "process_bind_param": "SQLAlchemy calls it on a column type",
    "process_result_value": "SQLAlchemy calls it on a column type",
}
"""Names that are not ours to choose, and who chose them."""
BROAD_EXCEPTS = {
    "bot/card/publisher.py": 1,
    "bot/tools/gate.py": 1,
    "bot/worker/faults.py": 1,
    "bot/worker/one_run.py": 1,
}
"""Where everything may be caught, and how often.

Around a card's update; around a tool, which may break without ending its run; around a piece of a worker's own work
(a claim, a row that the reaper found), which may break without ending the worker; around a turn.
"""
RUNS = frozenset({"eval", "exec", "compile", "__import__", "system", "popen", "getoutput", "getstatusoutput"})
UNPACKS = frozenset({"pickle", "marshal", "shelve", "dill"})
STARTS = {"subprocess": frozenset({"run", "call", "Popen", "check_call", "check_output"}),
          "os": frozenset({"system", "popen", "execv", "execve", "spawnv", "posix_spawn"}),
          "asyncio": frozenset({"create_subprocess_shell", "create_subprocess_exec"})}  # fmt: skip
"""What runs a text as a command or as code; the product has no use for any of it."""
MAY_HOLD_CODE = frozenset({"bot/slack/listeners/__init__.py"})
_BROAD = frozenset({"Exception", "BaseException"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method and how long it is, from its def to its last line."""

    name: str
    line: int
    lines: int


def functions(text: str) -> list[Function]:
    """Every function in the text, the nested ones too."""
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, _FUNCTIONS))
    return [Function(node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1) for node in found]


def long_functions(path: str, text: str) -> list[str]:
    """Functions over the limit."""
    return [
        f"{path}:{each.line} {each.name} has {each.lines} lines, {LONGEST_FUNCTION} at most"
        for each in functions(text)
        if each.lines > LONGEST_FUNCTION
    ]


def long_file(path: str, text: str) -> list[str]:
    """A file over the limit."""
    limit = LONGEST_TEST_FILE if path.startswith("tests/") else LONGEST_FILE
    lines = len(text.splitlines())
    return [f"{path} has {lines} lines, {limit} at most"] if lines > limit else []


def no_opening(path: str, text: str) -> list[str]:
    """A module that does not say what it owns. An __init__.py is empty instead."""
    if path.endswith("__init__.py") and path not in MAY_HOLD_CODE:
        return [f"{path} is not empty"] if text.strip() else []
    return [] if ast.get_docstring(ast.parse(text)) else [f"{path} does not open with what it owns"]


def words(name: str) -> list[str]:
    """The words in an identifier, small: HTTPErrors_base36 -> http, errors, base36."""
    parts = re.findall(r"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)\d*", name)
    return [part.lower() for part in parts]


def _singular(word: str) -> set[str]:
    return {word, word.removesuffix("s"), word.removesuffix("es")}


def _defined(path: str, text: str) -> Iterator[tuple[int, str]]:
    for part in path.removesuffix(".py").split("/"):
        yield 1, part
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _DEFINITIONS):
            yield node.lineno, node.name


def empty_names(path: str, text: str) -> list[str]:
    """Names of modules, classes and functions that say nothing about what the thing does."""
    return [
        f"{path}:{line} {name}: {word} is in no name"
        for line, name in _defined(path, text)
        for word in words(name)
        if _singular(word) & NOT_IN_A_NAME and name not in NAMES_BY_OTHERS
    ]


def _names_in(node: ast.expr) -> Iterator[str]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    for part in parts:
        yield part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")


def _is_broad(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        return node.type is None or bool(_BROAD & set(_names_in(node.type)))
    if isinstance(node, ast.Call) and "suppress" in _names_in(node.func):
        return any(_BROAD & set(_names_in(argument)) for argument in node.args)
    return False


def broad_excepts(path: str, text: str) -> list[str]:
    """Handlers that catch everything, beyond those that the table above allows; and rows of it that are not used."""
    lines = [getattr(node, "lineno", 0) for node in ast.walk(ast.parse(text)) if _is_broad(node)]
    allowed = BROAD_EXCEPTS.get(path, 0)
    if len(lines) == allowed:
        return []
    return [f"{path} catches everything in {len(lines)} places (lines {lines}), the table says {allowed}"]


def runs_what_it_is_given(path: str, text: str) -> list[str]:
    """Calls that run a text as code or as a command, or that unpack objects that run code."""
    nodes = list(ast.walk(ast.parse(text)))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    found = [f"{path}:{node.lineno} calls {node.func.id}" for node in calls if _is_named(node.func, RUNS)]
    found += [f"{path}:{node.lineno} starts a process" for node in calls if _starts_a_process(node)]
    return found + [f"{path}:{node.lineno} unpacks objects" for node in nodes if UNPACKS & set(_modules_of(node))]


def _is_named(node: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _starts_a_process(node: ast.Call) -> bool:
    has_shell = any(each.arg == "shell" for each in node.keywords)
    function = node.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return has_shell
    return has_shell or function.attr in STARTS.get(function.value.id, ())


def _modules_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        yield node.module.partition(".")[0]
