"""Chromium for the browser tests: where it is, how it is started, and what happens where there is none.

A pytest plugin. Without Chromium the tests marked `browser` are skipped with one line that says how to get it; where
CI=true they fail instead, because there a skipped test would pass for a good one.
"""

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
HOW_TO_GET_IT = "no Chromium on this machine: get it with `sudo apt-get install chromium` (Debian, Ubuntu)"
SWITCHES = (
    # Root has no user namespace of its own to put the browser in.
    "--no-sandbox",
    "--disable-gpu",
    # Without these it asks its maker's servers for updates at every start; the tests stay on this machine.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def executable() -> str | None:
    """The path of the system's Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a browser test where it has no browser."""
    if item.get_closest_marker("browser") is None or executable():
        return
    if os.environ.get("CI") == "true":
        pytest.fail(HOW_TO_GET_IT, pytrace=False)
    pytest.skip(HOW_TO_GET_IT)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once that browser tests were skipped."""
    skipped = terminalreporter.stats.get("skipped", ())
    count = sum(HOW_TO_GET_IT in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(f"{count} browser tests skipped: {HOW_TO_GET_IT}")
