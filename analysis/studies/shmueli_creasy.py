"""CREASY against EASY, for sites of 50 to 250 users.

Users who come and go by Shmueli's model are simulated for half a year on a machine of 128
processors, under EASY and under CREASY with four weights of criticality. The study tests Figure
2.1, which uses the weight 6000, and the claims of the text on Figures 5.10 to 5.13. Users draw from
the combined distributions of five logs.

According to the text, run times are drawn from those of all jobs. Such jobs need twenty times the
work of those in Figure 2.1, where utilization and throughput give 5,800 processors × seconds per
job, and their mean run time exceeds the mean response time in the figure: 50 users then keep the
machine busy, and more users saturate it. So run times have a limit, found by trials. With this
limit, and with jobs of a batch that arrive at once, CREASY's utilization is near that of the figure
at all sites.

In none of these readings does EASY's utilization at 250 users stop at the published 57 %, and in
none is CREASY's gain half of EASY's throughput. FCFS's utilization is nearest to the published one.
The reading ``baseline=fcfs`` uses FCFS for α = 0; CREASY's gain over it is much larger, and stands
next to the gain over EASY under every reading. CREASY "inherits its backfilling" from EASY: in
every reading, both backfill in the same way.

A printed figure agrees within 10 %. A printed change in percent agrees within 5 points, half of the
change that a deviation of 10 % in one of two figures causes. Words of the source are given numbers:
schedulers "perform similarly" within 5 % of each other, changes are "similar" within 5 points, and
a drop of the session length is "hardly noticeable" up to 5 %.

With cycles, the activity of sites is "at levels similar to reality" (section 5.1). The hours of
weekdays and weekends at which a site of 100 users submits are compared with those of each log, by
the share of submissions that would have to move; "similar" is up to a fifth.

The source made one run. Intervals (95 %) are by Student's t over the runs; changes are computed
within each run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction import (
    Axis,
    Drawing,
    Each,
    Log,
    Reading,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    at_most,
    below,
    between,
    printed,
    read_table,
)
from workloadkit.analysis.reproduction.runs import (
    SHMUELI_LOGS,
    SHMUELI_REPEAT,
    SHMUELI_SIZE,
    SHMUELI_SPARE,
    backfilling,
    without,
)
from workloadkit.analysis.studies.shmueli_conventional import (
    Draws,
    changes,
    differences,
    distributions_of,
    draws_of,
    of_ratios,
    of_runs,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from workloadkit.simulation.users.sites import DynamicSite
    from workloadkit.trace import Trace

USERS, WEEKS, PROCS = (50, 100, 150, 200, 250), 26, 128
ALPHAS = (0, 1500, 3000, 4500, 6000)  # 0 is EASY
FCFS = -1  # stands for FCFS where others have a weight

LONGEST = Axis(
    "longest",
    '"dominated by small runtime values": those of all jobs need twenty times the published work',
    {
        "90min": "run times up to 90 min are sampled; chosen by trial",
        "1h": "run times up to 1 h are sampled; chosen by trial",
        "all": "run times are sampled from those of all jobs",
    },
)
GAPS = Axis(
    "gaps",
    "chapter 5 shows no times between the jobs of a batch; chapter 3 does",
    {
        "none": "the jobs of a batch arrive at once",
        "drawn": "times between the jobs of a batch are sampled, as in chapter 3",
    },
)
SESSION = Axis(
    "session",
    '"the number of jobs the users submit during their sessions": about as many as batches here',
    {"jobs": "the length of a session is in jobs", "batches": "the length is in batches"},
)
BASELINE = Axis(
    "baseline",
    "EASY was simulated as CREASY with α = 0; its published utilization is that of FCFS",
    {"easy": "with α = 0 CREASY is EASY", "fcfs": "with α = 0 nothing is backfilled"},
)

#: The limits of run times. [s]
LIMITS = {"90min": 5400.0, "1h": 3600.0, "all": inf}

#: Columns of Figure 2.1, and their names in claims.
COLUMNS = {
    "utilization": "utilization",
    "throughput_per_hour": "jobs an hour",
    "jobs_per_session": "jobs of a session",
    "mean_response_min": "mean response (min)",
    "mean_slowdown": "mean slowdown",
}

#: Quantities that increase or decrease with the weight of criticality, and their places.
FIGURES = {
    "throughput_per_hour": (1, "Figure 5.10"),
    "jobs_per_session": (1, "Figure 5.10"),
    "mean_response_min": (1, "Figure 5.11"),
    "mean_slowdown": (-1, "Figure 5.11"),
}

#: Run times of the classes in Figure 5.12, above the first bound and up to the second. [s]
CLASSES = {"up to 1 min": (-1, 60), "1 to 10 min": (60, 600), "over 10 min": (600, inf)}

#: Largest difference of similar changes. [points]
ALIKE = 5

Values = Mapping[str, float]

#: Users and runs of the comparison of activity by hour with the logs, and the largest share of
#: submissions at other hours that is "similar".
TYPICAL, FEW, SIMILAR = 100, 5, 0.2

#: Measurements of each run, by number of users and weight of criticality.
Found = Mapping[tuple[int, int], Sequence[Values]]


class CreasyTask(NamedTuple):
    """A simulation: logs, reading, number of users and weight of criticality."""

    draws: Draws
    reading: Reading
    users: int
    alpha: int


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the table and the figures with ours."""
    draws, reading = draws_of(plan), dict(plan.reading)
    kinds = [(users, alpha) for users in USERS for alpha in ALPHAS]
    done = each(
        measure, [CreasyTask(draws, reading, *kind) for kind in kinds for _ in range(plan.runs)]
    )
    found = {kind: done[i * plan.runs : (i + 1) * plan.runs] for i, kind in enumerate(kinds)}
    fcfs = CreasyTask(draws, reading | {"baseline": "fcfs"}, USERS[-1], 0)
    found[USERS[-1], FCFS] = each(measure, [fcfs] * plan.runs)
    note = without(plan)
    for results in (_table, _largest_site, _changes, _sessions, _loads, _classes):
        yield from (replace(result, note=note) for result in results(found))
    weeks = each(activity, [fcfs._replace(users=TYPICAL)] * min(plan.runs, FEW))
    of_logs = each(activity_of_log, plan.logs)
    for log, of_log in zip(plan.logs, of_logs, strict=True):
        words = "share of the submissions of a site that are at other hours than those of the log"
        claim = at_most(f"{words}: similar activity", SIMILAR, "sections 5.1, 5.3.2.3", "ours")
        moved = [float(abs(week - of_log).sum() / 2) for week in weeks]
        yield replace(of_runs(claim, moved), log=log)
    yield from _drawings(found)


def activity(task: CreasyTask, rng: "np.random.Generator") -> "NDArray[np.float64]":
    """Simulate a site under EASY; return the shares of its submissions, as `by_hour`."""
    import workloadkit as wk

    scheduler = backfilling("easy", task.reading)
    return by_hour(wk.simulate(None, scheduler, _site(task), procs=PROCS, rng=rng).trace())


def activity_of_log(log: Log, rng: "np.random.Generator") -> "NDArray[np.float64]":
    """Return the shares of a log's submissions, as `by_hour`."""
    return by_hour(log.read())


def by_hour(trace: "Trace") -> "NDArray[np.float64]":
    """Return shares of the submissions by hour, first those of weekdays, then of weekends."""
    import numpy as np

    from workloadkit.clock import DAY, Clock

    local = Clock.of(trace).local(trace.column("submit"))
    hour = (local % DAY // 3600).astype(np.int64)
    weekend = (local // DAY % 7 >= 5).astype(np.int64)
    return np.bincount(hour + 24 * weekend, minlength=48) / local.size


def _site(task: CreasyTask) -> "DynamicSite":
    """Return the users of a site."""
    import workloadkit as wk
    from workloadkit.site import Empirical

    distributions = distributions_of(task.draws.logs, task.draws.size)
    if task.reading["gaps"] == "none":
        distributions = replace(distributions, gap=Empirical.of([0]))
    return wk.users.DynamicSite(
        task.users,
        WEEKS,
        repeat=task.draws.repeat,
        longest=LIMITS[task.reading["longest"]],
        distributions=distributions,
    )


def measure(task: CreasyTask, rng: "np.random.Generator") -> Values:
    """Simulate a site; return the quantities of the figures."""
    import workloadkit as wk

    name = f"creasy:alpha={task.alpha}" if task.alpha else task.reading["baseline"]
    scheduler = name if name == "fcfs" else backfilling(name, task.reading)
    schedule = wk.simulate(None, scheduler, _site(task), procs=PROCS, rng=rng)
    values = schedule.metrics
    run, response = schedule.workload.run, schedule.end - schedule.workload.submit
    slowdown = schedule.jobs["slowdown"].to_numpy()
    submitted = {"jobs": values["jobs"], "batches": schedule.history["batches"]}
    of_classes = {
        f"{metric}, {name}": float(per_job[(run > low) & (run <= high)].mean())
        for name, (low, high) in CLASSES.items()
        for metric, per_job in (("response", response), ("slowdown", slowdown))
    }
    return {
        "utilization": schedule.measure("makespan_utilization"),
        "throughput_per_hour": values["throughput_per_hour"],
        "jobs_per_session": submitted[task.reading["session"]] / schedule.history["sessions"],
        "mean_response_min": values["mean_response"] / 60,
        "mean_slowdown": values["mean_slowdown"],
        **of_classes,
    }


def _table(found: Found) -> Iterator[Result]:
    """Compare the rows of Figure 2.1 with ours."""
    for row in _published():
        users = int(row["users"])
        for column, words in COLUMNS.items():
            quantity = f"{words}: {users} users, CREASY 6000"
            claim = printed(quantity, float(row[column]), "Figure 2.1")
            yield of_runs(claim, _of(found, column, users, 6000), positive=True)


def _largest_site(found: Found) -> Iterator[Result]:
    """Compare the levels and the changes at the largest site with ours."""
    most = USERS[-1]
    levels = (
        ("Figure 5.10", "throughput_per_hour", 47, 71),
        ("Figure 5.10", "utilization", 0.57, 0.85),
        ("Figure 5.11", "mean_response_min", 78, 99),
        ("Figure 5.11", "mean_slowdown", 71, 24),
    )
    for place, column, *pair in levels:
        for alpha, published in zip((0, 6000), pair, strict=True):
            words = f"{COLUMNS[column]}: {most} users, {_name(alpha)}, in the text"
            claim = printed(words, published, place)
            yield of_runs(claim, _of(found, column, most, alpha), positive=True)
    words = (
        f"change of {COLUMNS['throughput_per_hour']} from FCFS to {_name(6000)}: {most} users (%)"
    )
    claim = above(words, 50.0, FIGURES["throughput_per_hour"][1], "ours")
    yield of_runs(claim, _change(found, "throughput_per_hour", most, FCFS, 6000))
    words = f"utilization: {most} users, FCFS, published for EASY"
    claim = between(words, (0.9 * 0.57, 1.1 * 0.57), "Figure 5.10", published=0.57)
    yield of_runs(claim, _of(found, "utilization", most, FCFS), positive=True)
    claims = (
        (1500, "throughput_per_hour", partial(printed, published=21.0, within=5)),
        (3000, "throughput_per_hour", partial(printed, published=36.0, within=5)),
        (4500, "throughput_per_hour", partial(printed, published=44.0, within=5)),
        (6000, "throughput_per_hour", partial(above, bound=50.0, main=True)),
        (6000, "throughput_per_hour", partial(above, bound=0.0, kind="direction", main=True)),
        (6000, "mean_response_min", partial(printed, published=27.0, within=5)),
        (6000, "mean_response_min", partial(above, bound=0.0, kind="direction", main=True)),
        (6000, "mean_slowdown", partial(printed, published=-66.0, within=5)),
        (6000, "mean_slowdown", partial(below, bound=0.0, kind="direction", main=True)),
    )
    for alpha, column, claim_of in claims:
        words = f"change of {COLUMNS[column]} from EASY to {_name(alpha)}: {most} users (%)"
        claim = claim_of(words, place=FIGURES[column][1])
        yield of_runs(claim, _change(found, column, most, 0, alpha))


def _changes(found: Found) -> Iterator[Result]:
    """Report whether changes increase with the weight, and by less in the last step."""
    most = USERS[-1]
    for column, (sign, place) in FIGURES.items():
        for one, other in pairwise(ALPHAS):
            words = f"change of {COLUMNS[column]} from {_name(one)} to {_name(other)}: {most} users"
            beyond = above if sign > 0 else below
            claim = beyond(f"{words}, step by step (%)", 0.0, place, "direction")
            yield of_runs(claim, _change(found, column, most, one, other))
        first, last = (
            [sign * x for x in _change(found, column, most, *pair)]
            for pair in (ALPHAS[:2], ALPHAS[-2:])
        )
        change = "rise" if sign > 0 else "fall"
        words = f"{change} of {COLUMNS[column]} in the last step less that in the first (points)"
        yield of_runs(below(words, 0.0, "Figure 5.13", "direction"), differences(last, first))


def _sessions(found: Found) -> Iterator[Result]:
    """Compare the length of sessions with ours: at both sites, and the drop between them."""
    few, most = USERS[0], USERS[-1]
    place, column = "Figure 5.10", "jobs_per_session"
    for users, published in ((few, 2.69), (most, 1.73)):
        claim = printed(f"jobs of a session: {users} users, EASY", published, place)
        yield of_runs(claim, _of(found, column, users, 0), positive=True)
    drops = {
        alpha: changes(_of(found, column, few, alpha), _of(found, column, most, alpha))
        for alpha in ALPHAS
    }
    words = f"change of the jobs of a session from {few} to {most} users: {{}} (%)"
    for_easy, for_creasy = words.format("EASY"), words.format(_name(6000))
    yield of_runs(printed(for_easy, -36.0, place, within=5), drops[0])
    yield of_runs(below(for_easy, 0.0, place, "direction", main=True), drops[0])
    yield of_runs(at_least(for_creasy, -5.0, place, "ours", main=True), drops[6000])
    for one, other in pairwise(ALPHAS):
        words = f"change of the jobs of a session from {few} to {most} users: {_name(other)}"
        claim = above(f"{words} less {_name(one)} (points)", 0.0, place, "direction")
        yield of_runs(claim, differences(drops[other], drops[one]))


def _loads(found: Found) -> Iterator[Result]:
    """Report the differences of schedulers at the smallest and at the largest site."""
    few, most = USERS[0], USERS[-1]
    for column in ("throughput_per_hour", "mean_response_min", "mean_slowdown"):
        sign, place = FIGURES[column]
        for alpha in ALPHAS[1:]:
            words = f"change of {COLUMNS[column]} from EASY to {_name(alpha)}: {few} users (%)"
            claim = between(words, (-5.0, 5.0), place)
            yield of_runs(claim, _change(found, column, few, 0, alpha))
        words = (
            f"change of {COLUMNS[column]} from EASY to {_name(6000)}: {most} users less {few} "
            "users (points)"
        )
        beyond = above if sign > 0 else below
        at_most, at_few = (_change(found, column, users, 0, 6000) for users in (most, few))
        yield of_runs(beyond(words, 0.0, place, "direction"), differences(at_most, at_few))


def _classes(found: Found) -> Iterator[Result]:
    """Compare the classes of jobs at the largest site with ours."""
    most, place = USERS[-1], "Figure 5.12"
    for name, published in zip(CLASSES, (-83.0, -44.0, 81.0), strict=True):
        words = f"change of the response of jobs of {name} from EASY to {_name(6000)} (%)"
        claim = printed(words, published, place, within=5)
        yield of_runs(claim, _change(found, f"response, {name}", most, 0, 6000))
        change = (_change(found, f"{x}, {name}", most, 0, 6000) for x in ("slowdown", "response"))
        words = f"change of the slowdown of jobs of {name} less that of the response (points)"
        yield of_runs(between(words, (-ALIKE, ALIKE), place), differences(*change))
    shortest, *_, longest = CLASSES
    fall = {
        name: differences(*(_of(found, f"slowdown, {name}", most, alpha) for alpha in (0, 6000)))
        for name in (shortest, longest)
    }
    words = f"fall of the slowdown from EASY to {_name(6000)}: jobs of {shortest} less {longest}"
    claim = above(words, 0.0, place, "direction")
    yield of_runs(claim, differences(fall[shortest], fall[longest]))
    steepness = {}
    for metric, one, other in (("response", longest, shortest), ("slowdown", shortest, longest)):
        for alpha in (0, 6000):
            pair = (_of(found, f"{metric}, {name}", most, alpha) for name in (one, other))
            steepness[metric, alpha] = [a / b for a, b in zip(*pair, strict=True)]
    for metric, words, steeper in (("response", "rise", 6000), ("slowdown", "fall", 0)):
        words = f"{words} of the {metric} from jobs of {shortest} to {longest}: "
        words += f"{_name(steeper)} relative to {_name(6000 - steeper)}"
        pair = (steepness[metric, alpha] for alpha in (steeper, 6000 - steeper))
        yield of_ratios(above(words, 1.0, place, "direction"), *pair)
    for metric, beyond in (("response", above), ("slowdown", below)):
        for alpha in (0, 6000):
            for short, long in pairwise(CLASSES):
                words = f"change of the {metric} from jobs of {short} to {long}: {_name(alpha)} (%)"
                values = (_of(found, f"{metric}, {name}", most, alpha) for name in (short, long))
                yield of_runs(beyond(words, 0.0, place, "direction"), changes(*values))


def _drawings(found: Found) -> Iterator[Drawing]:
    """Draw Figures 5.10, 5.11 and 5.13, the first two with the numbers of Figure 2.1."""
    import pandas as pd

    from workloadkit.experiments.intervals import mean_interval

    for column in FIGURES:
        rows = [
            (users, alpha, *mean_interval(_of(found, column, users, alpha), positive=True))
            for users, alpha in found
            if alpha != FCFS
        ]
        data = pd.DataFrame(rows, columns=["users", "alpha", "mean", "low", "high"])
        plot = partial(plot_by_users, label=COLUMNS[column], column=column)
        name = f"{FIGURES[column][1].lower().replace(' ', '-')}-{column.replace('_', '-')}"
        title = f"{COLUMNS[column].capitalize()} by users and weight of criticality"
        yield Drawing(name, title, data, plot)
    most = USERS[-1]
    steps = [
        (COLUMNS[column], alpha, *mean_interval(_change(found, column, most, 0, alpha)))
        for column in FIGURES
        for alpha in ALPHAS
    ]
    data = pd.DataFrame(steps, columns=["metric", "alpha", "mean", "low", "high"])
    yield Drawing("figure-5.13", f"Change from EASY at {most} users", data, plot_changes)


def plot_by_users(
    data: "pd.DataFrame", ax: "Axes | None" = None, *, label: str, column: str
) -> "Axes":
    """Draw a quantity by number of users, a curve for each weight, and the published figures."""
    from workloadkit.analysis import style

    ax = style.current_axes(ax)
    for line, (alpha, rows) in zip(style.LINES, data.groupby("alpha"), strict=False):
        ax.plot(rows["users"], rows["mean"], marker="o", label=_name(int(alpha)), **line)
        ax.fill_between(rows["users"], rows["low"], rows["high"], color=line["color"], alpha=0.15)
    published = [(int(row["users"]), float(row[column])) for row in _published()]
    ax.plot(*zip(*published, strict=True), "D", color=style.INK, label="CREASY 6000, published")
    ax.set(xlabel="users", ylabel=label)
    style.legend_above(ax)
    return ax


def plot_changes(data: "pd.DataFrame", ax: "Axes | None" = None) -> "Axes":
    """Draw changes by weight of criticality, a curve for each metric."""
    from workloadkit.analysis import style

    ax = style.current_axes(ax)
    for line, (metric, rows) in zip(style.LINES, data.groupby("metric", sort=False), strict=False):
        ax.plot(rows["alpha"], rows["mean"], marker="o", label=metric, **line)
        ax.fill_between(rows["alpha"], rows["low"], rows["high"], color=line["color"], alpha=0.15)
    ax.set(xlabel="weight of criticality", ylabel="change from EASY (%)")
    style.legend_above(ax)
    return ax


def _published() -> list[dict[str, str]]:
    return read_table(Path(__file__).with_suffix(".csv"))


def _name(alpha: int) -> str:
    return f"CREASY {alpha}" if alpha else "EASY"


def _of(found: Found, column: str, users: int, alpha: int) -> list[float]:
    return [values[column] for values in found[users, alpha]]


def _change(found: Found, column: str, users: int, one: int, other: int) -> list[float]:
    """Return the changes from one weight to another, in percent."""
    return changes(_of(found, column, users, one), _of(found, column, users, other))


STUDY = Study(
    name="shmueli-creasy",
    text=__doc__,
    source='E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
    'schedulers", PhD thesis, Hebrew University, 2008, Figure 2.1 and section 5.5',
    logs=SHMUELI_LOGS,
    compare=compare,
    runs=20,
    axes=(SHMUELI_SIZE, SHMUELI_REPEAT, LONGEST, GAPS, SESSION, BASELINE, SHMUELI_SPARE),
)
