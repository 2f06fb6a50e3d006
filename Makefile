# Every target makes what it needs: a virtual environment of its own, installed once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NEEDED := 'import sys; sys.exit("Python 3.11 or later is needed: make PYTHON=..." if sys.version_info < (3, 11) else 0)'

# The tests start Python by the hundred: it need not compile the same files each time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all lint bench fuzz sample clean

demo: $(VENV)/.run
	$(BIN)/python scripts/demo.py demo

test: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadfile

# What `make test` is too short for: whole logs in both engines, long statistics,
# and the suite once more with the compiler switched off.
test-all: $(VENV)/.dev
	$(BIN)/pytest -n 2 -m "slow or not slow" --hypothesis-profile=search
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python -m tests.benchmarks

# Reads broken logs; what fails is kept in fuzz_failures. make fuzz CASES=200000 SEED=2
CASES ?= 10000
SEED ?= 1
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --cases $(CASES) --seed $(SEED)

# Makes the built-in sample log again, from its seed.
sample: $(VENV)/.run
	$(BIN)/python scripts/make_sample.py

clean:
	rm -rf $(VENV) demo

$(VENV)/.run: pyproject.toml
	@$(PYTHON) -c $(NEEDED)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: pyproject.toml
	@$(PYTHON) -c $(NEEDED)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(VENV)/.run $@
