"""Classes of jobs, fairness, and a revised CREASY.

The last chapter of the thesis leaves three extensions to future work; this study measures their
effects. "Daytime jobs are known to be different from the jobs submitted during the night;
interactive jobs are usually lighter and much more critical to the users compared to the heavy batch
jobs that execute over nights and weekends." Users "are also sensitive to fairness in the system".
With these, CREASY is "to demonstrate that it can still significantly improve user productivity".

First, the study describes the classes in the logs. Then it simulates sites as in the study of
CREASY, half a year on a machine of 128 processors, and also draws the times between the jobs of a
batch. Users draw everything from batches of one class: day, or night and weekend; interactive, or
other; or both distinctions. The curve of the probability to continue is the published one, or one
fitted to each class. The fitted curves of classes are compared with one fitted curve of all jobs,
so that a difference is due to the classes alone. For users sensitive to fairness, the probability
to continue falls with the share of the jobs that arrived while theirs waited and started before it,
with a weight of one half or 1. The last site has all extensions.

The limit on run times applies within each class, so that each class keeps its share of the jobs.
With classes, jobs are therefore a tenth longer on average than without: a part of the increase of
response times is due to the limit.

All sites and schedulers of a run begin with the same seed, and differences are computed within each
run, with intervals of 95 % by Student's t. Because users react, the simulations soon diverge, and
pairing hardly reduces the variance. The source has no numbers here. It "intentionally chose not to
make this distinction", as more detail than a discussion of feedback needs. In numbers of this
project: classes change throughput by less than 10 %, and the gain of CREASY by less than 10 points.

"The final step" of the source is to revise CREASY "to consider the aggregate effect of all these
factors on the users", "the type of task they perform, their experience, and the cumulative time
they interact with the system", and fairness. The largest site with all extensions also has
revisions of CREASY: each divides the criticality of a job by one plus a quantity. That is the
estimated work of the job; the estimated work of all of its user's jobs that run or wait; the user's
work so far; the same with a half-life of 1 h; or all of these but the last. Their weights were
chosen before any simulation. Fairness is measured by Jain's index of the users' mean bounded
slowdowns.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    FAIRNESS,
    FAIRNESS_MEASURES,
    Axis,
    Drawing,
    Each,
    Result,
    Study,
    StudyInput,
    above,
    below,
    between,
    plot_by_group,
)
from workloadkit.analysis.reproduction.runs import (
    SHMUELI_LOGS,
    SHMUELI_REPEAT,
    SHMUELI_SIZE,
    without,
)
from workloadkit.analysis.studies.shmueli_conventional import (
    Draws,
    changes,
    differences,
    distributions_of,
    draws_of,
    of_runs,
)
from workloadkit.analysis.studies.shmueli_creasy import LIMITS, LONGEST

if TYPE_CHECKING:
    import numpy as np

    from workloadkit.settings.making import Interactive
    from workloadkit.simulation.users.sites import DynamicSite
    from workloadkit.site.classes import JobClass

USERS, WEEKS, PROCS = (100, 250), 26, 128
PLACE = "chapter 6"

INTERACTIVE = Axis(
    "interactive",
    '"interactive jobs": how to identify them is not stated',
    {
        "auto": "those of queue 0 where a log has any, else those that run for up to 5 min",
        "run": "in all logs those that run for up to 5 min",
    },
)

#: The schedulers, and their names in claims.
WORDS = {"fcfs": "FCFS", "easy": "EASY", "creasy:alpha=6000": "CREASY"}
FCFS, EASY, CREASY = WORDS

#: Revisions of CREASY, by the factor that they consider.
REVISED = {
    "type of task": "light=3600",
    "fairness": "fairness=1",
    "experience": "experience=0.01",
    "time of use": "experience=1,half_life=1h",
    "all factors": "light=3600,fairness=1,experience=0.01",
}

#: The settings of each site, by its name in claims.
SITES: Mapping[str, Mapping[str, Any]] = {
    "no classes": {},
    "one fitted curve": {"going_on": "fitted"},
    "hours": {"classes": "hours"},
    "kinds": {"classes": "kinds"},
    "hours and kinds": {"classes": "both"},
    "kinds, fitted curves": {"classes": "kinds", "going_on": "fitted"},
    "hours and kinds, fitted curves": {"classes": "both", "going_on": "fitted"},
    "fairness 0.5": {"fairness": 0.5},
    "fairness 1": {"fairness": 1.0},
    "all of it": {"classes": "both", "going_on": "fitted", "fairness": 1.0},
}
PLAIN, FITTED, *_, ALL = SITES

#: The compared metrics, and their names in claims.
METRICS = {
    "throughput_per_hour": "throughput",
    "mean_response": "mean response",
    "mean_slowdown": "mean slowdown",
}

#: Threshold of a small change. [% or points]
LITTLE = 10.0

#: Measurements of each run, by number of users, site and scheduler.
Found = Mapping[tuple[int, str, str], Sequence[Mapping[str, float]]]


class _Task(NamedTuple):
    """One run of all sites and schedulers, with a number of users."""

    draws: Draws
    reading: Mapping[str, str]
    users: int


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare classes in the logs, and sites with and without the extensions."""
    draws, reading = draws_of(plan), dict(plan.reading)
    tasks = [_Task(draws, reading, users) for users in USERS for _ in range(plan.runs)]
    runs = each(measure, tasks)
    found: Found = {
        (users, *kind): [
            run[kind] for task, run in zip(tasks, runs, strict=True) if task.users == users
        ]
        for users in USERS
        for kind in runs[0]
    }
    note = without(plan)
    of_revised = each(measure_revised, [_Task(draws, reading, USERS[-1])] * plan.runs)
    (classes,) = each(classes_of, [_Task(draws, reading, 0)])
    for results in (_in_logs(classes), _of_sites(found), _revised(of_revised)):
        yield from (replace(result, note=note) for result in results)
    yield from _drawings(found)


def classes_of(task: _Task, rng: "np.random.Generator") -> dict[str, "JobClass"]:
    """Return the classes of the logs combined, by part of the week and by kind."""
    from workloadkit.site.classes import classes_by

    classes = _distributions(task).classes
    return classes_by(classes, "hours") | classes_by(classes, "kinds") | classes_by(classes, "both")


def measure(task: _Task, rng: "np.random.Generator") -> dict[tuple[str, str], dict[str, float]]:
    """Simulate all sites under all schedulers; return the metrics of each."""
    import workloadkit as wk

    seed = int(rng.integers(2**63))
    measured = {}
    for name in SITES:
        site = _site(task, name)
        for scheduler in WORDS:
            metrics = wk.simulate(None, scheduler, site, procs=PROCS, rng=seed).metrics
            measured[name, scheduler] = {metric: metrics[metric] for metric in METRICS}
    return measured


def measure_revised(task: _Task, rng: "np.random.Generator") -> dict[str, dict[str, float]]:
    """Simulate the site with all extensions under EASY, CREASY and its revisions."""
    import workloadkit as wk

    site, seed = _site(task, ALL), int(rng.integers(2**63))
    schedulers = {EASY: EASY, CREASY: CREASY}
    schedulers |= {name: f"{CREASY},{how}" for name, how in REVISED.items()}
    measured = {}
    for name, scheduler in schedulers.items():
        schedule = wk.simulate(None, scheduler, site, procs=PROCS, rng=seed)
        jain = FAIRNESS_MEASURES["jain"](schedule, (0, 0))
        measured[name] = {metric: schedule.metrics[metric] for metric in METRICS} | {"jain": jain}
    return measured


def _site(task: _Task, name: str) -> "DynamicSite":
    """Return the users of a site of `SITES`."""
    import workloadkit as wk

    return wk.users.DynamicSite(
        task.users,
        WEEKS,
        repeat=task.draws.repeat,
        longest=LIMITS[task.reading["longest"]],
        distributions=_distributions(task),
        **SITES[name],
    )


def _distributions(task: _Task) -> Any:
    interactive = cast("Interactive", task.reading["interactive"])
    return distributions_of(task.draws.logs, task.draws.size, interactive)


def _in_logs(classes: Mapping[str, "JobClass"]) -> Iterator[Result]:
    """Report whether interactive jobs are lighter and more critical, and daytime jobs lighter."""
    work = {name: _mean_work(its) for name, its in classes.items()}
    for one, other in (("interactive", "batch"), ("day", "night"), ("day", "weekend")):
        words = f"mean node-seconds of the jobs of {one} batches relative to those of {other} ones"
        if {one, other} <= work.keys():
            claim = below(words, 1.0, PLACE, "direction", main=other == "batch")
            yield Result(ALL_LOGS, claim, work[one] / work[other])
    if {"interactive", "batch"} <= classes.keys():
        (a, b), (other_a, other_b) = (classes[kind].curve for kind in ("interactive", "batch"))
        words = "how fast the chance to go on falls (b, 1/min): interactive relative to batch"
        yield Result(ALL_LOGS, above(words, 1.0, PLACE, "direction", main=True), b / other_b)
        words = "chance to go on after a response of no time (a): interactive less batch"
        yield Result(ALL_LOGS, above(words, 0.0, PLACE, "ours"), a - other_a)
    shares = {
        part: its.batch_width.n / classes[part].batch_width.n
        for part in ("day", "night", "weekend")
        if (its := classes.get(f"{part} batch")) is not None
    }
    for part in ("night", "weekend"):
        if {"day", part} <= shares.keys():
            words = f"share of batches that are not interactive: {part} less day"
            claim = above(words, 0.0, PLACE, "direction")
            yield Result(ALL_LOGS, claim, shares[part] - shares["day"])


def _of_sites(found: Found) -> Iterator[Result]:
    """Report the gain of CREASY, and the effect of each site."""
    for users in USERS:
        largest = users == USERS[-1]
        for site in SITES:
            words = f"gain of throughput of CREASY over EASY: {users} users, {site} (%)"
            claim = above(words, 0.0, PLACE, "direction", main=largest and site == ALL)
            yield of_runs(claim, _gain(found, users, site, EASY, CREASY))
        for site, settings in SITES.items():
            if site != PLAIN:
                yield from _changes(found, users, site, settings)


def _changes(found: Found, users: int, site: str, settings: Mapping[str, Any]) -> Iterator[Result]:
    """Compare a site with the one without its classes or its sensitivity to fairness."""
    minds = settings.get("fairness", 0) > 0
    base = FITTED if "going_on" in settings and "classes" in settings else PLAIN
    for metric, metric_words in METRICS.items():
        for scheduler, name in WORDS.items():
            words = f"change of {metric_words} from {base} to {site}: {users} users, {name} (%)"
            values = changes(
                *(_of(found, users, which, scheduler, metric) for which in (base, site))
            )
            claim = between(words, (-LITTLE, LITTLE), PLACE)
            if minds and metric == "throughput_per_hour" and scheduler != FCFS and site != ALL:
                claim = below(words, 0.0, PLACE, "ours", main=users == USERS[-1])
            yield of_runs(claim, values)
    for one, other in ((EASY, CREASY), (FCFS, CREASY), (FCFS, EASY)):
        pair = f"{WORDS[other]} over {WORDS[one]}"
        words = f"gain of throughput of {pair}: {site} less {base}, {users} users (points)"
        gains = (_gain(found, users, which, one, other) for which in (site, base))
        claim = between(words, (-LITTLE, LITTLE), PLACE)
        if minds and site != ALL:
            claim = below(words, 0.0, PLACE, "ours")
        yield of_runs(claim, differences(*gains))


def _revised(runs: Sequence[Mapping[str, Mapping[str, float]]]) -> Iterator[Result]:
    """Report what each revision of CREASY changes."""

    def of(scheduler: str, metric: str) -> list[float]:
        return [run[scheduler][metric] for run in runs]

    where = f"{USERS[-1]} users, {ALL}"
    for name in REVISED:
        throughputs = [of(x, "throughput_per_hour") for x in (EASY, CREASY, name)]
        words = f"throughput of CREASY revised for {name} over EASY: {where} (%)"
        claim = above(words, 0.0, PLACE, "direction", main=name == "all factors")
        yield of_runs(claim, changes(throughputs[0], throughputs[2]))
        words = f"throughput of CREASY revised for {name} over CREASY: {where} (%)"
        yield of_runs(above(words, 0.0, PLACE, "ours"), changes(*throughputs[1:]))
        words = f"mean response of CREASY revised for {name} over CREASY: {where} (%)"
        responses = (of(x, "mean_response") for x in (CREASY, name))
        yield of_runs(below(words, 0.0, PLACE, "ours"), changes(*responses))
        words = f"{FAIRNESS['jain']}, CREASY revised for {name} less CREASY: {where}"
        jains = (of(x, "jain") for x in (name, CREASY))
        yield of_runs(above(words, 0.0, PLACE, "ours"), differences(*jains))


def _drawings(found: Found) -> Iterator[Drawing]:
    """Draw the gain of CREASY over EASY, and of EASY over FCFS, at each site."""
    import pandas as pd

    from workloadkit.experiments.intervals import mean_interval

    for one, other in ((EASY, CREASY), (FCFS, EASY)):
        rows = [
            (site, f"{users} users", *mean_interval(_gain(found, users, site, one, other)))
            for users in USERS
            for site in SITES
        ]
        data = pd.DataFrame(rows, columns=["row", "group", "value", "low", "high"])
        name = f"gain-of-{WORDS[other].lower()}-over-{WORDS[one].lower()}"
        pair = f"throughput of {WORDS[other]} over {WORDS[one]}"
        plot = partial(plot_by_group, label=f"gain of {pair} (%)")
        yield Drawing(name, f"Gain of {pair}", data, plot)


def _mean_work(its: "JobClass") -> float:
    """Return the mean node-seconds of the jobs of a class."""
    jobs = its.jobs
    return float((jobs.size * jobs.run) @ jobs.counts / jobs.counts.sum())


def _of(found: Found, users: int, site: str, scheduler: str, metric: str) -> list[float]:
    return [values[metric] for values in found[users, site, scheduler]]


def _gain(found: Found, users: int, site: str, one: str, other: str) -> list[float]:
    """Return the gain of throughput of one scheduler over another. [%]."""
    pair = (_of(found, users, site, name, "throughput_per_hour") for name in (one, other))
    return changes(*pair)


STUDY = Study(
    name="shmueli-future",
    text=__doc__,
    source='E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
    'schedulers", PhD thesis, Hebrew University, 2008, chapter 6',
    logs=SHMUELI_LOGS,
    compare=compare,
    runs=10,
    axes=(SHMUELI_SIZE, SHMUELI_REPEAT, LONGEST, INTERACTIVE),
)
