"""Metasystems of the suite: micro-benchmarks, and grids of four sites with local load."""

from typing import NamedTuple

import numpy as np

from workloadkit.header import Header
from workloadkit.metasystem import (
    Access,
    JobSource,
    Link,
    MetaScheduler,
    Metasystem,
    Publishes,
    Site,
)
from workloadkit.models import add_estimates, lublin, scale_load
from workloadkit.trace import Trace

#: Processors of the machines that the micro-benchmarks are made for.
PROCS = 128

_USERS = 24
_SHORTEST, _LONGEST = 30, 129_600  # run times [s]
_GAP = 20  # mean time between the jobs of a bag [s]

# Times that users request [s]: they take a round one.
_ROUND = 60.0 * np.array([10, 30, 60, 120, 240, 480, 720, 1440, 2160])


class Application(NamedTuple):
    """Applications of one type, which users submit in bags.

    Parameters
    ----------
    bag : float
        Mean number of jobs in a bag; it has a geometric distribution.
    procs : mapping of int to float
        Probability of each number of processors.
    median, sigma : float
        Median of the log-normal run times [s], and standard deviation of their logarithm.
    """

    bag: float
    procs: dict[int, float]
    median: float
    sigma: float

    @property
    def work(self) -> float:
        """Mean work of a bag, processors × seconds, without the bounds of the run times."""
        procs = sum(size * share for size, share in self.procs.items())
        return self.bag * procs * self.median * float(np.exp(self.sigma**2 / 2))


#: The types; their numbers, from 1, are the queues of the jobs.
TYPES = {
    "compute": Application(10, {1: 0.6, 2: 0.25, 4: 0.15}, 3600, 1.2),
    "communication": Application(2, {16: 0.5, 32: 0.35, 64: 0.15}, 1200, 1.0),
    "device": Application(4, {8: 1.0}, 600, 1.5),
}


def micro(types: tuple[str, ...], n_jobs: int, rng: np.random.Generator) -> Trace:
    """Return a workload of applications of these types, each with about the same share of the work.

    Bags arrive at random; the load is left to the caller. The user requests the same time for all
    jobs of a bag: the longest run time, times up to three, rounded up.
    """
    shares = np.array([1 / TYPES[name].work for name in types])
    kind: list[int] = []
    size: list[int] = []
    run, procs, requested = [], [], []
    while sum(size) < n_jobs:
        name = types[rng.choice(len(types), p=shares / shares.sum())]
        one = TYPES[name]
        size.append(int(rng.geometric(1 / one.bag)))
        drawn = np.exp(np.log(one.median) + one.sigma * rng.standard_normal(size[-1]))
        run.append(np.clip(np.rint(drawn), _SHORTEST, _LONGEST))
        least = min(run[-1].max() * rng.uniform(1, 3), _ROUND[-1])
        requested.append(_ROUND[np.searchsorted(_ROUND, least)])
        procs.append(rng.choice([*one.procs], size[-1], p=[*one.procs.values()]))
        kind += [1 + [*TYPES].index(name)] * size[-1]
    begin = np.cumsum(rng.exponential(3600, len(size)))
    within = [np.cumsum(rng.exponential(_GAP, n)) for n in size]
    submit = np.repeat(begin, size) + np.concatenate(within)
    user = np.repeat(rng.integers(1, 1 + _USERS, len(size)), size)
    order = np.argsort(submit, kind="stable")[:n_jobs]
    columns = {
        "submit": np.rint(submit),
        "run": np.concatenate(run),
        "procs": np.concatenate(procs),
        "requested_time": np.repeat(requested, size),
        "user": user,
        "queue": kind,
    }
    return Trace.from_columns({name: np.asarray(x)[order] for name, x in columns.items()})


# Metasystems of the suite: four sites with local load, and applications of one type or of all.

#: How often the sites of each metasystem publish their state. [s]
GRIDS = {"grid": 0.0, "stale-grid": 3600.0}

#: Types of the applications of each workload.
META_WORKLOADS = {**{name: (name,) for name in TYPES}, "mixed": tuple(TYPES)}

#: Name of the meta-scheduler, which is replaced by that of an entry.
META = "meta"

# name: processors, speed, price of a processor hour, whether it has devices
_SITES = {
    "north": (128, 1.0, 1.0, True),
    "east": (64, 1.5, 2.0, True),
    "south": (256, 0.75, 0.5, False),
    "west": (128, 1.0, 1.0, False),
}
_LOCAL_LOAD, _META_LOAD = 0.4, 0.35
_JOBS = 800  # of each site, and of the meta-scheduler
_ANYONE, _DEVICES = 1, 2  # groups
_VOLUME = 20e9  # data of an application that communicates [bytes]
_BANDWIDTH, _LATENCY = 25e6, 0.05  # of a link [bytes/s], [s]


def grid(system: str, workload: str, rng: np.random.Generator) -> Metasystem:
    """Return a metasystem for applications of a workload, which come from all of its sites.

    Applications that need devices run at sites that have them; those that communicate move data to
    a site that is not their home.
    """
    sites, sources = [], []
    for name, (procs, speed, price, devices) in _SITES.items():
        local = at_load(add_estimates(lublin(_JOBS, procs, rng), rng), procs, _LOCAL_LOAD)
        groups = (_ANYONE, _DEVICES) if devices else (_ANYONE,)
        sites.append(
            Site(
                name,
                procs,
                "easy",
                JobSource(log=local),
                speed=speed,
                price=price,
                access=Access(groups=groups),
                publishes=Publishes(every=GRIDS[system]),
            )
        )
    procs = sum(site.procs for site in sites)
    jobs = at_load(micro(META_WORKLOADS[workload], _JOBS, rng), procs, _META_LOAD)
    types, homes = list(TYPES), list(_SITES)
    kind = jobs.column("queue") - 1
    home = rng.integers(0, len(homes), jobs.n_jobs)
    home[kind == types.index("device")] %= 2  # the sites with devices come first
    large = jobs.column("procs") > 64
    home[large & (home == 1)] = 0
    group = np.where(kind == types.index("device"), _DEVICES, _ANYONE)
    jobs = jobs.with_columns(group=group)
    for place, name in enumerate(homes):
        for number, type_ in enumerate(types):
            rows = np.flatnonzero((home == place) & (kind == number))
            if rows.size:
                volume = _VOLUME if type_ == "communication" else 0.0
                sources.append(JobSource(log=jobs.take(rows), home=name, stage_in=volume))
    links = [
        Link((one, other), latency=_LATENCY, bandwidth=_BANDWIDTH)
        for i, one in enumerate(homes)
        for other in homes[:i]
    ]
    return Metasystem(
        sites=tuple(sites),
        meta_schedulers=(MetaScheduler(META, "home", tuple(sources)),),
        links=tuple(links),
        seed=int(rng.integers(2**31)),
    )


def at_load(trace: Trace, procs: int, load: float) -> Trace:
    """Return a log at an offered load on a machine, in whole seconds."""
    made = scale_load(
        Trace.from_columns(
            {name: trace.column(name) for name in _COLUMNS} | {"job": np.arange(trace.n_jobs) + 1},
            header=Header((f"; MaxProcs: {procs}",)),
        ),
        load,
    )
    return made.with_columns(submit=np.floor(made.column("submit")))


_COLUMNS = ("submit", "run", "procs", "requested_time", "user", "queue")
