"""Each gate can fail: it is fed a planted fault, and beside it the nearest text that is right."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates import code, contracts, testing, texts, tree, ways_out

LONG = "def f():\n" + "    x = 1\n" * code.LONGEST_FUNCTION
SHORT = "def f():\n" + "    x = 1\n" * (code.LONGEST_FUNCTION - 1)
CATCH = "try:\n    f()\nexcept {}:\n    pass\n"
ENTANGLED = "def f(x):\n" + "".join(f"    if x == {n}:\n        g({n})\n" for n in range(9))
PIN = "aiohttp==3.14.5 \\\n    --hash=sha256:00\n    # via steersman\n"
ROW, TIMES = next(iter(code.BROAD_EXCEPTS.items()))

# check, path, a text with the fault, a text without it
PLANTED = [
    (code.long_functions, "bot/x.py", LONG, SHORT),
    (code.long_functions, "tests/x.py", "class A:\n    async " + LONG.replace("\n", "\n    ").strip(), SHORT),
    (code.long_file, "bot/x.py", "x\n" * 301, "x\n" * 300),
    (code.long_file, "tests/x.py", "x\n" * 401, "x\n" * 400),
    (code.no_opening, "bot/x.py", "X = 1\n", '"""Owns X."""\n\nX = 1\n'),
    (code.no_opening, "bot/rules/__init__.py", "X = 1\n", ""),
    (code.empty_names, "bot/x.py", "class CardManager: ...", "class CardPublisher: ..."),
    (code.empty_names, "bot/x.py", "async def handler(): ...", "async def handle(): ..."),
    (code.empty_names, "bot/x.py", "def load_data(): ...", "def load_database_base36(): ..."),
    (code.empty_names, "bot/x.py", "class HTTPUtils: ...", "class HTTPClient: ..."),
    (code.broad_excepts, "bot/x.py", CATCH.format("Exception"), CATCH.format("OSError")),
    (code.broad_excepts, "bot/x.py", CATCH.format("(OSError, Exception) as e"), CATCH.format("(OSError, KeyError)")),
    (code.broad_excepts, "bot/x.py", CATCH.replace(" {}", ""), CATCH.format("builtins.OSError")),
    (
        code.broad_excepts,
        "bot/x.py",
        "with contextlib.suppress(Exception):\n    f()",
        "with suppress(OSError):\n    f()",
    ),
    (code.broad_excepts, ROW, CATCH.format("OSError"), CATCH.format("Exception") * TIMES),
    (code.runs_what_it_is_given, "bot/x.py", "eval(text)", "value(text)"),
    (code.runs_what_it_is_given, "bot/x.py", "exec(text)", "re.compile(text)"),
    (code.runs_what_it_is_given, "bot/x.py", "subprocess.run(text)", "client.run(text)"),
    (code.runs_what_it_is_given, "bot/x.py", "run(text, shell=True)", "run(text)"),
    (code.runs_what_it_is_given, "bot/x.py", "os.system(text)", "os.environ"),
    (code.runs_what_it_is_given, "bot/x.py", "asyncio.create_subprocess_shell(text)", "asyncio.create_task(x)"),
    (code.runs_what_it_is_given, "bot/x.py", "from pickle import loads", "from json import loads"),
    (testing.waits_by_the_clock, "tests/x.py", f"await asyncio.{'sleep'}(1)", "await event.wait()"),
    (testing.waits_by_the_clock, "tests/x.py", f"page.{'wait_for_timeout'}(1)", "page.wait_for_selector('x')"),
    (testing.mocks, "tests/x.py", "from unittest import mock", "from unittest import TestCase"),
    (testing.mocks, "tests/x.py", "from unittest.mock import patch", "from contextlib import closing"),
    (testing.mocks, "tests/x.py", "client = AsyncMock()", "client = Client()"),
    (testing.mocks, "tests/x.py", "def test_x(mocker): ...", "def test_x(model): ..."),
    (testing.mocks, "tests/x.py", "monkeypatch.setattr(app, 'f', g)", "monkeypatch.setenv('A', 'b')"),
    (testing.private_reads, "tests/x.py", "assert run._state == 1", "assert run.state == 1"),
    (testing.private_reads, "tests/x.py", "Timer._tick()", "class Timer:\n    def _tick(self): ...\nTimer._tick()"),
    (texts.machine_paths, "README.md", "see /" + "work/here\n", "see docs/work/here\n"),
    (texts.machine_paths, "README.md", "cd /" + "home/me\n", "see https://example.com/home/me\n"),
    (texts.machine_paths, "bot/x.py", "X = '/" + "root'\n", "X = '/rooted'\n"),
    (texts.index_hosts, "requirements.txt", "--index" + "-url x", "--no-emit-index-url"),
    (texts.index_hosts, "README.md", "from https://" + "pypi.example.com/x", "from PyPI"),
    (texts.index_hosts, "README.md", "http://deb." + "debian.org/x", "on Debian"),
    (texts.loose_pins, "requirements.txt", "aiohttp==3.14.5\n", PIN),
    (texts.loose_pins, "requirements-dev.txt", PIN.replace("==3.14.5", " @ file:x"), PIN),
    (texts.ragged_end, "README.md", "words", "words\n"),
    (texts.ragged_end, "README.md", "words\n\n", ""),
    (texts.unreadable, "x.toml", "a = = 1\n", "a = 1\n"),
    (texts.unreadable, "x.yml", "a: [1\n", "a: [1]\n"),
]


@pytest.mark.parametrize(("check", "path", "bad", "good"), PLANTED)
def test_a_gate_reports_the_planted_fault_and_only_that(check, path, bad, good):
    assert check(path, bad) != []
    assert check(path, good) == []


def test_the_gate_on_entangled_functions_reports_one():
    verdict = contracts.complexity("--stdin-filename", "bot/x.py", "-", text=ENTANGLED)

    assert "C901" in verdict.stdout
    assert verdict.returncode == 1


def test_the_gate_on_pure_modules_reports_a_third_party_import(tmp_path):
    package = tmp_path / "bot"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "x.py").write_text("import httpx\n")

    verdict = contracts.bare_import("bot.x", tmp_path)

    assert "No module named 'httpx'" in verdict.stdout


# file, what is planted there, what the contracts must say of it
CONTRACT_FAULTS = {
    "bot/rules/x_clock.py": ("import time", "bot.rules.x_clock -> time"),
    "bot/rules/x_sql.py": ("import sqlalchemy", "bot.rules.x_sql -> sqlalchemy"),
    "bot/rules/x_ring.py": ("import bot.rules.x_ring_back", ".x_ring_back -> .x_ring"),
    "bot/rules/x_ring_back.py": ("import bot.rules.x_ring", ".x_ring_back -> .x_ring"),
    "bot/rules/x_storage.py": ("import storage", "bot.rules.x_storage -> storage"),
    "storage/x_agent.py": ("import bot.agent", "storage.x_agent -> bot.agent"),
    "bot/agent/x_card.py": ("import bot.card", "bot.agent.x_card -> bot.card"),
    "bot/agent/x_sql.py": ("import asyncpg", "bot.agent.x_sql -> asyncpg"),
    "bot/agent/x_slack.py": ("import slack_sdk", "bot.agent.x_slack -> slack_sdk"),
    "bot/card/x_worker.py": ("import bot.worker", "bot.card.x_worker -> bot.worker"),
    "bot/slack/x_worker.py": ("import bot.worker", "bot.slack.x_worker -> bot.worker"),
    "bot/tools/x_settings.py": ("import bot.settings", "bot.tools.x_settings -> bot.settings"),
    "bot/egress/x_tools.py": ("import bot.tools", "bot.egress.x_tools -> bot.tools"),
    "bot/playground/x_rules.py": ("import bot.rules.terms", "bot.playground.x_rules -> bot.rules.terms"),
    "bot/playground/x_llm.py": ("import bot.llm.provider", "bot.playground.x_llm -> bot.llm.provider"),
    "bot/x_unplaced/__init__.py": ("", "bot.x_unplaced"),
}


@pytest.fixture(scope="module")
def contract_report(tmp_path_factory) -> str:
    """What the import contracts say of a copy of the tree with every fault planted in it."""
    copy = tmp_path_factory.mktemp("planted")
    for folder in tree.PRODUCT:
        shutil.copytree(tree.ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(tree.ROOT / "pyproject.toml", copy)
    for name, (text, _) in CONTRACT_FAULTS.items():
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(f"{text}\n")
    return contracts.import_contracts(copy).stdout


@pytest.mark.parametrize("name", CONTRACT_FAULTS)
def test_the_import_contracts_report_what_points_the_wrong_way(contract_report, name):
    expected = CONTRACT_FAULTS[name][1]

    assert expected in contract_report


BROWSER_TEST = "import pytest\n\n@pytest.mark.browser\ndef test_it():\n    assert False, 'it ran'\n"


def browser_test(tmp_path: Path, path: str, ci: str) -> subprocess.CompletedProcess[str]:
    """Run a test that needs a browser where the search path is this one."""
    (tmp_path / "test_browser.py").write_text(BROWSER_TEST)
    command = [sys.executable, "-m", "pytest", "-c", str(tree.ROOT / "pyproject.toml")]
    environment = {"PATH": path, "CI": ci, "PYTHONPATH": str(tree.ROOT)}
    return subprocess.run(
        [*command, "--rootdir", str(tmp_path), "test_browser.py"],
        cwd=tmp_path, env=environment, text=True, capture_output=True, check=False,
    )  # fmt: skip


def test_a_browser_test_is_skipped_with_one_line_where_there_is_no_browser(tmp_path):
    ended = browser_test(tmp_path, path="", ci="")

    assert ended.returncode == 0
    assert ended.stdout.count("1 browser tests skipped: no Chromium") == 1


def test_a_browser_test_fails_on_ci_where_there_is_no_browser(tmp_path):
    ended = browser_test(tmp_path, path="", ci="true")

    assert ended.returncode == 1
    assert "no Chromium on this machine" in ended.stdout


def test_a_browser_test_runs_where_there_is_a_browser(tmp_path):
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "chromium").chmod(0o755)

    ended = browser_test(tmp_path, path=str(tmp_path), ci="")

    assert "it ran" in ended.stdout


def test_the_gate_on_names_reads_the_names_of_folders_and_modules_too():
    assert code.empty_names("bot/common/x.py", "") == ["bot/common/x.py:1 common: common is in no name"]
    assert code.empty_names("storage/data.py", "") == ["storage/data.py:1 data: data is in no name"]


@pytest.mark.parametrize(
    ("check", "path", "text"),
    [
        (ways_out.ways_out, "bot/tools/x.py", "import httpx\n"),
        (ways_out.ways_out, "bot/agent/x.py", "from aiohttp import ClientSession\n"),
        (ways_out.ways_out, "bot/worker/x.py", "from urllib.request import urlopen\n"),
        (ways_out.ways_out, "bot/llm/x.py", "import httpcore\n"),
        (ways_out.own_clients, "bot/llm/x.py", "import httpx\nhttpx.AsyncClient(transport=t)\n"),
        (ways_out.own_clients, "bot/llm/event_stream.py", "import httpx\nhttpx.AsyncClient()\n"),
        (ways_out.own_retries, "bot/app/x.py", "c = AsyncWebClient(token=t)\n"),
        (ways_out.own_retries, "bot/app/x.py", "c = AsyncWebClient(retry_handlers=[h])\n"),
        (ways_out.own_retries, "bot/egress/x.py", "c = AsyncHTTPConnection(o, retries=2)\n"),
        (ways_out.own_retries, "bot/egress/x.py", "import tenacity\n"),
    ],
)
def test_a_second_way_out_and_a_second_retry_are_found(check, path, text):
    assert len(check(path, text)) == 1
