"""Mean waits under three models of users in eight logs.

First Table I: mean waits under EASY of users who submit by timestamps and of the adjusted, the
distribution based and the fluid user model. The margin of a wait is 10 %.

Then the figures, which give no numbers. The weekly cycle is measured by the share of submissions
that would have to be moved to other hours of the week for it to be that of the log (Figures 5, 6
and 8), and the activity of users by the median of the time from their first submission to their
last over that in the log (Figures 7 and 9): "close" is taken for 10 %. Last, Figure 10: mean
lengths of the queue under EASY and first come, first served. "Much" and "huge" are taken for a
factor of two, "a bit" for up to two, "hundreds" of jobs for a hundred at least and a "reasonable"
queue for less, throughput "about the same" for 5 %.

Throughput is that of the whole simulation, whose last job a few users put off for long. Of several
runs the mean is given, with its interval by Student's t (95 %). Jobs larger than the machine are
dropped. Where ours miss: the waits of adjusted users stay at nine tenths of the published ones in
most logs, whatever the reading, and those of fluid users in LANL-CM5 a quarter above; why is not
known.
"""

from collections.abc import Iterator, Mapping
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.reproduction import (
    Claim,
    Each,
    Log,
    Plan,
    Reading,
    Result,
    Study,
    above,
    at_least,
    below,
    between,
    printed,
    read_table,
)
from analysis.reproduction.sources import (
    OVERRUN,
    SESSION_END,
    SKIPPED,
    SPARE,
    ZAKAY_LOGS,
    easy,
    fluid,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from workloadkit.trace import Trace

#: "Close", "much", "hundreds" and "about the same" in numbers.
CLOSE, MUCH, HUNDREDS, SAME = 0.1, 2.0, 100, 0.05

#: What is measured of a simulation.
COLUMNS = ("mean_wait", "mean_queue", "throughput", "cycle", "activity")

#: Users by their column of Table I, and in words.
WORDS = {
    "conventional": "conventional",
    "adjusted": "adjusted users",
    "distribution": "distribution based users",
    "fluid": "fluid users",
}

#: A mean with its interval, if it has one.
Interval = tuple[float, float | None, float | None]

#: Users who draw: their simulations differ from run to run.
RANDOM = ("distribution", "fluid")

#: What was measured, by scheduler and users.
Found = Mapping[tuple[str, str], "pd.DataFrame"]


class Task(NamedTuple):
    """Simulations of one log: by scheduler, users (columns of Table I) and reading."""

    log: Log
    scheduler: str
    users: str
    runs: int
    reading: Reading


def compare(plan: Plan, each: Each) -> Iterator[Result]:
    """Set the published waits and claims beside ours."""
    models = [*(("easy", users) for users in WORDS), ("fcfs", "conventional"), ("fcfs", "fluid")]
    tasks = [
        Task(log, scheduler, users, plan.runs if users in RANDOM else 1, dict(plan.reading))
        for log in plan.logs
        for scheduler, users in models
    ]
    found = dict(zip(((t.log, t.scheduler, t.users) for t in tasks), each(simulations, tasks),
                     strict=True))  # fmt: skip
    of_logs = {log: {model: found[log, *model] for model in models} for log in plan.logs}
    rows = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    for log in (*plan.logs, *plan.missing):
        yield from _waits(log, of_logs.get(log), rows[log.name])
    for log, of_log in of_logs.items():
        yield from _figures(log, of_log)


def simulations(task: Task, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate a log; a row for each run."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.provenance import seed_of

    trace = task.log.read()
    log = _cycle_and_activity(trace.select(trace.ran))
    scheduler = easy(task.reading) if task.scheduler == "easy" else task.scheduler
    users = {"conventional": "open", "fluid": fluid(task.reading)}.get(task.users, task.users)
    rows = []
    for stream in rng.spawn(task.runs):
        schedule = wk.simulate(
            trace,
            scheduler,
            users,
            oversize="drop",
            overrun=task.reading["overrun"],
            rng=seed_of(stream),
        )
        cycle, activity = _cycle_and_activity(schedule.trace())
        rows.append(
            {
                "mean_wait": schedule.metrics["mean_wait"],
                "mean_queue": schedule.measure("mean_queue_length"),
                "throughput": schedule.metrics["throughput_per_hour"],
                "cycle": abs(cycle - log[0]).sum() / 2,
                "activity": activity / log[1] if log[1] else 1.0,
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS)).assign(random=task.users in RANDOM)


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


def _waits(log: Log, found: Found | None, row: Mapping[str, str]) -> Iterator[Result]:
    """Set the waits of Table I beside ours, and how fluid users change them."""
    place, base = "Table I", float(row["conventional"])
    for users, words in WORDS.items():
        claim = printed(f"mean wait, {words} (s)", float(row[users]), place)
        if found is None:
            yield Result(log, claim, nan)
        else:
            yield Result(log, claim, *_mean(found["easy", users]))
    side = below if float(row["fluid"]) < base else above
    claim = side("mean wait, fluid users over conventional", 1, place, "direction", main=True)
    if found is None:
        yield Result(log, claim, nan)
    else:
        ours = _mean(found["easy", "fluid"], over=_mean(found["easy", "conventional"])[0])
        yield Result(log, claim, *ours)


def _figures(log: Log, found: Found) -> Iterator[Result]:
    """Say what the figures show, in numbers."""

    def result(claim: Claim, ours: Interval) -> Result:
        return Result(log, claim, *ours)

    fluid_users, by_distribution = found["easy", "fluid"], found["easy", "distribution"]
    kept = _mean(fluid_users, "cycle")[0]
    for users, place in (("adjusted", "Figures 5, 8"), ("distribution", "Figures 6, 8")):
        words = f"submissions moved in the week, {WORDS[users]} over fluid: much more"
        claim = at_least(words, MUCH, place, "ours", main=True)
        yield result(claim, _mean(found["easy", users], "cycle", kept))
    words = "median activity of users over that in the log, {}"
    claim = between(words.format("fluid users: close"), (1 - CLOSE, 1 + CLOSE), "Figure 9")
    yield result(claim, _mean(fluid_users, "activity"))
    claim = below(words.format(WORDS["distribution"]), 1, "Figure 7", "direction")
    yield result(claim, _mean(by_distribution, "activity"))
    same = (1 - SAME, 1 + SAME)
    for which, words, base in (
        (("easy", "fluid"), "fluid users over conventional, EASY", ("easy", "conventional")),
        (("fcfs", "fluid"), "FCFS over EASY, fluid users", ("easy", "fluid")),
    ):
        once = _mean(found[base], "throughput")[0]
        claim = between(f"throughput, {words}: about the same", same, "section VII", main=True)
        yield result(claim, _mean(found[which], "throughput", once))
    queue = {which: _mean(of_runs, "mean_queue")[0] for which, of_runs in found.items()}
    claim = below("mean queue, fluid over conventional, EASY", 1, "Figure 10", "direction")
    yield result(claim, _mean(fluid_users, "mean_queue", queue["easy", "conventional"]))
    claim = between("mean queue, FCFS over EASY, fluid: a bit longer", (1, MUCH), "Figure 10")
    yield result(claim, _mean(found["fcfs", "fluid"], "mean_queue", queue["easy", "fluid"]))
    words = "mean queue, conventional over fluid, FCFS: huge"
    claim = at_least(words, MUCH, "Figure 10", "ours", main=True)
    of_conventional = found["fcfs", "conventional"]
    yield result(claim, _mean(of_conventional, "mean_queue", queue["fcfs", "fluid"]))
    claim = at_least(
        "mean queue, conventional, FCFS (jobs): hundreds", HUNDREDS, "Figure 10", "ours"
    )
    yield result(claim, _mean(of_conventional, "mean_queue"))
    claim = below("mean queue, fluid users, FCFS (jobs): reasonable", HUNDREDS, "Figure 10", "ours")
    yield result(claim, _mean(found["fcfs", "fluid"], "mean_queue"))


def _mean(table: "pd.DataFrame", name: str = "mean_wait", over: float = 1.0) -> Interval:
    """Mean over the runs in units of `over`, and its interval; none where nothing is random."""
    from workloadkit.experiments.intervals import mean_interval

    values: Any = table[name] / over
    if not table["random"].all():
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
    axes=(SPARE, OVERRUN, SESSION_END, SKIPPED),
)
