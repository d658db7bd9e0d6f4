"""Secrets in files: their values count as if they stood in the environment, and no error shows them."""

import pytest

from bot.errors import SettingsError
from bot.rules.redaction import Scrubber
from bot.settings.environment import read


def problem(call) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("name", ["SLACK_BOT_TOKEN", "OPENAI_API_KEY", "DATABASE_URL", "STEERSMAN_SECRET_DEPLOY"])
def test_a_secret_may_stand_in_a_file_and_is_a_secret_all_the_same(tmp_path, name):
    file = tmp_path / "secret"
    value = "postgresql://ana:planted-in-a-file@db/x" if name == "DATABASE_URL" else "planted-in-a-file"
    file.write_text(f"{value}\n")

    given = read({f"{name}_FILE": str(file)})

    assert given.environment[name] == value
    assert "planted-in-a-file" not in Scrubber(given.secrets()).text(
        "it is planted-in-a-file, or ana:planted-in-a-file"
    )


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff\xfe"])
def test_a_file_that_holds_no_secret_is_named_by_its_setting_and_never_shown(tmp_path, content):
    file = tmp_path / "xoxb-1-put-in-the-wrong-place"
    if content is not None:
        file.write_bytes(content)

    error = problem(lambda: read({"SLACK_BOT_TOKEN_FILE": str(file)}))

    assert error.name == "SLACK_BOT_TOKEN_FILE"
    assert "xoxb" not in str(error)


def test_a_secret_that_is_given_twice_is_refused(tmp_path):
    error = problem(lambda: read({"OPENAI_API_KEY": "sk-1", "OPENAI_API_KEY_FILE": str(tmp_path)}))

    assert (error.name, error.problem) == ("OPENAI_API_KEY_FILE", "OPENAI_API_KEY is set too")


def test_what_is_no_secret_is_read_from_no_file():
    given = read({"STEERSMAN_MODEL_FILE": "/nowhere", "STEERSMAN_MODEL": "openai:m"})

    assert given.environment["STEERSMAN_MODEL"] == "openai:m"
