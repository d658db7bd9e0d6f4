"""`steersman egress explain`: what the door would say of a call, by the same function, and without making the call."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.running import run
from bot.errors import SettingsError

if TYPE_CHECKING:
    from bot.egress.explaining import Explained
    from bot.egress.rules import EgressRules

egress = typer.Typer(help="Look at what tools may reach.", no_args_is_help=True)

Url = Annotated[str | None, typer.Argument(metavar="URL", help="The URL of the call.")]
Method = Annotated[str, typer.Option("--method", help="The method of the call.")]
ResolvesTo = Annotated[
    list[str] | None, typer.Option("--resolves-to", help="An address of the host; without it, look it up.")
]
Config = Annotated[Path | None, typer.Option("--config", help="The TOML file, if not that of STEERSMAN_CONFIG.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]
Cases = Annotated[Path | None, typer.Option("--cases", help="A file of cases, one JSON object a line; JSON comes out.")]


@egress.callback()
def _group() -> None:
    pass


@egress.command()
def explain(  # noqa: PLR0913 - each is an option of the command
    url: Url = None,
    *,
    method: Method = "GET",
    resolves_to: ResolvesTo = None,
    config: Config = None,
    as_json: AsJson = False,
    cases: Cases = None,
) -> None:
    """Say whether a call would be allowed, by which rule, and why. Nothing is sent; without --resolves-to it looks up.

    A case has url, resolves_to, and if it differs allowlist, method, headers, redirects and id.
    """
    if (url is None) is (cases is None):
        raise typer.BadParameter("name a URL, or a file with --cases")
    asked: Mapping[str, object] = {"url": url, "method": method, "resolves_to": resolves_to}
    told = run(lambda: _told([asked] if cases is None else _cases(cases), config))
    for line in told or ():
        typer.echo(json.dumps(line) if as_json or cases else _words(line))


def _cases(path: Path) -> Iterator[Mapping[str, object]]:
    try:
        lines = path.read_text("utf-8").splitlines()
        yield from (json.loads(line) for line in lines if line.strip())
    except (OSError, ValueError) as error:
        raise SettingsError("--cases", f"{path}: {error}", "Name a file with one JSON object a line") from error


async def _told(
    cases: "list[Mapping[str, object]] | Iterator[Mapping[str, object]]", config: Path | None
) -> list[dict[str, object]]:
    from bot.app.door import egress_rules
    from bot.settings.environment import read

    environment = {**os.environ, "STEERSMAN_CONFIG": str(config)} if config else os.environ
    rules = egress_rules(read(environment), with_secrets=False)
    return [await _line(case, number, rules) for number, case in enumerate(cases, 1)]


async def _line(case: Mapping[str, object], number: int, rules: "EgressRules") -> dict[str, object]:
    explained = await _explained(case, rules)
    line: dict[str, object] = {
        "id": str(case.get("id", number)),
        "verdict": explained.verdict,
        "rule": explained.rule,
        "reason": explained.reason,
    }
    # What an answer is refused for shows only when it comes: size, encoding, the deadline.
    return {**line, "verdict_at": case["verdict_at"]} if "verdict_at" in case else line


async def _explained(case: Mapping[str, object], rules: "EgressRules") -> "Explained":
    from bot.egress.decisions import system_resolver
    from bot.egress.explaining import DENY, Explained, asked_of, explain, fixed_resolver, list_of, redirects_of
    from bot.egress.rules import EgressRules

    try:
        rules = EgressRules.parse(list_of(case, "allowlist"), []) if "allowlist" in case else rules
    except SettingsError as error:
        return Explained(DENY, error.name, error.problem)
    given = case.get("resolves_to")
    resolve = system_resolver if given is None else fixed_resolver(list_of(case, "resolves_to"))
    return await explain(rules, asked_of(case), resolve, redirects_of(case))


def _words(line: Mapping[str, object]) -> str:
    return f"{line['verdict']}  {line['rule']}\n{line['reason']}"
