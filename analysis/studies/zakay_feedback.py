"""Mean waits under three models of users in eight logs.

First Table I: mean waits under EASY of users who submit by timestamps and of the adjusted, the
distribution based and the fluid user model. The source does not say when a session of the fluid
model ends, and gives two rules for sessions that were skipped: all six pairs of these are here, and
the last rows say how far each is from the published waits, over all logs. The published waits of
conventional simulations are not reached by any reading tried, so waits are also compared by the
ratio to the conventional one. A wait is *held* if the published one lies in our interval (means of
the runs, by Student's t, 95 %) or within 10 % of ours, *direction only* if both are on the same
side of their own conventional wait.

Then the figures, which give no numbers. The weekly cycle is measured by the share of submissions
that would have to be moved to other hours of the week for it to be that of the log (Figures 5, 6
and 8), and the activity of users by the median of the time from their first submission to their
last over that in the log (Figures 7 and 9): "close" is taken for 10 %. Last, Figure 10: mean
lengths of the queue under EASY and first come, first served. "Much" and "huge" are taken for a
factor of two.

Jobs that outlive their estimates have these raised; jobs larger than the machine are dropped.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.studies import ZAKAY_LOGS, Each, Log, Result, Study, Verdict, read_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from workloadkit.trace import Trace

#: When a session of the fluid model may end, and what becomes of sessions that were skipped.
ENDS = ("submit", "end", "threshold")
RULES = ("recycle", "reinsert")

#: Users of the fluid model where no more is said.
FLUID = "fluid:end=submit"

#: Waits that are so near count as reached.
NEAR = 0.1

#: What is measured of a simulation.
COLUMNS = ("mean_wait", "mean_queue", "cycle", "activity")

_CONVENTIONAL = "open"
_WORDS = {
    _CONVENTIONAL: "conventional",
    "adjusted": "adjusted",
    "distribution": "distribution based",
    "fluid": "fluid",
}
_RANDOM = ("distribution", "fluid")


#: A mean with its interval, if it has one.
Interval = tuple[float, float | None, float | None]


class Task(NamedTuple):
    """Simulations of one log."""

    log: Log
    scheduler: str
    users: str
    runs: int


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the published waits and claims beside ours."""
    fluids = [f"fluid:end={end},skipped={rule}" for end in ENDS for rule in RULES]
    models = [
        *(("easy", users) for users in (*list(_WORDS)[:3], FLUID, *fluids)),
        *(("fcfs", users) for users in (_CONVENTIONAL, FLUID)),
    ]
    tasks = [
        Task(log, scheduler, users, runs if users.startswith(_RANDOM) else 1)
        for log in logs
        for scheduler, users in models
    ]
    found = dict(zip(tasks, each(simulations, tasks), strict=True))
    of_logs = {
        log: {(t.scheduler, t.users): table for t, table in found.items() if t.log == log}
        for log in logs
    }
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    for log, of_log in of_logs.items():
        if log.name in published:
            yield from _waits(log, of_log, fluids, published[log.name])
    yield from _fits(of_logs, fluids, published)
    for log, of_log in of_logs.items():
        yield from _figures(log, of_log)


def simulations(task: Task, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate a log; a row for each run."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.provenance import seed_of

    trace = task.log.read()
    log = _cycle_and_activity(trace.select(trace.ran))
    rows = []
    for stream in rng.spawn(task.runs):
        schedule = wk.simulate(
            trace, task.scheduler, task.users, oversize="drop", rng=seed_of(stream)
        )
        cycle, activity = _cycle_and_activity(schedule.trace())
        rows.append(
            {
                "mean_wait": schedule.metrics["mean_wait"],
                "mean_queue": schedule.measure("mean_queue_length"),
                "cycle": abs(cycle - log[0]).sum() / 2,
                "activity": activity / log[1] if log[1] else 1.0,
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _cycle_and_activity(trace: "Trace") -> "tuple[NDArray[np.float64], float]":
    """Shares of the submissions by hour of the week, and the users' median time of activity."""
    import numpy as np
    import pandas as pd

    from workloadkit.clock import Clock

    submit = trace.column("submit")
    hour = (Clock.of(trace).local(submit) // 3600 % 168).astype(np.int64)
    by_user = pd.Series(submit).groupby(trace.column("user"))
    length = by_user.max() - by_user.min()
    return np.bincount(hour, minlength=168) / submit.size, float(length.median())


def _waits(
    log: Log,
    found: "Mapping[tuple[str, str], pd.DataFrame]",
    fluids: Sequence[str],
    published: Mapping[str, str],
) -> Iterator[Result]:
    """Set the waits of Table I beside ours."""
    base, base_ours = float(published["conventional"]), _mean(found["easy", _CONVENTIONAL])[0]
    for users in (*list(_WORDS)[:3], *fluids):
        kind = users.partition(":")[0]
        column = "conventional" if kind == _CONVENTIONAL else kind
        wait = float(published[column])
        ours, low, high = _mean(found["easy", users])
        inside = low is not None and high is not None and low <= wait <= high
        verdict: Verdict = "not held"
        if inside or abs(wait - ours) <= NEAR * ours:
            verdict = "held"
        elif (wait - base) * (ours - base_ours) > 0:
            verdict = "direction only"
        how = users.partition(":")[2].replace(",", ", ")
        note = f"{wait / base:.2f} times the conventional wait there, {ours / base_ours:.2f} here"
        yield _result(
            log,
            f"mean wait, {_WORDS[kind]}{f', {how}' if kind == 'fluid' else ''} (s)",
            wait,
            (ours, low, high),
            verdict,
            "" if kind == _CONVENTIONAL else note,
        )


def _fits(
    of_logs: "Mapping[Log, Mapping[tuple[str, str], pd.DataFrame]]",
    fluids: Sequence[str],
    published: Mapping[str, Mapping[str, str]],
) -> Iterator[Result]:
    """Say how far each way to read the fluid model is from the published waits."""
    import numpy as np

    logs = [log for log in of_logs if log.name in published]
    if not logs:
        return
    factor, relative = {}, {}
    for users in fluids:
        ours = np.array([_mean(of_logs[log]["easy", users])[0] for log in logs])
        base = np.array([_mean(of_logs[log]["easy", _CONVENTIONAL])[0] for log in logs])
        theirs = np.array([float(published[log.name]["fluid"]) for log in logs])
        their_base = np.array([float(published[log.name]["conventional"]) for log in logs])
        factor[users] = float(np.exp(abs(np.log(ours / theirs)).mean()))
        relative[users] = float(np.exp(abs(np.log(ours / base / (theirs / their_base))).mean()))
    nearest = min(factor, key=lambda users: factor[users])
    for users in fluids:
        what = users.partition(":")[2].replace(",", ", ")
        verdict: Verdict = "held" if factor[users] <= 1 + NEAR else "not held"
        note = f"of the ratios to the conventional waits: {relative[users]:.2f}"
        if users == nearest:
            note += "; the nearest of the six"
        quantity = f"mean factor between the fluid waits and the published, {what}"
        yield Result("all", "", quantity, 1.0, factor[users], verdict, note=note)


def _figures(log: Log, found: "Mapping[tuple[str, str], pd.DataFrame]") -> Iterator[Result]:
    """Say what the figures show, in numbers."""
    kept = _mean(found["easy", FLUID], "cycle")[0]
    queue = {which: _mean(of_runs, "mean_queue")[0] for which, of_runs in found.items()}
    for users in ("adjusted", "distribution"):
        words = f"submissions moved in the week, {_WORDS[users]} over fluid: much above 1"
        yield _at_least(log, words, 2.0, _mean(found["easy", users], "cycle", kept))
    words = "median activity of users over that in the log, {}"
    activity = _mean(found["easy", FLUID], "activity")
    near: Verdict = "held" if abs(activity[0] - 1) <= NEAR else "not held"
    yield _result(log, f"{words.format('fluid')}: close", 1.0, activity, near)
    activity = _mean(found["easy", "distribution"], "activity")
    yield _at_most(log, f"{words.format(_WORDS['distribution'])}: below 1", 1 - NEAR, activity)
    words = "mean queue, fluid over conventional, EASY: below 1"
    ratio = _mean(found["easy", FLUID], "mean_queue", queue["easy", _CONVENTIONAL])
    yield _at_most(log, words, 1.0, ratio)
    words = "mean queue, FCFS over EASY, fluid: a bit above 1"
    ratio = _mean(found["fcfs", FLUID], "mean_queue", queue["easy", FLUID])
    bit: Verdict = (
        "held" if 1 <= ratio[0] <= 2 else "direction only" if ratio[0] > 1 else "not held"
    )
    yield _result(log, words, 1.0, ratio, bit)
    words = "mean queue, conventional over fluid, FCFS: huge"
    ratio = _mean(found["fcfs", _CONVENTIONAL], "mean_queue", queue["fcfs", FLUID])
    yield _at_least(log, words, 2.0, ratio)


def _at_least(log: Log, words: str, bound: float, ratio: Interval) -> Result:
    """Judge a ratio that is to be well above 1."""
    verdict: Verdict = "direction only" if ratio[0] > 1 else "not held"
    return _result(log, words, bound, ratio, "held" if ratio[0] >= bound else verdict)


def _at_most(log: Log, words: str, bound: float, ratio: Interval) -> Result:
    """Judge a ratio that is to be below 1."""
    verdict: Verdict = "direction only" if ratio[0] < 1 else "not held"
    return _result(log, words, bound, ratio, "held" if ratio[0] < bound else verdict)


def _result(
    log: Log, words: str, published: float, value: Interval, verdict: Verdict, note: str = ""
) -> Result:
    ours, low, high = value
    return Result(log.name, log.version, words, published, ours, verdict, low, high, note)


def _mean(table: "pd.DataFrame", name: str = "mean_wait", over: float = 1.0) -> Interval:
    """Mean over the runs in units of `over`, and its interval where there are several runs."""
    from workloadkit.experiments.intervals import mean_interval

    values: Any = table[name] / over
    if len(values) < 2:
        return float(values.iloc[0]), None, None
    return mean_interval(values, positive=True)


STUDY = Study(
    name="zakay-feedback",
    text=__doc__,
    source='N. Zakay, "Improved realism and representativeness of workloads to improve reliability '
    'of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter on '
    "feedback, Table I, Figures 5 to 10, sections VII and VIII",
    logs={
        name: version
        for name, version in ZAKAY_LOGS.items()
        if name not in ("SDSC-Par", "CTC-SP2", "PIK-IPLEX")
    },
    compare=compare,
    runs=10,
)
