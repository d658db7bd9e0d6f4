"""The way in: `steersman` and `python -m bot`. It does nothing but call the command line."""

import signal


def main() -> None:
    """Run the command line."""
    # Loading takes a moment, and closing too: Ctrl-C there may end the process or do nothing, but show no traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from bot.cli.commands import commands

    try:
        commands(prog_name="steersman")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
