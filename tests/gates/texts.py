"""What holds for every text file of the project, code or not.

A check reads no other file, so that a test can hand it a planted fault.
"""

import re
import tomllib

import yaml

_MACHINE_PATH = re.compile(r"""(?<![\w.:/}>-])/(work|home|root)(?=/|[\s"'`),;]|$)""")
_INDEX = re.compile(
    # Written in parts: no file of the project spells a registry's name out, this one neither.
    r"\b(?:py(?:pi|thonhosted)|npm(?:js)?|(?:deb|security|ftp)[.]debian|proxy[.]golang)[.][a-z]{2,4}\b"
    r"|https?://[\w.-]*pypi"
    r"|(^|\s)--(extra-)?index-url|(^|\s)--(find-links|trusted-host)",
    re.MULTILINE,
)
_PINS = re.compile(r"(^|/)requirements[\w-]*\.txt$")


def _found(pattern: re.Pattern[str], path: str, text: str, what: str) -> list[str]:
    lines = text.splitlines()
    return [
        f"{path}:{number} {what}: {hit[0]}" for number, line in enumerate(lines, 1) if (hit := pattern.search(line))
    ]


def machine_paths(path: str, text: str) -> list[str]:
    """Paths of the machine that the file happened to be written on."""
    return _found(_MACHINE_PATH, path, text, "names a path of one machine")


def index_hosts(path: str, text: str) -> list[str]:
    """Names of package registries: where packages come from is for whoever installs."""
    return _found(_INDEX, path, text, "names a package registry")


def loose_pins(path: str, text: str) -> list[str]:
    """Requirements without a version and a hash, or with an address."""
    if not _PINS.search(path):
        return []
    entries = re.sub(r"\\\n\s*", " ", text).splitlines()
    wanted = [entry for entry in entries if entry.strip() and not entry.lstrip().startswith("#")]
    return [f"{path}: {entry[:60]}" for entry in wanted if not re.match(r"[\w.\[\],-]+==\S+( ;.*?)? .*--hash=", entry)]


def ragged_end(path: str, text: str) -> list[str]:
    """Files that do not end with exactly one line break."""
    return [] if not text or re.search(r"[^\n]\n\Z", text) else [f"{path} does not end with one line break"]


def unreadable(path: str, text: str) -> list[str]:
    """TOML and YAML files that do not parse."""
    try:
        if path.endswith(".toml"):
            tomllib.loads(text)
        elif path.endswith((".yml", ".yaml")):
            yaml.safe_load(text)
    except (tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        return [f"{path}: {error}"]
    return []
