"""How a command ends: by its end, by a signal, by something that a person must mend, by a fault of ours."""

import asyncio
import os
import signal

import pytest
import typer

from bot.cli.running import run
from bot.errors import DatabaseUnavailableError, SettingsError

WRONG = SettingsError("THE_SETTING", "is wrong\nin two lines", "Mend it")
TO_MEND = {
    "a setting": WRONG,
    "a setting in a group of tasks": ExceptionGroup("tasks", [ExceptionGroup("inner", [WRONG])]),
    "the database": DatabaseUnavailableError("THE_SETTING: is wrong in two lines. Mend it"),
}


@pytest.mark.parametrize("case", TO_MEND)
def test_what_a_person_must_mend_is_one_line_and_code_2(case, capsys):
    async def fail():
        raise TO_MEND[case]

    with pytest.raises(typer.Exit) as ended:
        run(fail)

    said = capsys.readouterr()
    assert ended.value.exit_code == 2
    assert (said.out, said.err) == ("", "THE_SETTING: is wrong in two lines. Mend it\n")


def test_a_fault_of_ours_keeps_its_traceback():
    async def fail():
        raise ZeroDivisionError("in our own code")

    with pytest.raises(ZeroDivisionError, match="in our own code"):
        run(fail)


def test_a_fault_of_ours_is_not_hidden_by_something_to_mend():
    async def fail():
        raise ExceptionGroup("tasks", [WRONG, ZeroDivisionError()])

    with pytest.raises(ExceptionGroup) as ended:
        run(fail)

    assert [type(each) for each in ended.value.exceptions] == [ZeroDivisionError]


def test_what_a_command_gives_is_given_on():
    async def give():
        return 7

    assert run(give) == 7


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("failure", [None, WRONG])
def test_a_signal_lets_the_command_close_what_it_has_open_and_is_no_failure(by, failure):
    closed = []

    async def wait():
        try:
            os.kill(os.getpid(), by)
            await asyncio.Event().wait()
        finally:
            closed.append(True)
            if failure:
                raise failure

    assert run(wait) is None
    assert closed == [True]
