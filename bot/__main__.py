"""The way in: `steersman` and `python -m bot`. It does nothing but call the command line."""

from bot.cli.commands import commands


def main() -> None:
    """Run the command line."""
    commands(prog_name="steersman")


if __name__ == "__main__":
    main()
