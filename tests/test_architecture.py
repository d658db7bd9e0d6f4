"""The house rules over the whole tree: tests/gates holds the checks, tests/test_gates.py shows that they can fail."""

import itertools
import tomllib
from collections.abc import Callable, Iterable

import pytest

from tests.gates import code, contracts, testing, texts, tree, ways_out

Check = Callable[[str, str], list[str]]


def faults(check: Check, files: Iterable[tuple[str, str]]) -> list[str]:
    return list(itertools.chain.from_iterable(check(name, text) for name, text in files))


def python(*folders: str) -> list[tuple[str, str]]:
    return [(name, tree.read(name)) for name in tree.python_files(*folders)]


@pytest.mark.parametrize("check", [code.long_functions, code.long_file])
def test_no_function_and_no_file_is_too_long(check):
    files = [(name, text) for name, text in python() if not name.startswith(tree.WRITTEN_BY_ALEMBIC)]

    found = faults(check, files)

    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("check", [code.no_opening, code.empty_names, code.broad_excepts])
def test_the_product_keeps_the_house_rules_for_modules(check):
    files = python(*tree.PRODUCT)

    found = faults(check, files)

    assert not found, "\n".join(["", *found])


def test_every_row_of_the_table_of_broad_handlers_names_a_file():
    files = set(tree.python_files(*tree.PRODUCT))

    gone = set(code.BROAD_EXCEPTS) - files

    assert not gone


def test_the_linter_lets_the_same_files_catch_everything():
    linter = tomllib.loads(tree.read("pyproject.toml"))["tool"]["ruff"]["lint"]

    allowed = {name for name, rules in linter["per-file-ignores"].items() if "BLE001" in rules}

    assert allowed == set(code.BROAD_EXCEPTS)


@pytest.mark.parametrize("check", [testing.waits_by_the_clock, testing.mocks, testing.private_reads])
def test_the_tests_wait_on_conditions_and_run_real_code(check):
    files = python("tests")

    found = faults(check, files)

    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    "check", [texts.machine_paths, texts.index_hosts, texts.loose_pins, texts.ragged_end, texts.unreadable]
)
def test_every_text_file_is_fit_to_be_published(check):
    files = tree.text_files()

    found = faults(check, files)

    assert not found, "\n".join(["", *found])


def test_all_python_code_stands_in_a_known_place():
    files = tree.python_files()

    strangers = [name for name in files if name.split("/")[0] not in tree.PLACES]

    assert strangers == []


def test_every_folder_of_the_product_is_a_package_that_the_contracts_see():
    folders = {(tree.ROOT / name).parent for name in tree.python_files(*tree.PRODUCT)}

    unseen = [tree.relative(folder) for folder in folders if not (folder / "__init__.py").exists()]

    assert unseen == []


def test_no_function_is_too_entangled():
    verdict = contracts.complexity(".")

    assert verdict.returncode == 0, verdict.stdout


def test_the_import_contracts_are_kept():
    verdict = contracts.import_contracts(tree.ROOT)

    assert verdict.returncode == 0, verdict.stdout


def pure_modules() -> list[str]:
    rules = [name.removesuffix(".py").replace("/", ".") for name in tree.python_files("bot") if "/rules/" in name]
    return [*contracts.PURE_MODULES, *(name for name in rules if name.startswith("bot.rules.") and "__" not in name)]


@pytest.mark.parametrize("module", pure_modules())
def test_a_pure_module_needs_nothing_but_the_standard_library(module):
    verdict = contracts.bare_import(module, tree.ROOT)

    assert verdict.returncode == 0, verdict.stdout


@pytest.mark.parametrize("check", [ways_out.ways_out, ways_out.own_clients, ways_out.own_retries])
def test_requests_of_a_run_leave_by_the_door_and_only_one_loop_repeats_them(check):
    files = python(*tree.PRODUCT)

    found = faults(check, files)

    assert not found, "\n".join(["", *found])
