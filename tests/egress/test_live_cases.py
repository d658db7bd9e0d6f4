"""The shared cases that need a network: played by the real client in a network namespace of the test's own.

The namespace owns the addresses of the cases, and its servers, their certificates made with openssl, tell who came.
"""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.egress.live.world import GOOD, LIVE, SECONDS
from tests.gates import tree

CASES = [json.loads(line) for line in Path("tests/cases/egress.jsonl").read_text(encoding="utf-8").splitlines()]
WAYS = (("unshare", "--net"), ("unshare", "--map-root-user", "--net"))
LIMIT_S = 110


@cache
def way_in() -> tuple[str, ...] | str:
    """The command that makes a namespace, or why there is none: what the kernel said to each way of asking."""
    missing = [program for program in ("unshare", "openssl") if shutil.which(program) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    said = []
    for way in WAYS:
        asked = subprocess.run([*way, "true"], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return way
        said.append(asked.stderr.strip())
    return f"the kernel gives no network namespace: {'; '.join(said)}"


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> dict[str, dict]:
    """What came of each case."""
    way = way_in()
    if isinstance(way, str):
        # What a machine can install it must have in CI; what its kernel refuses no test can mend.
        if os.environ.get("CI") == "true" and way.startswith("not installed"):
            pytest.fail(way)
        pytest.skip(way)
    folder = tmp_path_factory.mktemp("authority")
    command = [*way, sys.executable, "-m", "tests.egress.live.world", str(folder)]
    run = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert run.returncode == 0, run.stderr
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return {line["id"]: line for line in lines}


def of_class(*names: str) -> list:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["cls"] in names]


@pytest.mark.parametrize("case", of_class(*LIVE))
def test_a_live_case_gets_its_verdict(played, case):
    seen = played[case["id"]]

    # An answer without an end is not refused as a whole: what lies past the cap is.
    verdict = "deny" if seen["is_cut"] else seen["verdict"]

    assert verdict == case["expect"], seen
    assert seen["peer"] == (GOOD if seen["verdict"] == "allow" else None)


@pytest.mark.parametrize("case", of_class(*LIVE))
def test_nobody_but_the_checked_address_is_ever_connected_to(played, case):
    seen = played[case["id"]]

    reached = {place for place, times in seen["connections"].items() if times}
    addresses = {each["address"] for each in seen["attempts"]} - {None}

    assert reached <= {f"{GOOD}:443"}
    assert addresses <= {GOOD}


@pytest.mark.parametrize("case", of_class("method", "header"))
def test_a_call_that_is_refused_for_its_words_is_not_even_looked_up(played, case):
    seen = played[case["id"]]

    assert (seen["look_ups"], seen["heads"], sum(seen["connections"].values())) == ([], [], 0)
    assert [each["outcome"] for each in seen["attempts"]] == ["blocked"]


def test_a_redirect_to_another_host_carries_none_of_the_callers_headers(played):
    heads = [head for head in played["S140"]["heads"] if "robots.txt" not in head]

    first, second = heads
    assert "host: a.example.com" in first.lower()
    assert "planted-key" in first
    assert "host: b.example.com" in second.lower()
    assert "planted-key" not in second
    assert not {"authorization", "cookie", "x-api-key"} & {
        line.partition(":")[0].lower() for line in second.split("\r\n")
    }


def test_a_name_that_changes_its_mind_is_called_where_it_was_checked(played):
    seen = played["S144"]

    assert seen["look_ups"] == ["api.example.com"]
    assert seen["connections"]["127.0.0.1:443"] == 0
    assert all("Host: api.example.com" in head for head in seen["heads"])


def test_a_proxy_in_the_environment_sees_no_connection(played):
    assert played["S152"]["connections"]["127.0.0.1:3128"] == 0


def test_an_answer_that_is_announced_too_long_is_left_before_it_is_read(played):
    seen = played["S153"]

    assert seen["rule"] == "egress.size"
    assert [each["received_bytes"] for each in seen["attempts"]] == [0, 0]


def test_an_answer_without_an_end_is_cut_at_the_cap(played):
    seen = played["S154"]

    assert (seen["size"], seen["is_cut"]) == (1_000_000, True)
    assert seen["attempts"][-1]["received_bytes"] == 1_000_000


def test_a_nested_bomb_is_refused_by_its_header(played):
    assert played["S156"]["rule"] == "egress.encoding"


def test_a_drip_ends_at_the_total_deadline(played):
    seen = played["S157"]

    assert seen["rule"] == "deadline"
    assert seen["attempts"][-1]["outcome"] == "timed_out"
    assert seen["seconds"] >= SECONDS


def test_each_request_is_noted_with_its_address_status_and_moment(played):
    robots, read = played["S159"]["attempts"]

    assert (robots["number"], robots["url"], robots["status"]) == (1, "https://api.example.com/robots.txt", 404)
    assert (read["number"], read["url"], read["status"]) == (2, "https://api.example.com/bin", 200)
    assert read["started"] <= read["written"] <= read["ended"]
