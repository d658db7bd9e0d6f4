# Every target sets up what it needs; a machine needs Python 3.11 or later, make and a network.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check migration bounds bench brake pictures docs lock

# Debian's python3 without its venv package cannot make a virtualenv, so the search asks for ensurepip too.
IS_FIT := -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13 python3.14; do $$p $(IS_FIT) && echo $$p && break; done)
NO_PYTHON := Steersman needs Python 3.11 or later with its venv module (on Debian: apt-get install python3 python3-venv).
NEEDS_PYTHON = $(PYTHON) $(IS_FIT) || { echo '$(NO_PYTHON)' >&2; exit 2; }
BIN := .venv/bin
READY := .venv/.ready
PYTEST := $(BIN)/python -m pytest

help: ## Show these lines
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1	\2/' | expand -t 12

setup: $(READY) ## Make the virtualenv, and the pre-commit hooks where this is a git checkout
	@if git rev-parse --git-dir >/dev/null 2>&1; then \
		$(BIN)/pre-commit install || echo 'The pre-commit hooks were not installed; everything else works without them.'; \
	fi

demo: $(READY) ## Run the whole flow on this machine: no Slack, no model, no database to set up
	$(BIN)/steersman demo

test: check ## Run all tests (the limits in seconds are in bounds)
	$(PYTEST)

check: $(READY) ## Check format, lint, types, import contracts, spelling and the house rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell
	$(PYTEST) -q tests/test_architecture.py tests/test_docs.py
	@$(BIN)/python -m tests.shape_report

migration: $(READY) ## Write a migration for what changed in storage/tables.py: make migration m="add the column x"
	@test -n "$$m" || { echo 'Say what it does: make migration m="add the column x"' >&2; exit 2; }
	$(BIN)/alembic upgrade head
	$(BIN)/alembic revision --autogenerate -m "$$m"

# A busy machine can miss a limit in seconds once; what misses it twice, the second time alone, is broken.
bounds: $(READY) ## Measure the limits in seconds; what misses is measured once more, alone
	$(PYTEST) -m bounds || { \
		echo 'Missed. Measuring those that missed once more, alone.'; \
		$(PYTEST) -m bounds --last-failed --last-failed-no-failures none; \
	}

# On a machine that does nothing else: about six minutes, and the numbers go into docs/measurements.md.
bench: $(READY) ## Measure what a run, a round and an acknowledgement cost, and write it down
	$(BIN)/python -m benchmarks

# Beside other runtimes, whose environments BRAKE_VENVS names (benchmarks/brake/README.md): about ten minutes.
brake: $(READY) ## Measure how well a Stop stops, beside other agent runtimes, and write it down
	$(BIN)/python -m benchmarks.brake_run

pictures: $(READY) ## Take the README's pictures anew, from the page in a real browser
	STEERSMAN_PICTURES=docs/images $(PYTEST) -q tests/stories/test_page.py

docs: $(READY) ## Write the tables of bot/rules into the pages of docs
	$(BIN)/python -m docs.tables

LOCK = CUSTOM_COMPILE_COMMAND='make lock' $$tool/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe \
	--strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links
lock: ## Pin the newest dependencies, with hashes, in the requirements files
	@$(NEEDS_PYTHON)
	tool=$$(mktemp -d) && trap "rm -rf $$tool" EXIT && $(PYTHON) -m venv $$tool && $$tool/bin/pip install pip-tools && \
		$(LOCK) --output-file requirements.txt pyproject.toml && \
		$(LOCK) --extra dev --constraint requirements.txt --output-file requirements-dev.txt pyproject.toml

$(READY): requirements-dev.txt pyproject.toml
	@$(NEEDS_PYTHON)
	@echo 'Setting up .venv: about 90 packages, once. This takes a minute or two.'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
