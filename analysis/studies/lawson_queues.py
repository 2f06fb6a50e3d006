"""Fixed numbers of queues, week by week, in four logs.

Two, three, four and eight queues, with users' estimates, are compared with EASY by the slowdown
ratio R of the study `lawson` (R > 0 is a gain over EASY; jobs that seem to have crashed are left
out). The claims of the source: no number of queues is best in all weeks (section 3); in good weeks,
gains are smaller with users' estimates than with exact ones, most of all at CTC (Figure 5); R would
often be higher if crashed jobs counted (section 2.2, footnote 4); R > 0 means that short jobs wait
less.

The R of a week is that of the jobs submitted in it. The gain is the mean over the weeks with R > 0.
Short jobs are the quarter with the shortest run times. As in the source, only the first 104 weeks
of SDSC-BLUE are used. If a job runs longer than its estimate, the estimate is raised to the run
time. Results are means over ten shaken copies of a log (± 30 s) with intervals of chaos; SDSC-BLUE
is simulated once.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Drawing,
    Each,
    Log,
    Result,
    Study,
    StudyInput,
    above,
    below,
)
from workloadkit.analysis.reproduction.runs import of_shakes, shaken, without
from workloadkit.analysis.studies.lawson import CTC, LOGS, first_weeks

if TYPE_CHECKING:
    import numpy as np

    from workloadkit.trace import Trace

#: Numbers of queues, and the one that is examined in detail.
NUMBERS, FOUR = (2, 3, 4, 8), 4


class _Task(NamedTuple):
    """A log on a machine."""

    log: Log
    procs: int | None


class QueueRatios(NamedTuple):
    """Slowdown ratios of a log.

    Parameters
    ----------
    weeks : mapping of int to sequence of float
        R of each week that has jobs, by the number of queues.
    exact : sequence of float
        R of each week, for four queues with exact estimates.
    ratio, with_crashed : float
        R of four queues, without and with crashed jobs.
    short : float
        Mean wait of short jobs with four queues less that under EASY. [s]
    """

    weeks: Mapping[int, Sequence[float]]
    exact: Sequence[float]
    ratio: float
    with_crashed: float
    short: float


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the source's statements about fixed numbers of queues with ours."""
    tasks = [
        _Task(log, int(plan.reading["ctc"]) if log.name == "CTC" else None) for log in plan.logs
    ]
    found = dict(zip(plan.logs, each(simulate, tasks), strict=True))
    gaining = {log for log, its in found.items() if fmean(x.ratio for x in its) > 0}

    def results_of(run: int) -> Iterator[Result | Drawing]:
        of_run = {log: its[min(run, len(its) - 1)] for log, its in found.items()}
        for log, its in of_run.items():
            yield from _of_log(log, its, gains=log in gaining)
        yield _most_at_ctc(of_run, without(plan))

    yield from of_shakes(results_of, {log: len(its) for log, its in found.items()})


def simulate(task: _Task, rng: "np.random.Generator") -> list[QueueRatios]:
    """Simulate the shaken copies of a log under EASY and with each number of queues."""
    return [_ratios_of(trace, task.procs) for trace in shaken(first_weeks(task.log), rng)]


def _ratios_of(trace: "Trace", procs: int | None) -> QueueRatios:
    import numpy as np

    import workloadkit as wk
    from workloadkit import metrics
    from workloadkit.analysis.schedules.relative_slowdown import served_in_order, slowdown_ratio

    def run(scheduler: Any, estimates: str = "user") -> Any:
        return wk.simulate(trace, scheduler, procs=procs, estimates=estimates)

    easy, queues = run("easy"), {n: run(wk.schedulers.MultiQueue(n)) for n in NUMBERS}
    exact = slowdown_ratio(run("easy", "exact"), run(wk.schedulers.MultiQueue(FOUR), "exact"))
    ratios = {n: slowdown_ratio(easy, of) for n, of in queues.items()}
    one, four = served_in_order(easy), served_in_order(queues[FOUR])
    of_all = metrics.slowdown_ratio(
        metrics.lawson_slowdown(one.wait, one.run), metrics.lawson_slowdown(four.wait, four.run)
    )
    short = one.run <= np.quantile(one.run, 0.25)
    return QueueRatios(
        {n: ratio.weeks["mean"].dropna().tolist() for n, ratio in ratios.items()},
        exact.weeks["mean"].dropna().tolist(),
        ratios[FOUR].mean,
        float(of_all.mean()),
        float((four.wait - one.wait)[short].mean()),
    )


def _of_log(log: Log, found: QueueRatios, *, gains: bool) -> Iterator[Result]:
    """Compare the source's statements about each log with ours, given whether R > 0."""
    import numpy as np

    place, numbers = "section 3", [*found.weeks]
    weeks = np.array([found.weeks[n] for n in numbers])
    best = weeks == weeks.max(axis=0)
    shares = best.mean(axis=1)
    words = "share of weeks in which the number of queues that is best most often is the best"
    note = f"{numbers[int(shares.argmax())]} queues"
    yield Result(log, below(words, 1, place, "direction"), float(shares.max()), note=note)
    two, three = (weeks[numbers.index(n)] for n in (2, 3))
    claim = above("share of weeks in which two queues are better than three", 0, place, "direction")
    yield Result(log, claim, float(np.mean(two > three)))
    claim = above("share of weeks in which four queues are the best", 0, place, "direction")
    alone = best[numbers.index(FOUR)] & (best.sum(axis=0) == 1)
    yield Result(log, claim, float(alone.mean()))
    better = [np.array(of)[np.array(of) > 0] for of in (found.weeks[FOUR], found.exact)]
    user, exact = (float(of.mean()) if of.size else nan for of in better)
    claim = below("mean R of the weeks with R > 0, users' estimates less exact ones", 0, "Figure 5",
                  "direction")  # fmt: skip
    yield Result(log, claim, user - exact, note="the source: in three of four logs")
    claim = above("R with crashed jobs less R without them", 0, "section 2.2", "direction")
    note = f"{found.with_crashed:.3g} and {found.ratio:.3g}"
    yield Result(log, claim, found.with_crashed - found.ratio, note=note)
    if gains:
        words = "mean wait of short jobs, four queues less EASY, where R > 0 (s)"
        yield Result(log, below(words, 0, "section 2.2", "direction"), found.short)


def _most_at_ctc(found: Mapping[Log, QueueRatios], note: str) -> Result:
    """Report whether users' estimates cause the most additional losing weeks at CTC."""
    import numpy as np

    worse = {
        log.name: float(np.mean(np.array(its.weeks[FOUR]) < 0) - np.mean(np.array(its.exact) < 0))
        for log, its in found.items()
    }
    others = [more for name, more in worse.items() if name != "CTC"]
    words = "more weeks with R < 0 by users' estimates: CTC less the most of the others (share)"
    ours = worse["CTC"] - max(others) if "CTC" in worse and others else nan
    return Result(ALL_LOGS, above(words, 0, "Figure 5", "direction"), ours, note=note)


STUDY = Study(
    name="lawson-queues",
    text=__doc__,
    source='B. Lawson, E. Smirni, "Self-adaptive scheduler parameterization", Technical Report '
    "TR-05-01, University of Richmond, 2005, sections 2 and 3",
    logs=LOGS,
    compare=compare,
    axes=(CTC,),
)
