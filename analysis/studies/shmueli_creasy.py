"""CREASY against EASY, for sites of 50 to 250 users.

Users who come and go by Shmueli's model, half a year at a machine of 128 processors, under EASY and
under CREASY with four weights of criticality: Figure 2.1, which is of the weight 6000, and what the
text says of Figures 5.10 to 5.13. Users draw from the distributions of five logs combined.

By the text run times are drawn from those of all jobs. But jobs so drawn need twenty times the work
of those in Figure 2.1, where utilization and throughput give 5,800 processors × seconds for each
job, and run longer on average than its jobs respond. 50 users then keep the machine busy, and more
saturate it. So the simulations are also made with run times of up to an hour, which give about the
response of the figure at 50 users; that limit is our reading, found by trying. All results are
shown in both; judge those of all run times as of saturated machines.

With it utilization and response are near those of the figure at all sizes of the site, at two
thirds of its throughput, and sessions shorten under EASY as the text says. CREASY keeps them
longer, but gains far less than in the source: with 250 users more work waits than a day can do, so
that long waits outweigh the criticality of short jobs, which CREASY bounds.

A session of the source has about as many jobs as one here has batches, be it that its users submit
single jobs or that batches are counted; so both are shown.

A published figure is *held* if it lies in our 95 % interval, by Student's t over the runs; a change
only if that leaves no doubt of its sign. Else the direction is held if a figure of the table lies
on the same side of that of 50 users as published, and a change if it has the same sign. The source
made one run.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.studies import Each, Log, Result, Study, read_table
from analysis.studies.shmueli_conventional import LOGS, claim, distributions_of, together

if TYPE_CHECKING:
    import numpy as np

USERS, WEEKS, PROCS = (50, 100, 150, 200, 250), 26, 128
ALPHAS = (0, 1500, 3000, 4500, 6000)  # 0 is EASY

#: What run times are drawn, in words. [s]
LONGEST = {"all run times": inf, "run times up to 1 h": 3600.0}

#: Columns of Figure 2.1 in words.
COLUMNS = {
    "utilization": "utilization",
    "throughput_per_hour": "jobs an hour",
    "jobs_per_session": "jobs of a session",
    "mean_response_min": "mean response (min)",
    "mean_slowdown": "mean slowdown",
}

#: How long a session is.
SESSIONS = {"jobs": "jobs_per_session", "batches": "batches_per_session"}

#: Run times of the classes in Figure 5.12, above the first bound and up to the second. [s]
CLASSES = {"up to 1 min": (-1, 60), "1 to 10 min": (60, 600), "over 10 min": (600, inf)}

Values = Mapping[str, float]


class Task(NamedTuple):
    """One simulation: which run times are drawn, how many users, and the weight of criticality."""

    logs: tuple[Log, ...]
    longest: str
    users: int
    alpha: int


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the table and the claims beside ours."""
    everywhere, of = together(logs), tuple(logs)
    kinds = [(t, n, a) for t in LONGEST for n in USERS for a in ALPHAS]
    done = each(measure, [Task(of, *kind) for kind in kinds for _ in range(runs)])
    found = {kind: done[i * runs : (i + 1) * runs] for i, kind in enumerate(kinds)}
    for longest in LONGEST:
        yield from _table(everywhere, longest, found)
        yield from _claims(everywhere, longest, found)


def measure(task: Task, rng: "np.random.Generator") -> Values:
    """Simulate a site; return what the figures tell of it."""
    import workloadkit as wk

    site = wk.users.DynamicSite(
        task.users,
        WEEKS,
        repeat="job",
        longest=LONGEST[task.longest],
        distributions=distributions_of(task.logs),
    )
    scheduler = f"creasy:alpha={task.alpha}" if task.alpha else "easy"
    schedule = wk.simulate(None, scheduler, site, procs=PROCS, rng=rng)
    values = schedule.metrics
    run, response = schedule.workload.run, schedule.end - schedule.workload.submit
    classes = {
        name: response[(run > low) & (run <= high)].mean() for name, (low, high) in CLASSES.items()
    }
    return {
        "utilization": values["utilization"],
        "throughput_per_hour": values["throughput_per_hour"],
        "jobs_per_session": values["jobs"] / schedule.history["sessions"],
        "batches_per_session": schedule.history["batches"] / schedule.history["sessions"],
        "mean_response_min": values["mean_response"] / 60,
        "mean_slowdown": values["mean_slowdown"],
        **{f"response, {name}": float(mean) for name, mean in classes.items()},
    }


def _table(log: Log, longest: str, found: Mapping[tuple, Sequence[Values]]) -> Iterator[Result]:
    """Set the rows of Figure 2.1 beside ours."""
    from statistics import fmean

    rows = read_table(Path(__file__).with_suffix(".csv"))
    first = rows[0]
    for row in rows:
        users = int(row["users"])
        for column, words in COLUMNS.items():
            ours = _of(found, longest, users, 6000, column)
            few = fmean(_of(found, longest, USERS[0], 6000, column))
            against = (float(first[column]), few)
            quantity = f"Figure 2.1: {words}, {users} users, CREASY; {longest}"
            yield claim(log, quantity, float(row[column]), ours, against=against)


def _claims(log: Log, longest: str, found: Mapping[tuple, Sequence[Values]]) -> Iterator[Result]:
    """Set the figures in the text beside ours."""
    from statistics import fmean

    most, few = USERS[-1], USERS[0]

    def ours(column: str, alpha: int, users: int = most) -> list[float]:
        return _of(found, longest, users, alpha, column)

    def result(figure: str, words: str, published: float, values: Any, **how: Any) -> Result:
        return claim(log, f"{figure}: {words}; {longest}", published, values, **how)

    levels = {
        ("5.10", "throughput_per_hour"): (47, 71),
        ("5.10", "utilization"): (0.57, 0.85),
        ("5.11", "mean_response_min"): (78, 99),
        ("5.11", "mean_slowdown"): (71, 24),
    }
    for (figure, column), pair in levels.items():
        for i, (alpha, name) in enumerate(((0, "EASY"), (6000, "CREASY"))):
            other = (pair[1 - i], fmean(ours(column, 6000 - alpha)))
            words = f"{COLUMNS[column]}, {most} users, {name}"
            yield result(f"Figure {figure}", words, pair[i], ours(column, alpha), against=other)
    gains = {
        "throughput_per_hour": {1500: 21.0, 3000: 36.0, 4500: 44.0, 6000: 51.0},
        "mean_response_min": {6000: 27.0},
        "mean_slowdown": {6000: -66.0},
    }
    for column, by_alpha in gains.items():
        for alpha, published in by_alpha.items():
            values = _changes(ours(column, 0), ours(column, alpha))
            words = f"change of {COLUMNS[column]} from EASY to CREASY {alpha}, {most} users (%)"
            yield result("Figure 5.13", words, published, values)
    for what, column in SESSIONS.items():
        for alpha, name, published in ((0, "EASY", -36.0), (6000, "CREASY 6000", -2.5)):
            values = _changes(ours(column, alpha, few), ours(column, alpha))
            words = f"change of the {what} of a session from {few} to {most} users, {name} (%)"
            yield result("Figure 5.10", words, published, values)
        of_few, of_most = (ours(column, 0, users) for users in (few, most))
        for users, published, values, other in (
            (few, 2.69, of_few, (1.73, fmean(of_most))),
            (most, 1.73, of_most, (2.69, fmean(of_few))),
        ):
            words = f"{what} of a session, {users} users, EASY"
            yield result("Figure 5.10", words, published, values, against=other)
    for name, published in zip(CLASSES, (-83.0, -44.0, 81.0), strict=True):
        column = f"response, {name}"
        values = _changes(ours(column, 0), ours(column, 6000))
        words = f"change of the response of jobs of {name} from EASY to CREASY (%)"
        yield result("Figure 5.12", words, published, values)


def _of(
    found: Mapping[tuple, Sequence[Values]], longest: str, users: int, alpha: int, column: str
) -> list[float]:
    return [values[column] for values in found[longest, users, alpha]]


def _changes(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """Return changes in percent, run by run."""
    return [100 * (b / a - 1) for a, b in zip(before, after, strict=True)]


STUDY = Study(
    name="shmueli-creasy",
    text=__doc__,
    source='E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
    'schedulers", PhD thesis, Hebrew University, 2008, Figure 2.1 and section 5.5',
    logs=LOGS,
    compare=compare,
    runs=10,
)
