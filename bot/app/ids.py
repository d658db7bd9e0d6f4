"""Where ids come from: minted here, handed to whoever needs them."""

import uuid


def mint_id() -> str:
    """A fresh id: 32 hexadecimal digits."""
    return uuid.uuid4().hex


def mint_call_id() -> str:
    """A fresh id of a tool call: nine letters or digits, which every dialect accepts."""
    return f"c{uuid.uuid4().hex[:8]}"
