"""What a first simulation costs: compiling on an empty cache, and how much code is kept."""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import workloadkit as wk
from tests.benchmarks import yardstick
from tests.benchmarks.measure import Row

GOAL = 10  # s of CPU
OUTAGES, CROWD = "an outage", "hundreds waiting"
CHOICES = (
    *((name, "open", "") for name in wk.schedulers.known() if name != "recorded"),
    ("self-adaptive:threshold=1", "open", CROWD),
    *((name, "open", CROWD) for name in ("easy", "wfp3", "creasy", "user-priority")),
    *(("easy", users, "") for users in ("closed", "dependent", "adjusted", "distribution")),
    ("easy", "fluid", ""),
    ("easy", "fluid:skipped=reinsert", ""),
    *((name, "fluid", "") for name in ("conservative", "multi-queue", "genetic")),
    *((name, "open", OUTAGES) for name in ("easy", "conservative", "multi-queue")),
)


def rows() -> Iterator[Row]:
    """Simulate a few jobs of the sample in a process of its own for each scheduler and users."""
    for chosen in CHOICES:
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run(
                [sys.executable, "-m", "tests.benchmarks.compilation", *chosen],
                env=os.environ | {"NUMBA_CACHE_DIR": cache},
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
            size = sum(file.stat().st_size for file in Path(cache).rglob("*") if file.is_file())
        spent, unit = json.loads(done.stdout)
        scheduler, users, more = chosen
        yield Row(
            f"compiling {scheduler}, {users} users{more and ', '}{more}", "sample",
            f"{spent:.1f} s of CPU, {size / 1e6:.1f} MB kept",
            f"{spent / unit:.1f} × the yardstick's",
            f"≤ {GOAL} s", spent <= GOAL,
        )  # fmt: skip


def measure(scheduler: str, users: str, more: str) -> tuple[float, float]:
    """How much longer a first simulation takes than a second one; a first yardstick [s of CPU]."""
    sample = wk.load_sample()
    trace = wk.with_dependencies(sample if more == CROWD else sample.take(np.arange(60)))
    if scheduler == "genetic":
        trace = wk.add_utility(trace, deadline="wait+run", rng=1)
    options: dict[str, Any] = {"rng": 1, "engine": "compiled"}
    if more == CROWD:
        options["offered_load"] = 3
    if more == OUTAGES:
        announced, begin, end = map(int, trace.column("submit")[[10, 20, 40]])
        options["outages"] = wk.Outages((wk.Outage(1, begin, end, 3, announced=announced),))
    plain = options | {"engine": "python"}
    wk.simulate(trace.take(np.arange(60)), scheduler, users, **plain)  # imports
    jobs = (np.arange(3), np.ones(3, np.int64), np.ones(3, np.int64), np.ones(3, np.int64))
    first, second, unit = (
        _cpu_time(lambda: wk.simulate(trace, scheduler, users, **options)),
        _cpu_time(lambda: wk.simulate(trace, scheduler, users, **options)),
        _cpu_time(lambda: yardstick.easy(*jobs, 4)),
    )
    return first - second, unit


def _cpu_time(call: Any) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(measure(*sys.argv[1:]), sys.stdout)
