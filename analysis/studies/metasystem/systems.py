"""Logs as sites of a metasystem, which of their jobs are meta jobs, and what is measured."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Claim,
    Each,
    Log,
    Result,
    StudyInput,
    percent_more,
    sizes_of_parts,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from workloadkit.metasystem import MetaSchedule, Metasystem
    from workloadkit.trace import Trace

#: The logs that are sites of one metasystem, and the log whose partitions are those of another.
FOUR, PARTITIONED = ("KTH-SP2", "CTC-SP2", "SDSC-SP2", "HPC2N"), "SDSC-DS"

WEEK = 7 * 86_400  # [s]

#: Measures of meta jobs; of local jobs, all or those of a site; of both.
WAIT, SLOWDOWN, COST, LOCAL, EVERY = (
    "mean wait of meta jobs",
    "mean bounded slowdown of meta jobs",
    "cost of meta jobs",
    "mean wait of local jobs",
    "mean wait of all jobs",
)


class SystemRuns(NamedTuple):
    """Several runs of a metasystem, which form one task."""

    logs: tuple[Log, ...]
    runs: int


class SiteJobs(NamedTuple):
    """The jobs of a site.

    Parameters
    ----------
    site : str
    procs : int
        Processors of its machine.
    log : Trace
    draw : ndarray of float64, shape (n_jobs,)
        A number from 0 to 1 for each job: it is a meta job if this is below their share.
    """

    site: str
    procs: int
    log: "Trace"
    draw: "NDArray[np.float64]"


class How(NamedTuple):
    """How a metasystem serves its jobs.

    Parameters
    ----------
    policy : str
        Of its meta-schedulers.
    every : float
        Time between publications, 0 for fresh information. [s]
    share : float
        Share of meta jobs.
    schedulers : int
        Number of meta-schedulers. Each has the same share of the meta jobs.
    parts : int
        Parts of a meta job.
    prices : mapping of str to float
        Prices of sites, for a processor and an hour; by default 1.
    """

    policy: str
    every: float = 0
    share: float = 0.5
    schedulers: int = 1
    parts: int = 1
    prices: Mapping[str, float] = {}


def metasystem(sites: Sequence[SiteJobs], how: How) -> "Metasystem":
    """Return the metasystem of these sites, all under EASY and of the same speed."""
    import numpy as np

    from workloadkit.metasystem import JobSource, MetaScheduler, Metasystem, Publishes, Site

    described = []
    sources: list[list[JobSource]] = [[] for _ in range(how.schedulers)]
    for name, procs, log, draw in sites:
        place = np.floor(draw / how.share * how.schedulers)
        is_local = place >= how.schedulers
        local = JobSource(log=log.select(is_local)) if is_local.any() else None
        price, publishes = how.prices.get(name, 1.0), Publishes(how.every)
        described.append(Site(name, procs, "easy", jobs=local, price=price, publishes=publishes))
        for i, own in enumerate(sources):
            if (place == i).any():
                own.append(JobSource(log=log.select(place == i), home=name, parts=how.parts))
    schedulers = [MetaScheduler(f"meta-{i}", how.policy, x) for i, x in enumerate(sources) if x]
    return Metasystem(described, schedulers)


def served(sites: Sequence[SiteJobs], how: How) -> "MetaSchedule":
    """Simulate a metasystem."""
    from workloadkit.metasystem import simulate_metasystem

    return simulate_metasystem(metasystem(sites, how))


def measured(schedule: "MetaSchedule") -> dict[str, float]:
    """Return the measures of a schedule; waits of co-allocated jobs are those of their parts."""
    import numpy as np

    jobs = schedule.jobs[schedule.jobs["part"] == 0]
    waits = local_waits(schedule)
    local = np.concatenate(list(waits.values()))
    return {
        WAIT: float(jobs["wait"].mean()),
        SLOWDOWN: float(jobs["bounded_slowdown"].mean()),
        COST: float(schedule.jobs["cost"].sum()),
        LOCAL: float(local.mean()) if local.size else nan,
        EVERY: float(np.append(jobs["wait"], local).mean()),
        **{of_site(name): float(x.mean()) for name, x in waits.items() if x.size},
    }


def local_waits(schedule: "MetaSchedule") -> "dict[str, NDArray]":
    """Return the waits of the local jobs of each site. [s]."""
    of_sites = zip(schedule.prepared.sites, schedule.served.local_starts, strict=True)
    return {each.site.name: start - each.workload.submit for each, start in of_sites}


def of_site(name: str) -> str:
    """Return the name of the measure of the local jobs of a site."""
    return f"{LOCAL} of {name}"


def sites_of_logs(logs: "Mapping[str, Trace]", rng: "np.random.Generator") -> list[SiteJobs]:
    """Return logs as sites, moved by whole weeks to one week of UTC."""
    sites = []
    for name, log in logs.items():
        log = in_one_week(log.select(log.ran))
        sites.append(SiteJobs(name, log.header.procs or 0, log, rng.random(log.n_jobs)))
    return sites


def sites_of_partitions(log: "Trace", rng: "np.random.Generator") -> list[SiteJobs]:
    """Return the partitions of a log as sites, without jobs that are larger than their own."""
    import numpy as np

    log = in_one_week(log.select(log.ran))
    requested, sites = log.column("requested_procs"), []
    needed = np.where(requested > 0, requested, log.used_procs)
    for number, procs in sorted(log.header.partition_procs.items()):
        own = log.select((log.column("partition") == number) & (needed <= procs))
        if own.n_jobs:
            sites.append(SiteJobs(f"partition {number}", procs, own, rng.random(own.n_jobs)))
    return sites


def in_one_week(log: "Trace") -> "Trace":
    """Return a log moved by whole weeks to that in which second 0 of UTC is."""
    submit, epoch = log.column("submit"), log.header.start or 0
    return log.with_columns(submit=submit + epoch - (submit[0] + epoch) // WEEK * WEEK)


def resampled(
    logs: Iterable[Log], runs: int, weeks: int, rng: "np.random.Generator"
) -> "Iterator[dict[str, Trace]]":
    """Return resampled logs, by the names of the originals, for each run."""
    import warnings

    import workloadkit as wk

    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)  # jobs that never ran are left out
        for log in logs:
            found[log.name] = list(wk.resamples(log.read(), runs, rng=rng, weeks=weeks))
    for of_run in zip(*found.values(), strict=True):
        yield dict(zip(found, of_run, strict=True))


def runs_of_all(
    plan: StudyInput,
    each: Each,
    function: "Callable[[SystemRuns, np.random.Generator], pd.DataFrame]",
    names: Sequence[str],
    at_most: int,
) -> "pd.DataFrame":
    """Simulate all runs of a metasystem of some logs; no rows if one of these is missing.

    `function` returns a table of a task, with one row for each of its runs. A task has at most
    `at_most` of them.
    """
    import pandas as pd

    logs = tuple(log for log in plan.logs if log.name in names)
    if len(logs) < len(names):
        return pd.DataFrame()
    tasks = [SystemRuns(logs, runs) for runs in sizes_of_parts(plan.runs, at_most)]
    return pd.concat(each(function, tasks), ignore_index=True)


def log_of(plan: StudyInput, names: Sequence[str]) -> Log:
    """Return the log of results about some logs: this one, or that of several."""
    (log, *others) = [log for log in (*plan.logs, *plan.missing) if log.name in names]
    return ALL_LOGS if others else log


def column(found: "pd.DataFrame", *place: str) -> "pd.Series":
    """Return a column of the runs; an empty one if there are none."""
    import pandas as pd

    return found[place] if len(found) else pd.Series(dtype=float)


def more(
    log: Log, claim: Claim, found: "pd.DataFrame", measure: str, name: str, other: str
) -> Result:
    """Return the result of a measure of one variant in percent over another, in the same runs."""
    ours, others = column(found, measure, name), column(found, measure, other)
    note = f"{name} {ours.mean():.4g}, {other} {others.mean():.4g}" if len(found) else ""
    return Result(log, claim, *percent_more(ours, others), note)


def compared(measure: str, name: str, other: str) -> str:
    """Return the quantity of a claim about two variants.

    Examples
    --------
    >>> compared(LOCAL, "one", "two")
    'mean wait of local jobs, one over two (%)'
    """
    return f"{measure}, {name} over {other} (%)"


def row_of_run(
    sites: Sequence[SiteJobs], variants: Mapping[str, How]
) -> dict[tuple[str, str], Any]:
    """Simulate one run in all variants; return the measures by their names and variants."""
    row = {}
    for name, how in variants.items():
        for measure, value in measured(served(sites, how)).items():
            row[measure, name] = value
    return row
