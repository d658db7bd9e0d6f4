"""Runs the import contracts, ruff's complexity rules and a bare interpreter over a tree, and says what they said."""

import subprocess
import sys
from pathlib import Path

from tests.gates.tree import ROOT

BIN = Path(sys.executable).parent
PURE_MODULES = (
    "bot.card.view",
    "bot.card.blocks",
    "bot.agent.history",
    "bot.slack.inbound",
    "bot.egress.rules",
    "bot.egress.addresses",
    "bot.llm.validate",
    "bot.llm.script",
)
"""Pure beside everything in bot.rules."""
_IMPORTS = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
importlib.import_module(sys.argv[2])
"""


def run(*command: str, at: Path = ROOT, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; what it printed on either stream is in stdout."""
    return subprocess.run(
        command, cwd=at, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )


def import_contracts(at: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the tree at this place."""
    return run(str(BIN / "lint-imports"), "--no-logo", "--no-cache", at=at)


def complexity(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Let ruff judge how entangled functions are, and nothing else."""
    return run(str(BIN / "ruff"), "check", "--no-cache", "--select", "C901,PLR09", *arguments, text=text)


def bare_import(module: str, at: Path) -> subprocess.CompletedProcess[str]:
    """Import a module in an interpreter that has the standard library and the tree at this place, nothing else."""
    return run(sys.executable, "-I", "-S", "-c", _IMPORTS, str(at), module, at=at)
