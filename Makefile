# Every target installs its requirements into a virtual environment, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := pip install --quiet --disable-pip-version-check
# The first installation shows what pip does, and how far it is.
INSTALL_SHOWN := pip install --disable-pip-version-check
INSTALLING := Installing workloadkit and its dependencies into $(VENV), once, in one to five minutes
NEEDED := 'import sys; sys.exit("Python 3.11 or later is required: make PYTHON=..." if sys.version_info < (3, 11) else 0)'

# The tests start Python hundreds of times, so compiled files are kept. Each worker occupies a core, so
# more threads of linear algebra would not help.
export PYTHONDONTWRITEBYTECODE :=
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-all test-lowest test-newest lint bench fuzz sample studies benchmark kernels wheel docs release constraints clean

demo: $(VENV)/.run
	$(BIN)/python scripts/demo.py demo

# With worksteal, each worker gets contiguous tests, so that fixtures are built once, and an idle worker
# takes tests from the other: no long file ends alone.
test: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist worksteal

# What `make test` leaves out: slow tests (whole logs in both engines, long statistics), compiled, with
# random cases that differ between runs; and those of `make test` without the compiler.
test-all: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist worksteal -m "slow or compiled" --hypothesis-profile=search
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 --dist worksteal -m "not slow and not compiled"

# Tests with the oldest allowed version of each direct dependency. Deprecation warnings are ignored,
# because old versions use features that newer ones deprecate.
LOWEST := .venv-lowest
test-lowest: $(LOWEST)/.dev
	$(LOWEST)/bin/pytest -n 2 --dist loadfile \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

# Tests with the newest version of everything, also of numba beyond its bound.
NEWEST := .venv-newest
test-newest: $(NEWEST)/.dev
	$(NEWEST)/bin/$(INSTALL) --upgrade --upgrade-strategy eager -e '.[dev]'
	$(NEWEST)/bin/$(INSTALL) --upgrade numba
	$(NEWEST)/bin/pytest -n 2 --dist loadfile \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python -m tests.benchmarks

# Reads corrupted logs; failing cases are kept in fuzz_failures. make fuzz CASES=200000 SEED=2
# Then logs with planted faults, others each time.
CASES ?= 10000
SEED ?= 1
PLANTED ?= 1000
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --cases $(CASES) --seed $(SEED)
	$(BIN)/python -m tests.planted --cases $(PLANTED)

# Regenerates the built-in sample log from its seed.
sample: $(VENV)/.run
	$(BIN)/python scripts/make_sample.py

# Runs all studies on the available logs, for some 50 minutes, and compares the results with those that
# are kept; then writes the page of these.
studies: $(VENV)/.run
	$(BIN)/workloadkit study all --workers 2 --out studies --check
	$(BIN)/workloadkit study all --kept --out studies/kept
	cp studies/kept/all.md docs/reference/reproduction.md

# Makes the canonical results of the benchmark again, in some minutes, and its page.
benchmark: $(VENV)/.run
	$(BIN)/workloadkit benchmark run --workers 2 -o benchmark.html --json benchmark.json
	gzip -9n < benchmark.json > workloadkit/data/benchmark-1.json.gz

# Compiles what the usual simulations and the commands of README and docs need, so that none waits.
kernels: $(VENV)/.run
	$(BIN)/python scripts/make_kernels.py

# Builds the wheel without kernels, for all platforms, and that with kernels, for Linux on x86-64; with
# ziglang installed also for arm64: make wheel LIBRARIES=aarch64, or arm64-macos, which was never run
LIBRARIES ?= x86_64-v3 x86_64-v2
NATIVE := build/$(firstword $(LIBRARIES))
wheel: $(VENV)/.dev
	$(BIN)/python scripts/make_kernels.py --library $(NATIVE) $(addprefix --only ,$(LIBRARIES))
	$(BIN)/pip wheel --quiet --no-deps -w dist .
	WORKLOADKIT_KERNELS=$(abspath $(NATIVE)) $(BIN)/pip wheel --quiet --no-deps -w dist .

# Builds the site in docs/_build/html; warnings are errors. make docs NOTEBOOKS=off does not run the
# notebooks, which is fast.
NOTEBOOKS ?= cache
docs: $(VENV)/.docs
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/sphinx-build --fail-on-warning --keep-going --quiet \
		-D nb_execution_mode=$(NOTEBOOKS) -d docs/_build/doctrees docs docs/_build/html

# Makes and checks all that a release publishes, in dist, and publishes nothing: RELEASING.md.
# make release SKIP="test docs" PYTHONS="python3.11 python3.13"
release: $(VENV)/.docs
	$(BIN)/python scripts/release.py $(addprefix --skip ,$(SKIP)) $(addprefix --python ,$(PYTHONS))

clean:
	rm -rf $(VENV) $(LOWEST) $(NEWEST) build demo dist docs/_build

# The versions with which the tests pass, for each Python.
constraints: $(VENV)/.dev
	$(BIN)/$(INSTALL) uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra dev --extra docs \
		--no-header --no-annotate pyproject.toml -o constraints.txt

$(VENV)/.run: pyproject.toml constraints.txt
	@$(PYTHON) -c $(NEEDED)
	@echo "$(INSTALLING): some 200 MB to download, 900 MB on disk"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/$(INSTALL_SHOWN) -c constraints.txt -e '.[compiler]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	@$(PYTHON) -c $(NEEDED)
	@echo "$(INSTALLING), and the tools for tests"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/$(INSTALL_SHOWN) -c constraints.txt -e '.[dev]'
	touch $(VENV)/.run $@

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/$(INSTALL) -c constraints.txt -e '.[docs]'
	touch $(VENV)/.run $(VENV)/.dev $@

$(NEWEST)/.dev: pyproject.toml
	@$(PYTHON) -c $(NEEDED)
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/$(INSTALL) -e '.[dev]'
	touch $@

$(LOWEST)/.dev: pyproject.toml
	@$(PYTHON) -c $(NEEDED)
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/$(INSTALL) uv
	$(LOWEST)/bin/uv pip compile --quiet --resolution lowest-direct --extra dev \
		--python $(LOWEST)/bin/python pyproject.toml -o $(LOWEST)/lowest.txt
	$(LOWEST)/bin/$(INSTALL) -r $(LOWEST)/lowest.txt -e .
	touch $@
