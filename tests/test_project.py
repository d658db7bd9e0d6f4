"""The project's own set-up: the pins fit what is asked for, and make does what its lines say."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.gates import tree

TARGETS = ("help", "setup", "demo", "test", "check", "migration", "bounds", "docs", "lock")
RECORDS_AND_FAILS = '#!/bin/sh\necho "$@" >> calls\nexit 1\n'


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def asked_for() -> tuple[set[str], set[str]]:
    """What the project asks for to run, and what it asks for to be worked on."""
    project = tomllib.loads(tree.read("pyproject.toml"))["project"]
    lists = (project["dependencies"], project["optional-dependencies"]["dev"])
    run, work = ({canonical(re.match(r"[\w.-]+", each)[0]) for each in entries} for entries in lists)
    return run, run | work


def pinned(file: str) -> dict[str, str]:
    return {
        canonical(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", tree.read(file), re.MULTILINE)
    }


def make(*arguments: str, at: Path = tree.ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=at, text=True, capture_output=True, check=False)


@pytest.fixture
def project(tmp_path) -> Path:
    """A folder with the project's Makefile, in which nothing is set up."""
    (tmp_path / "Makefile").write_text(tree.read("Makefile"))
    for name in ("requirements-dev.txt", "pyproject.toml"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.fixture
def ready_project(project) -> Path:
    """A project whose Python only writes down how it was called, and fails."""
    python = project / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(RECORDS_AND_FAILS)
    python.chmod(0o755)
    (project / ".venv" / ".ready").touch()
    return project


def test_everything_that_is_asked_for_is_pinned():
    to_run, to_work = asked_for()

    missing = (to_run - pinned("requirements.txt").keys(), to_work - pinned("requirements-dev.txt").keys())

    assert missing == (set(), set()), "run `make lock`"


def test_the_tests_run_on_the_versions_that_people_run():
    run, work = pinned("requirements.txt"), pinned("requirements-dev.txt")

    differing = {name: (version, work.get(name)) for name, version in run.items() if work.get(name) != version}

    assert run
    assert differing == {}


@pytest.mark.parametrize("target", TARGETS)
def test_make_help_has_a_line_for_each_target(target):
    shown = make("help").stdout

    assert re.search(rf"^{target} +\w", shown, re.MULTILINE)


@pytest.mark.parametrize("target", ["setup", "demo", "test", "check", "bounds"])
def test_without_a_fit_python_make_says_what_is_needed(project, target):
    ended = make(target, "PYTHON=/bin/false", at=project)

    assert ended.returncode == 2
    assert ended.stderr.splitlines()[0].startswith("Steersman needs Python 3.11 or later")
    assert not (project / ".venv").exists()


def test_a_missed_bound_is_measured_once_more_alone(ready_project):
    ended = make("bounds", at=ready_project)

    calls = (ready_project / "calls").read_text().splitlines()
    assert ended.returncode != 0
    assert calls == ["-m pytest -m bounds", "-m pytest -m bounds --last-failed --last-failed-no-failures none"]


def test_a_bound_that_is_kept_is_measured_once(ready_project):
    python = ready_project / ".venv" / "bin" / "python"
    python.write_text(python.read_text().replace("exit 1", "exit 0"))

    ended = make("bounds", at=ready_project)

    assert ended.returncode == 0
    assert (ready_project / "calls").read_text().splitlines() == ["-m pytest -m bounds"]


def test_a_migration_without_a_name_is_refused_with_an_example(ready_project):
    ended = make("migration", at=ready_project)

    assert ended.returncode == 2
    assert 'make migration m="' in ended.stderr
