# Two commands for a newcomer: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One BLAS thread per process: the work is many small problems, and the tests already run two processes.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test test-slow lint types contract unit docs bench reproduce clean

demo: $(VENV)/.runtime
	$(BIN)/copa demo

test: lint types contract docs unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

contract: $(VENV)/.test
	$(BIN)/lint-imports

unit: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2

test-slow: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m slow

docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

bench: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks

reproduce: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m reproduction --protocol both --dice 10 --docs docs/reproduction.md

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cli]'
	touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@ $(VENV)/.runtime

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,baselines]'
	touch $@

clean:
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
