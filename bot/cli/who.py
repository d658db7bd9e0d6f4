"""Who gives a command: the name that records and cards say of an operator."""

import getpass


def who() -> str:
    """The name of the user who runs this command; `operator` where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        # A container often runs under a number that has no name.
        return "operator"
