"""What people are told while everything is halted: by whom, why, and who can end it. Plain text in Slack's escapes."""

LONGEST_REASON = 200
"""Characters of the reason that are shown; the rest stands in the database."""


def refusal(set_by: str, reason: str) -> str:
    """The one line that answers a request while a halt stands."""
    why = " ".join(reason.split())[:LONGEST_REASON]
    opening = f"All analyses are halted by {_escaped(set_by)}"
    told = f"{opening}: {_escaped(why)}" if why else opening
    return f"{told}{'' if told.endswith(('.', '!', '?')) else '.'} Ask again when whoever runs Steersman has lifted it."


def _escaped(text: str) -> str:
    """A reason may not mention a channel or hide a link, whoever wrote it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
