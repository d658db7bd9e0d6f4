"""Field reports: what went wrong elsewhere, and must not go wrong here."""

import json
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parents[1] / "cases" / "field_reports.jsonl"


@dataclass(frozen=True, slots=True)
class Report:
    """One report, with what was given in it."""

    given: list[dict[str, object]]

    def model_texts(self) -> list[str]:
        """The texts of the model's messages, in order."""
        said = [each["llm"] for each in self.given if "llm" in each]
        return [str(message["text"]) for message in said if isinstance(message, dict) and "text" in message]

    def tool_texts(self) -> list[str]:
        """What the tools answered, in order."""
        results = [each["tool"] for each in self.given if "tool" in each]
        return [str(result["result"]) for result in results if isinstance(result, dict)]

    def messages(self) -> list[str]:
        """What people wrote, in order."""
        events = [each["slack_event"] for each in self.given if "slack_event" in each]
        return [str(each["event"]["text"]) for each in events if isinstance(each, dict)]

    def targets(self) -> list[str]:
        """The addresses that the model asked for, in order."""
        calls = [
            call for each in self.given if isinstance(said := each.get("llm"), dict) for call in said.get("calls", [])
        ]
        return [str(call["args"]["url"]) for call in calls if "url" in call["args"]]


def report(name: str) -> Report:
    """A report by its id."""
    lines = CASES.read_text(encoding="utf-8").splitlines()
    return next(Report(row["given"]) for line in lines if (row := json.loads(line))["id"] == name)
