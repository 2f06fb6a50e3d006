"""Dependencies that load scaling breaks.

Logs of ten static sessions, served by EASY and by FCFS, tell in fields 17 and 18 which job each
batch has waited for. Each is replayed by its timestamps under both schedulers, with these stretched
or compressed to offered loads from 0.2 to 0.65 (the log of FCFS) or 0.9 (that of EASY), as in
Figure 3.13. Counted are the jobs submitted while the job they depend on is unfinished, and those
started before it has started.

The figure's curves are not printed as numbers; what the text says of them is judged. Violations are
taken to begin at the lowest load at which more than one job of a hundred has one, and to be few up
to then. That there are none is *held* if there are none in any run. A bound is held if our 95 %
interval, by Student's t over the runs, is beyond it, and its direction if only the mean is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from analysis.studies import Each, Log, Result, Study, Verdict
from analysis.studies.shmueli_conventional import LOGS, PROCS, WORDS, static_site, together

if TYPE_CHECKING:
    import numpy as np

#: Offered loads, by whose log it is.
LOADS = {
    "fcfs": tuple(round(0.2 + 0.05 * i, 2) for i in range(10)),
    "easy": tuple(round(0.2 + 0.05 * i, 2) for i in range(15)),
}
BEGINS = 0.01


class Task(NamedTuple):
    """Sessions that draw from these logs, once, under a scheduler."""

    logs: tuple[Log, ...]
    maker: str


class Found(NamedTuple):
    """The load of a log, and the shares of violations of submission and execution.

    The shares are by scheduler and offered load; None is the log as it is.
    """

    load: float
    shares: Mapping[tuple[str, float | None], tuple[float, float]]


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Judge what the text says of the figure."""
    log = together(logs)
    tasks = [Task(tuple(logs), maker) for maker in LOADS for _ in range(runs)]
    done = each(measure, tasks)
    found = {
        maker: [x for task, x in zip(tasks, done, strict=True) if task.maker == maker]
        for maker in LOADS
    }
    for maker, of_maker in found.items():
        of_log = f"log of {WORDS[maker]}"
        execution = [_most(x, "fcfs", 1) for x in of_maker]
        yield _none(log, f"{of_log} under FCFS: executions out of order, any load", execution)
    own = [max(x.shares["easy", None]) for x in found["easy"]]
    yield _none(log, "log of EASY under EASY: violations at its own load", own)
    for who in ("fcfs", "easy"):
        begins = [_begins(x, who) for x in found["fcfs"]]
        words = f"log of FCFS under {WORDS[who]}: load at which violations begin"
        yield _near(log, words, 0.5, begins, within=0.1)
    before = [_begins(x, "fcfs") / x.load for x in found["easy"]]
    words = "log of EASY under FCFS: where violations begin, relative to its own load (far below)"
    yield _below(log, words, 1.0, before)
    few = [_most(x, "easy", 0, below=x.load) for x in found["easy"]]
    words = "log of EASY under EASY: share of submissions in violation below its own load (few)"
    yield _below(log, words, 0.05, few)
    for name, kind in (("submissions", 0), ("executions", 1)):
        least = [_at_most(x, "easy", kind) for x in found["easy"]]
        words = f"log of EASY under EASY: share of {name} in violation at 0.9 (more than none)"
        yield _above(log, words, 0.0, least)


def measure(task: Task, rng: "np.random.Generator") -> Found:
    """Simulate sessions, and replay their log at all loads under both schedulers."""
    import numpy as np

    import workloadkit as wk

    trace = wk.simulate(None, task.maker, static_site(task.logs), procs=PROCS, rng=rng).trace()
    submit = trace.column("submit")
    work = float(np.dot(trace.column("run"), trace.column("procs")))
    shares = {}
    for scheduler in WORDS:
        for load in (None, *LOADS[task.maker]):
            found = wk.violations(wk.simulate(trace, scheduler, offered_load=load))
            shares[scheduler, load] = (found.submission_share, found.execution_share)
    return Found(work / PROCS / float(submit[-1] - submit[0]), shares)


def _begins(found: Found, scheduler: str) -> float:
    """Lowest load with submissions in violation; the highest of all if there is none."""
    loads = sorted(load for who, load in found.shares if who == scheduler and load is not None)
    return next((x for x in loads if found.shares[scheduler, x][0] > BEGINS), loads[-1])


def _most(found: Found, scheduler: str, kind: int, *, below: float = 2.0) -> float:
    """Largest share of violations at loads below some."""
    return max(
        (
            shares[kind]
            for (who, load), shares in found.shares.items()
            if who == scheduler and load is not None and load < below
        ),
        default=0.0,
    )


def _at_most(found: Found, scheduler: str, kind: int) -> float:
    """Share of violations at the highest load."""
    highest = max(load for who, load in found.shares if who == scheduler and load is not None)
    return found.shares[scheduler, highest][kind]


def _none(log: Log, quantity: str, values: Sequence[float]) -> Result:
    """Judge that there are none: few are a direction."""
    largest = max(values)
    verdict: Verdict = "not held"
    if largest <= BEGINS:
        verdict = "direction only" if largest else "held"
    return _result(log, quantity, 0.0, values, verdict)


def _near(
    log: Log, quantity: str, published: float, values: Sequence[float], *, within: float
) -> Result:
    """Judge a figure that the text gives roughly: so near, or on the same side of one half."""
    mean = sum(values) / len(values)
    verdict: Verdict = "held" if abs(mean - published) <= within else "not held"
    return _result(log, quantity, published, values, verdict)


def _below(log: Log, quantity: str, bound: float, values: Sequence[float]) -> Result:
    from workloadkit.experiments.intervals import mean_interval

    mean, _, high = mean_interval(values, positive=True)
    verdict: Verdict = "held" if high < bound else "direction only" if mean < bound else "not held"
    return _result(log, quantity, bound, values, verdict)


def _above(log: Log, quantity: str, bound: float, values: Sequence[float]) -> Result:
    from workloadkit.experiments.intervals import mean_interval

    mean, low, _ = mean_interval(values, positive=True)
    verdict: Verdict = "held" if low > bound else "direction only" if mean > bound else "not held"
    return _result(log, quantity, bound, values, verdict)


def _result(
    log: Log, quantity: str, published: float, values: Sequence[float], verdict: Verdict
) -> Result:
    from workloadkit.experiments.intervals import mean_interval

    mean, low, high = mean_interval(values, positive=True)
    ends = (low, high) if len(values) > 1 else (None, None)
    return Result(log.name, log.version, quantity, published, mean, verdict, *ends)


STUDY = Study(
    name="shmueli-violations",
    text=__doc__,
    source='E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
    'schedulers", PhD thesis, Hebrew University, 2008, Figure 3.13',
    logs=LOGS,
    compare=compare,
    runs=10,
)
