"""Where the files of the project are. Reads the tree and judges nothing."""

import fnmatch
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("bot", "storage")
PLACES = (*PRODUCT, "migrations", "tests", "docs", "benchmarks")
"""The top-level folders in which Python code may stand."""
MATERIAL = ("tests/cases/", "tests/model/", "benchmarks/brake/")
"""Kept as they were written, so the house rules for code do not reach them."""
WRITTEN_BY_ALEMBIC = "migrations/versions/"
ALWAYS_LEFT_OUT = (".git", "node_modules")


def _left_out() -> tuple[str, ...]:
    lines = (ROOT / ".gitignore").read_text().split()
    return (*ALWAYS_LEFT_OUT, *(line.strip("/") for line in lines if not line.startswith("#")))


def files(root: Path = ROOT) -> Iterator[Path]:
    """Every file of the project that git does not ignore."""
    patterns = _left_out()
    for path in sorted(root.iterdir()):
        if any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns):
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def relative(path: Path) -> str:
    """The path as a person of the project writes it."""
    return path.relative_to(ROOT).as_posix()


def python_files(*folders: str) -> list[str]:
    """The Python files in these top-level folders, or in all, without the material."""
    names = [relative(path) for path in files() if path.suffix == ".py"]
    return [name for name in names if _belongs(name, folders)]


def _belongs(name: str, folders: tuple[str, ...]) -> bool:
    return not name.startswith(MATERIAL) and (not folders or name.split("/")[0] in folders)


def text_files() -> Iterator[tuple[str, str]]:
    """Every text file of the project with its text; what is not UTF-8 is a picture and has none."""
    for path in files():
        try:
            yield relative(path), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def read(name: str) -> str:
    """The text of a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")
