"""What may not be read outside: secrets in texts and URLs.

Owns the shapes of secrets and the one mark that stands in their place. Every sink (log, Slack, prompt, audit) scrubs
with this. It must never raise, whatever it is given, and never change a text that it has already scrubbed.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, quote_plus, unquote, unquote_plus

REDACTED: Final = "[redacted]"
MIN_SECRET = 6
"""Characters; a shorter secret would redact common words, so it is not looked for."""

_NAMES = r"(?:pass(?:word|wd|phrase)|secret(?:[_-]?key)?|api[_-]?key|(?:access|private)[_-]?key|[a-z]{0,16}[_-]?token)"
_SECRET_NAME = re.compile(rf"(?:{_NAMES}|authorization|(?:set-)?cookie|pwd|credentials?)\Z", re.IGNORECASE)

_AT_A_BORDER = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
"""Where a word may begin: in a text that JSON or Python has written down, a line break is a backslash and a letter."""
_AT_A_WORD = r"(?:\b|(?<=\\[nrt]))"

# A first group is kept, the rest of the match is replaced. Every repetition is bounded, or begins at a border that its
# own characters cannot make, or eats what it has read: a long hostile text costs one pass.
_SHAPES = tuple(
    re.compile(pattern)
    for pattern in (
        r"()-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]{0,40}PRIVATE KEY[A-Z -]*|\Z)",
        # Slack: tokens of bots, users, apps and refreshes, and the address of an incoming webhook.
        r"()xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9%+/=-]{4,}",
        r"()xapp-[A-Za-z0-9-]{4,}",
        r"(hooks\.slack\.com/(?:services|workflows|triggers)/)[A-Za-z0-9/_-]+",
        # Model services. The digit tells a key from words such as sk-learn-pipeline.
        rf"(){_AT_A_BORDER}sk-(?:(?=[A-Za-z0-9_-]{{0,64}}[0-9])[A-Za-z0-9_-]{{8,}}|[A-Za-z0-9]{{16,}})",
        # AWS, GitHub, GitLab, Google, and signed tokens of any maker.
        r"()(?:AKIA|ASIA)[0-9A-Z]{16}",
        r"()gh[pousr]_[A-Za-z0-9]{20,}",
        r"()github_pat_[A-Za-z0-9_]{20,}",
        r"()glpat-[A-Za-z0-9_-]{16,}",
        r"()AIza[0-9A-Za-z_-]{35}",
        rf"(){_AT_A_BORDER}eyJ[A-Za-z0-9_-]{{8,}}\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]*",
        # Headers: the whole value.
        rf"((?i:{_AT_A_WORD}(?:authorization|cookie|x-api-key))[\"']?[ \t]{{0,4}}:[ \t]{{0,4}}[\"']?)[^\r\n\"']+",
        rf"((?i:{_AT_A_WORD}bearer)[ \t]{{1,4}})[A-Za-z0-9._~+/=-]{{8,}}",
        # A value behind the name of a secret: in a query, in JSON, in an assignment.
        r"([?&](?i:key|ticket|sig|signature|code|auth|x-amz-(?:signature|credential|security-token))=)[^&\s\"'<>]+",
        rf"((?i:{_NAMES})\\?[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}\\?[\"']?)[^\s\"'\\,;&<>{{}}()]{{4,}}",
    )
)
_ENCODED = re.compile(r"(?:[A-Za-z0-9._~*+-]|%[0-9A-Fa-f]{2})+")
_MOST_LAYERS = 3
"""How often a text may be percent-encoded and still be looked through."""
_USERINFO = re.compile(
    r"(?<=://)(?:[^\s/?#@]*@|"
    # A password with / ? # in it makes no proper URL, but operators write it. Digits before a path are a port.
    r"[^\s/?#:@]{1,256}:(?![0-9]{1,5}[/?#])[^\s@]{1,1024}@)+"
)


def scrub_url(url: str) -> str:
    """Give a URL without user name, password, query and fragment, which may each hold a secret."""
    return re.split(r"[?#]", _USERINFO.sub("", url), maxsplit=1)[0]


def scrub(text: str) -> str:
    """Give a text without anything that has the shape of a secret; URLs keep their harmless query."""
    return _scrubbed(text, _MOST_LAYERS)


def _scrubbed(text: str, layers: int) -> str:
    # A mark can be the border that the next secret lacked. Each round hides or removes more, so there is a last one.
    while (scrubbed := _scrubbed_once(text, layers)) != text:
        text = scrubbed
    return text


def _scrubbed_once(text: str, layers: int) -> str:
    text = _USERINFO.sub("", text)
    for shape in _SHAPES:
        text = shape.sub(rf"\g<1>{REDACTED}", text)
    return _ENCODED.sub(lambda run: _encoded(run[0], layers), text) if layers and "%" in text else text


def _encoded(run: str, layers: int) -> str:
    """A run of percent-encoded characters, or the mark where what it means holds a secret."""
    if "%" not in run:
        return run
    meant = unquote(run), unquote_plus(run)
    return run if all(_scrubbed(each, layers - 1) == each for each in meant) else REDACTED


class Scrubber:
    """Scrubs known secrets by their value, and then everything that has the shape of one."""

    __slots__ = ("_known",)

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spellings = {form for secret in secrets if len(secret) >= MIN_SECRET for form in _spellings(secret)}
        # The longest first: a secret that begins like another one would leave its end behind.
        ordered = sorted(spellings, key=lambda form: (-len(form), form))
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """Scrub a text."""
        return scrub(self._known.sub(REDACTED, text) if self._known else text)

    def url(self, url: str) -> str:
        """Scrub a URL: what `scrub_url` leaves, without the secrets in its path."""
        return self.text(scrub_url(url))

    def value(self, value: object) -> object:
        """Scrub a JSON value: its texts, its keys, and whole every value under the name of a secret."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(name)): self._member(str(name), member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(member) for member in value]
        return value

    def _member(self, name: str, member: object) -> object:
        return REDACTED if member and _SECRET_NAME.search(name) else self.value(member)


def _spellings(secret: str) -> tuple[str, ...]:
    """A secret as it may stand in a text, a query, a form, a JSON text, or a Basic header."""
    escaped = secret.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    encoded = b64encode(secret.encode(errors="replace")).decode()
    return secret, quote(secret, safe="", errors="replace"), quote_plus(secret, errors="replace"), escaped, encoded
