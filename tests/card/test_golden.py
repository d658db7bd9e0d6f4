"""The whole message of every state, as it was looked at by a person.

After a wanted change run the tests with STEERSMAN_WRITE_GOLDEN=1, and read what `git diff` shows.
"""

import json
import os
from pathlib import Path

import pytest

from bot.card.blocks import blocks
from bot.card.view import view
from bot.rules.card_states import CardState
from tests.card.samples import NOW, SAMPLES

FOLDER = Path(__file__).with_name("golden")


def golden(state: CardState) -> Path:
    return FOLDER / f"{state.value.replace(' ', '_').replace('-', '_')}.json"


def message(state: CardState) -> str:
    seen = view(SAMPLES[state], NOW)
    plan, classic = (blocks(seen, post_key="key1", plan_supported=supported) for supported in (True, False))
    shown = {
        "text": plan.text,
        "metadata": plan.metadata,
        "blocks": plan.blocks,
        "blocks_without_plans": [each for each in classic.blocks if each not in plan.blocks],
    }
    return json.dumps(shown, ensure_ascii=False, indent=1) + "\n"


@pytest.mark.parametrize("state", list(CardState))
def test_the_message_of_a_state_is_the_one_that_was_looked_at(state):
    painted = message(state)
    if os.environ.get("STEERSMAN_WRITE_GOLDEN"):
        golden(state).write_text(painted, encoding="utf-8")

    looked_at = golden(state).read_text(encoding="utf-8")

    assert painted == looked_at


def test_no_message_is_kept_for_a_state_that_is_no_more():
    kept = set(FOLDER.iterdir())

    assert kept == {golden(state) for state in CardState}
