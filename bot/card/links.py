"""Which links of an answer lead anywhere: those to hosts that the operator has named, and no others.

Pure. A model repeats what it has read, and one click on an address that a stranger made can carry away what the thread
says. So a foreign address is shown in full and as code, which Slack makes no link of. Code is never changed.
"""

from collections.abc import Callable

from bot.card.inline import Address, rewritten_addresses
from bot.card.markdown import Prose, read


def only_links_to(text: str, is_ours: Callable[[str], bool]) -> str:
    """The text (raw Markdown), in which addresses of hosts that are not ours are code."""

    def shown(found: Address) -> str:
        return found.written if is_ours(found.host) else _as_code(found)

    blocks = read(text)
    return "".join(
        block.gap + (rewritten_addresses(block.text, shown) if isinstance(block, Prose) else block.text)
        for block in blocks
    )


def _as_code(found: Address) -> str:
    # A backtick would end the code, and what follows it would be a link again.
    code = f"`{found.url.replace('`', '%60')}`"
    return f"{found.label} ({code})" if found.label else code
