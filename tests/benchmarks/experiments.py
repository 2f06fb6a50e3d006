"""How much faster two workers run an experiment than one."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.measure import Row
from tests.data import DATA

GOAL = 1.8
LOG = "KTH-SP2-1996-2.1-cln"

#: Some 20 s of work and more.
EXPERIMENT = f"""
logs = ["{DATA.resolve()}/traces/{LOG}.swf.gz"]
schedulers = ["easy", "sjf", "conservative"]
loads = [0.7, 0.8]
runs = 200
seed = 1
metrics = ["mean_wait"]
"""


def rows() -> Iterator[Row]:
    """The same experiment by one worker and by two, each command as a whole.

    Two processors may share caches and memory, so two commands at once show what two are worth.
    """
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "x.toml").write_text(EXPERIMENT)
        _seconds(folder, 2, "warm")  # compiles
        times = {workers: _seconds(folder, workers, str(workers)) for workers in (1, 2)}
        with ThreadPoolExecutor(2) as pool:
            at_once = max(pool.map(lambda out: _seconds(folder, 1, out), ("a", "b")))
    ratio, most = times[1] / times[2], 2 * times[1] / at_once
    shown = f"{times[1]:.1f} s by one worker, {times[2]:.1f} s by two"
    yield Row(
        "experiment run --workers 2", f"1,200 simulations of {LOG}", shown,
        f"{ratio:.2f} times; two commands at once {most:.2f}", f"≥ {GOAL} times", ratio >= GOAL,
    )  # fmt: skip


def _seconds(folder: Path, workers: int, out: str) -> float:
    """Run the experiment; return how long that takes."""
    command = [sys.executable, "-m", "workloadkit", "experiment", "run", "x.toml"]
    command += ["--workers", str(workers), "--out", out]
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, env=os.environ, check=True, capture_output=True)
    return time.perf_counter() - begin
