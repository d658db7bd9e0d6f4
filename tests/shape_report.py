"""The figures of the house style, printed and not judged, so that nobody pads or shreds code to please them.

Run by `make check`.
"""

import statistics
import sys
from collections.abc import Sequence

from tests.gates import code, testing, tree


def share(values: Sequence[int], percent: int) -> int:
    """The value that this share of the values does not pass; 0 where there is none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else 0


def line_counts(names: Sequence[str]) -> list[int]:
    """How many lines each file has; empty files do not count."""
    counts = (len(tree.read(name).splitlines()) for name in names)
    return [count for count in counts if count]


def _spread(values: Sequence[int]) -> str:
    middle = int(statistics.median(values)) if values else 0
    return f"median {middle}, p90 {share(values, 90)}, longest {max(values, default=0)}"


def report() -> list[str]:
    """The lines of the report."""
    product, tests = tree.python_files(*tree.PRODUCT), tree.python_files("tests")
    lengths = [each.lines for name in product for each in code.functions(tree.read(name))]
    code_lines, test_lines = line_counts(product), line_counts(tests)
    ratio = sum(test_lines) / max(1, sum(code_lines))
    mocks = sum(len(testing.mocks(name, tree.read(name))) for name in tests)
    return [
        f"files      {len(code_lines)}, {sum(code_lines)} lines: {_spread(code_lines)}",
        f"functions  {len(lengths)}: {_spread(lengths)} (aim: median 6, p90 22)",
        f"tests      {len(test_lines)} files, {sum(test_lines)} lines: {ratio:.2f} x code (aim: 1.2), {mocks} mocks",
    ]


if __name__ == "__main__":
    sys.stdout.write("\n".join(report()) + "\n")
