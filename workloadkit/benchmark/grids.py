"""Metasystems of the suite: four sites with local load, and applications of one type or of all."""

import numpy as np

from workloadkit.benchmark.micro import TYPES, micro
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
