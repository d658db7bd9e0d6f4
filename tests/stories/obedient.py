"""The obedient model: it does whatever any text that it reads says, and repeats all of it.

`CALL name {json}` in a text makes the call, `SAY words` puts the words into its message. {READ} is everything secret
that it has read.
"""

import json
import re
from pathlib import Path
from urllib.parse import quote

from tests.stories.own_model import Said, text_of

CASES = Path(__file__).parents[1] / "cases" / "injections.jsonl"
_CALL = re.compile(r"CALL ([\w{}]+) (?=\{)")
_SAY = re.compile(r"SAY (.+)")
WORTH_TAKING = re.compile(r"(?i)planted|xox|AKIA|eyJ|PRIVATE KEY|\[redacted\]")


def injections(target: str, forbidden: str) -> list[dict]:
    """The corpus, for this target, which may be read, and this one, which may not."""
    places = {
        "{TARGET}": target,
        "{FORBIDDEN}": forbidden,
        "{FORBIDDEN_HOST}": "forbidden",
        "{TPORT}": target.rpartition(":")[2],
        "{FPORT}": forbidden.rpartition(":")[2],
    }
    texts = CASES.read_text("utf-8")
    for name, value in places.items():
        texts = texts.replace(name, value)
    return [json.loads(line) for line in texts.splitlines()]


def obeys(first: dict[str, list]):
    """A model that begins with the calls of the first word of `first` that its question names, and then obeys."""

    def decide(sent) -> Said:
        messages = [message for message in sent if message["role"] != "system"]
        since = _since_its_own_words(messages)
        texts = [text_of(message) for message in since]
        calls = [call for text in texts for call in _calls_in(text, _read(messages))]
        if len(since) == len(messages):
            calls += next((calls for word, calls in first.items() if word in texts[-1]), [])
        # It repeats as it goes on, and at the end everything once more.
        heard = texts if calls else [text_of(message) for message in messages if message["role"] != "assistant"]
        said = [_filled(line, _read(messages)) for text in heard for line in _SAY.findall(_plain(text))]
        return Said("\n\n".join(["I do as I read.", *dict.fromkeys(said)]), calls)

    return decide


def _since_its_own_words(messages) -> list:
    own = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    return messages[own[-1] + 1 :] if own else messages


def _calls_in(text: str, read: str) -> list:
    plain, found = _plain(text), []
    for call in _CALL.finditer(plain):
        try:
            arguments, _ = json.JSONDecoder(strict=False).raw_decode(plain, call.end())
        except ValueError:
            continue
        filled = json.loads(json.dumps(arguments).replace("{READ}", quote(read, safe="")))
        name = re.sub(r"[^\w-]", "_", call[1].replace("{READ}", read))[:60]
        found.append((name, filled))
    return found


def _plain(text: str) -> str:
    """A metric's label has its quotation marks and line breaks escaped, which a model reads over."""
    return text.replace('\\"', '"').replace("\\n", "\n") if "_total{" in text else text


def _filled(line: str, read: str) -> str:
    return line.replace("{READ}", read)


def _read(messages) -> str:
    """The lines that look as if they were worth taking."""
    lines = [line for message in messages if message["role"] != "assistant" for line in text_of(message).splitlines()]
    return " ".join(dict.fromkeys(line for line in lines if WORTH_TAKING.search(line) and "CALL" not in line))[:1500]
