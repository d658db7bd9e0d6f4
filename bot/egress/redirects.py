"""Where a redirect may lead.

Pure. Each hop is judged like a first URL; this says only what a redirect may not do beyond that.
"""

from dataclasses import dataclass, replace

from bot.egress.rules import Asked, Refusal, Target
from bot.egress.urls import led_to

MAX_HOPS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEPS_METHOD = frozenset({307, 308})


@dataclass(frozen=True, slots=True)
class Hop:
    """One request of a chain: what is asked, how many redirects led here, and whether secrets may still go with it."""

    asked: Asked
    behind: tuple[str, ...] = ()
    with_secrets: bool = True


def next_hop(hop: Hop, came_from: Target, status: int, location: str) -> Hop | Refusal:
    """Say where a redirect goes on, or why it does not; `came_from` is the URL of the hop that answered."""
    if len(hop.behind) >= MAX_HOPS:
        return Refusal("egress.redirect", f"more than {MAX_HOPS} redirects")
    target = led_to(came_from, location)
    if isinstance(target, Refusal):
        return target
    if came_from.scheme == "https" and target.scheme == "http":
        return Refusal("egress.redirect", f"a redirect from https to {target.shown}")
    stays = target.origin == came_from.origin
    url = f"{target.scheme}://{target.netloc}{target.resource}"
    # What a caller set for one host may be a key; another host gets none of it, and nothing of it again later.
    headers = hop.asked.headers if stays else ()
    asked = replace(hop.asked, url=url, headers=headers)
    return Hop(asked, (*hop.behind, came_from.shown), hop.with_secrets and stays)


def refusal_of_write(status: int, location: str) -> Refusal | None:
    """Refuse a redirect that asks for a write to be sent elsewhere; any other of a write is an answer, not followed."""
    if status in _KEEPS_METHOD and location:
        return Refusal("egress.redirect", f"the answer {status} asks for the write to be sent to another address")
    return None
