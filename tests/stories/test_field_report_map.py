"""The map of field reports: nothing is forgotten, and what is said to be replayed is replayed."""

import ast
import json
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = tomllib.loads((ROOT / "tests/stories/field_reports.toml").read_text("utf-8"))
REPORTS = {
    report["id"]: report
    for report in map(json.loads, (ROOT / "tests/cases/field_reports.jsonl").read_text("utf-8").splitlines())
}
KEYS = {"test", "issue", "because", "design"}
ISSUES = {3, 4, 5, 6}
HERE = {
    "session-bricked", "stop-ineffective", "steer-lost-or-doubled", "duplicate-delivery", "edits-and-deletes",
    "stuck-status-or-card", "text-and-entities", "final-answer-lost",
    "secrets-shown",
}  # fmt: skip
"""The classes that are replayed in full, but for what is about a part that is still to come."""
SKIPS = {"skip", "skipif", "xfail", "importorskip"}


def named_by(entry):
    named = entry.get("test", [])
    return [named] if isinstance(named, str) else named


NAMED = sorted((report_id, name) for report_id, entry in MAP.items() for name in named_by(entry))


def test_every_report_is_in_the_map_and_nothing_else_is():
    assert set(MAP) == set(REPORTS)


@pytest.mark.parametrize("report_id", MAP)
def test_an_entry_names_tests_or_says_which_issue_adds_them_and_why(report_id):
    entry = MAP[report_id]

    assert set(entry) <= KEYS
    assert named_by(entry) or "issue" in entry
    assert ("issue" in entry) == bool(entry.get("because", "").strip())
    assert entry.get("issue", 3) in ISSUES
    assert entry.get("design", "a reason").strip()


def test_no_report_of_the_first_classes_is_put_off():
    put_off = {report_id for report_id, entry in MAP.items() if not named_by(entry)}

    assert not {report_id for report_id in put_off if REPORTS[report_id]["class"] in HERE}


@pytest.mark.parametrize(("report_id", "name"), NAMED, ids=lambda value: value.split("::")[-1])
def test_a_named_test_is_there_replays_its_report_and_is_not_skipped(report_id, name):
    path, _, function = name.partition("::")
    module = ast.parse((ROOT / path).read_text("utf-8"))

    (found,) = [each for each in module.body if getattr(each, "name", None) == function]
    texts = {each.value for each in ast.walk(found) if isinstance(each, ast.Constant)}
    marks = [each for each in module.body if isinstance(each, ast.Assign) and "pytestmark" in ast.dump(each)]
    words = {getattr(each, "attr", getattr(each, "id", "")) for tree in (found, *marks) for each in ast.walk(tree)}

    assert function.startswith("test_")
    assert report_id in texts
    assert words.isdisjoint(SKIPS)
