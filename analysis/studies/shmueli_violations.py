"""Dependencies that load scaling violates.

Logs of ten static sessions, simulated under EASY and under FCFS, record in fields 17 and 18 which
job each batch has waited for. Each log is replayed by its timestamps under both schedulers. The
timestamps are stretched or compressed to offered loads from 0.2 to 0.65 (the log of FCFS) or 0.9
(that of EASY), as in Figure 3.13. The study counts the jobs submitted before the job that they
depend on has ended, and those that start before it has started.

The curves of the figure are not printed as numbers, so the claims are those of the text. Violations
begin at the lowest load at which more than 1 % of the jobs have one. This load agrees within 10 %,
one step of the loads. There are no violations only if no run has any. Words of the source are given
numbers: "far before" the load of the log is at most 0.8 of it, "few" violations are up to 5 % of
the jobs, and an increase is "almost linear" if load and share of violations have a correlation of
at least 0.95 from the load at which violations begin.

The source made one run. Intervals (95 %) are by Student's t over the runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction import (
    Each,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    at_most,
    below,
    printed,
)
from workloadkit.analysis.reproduction.runs import (
    SHMUELI_LOGS,
    SHMUELI_REPEAT,
    SHMUELI_SIZE,
    without,
)
from workloadkit.analysis.studies.shmueli_conventional import (
    PROCS,
    WORDS,
    Draws,
    draws_of,
    of_ratios,
    of_runs,
    static_site,
)

if TYPE_CHECKING:
    import numpy as np

#: Offered loads, by the scheduler that made the log.
LOADS = {
    "fcfs": tuple(round(0.2 + 0.05 * i, 2) for i in range(10)),
    "easy": tuple(round(0.2 + 0.05 * i, 2) for i in range(15)),
}

#: Violations begin where the share of jobs with one exceeds this.
BEGINS = 0.01

PLACE = "Figure 3.13"


class _Task(NamedTuple):
    """One simulation of sessions that sample logs, under a scheduler."""

    draws: Draws
    maker: str


class ViolationShares(NamedTuple):
    """The load of a log; shares of violations by scheduler and offered load (None: unscaled)."""

    load: float
    shares: Mapping[tuple[str, float | None], tuple[float, float]]


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Test the claims of the text on the figure."""
    draws = draws_of(plan)
    done = each(measure, [_Task(draws, maker) for maker in LOADS for _ in range(plan.runs)])
    of_fcfs, of_easy = done[: plan.runs], done[plan.runs :]
    note = without(plan)
    for results in (_log_of_fcfs(of_fcfs), _log_of_easy(of_easy), _own_loads(of_fcfs, of_easy)):
        yield from (replace(result, note=note) for result in results)


def _log_of_fcfs(found: Sequence[ViolationShares]) -> Iterator[Result]:
    yield _no_execution("FCFS", found)
    for scheduler, name in WORDS.items():
        words = f"log of FCFS under {name}: load at which violations begin"
        claim = printed(words, 0.5, PLACE, main=True)
        yield of_runs(claim, [_begins(x, scheduler) for x in found], positive=True)
    words = "log of FCFS under FCFS: correlation of load and share of submissions in violation"
    claim = at_least(words, 0.95, PLACE, "ours")
    yield of_runs(claim, [_linearity(x, "fcfs") for x in found])
    yield from _highest("FCFS", "fcfs", found)


def _log_of_easy(found: Sequence[ViolationShares]) -> Iterator[Result]:
    yield _no_execution("EASY", found)
    own = [max(x.shares["easy", None]) for x in found]
    words = "log of EASY under EASY: share of jobs in violation at its own load"
    yield of_runs(printed(words, 0.0, PLACE, within=0, main=True), own)
    before = [_begins(x, "fcfs") / x.load for x in found]
    words = "log of EASY under FCFS: where violations begin, relative to its own load"
    for claim in (
        below(words, 1.0, PLACE, "direction", main=True),
        at_most(words, 0.8, PLACE, "ours"),
    ):
        yield of_runs(claim, before, positive=True)
    few = [_most(x, "easy", 0, below=x.load) for x in found]
    words = "log of EASY under EASY: largest share of submissions in violation below its own load"
    for claim in (
        above(words, 0.0, PLACE, "direction"),
        at_most(words, 0.05, PLACE, "ours"),
    ):
        yield of_runs(claim, few, positive=True)
    yield from _highest("EASY", "easy", found)


def _own_loads(
    of_fcfs: Sequence[ViolationShares], of_easy: Sequence[ViolationShares]
) -> Iterator[Result]:
    words = "load of the log of EASY over that of the log of FCFS"
    claim = above(words, 1.0, "section 3.4.1", "direction")
    yield of_ratios(claim, [x.load for x in of_easy], [x.load for x in of_fcfs])


def measure(task: _Task, rng: "np.random.Generator") -> ViolationShares:
    """Simulate sessions, and replay their log at all loads under both schedulers."""
    import numpy as np

    import workloadkit as wk

    trace = wk.simulate(None, task.maker, static_site(task.draws), procs=PROCS, rng=rng).trace()
    submit = trace.column("submit")
    work = float(np.dot(trace.column("run"), trace.column("procs")))
    shares = {}
    for scheduler in WORDS:
        for load in (None, *LOADS[task.maker]):
            found = wk.violations(wk.simulate(trace, scheduler, offered_load=load))
            shares[scheduler, load] = (found.submission_share, found.execution_share)
    return ViolationShares(work / PROCS / float(submit[-1] - submit[0]), shares)


def _no_execution(maker: str, found: Sequence[ViolationShares]) -> Result:
    words = f"log of {maker} under FCFS: largest share of executions in violation at any load"
    claim = printed(words, 0.0, PLACE, within=0)
    return of_runs(claim, [_most(x, "fcfs", 1) for x in found])


def _highest(maker: str, scheduler: str, found: Sequence[ViolationShares]) -> Iterator[Result]:
    """Report the violations under EASY at the highest load."""
    highest = LOADS[scheduler][-1]
    for kind, name in enumerate(("submissions", "executions")):
        words = f"log of {maker} under EASY: share of {name} in violation at {highest:g}"
        claim = above(words, 0.0, "section 3.4.2", "direction")
        yield of_runs(claim, [x.shares["easy", highest][kind] for x in found], positive=True)


def _loads(found: ViolationShares, scheduler: str) -> list[float]:
    return sorted(load for who, load in found.shares if who == scheduler and load is not None)


def _begins(found: ViolationShares, scheduler: str) -> float:
    """Lowest load with submissions in violation; the highest of all if there is none."""
    loads = _loads(found, scheduler)
    return next((x for x in loads if found.shares[scheduler, x][0] > BEGINS), loads[-1])


def _most(found: ViolationShares, scheduler: str, kind: int, *, below: float = 2.0) -> float:
    """Largest share of violations at loads below a limit."""
    loads = [load for load in _loads(found, scheduler) if load < below]
    return max((found.shares[scheduler, load][kind] for load in loads), default=0.0)


def _linearity(found: ViolationShares, scheduler: str) -> float:
    """Correlation of load and violations from where they begin; NaN for two loads."""
    from math import nan
    from statistics import correlation

    begins = _begins(found, scheduler)
    loads = [load for load in _loads(found, scheduler) if load >= begins]
    shares = [found.shares[scheduler, load][0] for load in loads]
    return correlation(loads, shares) if len(loads) > 2 and len(set(shares)) > 1 else nan


STUDY = Study(
    name="shmueli-violations",
    text=__doc__,
    source='E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
    'schedulers", PhD thesis, Hebrew University, 2008, Figure 3.13',
    logs=SHMUELI_LOGS,
    compare=compare,
    runs=10,
    axes=(SHMUELI_SIZE, SHMUELI_REPEAT),
)
