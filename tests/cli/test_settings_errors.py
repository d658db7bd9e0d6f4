"""A setting that is missing or wrong is one line that names it and says what to do, and exit code 2."""

import pytest

from tests.cli.console import GOOD, steersman

# what is changed in a good environment, the name that the line has to begin with, words that say what to do
SETTINGS = {
    "no bot token": ({"SLACK_BOT_TOKEN": None}, "SLACK_BOT_TOKEN: is not set", "OAuth & Permissions"),
    "a user token": ({"SLACK_BOT_TOKEN": "xoxp-1"}, "SLACK_BOT_TOKEN: does not begin with xoxb-", "Copy"),
    "no app token": ({"SLACK_APP_TOKEN": " "}, "SLACK_APP_TOKEN: is not set", "connections:write"),
    "a bot token in its place": ({"SLACK_APP_TOKEN": "xoxb-1"}, "SLACK_APP_TOKEN: does not begin with", "Copy"),
    "no model": ({"STEERSMAN_MODEL": None}, "STEERSMAN_MODEL: is not set", "openai:NAME"),
    "a model of nobody": ({"STEERSMAN_MODEL": "banana:1"}, "STEERSMAN_MODEL: ", "openai:NAME"),
    "a model without its key": ({"OPENAI_API_KEY": None}, "OPENAI_API_KEY: is not set", "Set the key"),
    "another database": ({"DATABASE_URL": "mysql://x/y"}, "DATABASE_URL: mysql is not PostgreSQL", "postgresql://"),
    "a database without scheme": ({"DATABASE_URL": "localhost"}, "DATABASE_URL: (no scheme)", "postgresql://"),
    "a database that is down": ({}, "DATABASE_URL: the database cannot be used", "Start PostgreSQL"),
    "no such file": ({"STEERSMAN_CONFIG": "/nowhere.toml"}, "STEERSMAN_CONFIG: /nowhere.toml", "Name a file"),
}  # fmt: skip

# what stands in the TOML file, the beginning of the line, words that say what to do
FILES = {
    "no TOML": ("[egress\n", "STEERSMAN_CONFIG: ", "Mend that line"),
    "an unknown key": ("[egress]\nalow = []\n", "egress.alow: ", "Mend it in"),
    "a number out of range": ("[limits]\nrounds = 0\n", "limits.rounds: ", "Mend it in"),
    "a prefix without scheme": ('[egress]\nallow = ["example.com"]\n', "egress.allow", "https://"),
}


def assert_one_line(ended, begins, remedy):
    lines = ended.stderr.splitlines()
    assert ended.returncode == 2, ended.stderr
    assert len(lines) == 1, ended.stderr
    assert lines[0].startswith(begins)
    assert remedy in lines[0]
    assert ended.stdout == ""
    assert "planted-password" not in lines[0]


@pytest.mark.parametrize("case", SETTINGS)
def test_a_wrong_setting_is_one_line_that_names_it(case):
    changed, begins, remedy = SETTINGS[case]

    ended = steersman("serve", **{**GOOD, **changed})

    assert_one_line(ended, begins, remedy)


@pytest.mark.parametrize("case", FILES)
def test_a_wrong_entry_of_the_file_is_one_line_that_names_it(case, tmp_path):
    text, begins, remedy = FILES[case]
    file = tmp_path / "steersman.toml"
    file.write_text(text)

    ended = steersman("serve", **{**GOOD, "STEERSMAN_CONFIG": str(file)})

    assert_one_line(ended, begins, remedy)


@pytest.mark.parametrize("command", ["listen", "migrate"])
def test_every_command_says_so_when_the_database_is_down(command):
    ended = steersman(command, **GOOD)

    assert_one_line(ended, "DATABASE_URL: the database cannot be used", "Start PostgreSQL")


def test_a_folder_in_which_no_database_can_live_is_one_line(tmp_path):
    file = tmp_path / "file"
    file.touch()

    ended = steersman("migrate", STEERSMAN_DATA=str(file))

    assert_one_line(ended, "STEERSMAN_DATA: the embedded PostgreSQL cannot start in", "Name a folder")


def test_a_folder_whose_path_the_server_cannot_take_is_one_line(folder):
    ended = steersman("migrate", STEERSMAN_DATA=str(folder / "with a blank"))

    assert_one_line(ended, "STEERSMAN_DATA: the embedded PostgreSQL cannot start in", "no blank in its path")


def test_the_version_is_told():
    ended = steersman("--version")

    assert ended.returncode == 0
    assert ended.stdout.startswith("steersman")


def test_without_a_command_the_commands_are_shown():
    ended = steersman()

    told = ended.stdout + ended.stderr
    assert all(f"  {name} " in told for name in ("serve", "work", "listen", "migrate", "demo"))
