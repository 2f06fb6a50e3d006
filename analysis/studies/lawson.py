"""Self-adaptive multiple-queue backfilling in four logs.

The slowdown ratio R compares a scheduler with EASY, job by job: (s1 - s) / min(s1, s), where s1 and
s are 1 + wait / max(10 s, run) of the job under EASY and under the other scheduler. R > 0 is a
gain. Jobs that ran less than 10 s and requested more than 60 s are left out. The R of a week is
that of the jobs submitted in it. A printed ratio agrees within half of its value, at least 0.25,
and a count within 10 %. Four queues, and the runs of Figures 6 and 7, meet the same ten shaken
copies of a log (± 30 s), and their results are means with intervals of chaos. SDSC-BLUE, which is
too large for that, and the other pairs of T and L of Table 3 are simulated once.

The study has three parts: the classes of jobs by run time (Figure 1); four queues, with exact and
with users' estimates (Figures 4 and 5); and the self-adaptive scheduler for each threshold T of the
bounded slowdown and each length L of the simulations in weeks (Figures 6 to 9, Tables 2 and 3).

The classes of a week divide its own jobs into equal parts. "Varies greatly" means a factor of two
between the 90th and the 10th percentile of the weeks. A class "has less variation" if it does in
nine of ten weeks. "A little less" means between half as much and equally much.

As in the source, only the first 104 weeks of SDSC-BLUE are used. If a job runs longer than its
estimate, the estimate is raised to the run time.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Axis,
    Claim,
    Drawing,
    Each,
    Log,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    below,
    between,
    printed,
    read_table,
)
from workloadkit.analysis.reproduction.runs import draw_seed, of_one_run, of_shakes, shaken

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes

    from workloadkit.simulation import Schedule
    from workloadkit.trace import Trace

QUEUES = 4
WEEKS = 104
WEEK = 604800
#: Margin of a printed ratio.
SHARE, LEAST = 0.5, 0.25

FORECAST = Axis(
    "forecast",
    '"the waiting jobs are simulated" for a week or two (section 3): arrivals are not specified',
    {
        "replay": "the jobs of the past weeks arrive again",
        "waiting": "nothing arrives",
        "actual": "the actual arrivals of the log, which no real scheduler knows",
    },
)
RUN_TIMES = Axis(
    "run_times",
    '"a quick trace-driven simulation" (section 3): run times are not specified',
    {
        "estimated": "each job runs for its estimate",
        "actual": "the run times of the log, which no real scheduler knows",
    },
)
BEGINS = Axis(
    "begins",
    "the initial number of queues is not stated (section 3.1)",
    {"4": "four", "1": "one", "2": "two", "3": "three"},
)
CTC = Axis(
    "ctc",
    '"512 nodes" (section 2.2); the batch partition had 430, and 338 in the available log',
    {"512": "512 nodes", "430": "430 nodes", "338": "338 nodes"},
)

#: The logs, and the versions that the source used.
LOGS = {
    "CTC": "CTC-SP2-1996-2",
    "KTH": "KTH-SP2-1996-2",
    "SDSC-SP2": "SDSC-SP2-1998-2",
    "SDSC-BLUE": "SDSC-BLUE-2000-2",
}

#: Threshold T and length L of the runs of Figures 6 and 7 (Table 1).
CHOSEN = {"CTC": (2.5, 2), "KTH": (100, 2), "SDSC-SP2": (25, 1), "SDSC-BLUE": (10, 1)}


@dataclass(frozen=True)
class SchedulerRun:
    """A scheduler to compare with EASY.

    Parameters
    ----------
    log : Log
    procs : int, optional
        Processors of the machine; by default those of the log.
    estimates : {"user", "exact"}
    threshold : float, optional
        Threshold of the self-adaptive scheduler; without one there are four queues.
    weeks : int
        Length of its simulations. [weeks]
    forecast, run_times : str
        Arrivals and run times in them.
    begins : int
        Initial number of queues.
    seed : int, optional
        Seed of the shaken copies of the log; without one, the log as it is.
    """

    log: Log
    procs: int | None
    estimates: str = "user"
    threshold: float | None = None
    weeks: int = 0
    forecast: str = ""
    begins: int = QUEUES
    seed: int | None = None
    run_times: str = "estimated"

    @property
    def scheduler(self) -> Any:
        """The scheduler."""
        import workloadkit as wk

        queues = [wk.schedulers.MultiQueue(n + 1) for n in range(QUEUES)]
        if self.threshold is None:
            return queues[-1]
        first = queues.pop(self.begins - 1)
        return wk.schedulers.SelfAdaptive(
            self.threshold,
            self.weeks,
            forecast=self.forecast,
            run_times=self.run_times,
            candidates=(first, *queues),
        )


@dataclass(frozen=True)
class WeeklyRatios:
    """The slowdown ratio of a run and of its weeks, and the scheduler's decisions."""

    ratio: float
    weeks: Sequence[float]
    jobs: Sequence[int]
    history: Mapping[str, Any]

    def share(self, sign: int) -> float:
        """Share of the weeks with a gain (`sign` 1), or a loss (-1)."""
        return sum(sign * ratio > 0 for ratio in self.weeks) / len(self.weeks)

    def week(self, number: int) -> float:
        """R of a week, numbered from 1; NaN if there is none."""
        return self.weeks[number - 1] if number <= len(self.weeks) else nan


#: Results of a log with four queues, by kind of estimates.
Fixed = Mapping[str, WeeklyRatios]


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the published ratios and decisions with ours."""
    forecast, begins = plan.reading["forecast"], int(plan.reading["begins"])
    run_times = plan.reading["run_times"]
    table, runs, again = _published_ratios(), dict[tuple, SchedulerRun](), dict[Log, list]()
    for log, seed in zip(plan.logs, each(draw_seed, plan.logs), strict=True):
        procs = int(plan.reading["ctc"]) if log.name == "CTC" else None
        pairs = {
            key: SchedulerRun(log, procs, "user", *key[1:], forecast, begins, run_times=run_times)
            for key in table
            if key[0] == log.name
        }
        runs |= pairs
        fixed = [SchedulerRun(log, procs, x) for x in ("exact", "user")]
        chosen = pairs[log.name, *CHOSEN[log.name]]
        again[log] = [replace(x, seed=seed) for x in (*fixed, chosen)]
    once = {key: of for key, (of,) in zip(runs, each(simulate, runs.values()), strict=True)}
    variation = each(classes, [log for log in plan.logs if log.name in ("KTH", "SDSC-SP2")])
    for name, claims in variation:
        log = next(log for log in plan.logs if log.name == name)
        yield from (Result(log, claim, ours) for claim, ours in claims)
    found = iter(each(simulate, [*chain.from_iterable(again.values())]))
    of_shaken = {log: [next(found) for _ in of_log] for log, of_log in again.items()}

    def results_of(run: int) -> Iterator[Result | Drawing]:
        of_run = {log: [of[min(run, len(of) - 1)] for of in x] for log, x in of_shaken.items()}
        return _of_schedulers(of_run)

    yield from of_shakes(results_of, {log: len(of[0]) for log, of in of_shaken.items()})
    yield from of_one_run(_of_table(plan, table, once))


def _of_schedulers(found: Mapping[Log, Sequence[WeeklyRatios]]) -> Iterator[Result | Drawing]:
    """Report four queues with exact and users' estimates, and the runs of Figures 6 and 7."""
    fixed = {log: {"exact": of_log[0], "user": of_log[1]} for log, of_log in found.items()}
    adaptive = {log: of_log[2] for log, of_log in found.items()}
    yield from _four_queues(fixed)
    yield from _main(fixed, adaptive)
    for log, of_log in fixed.items():
        yield from _weeks(log, of_log, adaptive[log])
        yield from _decisions(log, adaptive[log])
        pair = CHOSEN[log.name]
        claim = _near(*pair, _published_ratios()[log.name, *pair])
        yield Result(log, claim, adaptive[log].ratio)


def _of_table(
    plan: StudyInput,
    table: Mapping[tuple[str, float, int], float],
    found: Mapping[tuple[str, float, int], WeeklyRatios],
) -> Iterator[Result]:
    """Report all pairs of T and L, each in one run."""
    for key, ratio in table.items():
        name, threshold, weeks = key
        log = next(log for log in (*plan.logs, *plan.missing) if log.name == name)
        if log in plan.missing or (threshold, weeks) != CHOSEN[name]:
            ours = found[key].ratio if key in found else nan
            yield Result(log, _near(threshold, weeks, ratio), ours)
    yield from _together(table, found)
    yield from _of_ctc(plan.logs, found)


def simulate(run: SchedulerRun, rng: "np.random.Generator") -> list[WeeklyRatios]:
    """Return the slowdown ratio of a scheduler against EASY, and its decisions, of each run."""
    import workloadkit as wk
    from workloadkit.analysis.schedules.relative_slowdown import slowdown_ratio

    found = []
    for trace, single in _easy(run.log, run.procs, run.estimates, run.seed):
        other = wk.simulate(trace, run.scheduler, procs=run.procs, estimates=run.estimates)
        ratio = slowdown_ratio(single, other)
        weeks = ratio.weeks[ratio.weeks["jobs"] > 0]
        means, jobs = weeks["mean"].tolist(), weeks["jobs"].tolist()
        found.append(WeeklyRatios(ratio.mean, means, jobs, other.history))
    return found


@lru_cache(maxsize=1)
def _easy(
    log: Log, procs: int | None, estimates: str, seed: int | None
) -> "list[tuple[Trace, Schedule]]":
    """Return the copies of a log and their schedules under EASY, which many runs compare with."""
    import numpy as np

    import workloadkit as wk

    trace = first_weeks(log)
    traces = [trace] if seed is None else shaken(trace, np.random.default_rng(seed))
    return [(x, wk.simulate(x, "easy", procs=procs, estimates=estimates)) for x in traces]


def first_weeks(log: Log) -> "Trace":
    """Return the jobs of the first 104 weeks."""
    trace = log.read()
    submit = trace.column("submit")
    return trace.select(submit < submit[trace.ran].min() + WEEKS * WEEK)


def classes(log: Log, rng: "np.random.Generator") -> tuple[str, list[tuple[Claim, float]]]:
    """Measure the jobs of each week, and four classes of them, as in Figure 1."""
    import numpy as np

    trace = first_weeks(log)
    trace = trace.select(trace.ran)
    submit, run = trace.column("submit"), trace.column("run")
    week = ((submit - submit[0]) // WEEK).astype(np.int64)
    jobs, means, less = [], [], []
    for number in range(int(week[-1])):  # the last week is incomplete
        of_week = np.sort(run[week == number])
        if of_week.size < 10 * QUEUES:
            continue
        jobs.append(of_week.size)
        means.append(of_week.mean())
        parts = [part.std() / part.mean() for part in np.array_split(of_week, QUEUES)]
        less.append(np.mean(parts) < of_week.std() / of_week.mean())
    spread = [float(np.divide(*np.quantile(x, (0.9, 0.1)))) for x in (jobs, means)]
    words = "jobs a week, 90th percentile over 10th: varies greatly"
    of_means = "mean run time of a week, 90th percentile over 10th: varies greatly"
    of_classes = "share of weeks in which classes by run time have less variation"
    return log.name, [
        (at_least(words, 2, "Figure 1(a)-(b)", "ours"), spread[0]),
        (at_least(of_means, 2, "Figure 1(c)-(d)", "ours"), spread[1]),
        (at_least(of_classes, 0.9, "Figure 1(e)-(f)", "ours"), float(np.mean(less))),
    ]


def _four_queues(fixed: Mapping[Log, Fixed]) -> Iterator[Result]:
    """Report the results of Figure 4, and the logs with the largest and smallest gain."""
    a, b = "Figure 4(a)", "Figure 4(b)"
    bounds = {"CTC": 1.2, "SDSC-BLUE": 2.0}
    for log, found in fixed.items():
        bound = bounds.get(log.name, 0.0)
        claim = above(
            "R, four queues, exact estimates", bound, a, "bound" if bound else "direction"
        )
        yield Result(log, claim, found["exact"].ratio)
    for log, found in fixed.items():
        side = below if log.name == "CTC" else above
        claim = side("R, four queues, users' estimates", 0, b, "direction")
        yield Result(log, claim, found["user"].ratio)
    exact = {log.name: found["exact"].ratio for log, found in fixed.items()}
    for name, words, side in (
        ("SDSC-SP2", "R, exact estimates, SDSC-SP2 over the largest of the others", above),
        ("CTC", "R, exact estimates, CTC less the least of the others", below),
    ):
        others = [ratio for other, ratio in exact.items() if other != name]
        ours = nan
        if name in exact and len(others) == 3:
            ours = exact[name] - (max(others) if side is above else min(others))
        yield Result(ALL_LOGS, side(words, 0, a, "direction"), ours)
    for log, found in fixed.items():
        if log.name == "SDSC-SP2":
            claim = above("R, users' estimates less exact ones", 0, b, "direction")
            yield Result(log, claim, found["user"].ratio - found["exact"].ratio)


def _main(fixed: Mapping[Log, Fixed], adaptive: Mapping[Log, WeeklyRatios]) -> Iterator[Result]:
    """Report the results of Figure 6: the self-adaptive scheduler and four queues."""
    for log, of_log in fixed.items():
        ours = adaptive[log].ratio
        words = "R, online simulation less four queues, users' estimates"
        claim = above(words, 0, "Figure 6(b)-(c)", "direction", main=True)
        yield Result(log, claim, ours - of_log["user"].ratio)
    for log, of_log in fixed.items():
        ours, exact = adaptive[log].ratio, of_log["exact"].ratio
        if log.name in ("KTH", "SDSC-SP2"):
            words = "R, online simulation with users' estimates less four queues with exact ones"
            yield Result(log, above(words, 0, "Figure 6(a),(c)", "direction"), ours - exact)
        else:
            words = "R, online simulation with users' estimates, of that of four queues with exact"
            claim = between(f"{words} ones: a little less", (0.5, 1), "Figure 6(a),(c)")
            yield Result(log, claim, ours / exact if exact else nan)


def _weeks(log: Log, fixed: Fixed, adaptive: WeeklyRatios) -> Iterator[Result | Drawing]:
    """Report the results of Figures 5 and 7 for single weeks."""
    exact, user = fixed["exact"], fixed["user"]
    words = "share of weeks with R > 0, {}"
    for how, found, place in (
        ("four queues, exact estimates", exact, "Figure 5"),
        ("online simulation", adaptive, "Figure 7"),
    ):
        claim = above(words.format(how), 0.5, place)
        yield Result(log, claim, found.share(1))
    for name, estimates, weeks in (
        ("KTH", "exact", (11,)),
        ("SDSC-BLUE", "exact", (101,)),
        ("CTC", "user", (30, 40)),
    ):
        for week in weeks if name == log.name else ():
            claim = below(f"R of week {week}, four queues, {estimates} estimates", 0, "Figure 5",
                          "direction")  # fmt: skip
            yield Result(log, claim, fixed[estimates].week(week))
    more = user.share(-1) - exact.share(-1)
    yield Result(
        log,
        above("share of weeks with R < 0, users' estimates less exact ones", 0, "Figure 5",
              "direction"),
        more,
        note="the source: in three of four logs",
    )  # fmt: skip
    fewer = adaptive.share(-1) - user.share(-1)
    claim = below("share of weeks with R < 0, online simulation less four queues", 0, "Figure 7",
                  "direction")  # fmt: skip
    yield Result(log, claim, fewer)
    yield _drawing(log, {"four queues, exact estimates": exact,
                         "four queues": user,
                         "online simulation": adaptive})  # fmt: skip


def _decisions(log: Log, adaptive: WeeklyRatios) -> Iterator[Result]:
    """Report how often the scheduler searched for a better number of queues, and changed it."""
    for row in _table("changes"):
        pair = float(row["T"]), int(row["L"])
        if row["log"] != log.name or pair != CHOSEN[log.name]:
            continue
        history = adaptive.history
        changes = Counter(change["to"] for change in history["changes"])
        ours = {"weeks": history["weeks"], "tests": history["tests"], "changes": changes.total()}
        ours |= {f"to_{queues}": changes[queues] for queues in range(1, QUEUES + 1)}
        for quantity, number in ours.items():
            words = quantity.replace("to_", "changes to so many queues: ")
            claim = printed(f"{words}, T {pair[0]:g}, L {pair[1]}", int(row[quantity]), "Table 2")
            yield Result(log, claim, number)


def _together(table: Mapping[tuple[str, float, int], float], found: Mapping) -> Iterator[Result]:
    """Report the number of experiments with a loss, and the effect of L."""
    ours = {key: found[key].ratio for key in table if key in found}
    losses = sum(ratio < 0 for ratio in ours.values())
    whole = len(ours) == len(table)
    claim = printed(f"losses, of {len(table)} pairs", 3, "Table 3", within=2)
    yield Result(ALL_LOGS, claim, losses if whole else nan)
    same = [ours[log, t, 1] == ours[log, t, 2] for log, t, weeks in ours if weeks == 1]
    claim = at_least("share of pairs in which the length of the simulations matters", 0.9,
                     "Table 3", "ours")  # fmt: skip
    yield Result(ALL_LOGS, claim, 1 - sum(same) / len(same) if same else nan)
    best = {log: max((r, key) for key, r in ours.items() if key[0] == log)[1][1]
            for log in dict.fromkeys(key[0] for key in ours)}  # fmt: skip
    claim = at_least("different thresholds that are best for a log", 2, "section 3.2", "direction")
    yield Result(ALL_LOGS, claim, len(set(best.values())) if len(best) > 1 else nan)


def _of_ctc(
    logs: Sequence[Log], pairs: Mapping[tuple[str, float, int], WeeklyRatios]
) -> Iterator[Result]:
    """Report the result of Figure 9 for CTC: a loss around week 30 with L = 1."""
    for log in logs:
        if log.name != "CTC":
            continue
        found = pairs[log.name, 5.0, 1]
        place, note = "Figure 9", "that week's flurry is cut from the cleaned log"
        claim = below("R of week 30, T 5, L 1", 0, place, "direction")
        yield Result(log, claim, found.week(30), note=note)
        lost = [min(r, 0) * n for r, n in zip(found.weeks, found.jobs, strict=True)]
        share = sum(lost[28:31]) / sum(lost) if sum(lost) else nan
        claim = above("share of the losses that weeks 29 to 31 make, T 5, L 1", 0.5, place)
        yield Result(log, claim, share, note=note)


def _drawing(log: Log, found: Mapping[str, WeeklyRatios]) -> Drawing:
    """Return R by week of a log, as Figures 5 and 7 show it."""
    import pandas as pd

    data = pd.DataFrame({name: pd.Series(run.weeks) for name, run in found.items()})
    data.index = pd.RangeIndex(1, len(data) + 1, name="week")
    return Drawing(f"lawson-weeks-{log.name}", f"R by week, {log.name}", data, _plot_weeks)


def _plot_weeks(data: "pd.DataFrame", ax: "Axes | None" = None) -> "Axes":
    from workloadkit.analysis import style

    ax = style.current_axes(ax)
    ax.axhline(0, color=style.MUTED, linewidth=0.8)
    for name, line in zip(data, style.LINES, strict=False):
        ax.plot(data.index, data[name], **line, label=name)
    ax.set_yscale("symlog")
    style.count_axis(ax.yaxis)
    ax.set(xlabel="week of submission", ylabel="slowdown ratio R")
    style.count_axis(ax.xaxis)
    style.legend_above(ax)
    return ax


def _table(name: str) -> list[dict[str, str]]:
    return read_table(Path(__file__).with_name(f"lawson_{name}.csv"))


def _published_ratios() -> dict[tuple[str, float, int], float]:
    """Return the ratios of Table 3 by log, threshold and weeks."""
    return {
        (row["log"], float(row["T"]), weeks): float(row[f"L{weeks}"])
        for row in _table("slowdown_ratio")
        for weeks in (1, 2)
    }


def _near(threshold: float, weeks: int, ratio: float) -> Claim:
    words, within = f"R, T {threshold:g}, L {weeks}", max(SHARE * abs(ratio), LEAST)
    return printed(words, ratio, "Table 3", within=within)


STUDY = Study(
    name="lawson",
    text=__doc__,
    source='B. Lawson, E. Smirni, "Self-adaptive scheduler parameterization", Technical Report '
    "TR-05-01, University of Richmond, 2005",
    logs=LOGS,
    compare=compare,
    axes=(FORECAST, BEGINS, CTC, RUN_TIMES),
)
