"""Every rule by which the door refuses a call has its words."""

import re

from bot.rules.door_words import DOOR_RULES, refused_in_words
from tests.gates import tree


def test_every_rule_that_the_door_names_has_words_and_no_words_are_left_over():
    files = [tree.read(name) for name in tree.python_files("bot") if name.startswith("bot/egress/")]

    # Settings have names of the same form: the two that are also rules are among the refusals.
    named = {rule for text in files for rule in re.findall(r'(?:Refusal|BlockedError)\(\s*"(egress\.[a-z]+)"', text)}

    assert named == set(DOOR_RULES)


def test_a_rule_of_the_door_is_told_with_its_words_and_any_other_as_it_is():
    assert refused_in_words("egress.allow") == "egress.allow (a URL under no allowed prefix)"
    assert refused_in_words("approval") == "approval"
