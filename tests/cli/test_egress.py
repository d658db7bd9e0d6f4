"""`steersman egress explain`: the verdict of the door for a URL or a file of cases, without a request."""

import json
from pathlib import Path

from tests.cli.console import steersman

MUST_BE_MENDED = 2

CASES = Path("tests/cases/egress.jsonl")


def test_every_shared_case_gets_its_verdict_and_says_where_an_answer_ends():
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]

    said = steersman("egress", "explain", "--cases", str(CASES))

    lines = [json.loads(line) for line in said.stdout.splitlines()]
    wanted = [(case["id"], "allow" if "verdict_at" in case else case["expect"]) for case in cases]
    assert [(line["id"], line["verdict"]) for line in lines] == wanted
    assert [line.get("verdict_at") for line in lines] == [case.get("verdict_at") for case in cases]
    assert all(line["rule"] and line["reason"] for line in lines)


def test_a_url_is_judged_by_the_operators_file(tmp_path):
    config = tmp_path / "steersman.toml"
    config.write_text(
        '[[egress.allow]]\nurl = "https://api.example.com/v1"\nmethods = ["GET", "POST"]\ngrade = "write"\n'
        'secret = "not-set-here"\n',
        "utf-8",
    )
    options = ("--config", str(config), "--resolves-to", "93.184.216.34", "--json")

    post = steersman("egress", "explain", "https://api.example.com/v1/x?key=abc", "--method", "POST", *options)
    inside = steersman("egress", "explain", "https://api.example.com/v1", "--resolves-to", "10.0.0.1", *options)

    assert json.loads(post.stdout) == {
        "id": "1",
        "verdict": "allow",
        "rule": "https://api.example.com/v1",
        "reason": "https://api.example.com/v1/x is called at 93.184.216.34",
    }
    refused = json.loads(inside.stdout)
    assert (refused["verdict"], refused["rule"]) == ("deny", "egress.address")


def test_without_json_it_is_words():
    said = steersman("egress", "explain", "http://169.254.169.254/", "--resolves-to", "169.254.169.254")

    assert said.stdout.splitlines()[0] == "deny  egress.allow"


def test_a_file_that_is_not_there_is_one_line():
    said = steersman("egress", "explain", "--cases", "nowhere.jsonl")

    assert said.returncode == MUST_BE_MENDED
    assert said.stderr.startswith("--cases: nowhere.jsonl")
    assert "Traceback" not in said.stderr
