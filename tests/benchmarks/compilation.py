"""What a first simulation costs: compiling on an empty cache, and how much code is kept."""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import workloadkit as wk
from tests.benchmarks import yardstick
from tests.benchmarks.measure import Row
from workloadkit._kernels import patience
from workloadkit.analysis import locality
from workloadkit.machine.description import MachineDescription, NodeType
from workloadkit.metasystem import (
    JobSource,
    MetaScheduler,
    Metasystem,
    Site,
    simulate_metasystem,
)
from workloadkit.simulation.users import DynamicSite
from workloadkit.site import site_distributions

Preparation = Callable[[wk.Trace], Callable[[], Any]]

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


def _check(trace: wk.Trace) -> Callable[[], Any]:
    schedule = wk.simulate(trace, "easy", engine="python")
    return lambda: wk.check_schedule(trace, schedule)


def _on_nodes(trace: wk.Trace, **options: Any) -> Callable[[], Any]:
    machine = MachineDescription(nodes=(NodeType(count=48, cores=2),))
    return lambda: wk.simulate(trace, "easy", machine=machine, **options)


def _site(_: wk.Trace) -> Callable[[], Any]:
    site = DynamicSite(5, 1, distributions=site_distributions([wk.load_sample()]))
    return lambda: wk.simulate(None, "creasy", site, procs=128, rng=1)


def _metasystem(trace: wk.Trace) -> Callable[[], Any]:
    sites = [Site("north", 96, jobs=JobSource(log=trace)), Site("south", 96)]
    grid = MetaScheduler("grid", "least-work", [JobSource(site="north", share=0.5)])
    return lambda: simulate_metasystem(Metasystem(sites, [grid]), rng=1)


def _locality(trace: wk.Trace) -> Callable[[], Any]:
    def measured() -> None:
        locality.stack_depths(trace)
        locality.shuffled_similarity(trace, n_shuffles=1, rng=1)

    return measured


#: What else has its kernels, as functions of a log that prepare a call.
OTHERS: dict[str, Preparation] = {
    "check --policy easy": _check,
    "easy on nodes": _on_nodes,
    "easy on nodes, an outage": lambda trace: _on_nodes(trace, outages=_outage(trace)),
    "site, under creasy": _site,
    "metasystem of two sites": _metasystem,
    "locality": _locality,
}


def rows() -> Iterator[Row]:
    """Run each with a few jobs of the sample, twice in separate processes with one cache."""
    for chosen in (*CHOICES, *((name,) for name in OTHERS)):
        with tempfile.TemporaryDirectory() as cache:
            (first, unit), (second, _) = (_measured(chosen, cache) for _ in range(2))
            size = sum(file.stat().st_size for file in Path(cache).rglob("*") if file.is_file())
        spent = first - second
        what, *_ = chosen
        if len(chosen) == 3:
            scheduler, users, more = chosen
            what = f"{scheduler}, {users} users{more and ', '}{more}"
        yield Row(
            f"compiling {what}", "sample",
            f"{spent:.1f} s of CPU, {size / 1e6:.1f} MB kept",
            f"{spent / unit:.1f} × the yardstick's",
            f"≤ {GOAL} s", spent <= GOAL,
        )  # fmt: skip


def _measured(chosen: tuple[str, ...], cache: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.compilation", *chosen],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    times: list[float] = json.loads(done.stdout)
    return times


def measure(*chosen: str) -> tuple[float, float]:
    """How long a call takes that compiles what is not in the cache; a yardstick [s of CPU]."""
    patience.PATIENCE = 0.0
    sample = wk.load_sample()
    prepare = _simulation(*chosen) if len(chosen) == 3 else OTHERS[chosen[0]]
    call = prepare(sample if chosen[-1] == CROWD else sample.take(np.arange(60)))
    jobs = (np.arange(3), np.ones(3, np.int64), np.ones(3, np.int64), np.ones(3, np.int64))
    return _cpu_time(call), _cpu_time(lambda: yardstick.easy(*jobs, 4))


def _simulation(scheduler: str, users: str, more: str) -> Preparation:
    """Return what prepares a simulation of a log."""

    def prepare(log: wk.Trace) -> Callable[[], Any]:
        trace = wk.with_dependencies(log)
        if scheduler == "genetic":
            trace = wk.add_utility(trace, deadline="wait+run", rng=1)
        options: dict[str, Any] = {"rng": 1}
        if more == CROWD:
            options["offered_load"] = 3
        if more == OUTAGES:
            options["outages"] = _outage(trace)
        return lambda: wk.simulate(trace, scheduler, users, **options)

    return prepare


def _outage(trace: wk.Trace) -> wk.Outages:
    announced, begin, end = map(int, trace.column("submit")[[10, 20, 40]])
    return wk.Outages((wk.Outage(1, begin, end, 3, announced=announced),))


def _cpu_time(call: Callable[[], Any]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(measure(*sys.argv[1:]), sys.stdout)
