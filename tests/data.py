"""Where the tests, the benchmarks and the studies' checks find real logs."""

from itertools import cycle
from pathlib import Path

import pytest
from numba import config

from tests.examples import searches
from workloadkit.analysis.reproduction import data_folder

DATA = data_folder()
TRACES = sorted((DATA / "traces").glob("*.swf.gz"))
ODD = sorted((DATA / "odd").glob("*.swf"))
FORMATS = sorted(p for p in (DATA / "formats").glob("*") if p.suffix != ".md")

#: How many jobs of each log are simulated; `make test` simulates few.
FIRST_JOBS = 2000 if searches() and not config.DISABLE_JIT else 300

needs_traces = pytest.mark.skipif(not TRACES, reason=f"no logs in {DATA / 'traces'}")
needs_odd = pytest.mark.skipif(not ODD, reason=f"no odd logs in {DATA / 'odd'}")
needs_formats = pytest.mark.skipif(not FORMATS, reason=f"no accounting in {DATA / 'formats'}")

needs_compiler = pytest.mark.skipif(
    bool(config.DISABLE_JIT), reason="takes minutes without the compiler"
)


#: The marks of a case that compiles kernels of its own: it is slow, if there is a compiler.
COMPILES = () if config.DISABLE_JIT else (pytest.mark.slow,)


def slow_to_compile(test):
    """Mark a test that compiles kernels of its own as slow, if there is a compiler."""
    return test if config.DISABLE_JIT else pytest.mark.slow(test)


def each_log_with(*choices: tuple) -> list:
    """Return parameters of a test: the path of each log, and one of the choices in turn."""
    chosen = zip(TRACES, cycle(choices), strict=False)
    return [
        pytest.param(path, *choice, id="-".join(map(str, (path.name, *choice))))
        for path, choice in chosen
    ]


def trace_path(name: str) -> Path:
    """Path of the log called `name`; skips the test where the log is absent."""
    return present(f"traces/{name}.swf.gz")


def format_path(name: str) -> Path:
    """Path of the accounting file called `name`; skips the test where it is absent."""
    return present(f"formats/{name}")


def found_path(name: str) -> Path:
    """Path of the file called `name` in the shape of public ones; skips where it is absent."""
    return present(f"found/files/{name}")


def present(name: str) -> Path:
    """Path of a file or folder below the data; skips the test where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path
