"""How the benchmarks measure, and the rows they give."""

import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Parameters
    ----------
    what, log : str
        What was measured, on which log.
    value : str
        The figure, with its unit.
    ratio : str
        The same as a ratio, and to what.
    goal : str
        The goal, empty where there is none.
    met : bool
        Whether the goal is met.
    """

    what: str
    log: str
    value: str
    ratio: str = ""
    goal: str = ""
    met: bool = True


def best_of(
    repeats: int, function: Callable[[], Any], clock: Callable[[], float] = time.process_time
) -> tuple[float, Any]:
    """Shortest time of so many calls [s], and what the last one returned."""
    times = []
    for _ in range(repeats):
        begin = clock()
        result = function()
        times.append(clock() - begin)
    return min(times), result


def in_turn(
    rounds: int, *calls: Callable[[], Any], clock: Callable[[], float] = time.process_time
) -> list[tuple[float, Any]]:
    """`best_of` for several calls, taken in turn so that all meet the same machine."""
    found = [best_of(1, call, clock) for call in calls]
    for _ in range(rounds - 1):
        for i, call in enumerate(calls):
            found[i] = (min(found[i][0], best_of(1, call, clock)[0]), found[i][1])
    return found


def peak_memory(function: Callable[[], Any]) -> tuple[int, Any]:
    """Bytes that a call needs beyond what the process holds before it, and its result."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    result = function()
    return max(_status("VmHWM") - before, 0), result


def cpu_time(*command: str, **more: str) -> float:
    """Return the CPU time of a process in a folder of its own, without threads of BLAS. [s].

    `more` are environment variables.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", **more}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, check=True, capture_output=True, env=environment, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(getattr(after, t) - getattr(before, t) for t in ("ru_utime", "ru_stime"))


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


def processor() -> str:
    """Return the name of the processor, and the number of cores."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [x.partition(":")[2].strip() for x in lines if x.startswith("model name")]
    return f"{names[0] if names else 'an unknown processor'}, {os.cpu_count()} cores"


def machine() -> str:
    """Return what the figures were measured on."""
    import platform

    import numba
    import numpy
    import pandas

    return (
        f"{processor()}; Python {platform.python_version()}, numpy {numpy.__version__}, "
        f"numba {numba.__version__}, pandas {pandas.__version__}"
    )
