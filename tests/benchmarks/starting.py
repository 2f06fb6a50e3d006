"""What a command costs from its start to its end, once its kernels are compiled."""

import sys
from collections.abc import Iterator
from statistics import median

from tests.benchmarks.measure import Row, cpu_time
from tests.data import trace_path

_LOG = "KTH-SP2-1996-2.1-cln"
_ROUNDS = 15
_COMMAND = (sys.executable, "-m", "workloadkit")
_YARDSTICK = (sys.executable, "-c", "import numpy, typer")


def rows() -> Iterator[Row]:
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
