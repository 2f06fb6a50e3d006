"""How long the report on a log takes, by one process and by two, and how much memory."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep

from tests.benchmarks.measure import Row, cpu_time
from tests.data import trace_path

_COMMAND = (sys.executable, "-m", "workloadkit")
_GOALS = {"KTH-SP2-1996-2.1-cln": 4.0, "SDSC-BLUE-2000-4.2-cln": 10.0}  # by two processes
_CPU_GOALS = {"KTH-SP2-1996-2.1-cln": None, "SDSC-BLUE-2000-4.2-cln": 9.3}  # by one process
_YARDSTICK = (sys.executable, "-c", "import numpy, typer")
_DRAWING = (sys.executable, "-c", "import numpy, typer, matplotlib.scale, matplotlib.dates")
_BYTES = 1.5e9
_TEN_MILLION = ("--weeks", "1500", "--load", "4.2", "--procs", "4600", "--seed", "1")
_SECONDS_OF_LARGE, _BYTES_OF_LARGE = 180.0, 6e9


def rows() -> Iterator[Row]:
    """All sections and figures of the report, as a page, by the whole command."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        for log, goal in _GOALS.items():
            _characterize(log, 2, page)  # compiles what was not yet
            one, of_one = _characterize(log, 1, page)
            two, of_two = _characterize(log, 2, page)
            assert of_one == of_two
            yield Row(
                "characterize, two processes", log,
                f"{two:.1f} s, {one:.1f} s by one",
                f"{two / one:.2f} × the time of one", f"≤ {goal:.0f} s", two <= goal,
            )  # fmt: skip
    for log, limit in _CPU_GOALS.items():
        yield from _cpu(log, limit)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    yield Row(
        "characterize, memory of the largest process", log, f"{memory / 1e6:,.0f} MB",
        "", f"≤ {_BYTES / 1e6:,.0f} MB", memory <= _BYTES,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        yield _large(log, Path(folder))


def _cpu(log: str, goal: float | None) -> Iterator[Row]:
    """The CPU time of the command in one process, and without figures, the least of three."""
    command = (*_COMMAND, "characterize", str(trace_path(log)), "--workers", "1")
    page, numbers = (*command, "-o", "page.html"), (*command, "--json", "report.json")
    commands = page, numbers, _YARDSTICK, _DRAWING
    times = [[cpu_time(*each) for each in commands] for _ in range(3)]
    spent, alone, unit, drawing = map(min, zip(*times, strict=True))
    yield Row(
        "characterize, one process", log,
        f"{spent:.1f} s of CPU",
        f"{spent / unit:.0f} × `python -c 'import numpy, typer'`",
        "" if goal is None else f"≤ {goal:g} s", goal is None or spent <= goal,
    )  # fmt: skip
    yield Row(
        "characterize --json, one process: the numbers alone", log,
        f"{alone:.1f} s of CPU",
        f"{alone / unit:.0f} × `python -c 'import numpy, typer'`, {alone / spent:.2f} × the page",
    )  # fmt: skip
    yield Row(
        "characterize, one process: the figures, page minus numbers", log,
        f"{spent - alone:.1f} s of CPU, {drawing - unit:.1f} s of it importing matplotlib's ticks",
        f"{1 - alone / spent:.2f} × the page",
    )  # fmt: skip


def _characterize(log: str, workers: int, page: Path) -> tuple[float, str]:
    """Return the time of the command, and its page."""
    begin = perf_counter()
    options = ("--workers", str(workers), "-o", str(page))
    subprocess.run(
        [*_COMMAND, "characterize", str(trace_path(log)), *options], check=True, capture_output=True
    )
    return perf_counter() - begin, page.read_text()


def _large(log: str, folder: Path) -> Row:
    """The report on ten million jobs, which are resampled from a log."""
    large, page = folder / "log.swf.gz", folder / "page.html"
    subprocess.run(
        [*_COMMAND, "resample", str(trace_path(log)), *_TEN_MILLION, "-o", str(large)],
        check=True,
        capture_output=True,
    )
    begin = perf_counter()
    done = subprocess.Popen(
        [*_COMMAND, "characterize", str(large), "--workers", "2", "-o", str(page)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    most = 0
    while done.poll() is None:
        most = max(most, _memory_of_session(done.pid))
        sleep(0.5)
    assert done.returncode == 0
    took = perf_counter() - begin
    return Row(
        "characterize, two processes", f"10 million jobs, resampled from {log}",
        f"{took:.0f} s, {most / 1e9:.1f} GB in all processes",
        "", f"≤ {_SECONDS_OF_LARGE:.0f} s, {_BYTES_OF_LARGE / 1e9:.0f} GB",
        took <= _SECONDS_OF_LARGE and most <= _BYTES_OF_LARGE,
    )  # fmt: skip


def _memory_of_session(session: int) -> int:
    """Return the bytes of memory of the processes of a session; shared ones count once."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(process.name)) == session:
                lines = (process / "smaps_rollup").read_text().splitlines()
                total += sum(int(x.split()[1]) * 1024 for x in lines if x.startswith("Pss:"))
        except OSError:  # it has ended
            continue
    return total
