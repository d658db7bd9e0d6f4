"""What each model call cost; a call that was cut is estimated, or a steered run would look free."""

from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy.dialects.postgresql import insert

from bot.rules.messages import Usage
from storage.engine import Transaction
from storage.tables import usage


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model call took; `cost` in US dollars, None where the price is not known."""

    provider: str
    model: str
    tokens: Usage
    cost: Decimal | None = None


async def add(tx: Transaction, run_id: str, call_key: str, spent: Spent) -> None:
    """Book one model call; a second booking under the same key is the same call."""
    values = {
        "call_key": call_key,
        "run_id": run_id,
        "provider": spent.provider,
        "model": spent.model,
        "input_tokens": spent.tokens.input_tokens,
        "output_tokens": spent.tokens.output_tokens,
        "reported": spent.tokens.reported,
        "cost": spent.cost,
    }
    await tx.execute(insert(usage).values(**values).on_conflict_do_nothing())
