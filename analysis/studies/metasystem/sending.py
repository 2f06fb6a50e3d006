"""Meta-schedulers that send each job to one site: comparison, stale information, interference."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
from workloadkit.analysis.studies.metasystem.systems import (
    COST,
    EVERY,
    FOUR,
    LOCAL,
    PARTITIONED,
    SLOWDOWN,
    WAIT,
    How,
    SystemRuns,
    column,
    compared,
    log_of,
    more,
    of_site,
    resampled,
    row_of_run,
    runs_of_all,
    served,
    sites_of_logs,
    sites_of_partitions,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.metasystem import MetaSchedule

#: Length of the resampled logs. [weeks]
WEEKS = 26

#: Runs of a task.
PART = 5

#: Largest difference of what is "about the same". [%]
ABOUT = 5.0

#: Share of meta jobs that is "relatively few", and the number of meta-schedulers that interfere.
FEW, SCHEDULERS = 0.05, 8

MINUTE, HOUR, DAY = 60, 3600, 86_400

#: Names of the variants.
HOME, RANDOM = "home", "random"
FRESH, TEN = "least work, fresh", "least work, every 10 min"
HOURLY, DAILY = "least work, every hour", "least work, every day"
SHORTEST, SHORTEST_DAILY = "shortest wait, every 10 min", "shortest wait, every day"
MANY = f"{SCHEDULERS} with least work, every hour"
FEW_ONE, FEW_MANY = f"{HOURLY}, few jobs", f"{MANY}, few jobs"
FEW_TEN, LOW, HIGH = f"{TEN}, few jobs", "cheapest, low price", "cheapest, high price"

VARIANTS = {
    HOME: How("home"),
    RANDOM: How("random"),
    FRESH: How("least-work"),
    TEN: How("least-work", every=10 * MINUTE),
    HOURLY: How("least-work", every=HOUR),
    DAILY: How("least-work", every=DAY),
    SHORTEST: How("shortest-wait", every=10 * MINUTE),
    SHORTEST_DAILY: How("shortest-wait", every=DAY),
}
STALE = {"fresh": FRESH, "10 min": TEN, "hour": HOURLY, "day": DAILY}
CROWDED = {
    MANY: How("least-work", every=HOUR, schedulers=SCHEDULERS),
    FEW_ONE: How("least-work", every=HOUR, share=FEW),
    FEW_MANY: How("least-work", every=HOUR, share=FEW, schedulers=SCHEDULERS),
}

#: The site whose price changes, a low and a high price; that of the others is 1.
PRICED, PRICES = "HPC2N", {LOW: 0.5, HIGH: 2.0}

UTILIZATION = f"utilization of {PRICED}"

#: Variants of the partitions: all jobs are meta jobs, or there is one machine.
ALL_HOME, ALL_FRESH, POOL = "all jobs, home", f"all jobs, {FRESH}", "one pool"
ALL_SHORTEST = f"all jobs, {SHORTEST}"
JOINED = {
    ALL_HOME: How("home", share=1),
    ALL_FRESH: How("least-work", share=1),
    ALL_SHORTEST: How("shortest-wait", every=10 * MINUTE, share=1),
}


def runs_of_logs(task: SystemRuns, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate the metasystem of several logs, once for each run of a task."""
    import pandas as pd

    rows = []
    for logs in resampled(task.logs, task.runs, WEEKS, rng):
        sites = sites_of_logs(logs, rng)
        row = row_of_run(sites, {**VARIANTS, **CROWDED})
        ten = How("least-work", every=10 * MINUTE, share=FEW)
        for name in (FEW_TEN, *PRICES):
            prices = {PRICED: PRICES.get(name, 1.0)}
            policy = "cheapest" if name in PRICES else ten.policy
            schedule = served(sites, ten._replace(policy=policy, prices=prices))
            row[WAIT, name] = schedule.jobs["wait"].mean()
            row[COST, name] = schedule.jobs["cost"].sum()
            row[UTILIZATION, name] = 100 * utilization(schedule, PRICED)
        rows.append(row)
    return pd.DataFrame(rows)


def runs_of_partitions(task: SystemRuns, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate the metasystem of the partitions of a log, once for each run of a task."""
    import numpy as np
    import pandas as pd

    import workloadkit as wk

    rows = []
    for logs in resampled(task.logs, task.runs, WEEKS, rng):
        sites = sites_of_partitions(logs[PARTITIONED], rng)
        row = row_of_run(sites, VARIANTS)
        row |= {
            (EVERY, name): served(sites, how).jobs["wait"].mean() for name, how in JOINED.items()
        }
        names = ("submit", "run", "procs", "requested_procs", "requested_time")
        together = {name: np.concatenate([x.log.column(name) for x in sites]) for name in names}
        pool = wk.simulate(
            wk.Trace.from_columns(together), "easy", procs=sum(each.procs for each in sites)
        )
        row[EVERY, POOL] = pool.metrics["mean_wait"]
        rows.append(row)
    return pd.DataFrame(rows)


def utilization(schedule: "MetaSchedule", name: str) -> float:
    """Return the utilization of a site while all sites have local submissions."""
    import numpy as np

    from workloadkit.metrics import utilization

    system = schedule.prepared
    submits = [each.workload.submit for each in system.sites]
    begin, until = max(x[0] for x in submits), min(x[-1] for x in submits)
    place = system.system.place(name)
    local, own = system.sites[place].workload, schedule.jobs[schedule.jobs["site"] == name]
    start = np.append(schedule.served.local_starts[place], own["start"])
    end = start + np.append(local.run, own["run"])
    procs = np.append(local.procs, own["procs"])
    return utilization(start, end, procs, system.sites[place].rules.machine, begin, until)


_USES, _MODELS, _OURS = "Chapin, section 4.3", "Chapin, section 4.2", "no source"


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the meta-schedulers in both metasystems."""
    found = {}
    for names, function in ((FOUR, runs_of_logs), ((PARTITIONED,), runs_of_partitions)):
        log = log_of(plan, names)
        found[log] = runs_of_all(plan, each, function, names, PART)
        yield from _apples_to_apples(log, found[log])
        yield from _staleness(log, found[log])
        yield from _who_pays(log, found[log])
    four, partitions = found
    yield from _interference(four, found[four])
    yield from _economy(four, found[four])
    yield from _partitions(partitions, found[partitions])
    yield from _drawings(found)


def _apples_to_apples(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare meta-schedulers on the same runs."""
    for measure in (WAIT, SLOWDOWN):
        for name, other in ((TEN, HOME), (TEN, RANDOM), (SHORTEST, TEN)):
            claim = below(compared(measure, name, other), 0.0, _USES, "ours", main=measure == WAIT)
            yield more(log, claim, found, measure, name, other)


def _staleness(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare fresh information with older one."""
    for measure in (WAIT, LOCAL):
        words = f"{compared(measure, TEN, FRESH)}: about the same"
        claim = between(words, (-ABOUT, ABOUT), _OURS)
        yield more(log, claim, found, measure, TEN, FRESH)
        for name in (HOURLY, DAILY):
            main = (measure, name) == (WAIT, DAILY)
            claim = above(compared(measure, name, FRESH), 0.0, _OURS, "ours", main=main)
            yield more(log, claim, found, measure, name, FRESH)
        claim = below(compared(measure, DAILY, HOME), 0.0, _OURS, "ours")
        yield more(log, claim, found, measure, DAILY, HOME)
    claim = above(compared(WAIT, SHORTEST_DAILY, SHORTEST), 0.0, _OURS, "ours")
    yield more(log, claim, found, WAIT, SHORTEST_DAILY, SHORTEST)


def _who_pays(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare the waits of local jobs with those without a meta-scheduler, by site."""
    from workloadkit.experiments.intervals import mean_interval

    claim = below(compared(LOCAL, FRESH, HOME), 0.0, _OURS, "ours", main=True)
    yield more(log, claim, found, LOCAL, FRESH, HOME)
    sites = _local_waits(found) or [LOCAL]
    sites.sort(key=lambda measure: column(found, measure, HOME).mean())
    shortest, longest = sites[0], sites[-1]
    words = f"{compared(LOCAL, FRESH, HOME)}, at the site of the longest at home"
    claim = below(words, 0.0, _OURS, "ours", main=True)
    result = more(log, claim, found, longest, FRESH, HOME)
    yield replace(result, note=f"{longest}: {result.note}" if len(found) else "")
    fresh, home = (column(found, shortest, name) for name in (FRESH, HOME))
    words = f"{LOCAL}, {FRESH} less {HOME} (s), at the site of the shortest at home"
    claim = above(words, 0.0, _OURS, "ours", main=True)
    note = f"{shortest}: {FRESH} {fresh.mean():.4g}, {HOME} {home.mean():.4g}" if len(found) else ""
    yield Result(log, claim, *mean_interval(fresh - home), note)


def _local_waits(found: "pd.DataFrame") -> list[str]:
    """Return the measures that are mean waits of the local jobs of a site."""
    measures = dict.fromkeys(measure for measure, _ in found.columns)
    return [measure for measure in measures if measure.startswith(of_site(""))]


def _interference(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare many meta-schedulers, which do not know of each other, with one."""
    claim = above(compared(WAIT, MANY, HOURLY), 0.0, _MODELS, "direction", main=True)
    yield more(log, claim, found, WAIT, MANY, HOURLY)
    words = f"{compared(WAIT, FEW_MANY, FEW_ONE)}: no interference"
    claim = between(words, (-ABOUT, ABOUT), _MODELS, main=True)
    yield more(log, claim, found, WAIT, FEW_MANY, FEW_ONE)


def _economy(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare a low price of a site with a high one, and prices with waits."""
    from workloadkit.experiments.intervals import mean_interval

    low, high = (column(found, UTILIZATION, name) for name in (LOW, HIGH))
    words = f"{UTILIZATION} at a low price less that at a high one (% of the machine)"
    note = f"{low.mean():.4g} and {high.mean():.4g}" if len(found) else ""
    claim = above(words, 0.0, _MODELS, "direction", main=True)
    yield Result(log, claim, *mean_interval(low - high), note)
    claim = below(compared(COST, LOW, FEW_TEN), 0.0, _MODELS, "ours")
    yield more(log, claim, found, COST, LOW, FEW_TEN)
    claim = above(compared(WAIT, LOW, FEW_TEN), 0.0, _MODELS, "ours")
    yield more(log, claim, found, WAIT, LOW, FEW_TEN)


def _partitions(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare partitions with a meta-scheduler with partitions alone, and with one machine."""
    from workloadkit.experiments.intervals import mean_interval

    alone, pool = (column(found, EVERY, name) for name in (ALL_HOME, POOL))
    for name in (ALL_FRESH, ALL_SHORTEST):
        claim = below(compared(EVERY, name, ALL_HOME), 0.0, _OURS, "ours", main=True)
        yield more(log, claim, found, EVERY, name, ALL_HOME)
        recovered = 100 * (alone - column(found, EVERY, name)) / (alone - pool)
        claim = at_least(f"{EVERY}, {name}: of the gain of one pool (%)", 50.0, _OURS, "ours")
        yield Result(log, claim, *mean_interval(recovered))


def _drawings(found: "dict[Log, pd.DataFrame]") -> Iterator[Drawing]:
    """Draw waits by the age of information, and of the local jobs of each site."""
    from functools import partial

    from workloadkit.analysis.reproduction import plot_by_group

    rows: list[tuple[Any, ...]] = []
    for log, of_runs in found.items():
        for measure, jobs in ((WAIT, "meta"), (LOCAL, "local")):
            group = f"{jobs} jobs, {'four logs' if log.name == 'all' else log.name}"
            rows += [
                (age, group, *_ratio(of_runs, measure, name, HOME)) for age, name in STALE.items()
            ]
    plot = partial(plot_by_group, label="mean wait relative to that at home", log=True)
    title = "Mean wait by the time between publications"
    yield Drawing("wait-by-age", title, table(rows), plot)
    rows = [
        (measure.removeprefix(of_site("")), name, *_ratio(of_runs, measure, name, HOME))
        for of_runs in found.values()
        for name in (FRESH, SHORTEST)
        for measure in _local_waits(of_runs)
    ]
    title = "Mean wait of local jobs by site, where they wait at home"
    yield Drawing("wait-by-site", title, table(rows), plot)


def _ratio(
    found: "pd.DataFrame", measure: str, name: str, other: str
) -> tuple[float, float, float]:
    from workloadkit.experiments.intervals import ratio_interval

    return ratio_interval(column(found, measure, name), column(found, measure, other))


def table(rows: list[tuple[Any, ...]]) -> "pd.DataFrame":
    """Return the data of a figure by row and group, without what is missing."""
    import pandas as pd

    return pd.DataFrame(rows, columns=["row", "group", "value", "low", "high"]).dropna()
