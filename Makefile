# The two commands of the README, and what contributors use. Each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: reproduce test plain evidence check lint types doctests docs wheel house bench format clean

reproduce: $(VENV)/ready      ## run the main job on its embedded defaults
	$(BIN)/sojourn reproduce robustness
	$(BIN)/sojourn reproduce bitcoin
	$(BIN)/sojourn report out/robustness out/bitcoin --claims --out out/report.html

# One thread each for linear algebra: the tests themselves run side by side, and threads that wait for each other cost more.
test plain evidence doctests: export OPENBLAS_NUM_THREADS = 1

# One process more than cores, since many tests wait.
test: $(VENV)/ready-dev       ## run the tests
	$(BIN)/python -m pytest -n "$$(($$(getconf _NPROCESSORS_ONLN) + 1))" --maxprocesses 4 --dist loadfile

# A run, a batch, a sweep and learners: what compiles where a new Numba lacks all that the shortcuts need.
plain: $(VENV)/ready-dev      ## run some of the tests without the shortcuts that reach into Numba
	SOJOURN_PLAIN_NUMBA=all $(BIN)/python -m pytest tests/rules/test_borrowed.py tests/agents/test_tiles.py \
		tests/runs/test_stop.py tests/learner/test_archive.py::test_the_same_learner_is_the_same_bytes

# Loops of kills, studies of coverage, fuzzers, large oracles: what a short test stands for, at full length.
evidence: $(VENV)/ready-dev   ## run the long tests
	$(BIN)/python -m pytest --evidence -n auto --maxprocesses 4

check: lint types doctests    ## formatting, lint, types, layers, doctests

lint: $(VENV)/ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/ready-dev
	$(BIN)/mypy

doctests: $(VENV)/ready-dev
	$(BIN)/python -m pytest --doctest-modules src -n auto --maxprocesses 4 --dist loadfile

# The variable silences a notice about the builder's successor, which is no warning about this site.
docs: $(VENV)/ready-dev       ## build the documentation into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

wheel: $(VENV)/ready-dev      ## build the wheel and the sdist into dist/, and try the wheel in an empty environment
	$(BIN)/python .ci/wheel.py

house: $(VENV)/ready-dev      ## draw which room imports which, and print the figures of the house
	$(BIN)/python docs/house.py

bench: $(VENV)/ready-dev      ## compiled speed against C, in one run
	$(BIN)/python bench/bench.py
	$(BIN)/python bench/lanes.py
	$(BIN)/python bench/compilation.py
	$(BIN)/python bench/sweeps.py
	$(BIN)/python bench/learner.py
	$(BIN)/python bench/simulation.py
	$(BIN)/python bench/vectors.py
	$(BIN)/python bench/solvers.py
	$(BIN)/python bench/structures.py
	$(BIN)/python bench/networks.py

format: $(VENV)/ready-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist site

# The stamps make one installation serve many commands; the package itself is editable.
$(VENV)/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Sojourn needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/ready-dev: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	touch $@
