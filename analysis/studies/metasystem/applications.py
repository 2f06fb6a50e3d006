"""Applications as graphs: which meta-scheduler, and which new machine, serves them best."""

from collections.abc import Iterator, Mapping
from math import nan
from typing import TYPE_CHECKING

from workloadkit.analysis.reproduction import (
    Drawing,
    Each,
    Log,
    Result,
    StudyInput,
    above,
    at_least,
    below,
    between,
)
from workloadkit.analysis.studies.metasystem.sending import HOME, HOUR, RANDOM, table
from workloadkit.analysis.studies.metasystem.systems import (
    FOUR,
    SiteJobs,
    SystemRuns,
    column,
    compared,
    log_of,
    more,
    resampled,
    runs_of_all,
    sites_of_logs,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from workloadkit.metasystem import Graph, MetaSchedule, MetaScheduler, Metasystem, Site

#: Length of the resampled logs, which the plain engine simulates. [weeks]
WEEKS = 2

#: Volume that a task passes on, and the network between sites. [bytes], [bytes/s], [s]
VOLUME, BANDWIDTH, LATENCY = 20e9, 25e6, 0.05

MAKESPAN = "mean makespan"

#: The application whose scheduler is chosen, and the schedulers.
LEAST, SHORTEST, EARLIEST = "least work", "shortest wait", "earliest end"
CANDIDATES = {
    HOME: "home",
    RANDOM: "random",
    LEAST: "least-work",
    SHORTEST: "shortest-wait",
    EARLIEST: "earliest-end",
}
CHOSEN = "fork and join"

#: Speeds of the sites when a scheduler is chosen; the home of the application.
SPEEDS, ORIGIN = {"HPC2N": 2.0}, "SDSC-SP2"

#: The log whose site gets another machine, the machines, and the share of its jobs that may use it.
BUYER, FAST, WIDE = "SDSC-SP2", "the fast machine", "the wide machine"
MACHINES = {FAST: (64, 2.0), WIDE: (256, 1.0)}
SHARE = 0.5

#: The five applications of the site that buys, and whether the fast machine is expected to serve
#: each sooner.
CHAIN, SINGLE, BAG, LARGE = "chain", "single task", "bag of tasks", "large task"
SOONER_IF_FAST = {CHAIN: True, SINGLE: True, CHOSEN: True, BAG: False, LARGE: False}


def graphs() -> "dict[str, Graph]":
    """Return the applications, by name."""
    from workloadkit import metasystem as ms

    first = ms.Task("first", run=600)
    chain = [ms.Task("0", run=HOUR, procs=16)]
    chain += [ms.Task(str(i), run=HOUR, procs=16, after={str(i - 1): VOLUME}) for i in range(1, 6)]
    middle = [ms.Task(str(i), run=HOUR, procs=8, after={"first": VOLUME / 10}) for i in range(8)]
    last = ms.Task("last", run=HOUR, procs=16, after={task.name: VOLUME / 10 for task in middle})
    bag = [ms.Task(str(i), run=HOUR, procs=8, after=["first"]) for i in range(32)]
    return {
        CHAIN: ms.Graph(chain),
        SINGLE: ms.Graph([ms.Task("0", run=8 * HOUR, procs=32)]),
        CHOSEN: ms.Graph([first, *middle, last]),
        BAG: ms.Graph([first, *bag]),
        LARGE: ms.Graph([first, ms.Task("large", run=2 * HOUR, procs=96, after=["first"])]),
    }


def runs(task: SystemRuns, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate the applications, once for each run of a task."""
    import pandas as pd

    rows = []
    for logs in resampled(task.logs, task.runs, WEEKS, rng):
        sites = sites_of_logs(logs, rng)
        row = {(MAKESPAN, name): of[CHOSEN] for name, of in by_scheduler(sites).items()}
        for machine, of in by_machine(next(x for x in sites if x.site == BUYER)).items():
            row |= {(name, machine): makespan for name, makespan in of.items()}
        rows.append(row)
    return pd.DataFrame(rows)


def by_scheduler(sites: list[SiteJobs]) -> dict[str, dict[str, float]]:
    """Return the mean makespan of an application in a metasystem, by meta-scheduler. [s]."""
    from workloadkit.metasystem import JobSource, Site, simulate_metasystem

    described = [
        Site(name, procs, "easy", JobSource(log=log), speed=SPEEDS.get(name, 1.0))
        for name, procs, log, _ in sites
    ]
    system = _with_applications(described, {CHOSEN: graphs()[CHOSEN]}, submits(sites, 12 * HOUR))
    return {
        name: makespans(simulate_metasystem(system, policies={CHOSEN: policy}))
        for name, policy in CANDIDATES.items()
    }


def by_machine(jobs: SiteJobs) -> dict[str, dict[str, float]]:
    """Return the mean makespan of each application at a site with another machine. [s]."""
    from workloadkit.metasystem import JobSource, MetaScheduler, Site, simulate_metasystem

    name, procs, log, draw = jobs
    source = JobSource(log=log.select(draw < SHARE), home=name)
    others = MetaScheduler("jobs", "earliest-end", [source])
    found = {}
    for machine, (size, speed) in MACHINES.items():
        sites = [
            Site(name, procs, "easy", JobSource(log=log.select(draw >= SHARE))),
            Site(machine, size, "easy", speed=speed),
        ]
        system = _with_applications(sites, graphs(), submits([jobs], 24 * HOUR), others)
        found[machine] = makespans(simulate_metasystem(system))
    return found


def _with_applications(
    sites: "list[Site]",
    applications: "Mapping[str, Graph]",
    submit: "NDArray[np.float64]",
    *others: "MetaScheduler",
) -> "Metasystem":
    """Return a metasystem with a meta-scheduler for each application, submitted in turn."""
    from workloadkit.metasystem import JobSource, Link, MetaScheduler, Metasystem

    links = [
        Link((one.name, other.name), latency=LATENCY, bandwidth=BANDWIDTH)
        for i, one in enumerate(sites)
        for other in sites[:i]
    ]
    schedulers, later = [], (submit[1] - submit[0]) // len(applications)
    for i, (name, graph) in enumerate(applications.items()):
        times = (submit[:-1] + i * later).tolist()
        source = JobSource(graph=graph, submit=times, home=ORIGIN)
        schedulers.append(MetaScheduler(name, "earliest-end", [source]))
    return Metasystem(sites, [*schedulers, *others], links)


def submits(sites: list[SiteJobs], every: float) -> "NDArray[np.float64]":
    """Return times from the second day on while all sites have local submissions. [s]."""
    import numpy as np

    begin = max(each.log.column("submit")[0] for each in sites) + 24 * HOUR
    until = min(each.log.column("submit")[-1] for each in sites)
    return np.arange(begin, until, every)


def makespans(schedule: "MetaSchedule") -> dict[str, float]:
    """Return the mean makespan of the applications of each meta-scheduler. [s]."""
    of_schedulers = schedule.applications.groupby("meta_scheduler")["makespan"].mean()
    return {str(name): float(value) for name, value in of_schedulers.items()}


_USES = "Chapin, section 4.3"

#: Least difference between candidates for which it matters which one is chosen. [%]
MATTERS = 10.0


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare meta-schedulers for an application, and machines for five."""
    log, found = log_of(plan, FOUR), runs_of_all(plan, each, runs, FOUR, 1)
    yield from _schedulers(log, found)
    yield from _machines(log, found)
    yield _drawing(found)


def _schedulers(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare the candidates for one application."""
    for name, other, main in (
        (EARLIEST, HOME, True),
        (EARLIEST, LEAST, False),
        (EARLIEST, SHORTEST, False),
        (LEAST, RANDOM, False),
    ):
        claim = below(compared(MAKESPAN, name, other), 0.0, _USES, "ours", main=main)
        yield more(log, claim, found, MAKESPAN, name, other)
    others = [name for name in CANDIDATES if name != EARLIEST]
    worst = max(others, key=lambda name: column(found, MAKESPAN, name).mean())
    words = f"{MAKESPAN}, worst candidate over {EARLIEST} (%): the choice matters"
    yield more(log, at_least(words, MATTERS, _USES, "ours"), found, MAKESPAN, worst, EARLIEST)


def _machines(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare the machines for each application."""
    from workloadkit.experiments.intervals import ratio_interval

    ratios = []
    for name, fast in SOONER_IF_FAST.items():
        words = compared(f"{MAKESPAN} of the {name}", FAST, WIDE)
        make = below if fast else above
        yield more(log, make(words, 0.0, _USES, "ours"), found, name, FAST, WIDE)
        ratios.append(ratio_interval(column(found, name, FAST), column(found, name, WIDE)))
    words = "applications, of five, that end sooner with the fast machine: neither none nor all"
    claim = between(words, (1, len(SOONER_IF_FAST) - 1), _USES, main=True)
    sooner, most, least = (sum(ratio < 1 for ratio in each) for each in zip(*ratios, strict=True))
    counts = (sooner, least, most) if len(found) else (nan, nan, nan)
    yield Result(log, claim, *counts)


def _drawing(found: "pd.DataFrame") -> Drawing:
    """Draw the makespans with the fast machine, relative to those with the wide one."""
    from functools import partial

    from workloadkit.analysis.reproduction import plot_by_group
    from workloadkit.experiments.intervals import ratio_interval

    rows = [
        (
            name,
            "fast machine",
            *ratio_interval(column(found, name, FAST), column(found, name, WIDE)),
        )
        for name in SOONER_IF_FAST
    ]
    plot = partial(plot_by_group, label="mean makespan relative to that with the wide machine")
    title = "Five applications with a new machine"
    return Drawing("makespan-by-machine", title, table(rows), plot)
