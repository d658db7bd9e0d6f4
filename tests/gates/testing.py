"""What the house style asks of a test file: no wait by the clock, no stand-in for our own code.

A check reads no other file, so that a test can hand it a planted fault.
"""

import ast
import re
from collections.abc import Iterator

_WAITS = re.compile(r"\b(sleep|wait_for_timeout)\(")
_STAND_INS = frozenset({"Mock", "MagicMock", "AsyncMock", "NonCallableMock", "PropertyMock", "create_autospec"})
_MOCK_MODULES = frozenset({"mock", "unittest.mock", "pytest_mock"})
_REPLACES_CODE = frozenset({"setattr", "delattr", "setitem", "delitem"})


def waits_by_the_clock(path: str, text: str) -> list[str]:
    """Waits of a fixed length: too short on a busy machine, too long on every other."""
    lines = text.splitlines()
    return [f"{path}:{number} waits by the clock" for number, line in enumerate(lines, 1) if _WAITS.search(line)]


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_stand_in(node: ast.AST) -> bool:
    if isinstance(node, ast.Name | ast.Attribute):
        return (node.id if isinstance(node, ast.Name) else node.attr) in _STAND_INS
    if isinstance(node, ast.arg):
        return node.arg == "mocker"
    return bool(_MOCK_MODULES & set(_imported(node)))


def _replaces_code(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr not in _REPLACES_CODE:
        return False
    return isinstance(node.value, ast.Name) and "monkeypatch" in node.value.id


def mocks(path: str, text: str) -> list[str]:
    """Mocks, and patches of code while it runs; setting an environment variable is neither."""
    return [
        f"{path}:{getattr(node, 'lineno', 0)} puts something else in the place of real code"
        for node in ast.walk(ast.parse(text))
        if _is_stand_in(node) or _replaces_code(node)
    ]


def private_reads(path: str, text: str) -> list[str]:
    """Reads of private parts that the file itself does not define."""
    nodes = list(ast.walk(ast.parse(text)))
    own = {name for node in nodes for name in _defined(node)}
    return [
        f"{path}:{node.lineno} reads the private {node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute) and re.match(r"_(?!_)", node.attr) and node.attr not in own
    ]


def _defined(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
