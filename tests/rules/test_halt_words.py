"""What people are told while everything is halted."""

from bot.rules.halt_words import LONGEST_REASON, refusal


def test_the_line_says_by_whom_and_why():
    assert refusal("olga", "a bad deploy") == (
        "All analyses are halted by olga: a bad deploy. Ask again when whoever runs Steersman has lifted it."
    )


def test_without_a_reason_the_line_is_still_a_sentence():
    assert refusal("olga", "").startswith("All analyses are halted by olga. Ask again")


def test_a_reason_that_ends_a_sentence_gets_no_second_full_stop():
    assert "!." not in refusal("olga", "Hands off!")


def test_a_reason_mentions_nobody_and_links_nowhere():
    told = refusal("olga", "<!channel> see <https://evil.example|here>")

    assert "<" not in told
    assert "&lt;!channel&gt;" in told


def test_a_long_reason_in_many_lines_is_one_short_line():
    told = refusal("olga", "word\n" * 500)

    assert "\n" not in told
    assert len(told) < LONGEST_REASON + 120
