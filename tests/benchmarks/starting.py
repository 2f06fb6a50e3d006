"""What a command costs from its start to its end: once its kernels are compiled, and at first."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from statistics import median

from tests.benchmarks.measure import Row, cpu_time
from tests.data import trace_path

_LOG = "KTH-SP2-1996-2.1-cln"
_ROUNDS = 15
_FIRST_ROUNDS = 5
_COMMAND = (sys.executable, "-m", "workloadkit")
_YARDSTICK = (sys.executable, "-c", "import numpy, typer")
#: The same command, compiling at once.
_COMPILING = (
    *(sys.executable, "-c"),
    "from workloadkit.__main__ import main; from workloadkit._kernels import patience; "
    "patience.PATIENCE = 0; main()",
)
_FIRST = (
    "characterize --workers 1 -o report.html",
    "simulate",
    "simulate --scheduler conservative",
    "simulate --users fluid --seed 1",
    "sweep --seed 1 -o sweep.csv",
    "sessions -o sessions.csv",
    "resample --count 1 -o logs",
    "augment -o valued.swf",
)


def rows() -> Iterator[Row]:
    """Return the rows of both."""
    yield from _later()
    yield from _first()


def _first() -> Iterator[Row]:
    """Run commands with an empty cache, as they are and compiling at once, in turn."""
    for command in _FIRST:
        times = [
            (_cold(_COMMAND, command), _cold(_COMPILING, command)) for _ in range(_FIRST_ROUNDS)
        ]
        spent, unit = map(median, zip(*times, strict=True))
        ratios = [first / second for first, second in times]
        yield Row(
            f"{command.partition(' -o')[0]}, the first run", "sample",
            f"{spent:.1f} s of CPU",
            f"{median(ratios):.2f} × compiling at once, {unit:.1f} s; "
            f"{min(ratios):.2f} to {max(ratios):.2f} in {_FIRST_ROUNDS} rounds",
            "≤ 1", median(ratios) <= 1,
        )  # fmt: skip


def _cold(how: Sequence[str], command: str) -> float:
    with tempfile.TemporaryDirectory() as cache:
        return cpu_time(*how, *command.split(), NUMBA_CACHE_DIR=cache)


def _later() -> Iterator[Row]:
    """Run commands in processes of their own, in turn with the yardstick."""
    log = str(trace_path(_LOG))
    commands = (
        ("simulate", "sample", ("simulate",), 3),
        ("simulate", _LOG, ("simulate", log), 3),
        ("validate", _LOG, ("validate", log), 4),
        ("sessions", _LOG, ("sessions", log, "-o", "sessions.csv"), 4),
        ("resample --count 1", _LOG, ("resample", log, "--count", "1", "-o", "logs"), 4),
    )
    for what, name, arguments, goal in commands:
        cpu_time(*_COMMAND, *arguments)  # compiles what was not yet
        times = [(cpu_time(*_COMMAND, *arguments), cpu_time(*_YARDSTICK)) for _ in range(_ROUNDS)]
        spent, unit = map(median, zip(*times, strict=True))  # a minimum may be of one lucky start
        yield Row(
            f"{what}, the whole command", name,
            f"{spent:.2f} s of CPU",
            f"{spent / unit:.1f} × `python -c 'import numpy, typer'`",
            f"≤ {goal}", spent <= goal * unit,
        )  # fmt: skip
