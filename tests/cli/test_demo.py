"""The demo as a process: its page for a person, its five stories without one, and the judge that notices a fault."""

import asyncio
import json
import re
import signal
import socket

import httpx
import pytest

from tests.cli.console import started, steersman

ENDS = [
    ("completed", "completed", "done"),
    ("steered", "steered", "steered"),
    ("steered", "completed", "done"),
    ("stopped", "stopped", "stopped"),
    ("paused and resumed", "completed", "done"),
    ("approved", "completed", "done"),
]
"""Story, reason and card of each line, in their order."""
KEYS = ["story", "run_id", "reason", "final_event_id", "card", "history_valid"]
QUESTION = {"user": "ana", "channel": "incidents", "text": "@Steersman why is checkout slow?"}


@pytest.fixture
def taken_port():
    """A port at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def told(demo_folder):
    """What the demo by itself has said, as its exit code and its lines."""
    ended = steersman("demo", "--once", "--json", "--data", str(demo_folder))
    assert ended.stdout, ended.stderr
    return ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()]


def test_the_demo_tells_its_five_stories_and_every_run_ends_as_it_should(told):
    code, lines = told

    ends = [(line["story"], line["reason"], line["card"]["state"]) for line in lines]

    assert code == 0
    assert ends == ENDS
    assert all(list(line) == KEYS and list(line["card"]) == ["state", "buttons"] for line in lines)
    assert all(line["history_valid"] is True for line in lines)
    assert all((line["final_event_id"] is not None) == (line["reason"] == "completed") for line in lines)
    assert all(line["card"]["buttons"] == [] for line in lines)
    assert len({line["run_id"] for line in lines}) == len(lines)


def test_the_demo_without_a_publisher_fails_and_still_says_what_was_settled(demo_folder):
    ended = steersman("demo", "--once", "--json", "--break", "publisher", "--limit", "8", "--data", str(demo_folder))

    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 1, ended.stderr
    assert all(line["card"] == {"state": None, "buttons": []} for line in lines)
    assert not any(line["history_valid"] for line in lines)
    assert "given up after 8 s; it waited for" in ended.stderr


async def test_the_demo_opens_its_page_answers_on_it_and_ends_at_ctrl_c(demo_folder, taken_port):
    async with started("demo", "--port", str(taken_port), "--data", str(demo_folder)) as running:
        url = (await running.until("page ")).split()[-1]
        await running.until("Ctrl-C")
        async with httpx.AsyncClient(base_url=url, timeout=30) as person:
            page = (await person.get("/")).text
            assert (await person.post("/_playground/say", json=QUESTION)).json()["ok"]
            card = await first_card(person)

        code = await running.ended(signal.SIGINT)

    assert url != f"http://127.0.0.1:{taken_port}"
    assert re.search(r"gateway pool: \d+ of \d+ in use", page)
    assert card["event_payload"]["state"] in {"queued", "running"}
    assert code == 0
    assert "Traceback" not in "\n".join(running.said)
    steps = [line.split("  ")[0] for line in running.said[:5]]
    assert steps == ["PostgreSQL", "sick service", "playground", "model", "bot"]


async def first_card(person: httpx.AsyncClient) -> dict:
    async with asyncio.timeout(60):
        while True:
            state = (await person.get("/_playground/state")).json()
            cards = [each["metadata"] for each in state["messages"] if "metadata" in each]
            if cards:
                return cards[0]
            await person.get("/_playground/wait", params={"after": state["changes"], "timeout": 20})


async def test_ctrl_c_ends_the_stories_with_the_code_of_a_signal(demo_folder):
    async with started("demo", "--once", "--data", str(demo_folder)) as running:
        await running.until("bot ")

        code = await running.ended(signal.SIGINT)

    assert code == 130
    assert "Traceback" not in "\n".join(running.said)


def test_a_real_model_without_its_key_is_one_line(demo_folder):
    ended = steersman("demo", "--data", str(demo_folder), STEERSMAN_MODEL="anthropic:any")

    assert ended.returncode == 2
    assert ended.stderr == "ANTHROPIC_API_KEY: is not set. Set the key of the model service for anthropic:any\n"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()

    ended = steersman("demo", "--data", str(tmp_path / "file" / "below"))

    assert ended.returncode == 2
    assert ended.stderr.startswith("--data: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("option", [["--json"], ["--break", "publisher"]])
def test_what_is_for_the_stories_is_refused_without_them(option):
    ended = steersman("demo", *option)

    assert ended.returncode == 2
    assert "are for --once" in ended.stderr
