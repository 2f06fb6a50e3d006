"""Mean waits under three models of users in eight logs.

First Table I: mean waits under EASY of users who submit by timestamps and of the adjusted, the
distribution based and the fluid user model. The margin of a wait is 10 %.

Then the figures, which give no numbers. The weekly cycle is measured by the share of submissions
that would have to move to other hours of the week to match the log (Figures 5, 6 and 8). The
activity of users is the median of the time from their first submission to their last, relative to
that in the log (Figures 7 and 9). "Close" means within 10 %. Figure 10 shows mean queue lengths
under EASY and first come, first served. "Much" and "huge" mean a factor of two, "a bit" up to two,
"hundreds" of jobs at least a hundred and a "reasonable" queue fewer, and throughput "about the
same" within 5 %. Jobs are spread "about equally" over the week if at most a tenth of the
submissions would have to move for all hours to have equally many. "Nearly every job" is nine of
ten. The queue of the log follows from
its recorded waits.

"The global throughput will be approximately the same" is read in the window of the log, from its
first submission to its last end: over the whole simulation a few users, whose sessions are repeated
until their last job, delay the last end by months. The axis `throughput` has the other readings.

The result of users who draw is the mean over several runs, with an interval by Student's t (95 %).
The others draw nothing: logs of up to 100,000 jobs are shaken ten times (submit times ± 30 s),
which gives an interval of chaos, not of sampling; results of the larger ones are those of one run.
Jobs larger than the machine are dropped.

The waits of adjusted users are 0.67 to 0.92 of the published ones with sessions of 60 min, as the
text states (KTH-SP2 0.92, SDSC-SP2 0.88, SDSC-DS 0.87, HPC2N 0.90, SDSC-BLUE 0.91, LANL-CM5 0.67).
With 4 h they are 0.93, 0.92, 0.88, 0.92, 1.01 and 0.90; with 12 h 0.96, 0.99, 0.92, 1.06, 0.98 and
1.05; with 24 h 0.99, 0.98, 0.92, 1.05, 1.04 and 1.06; with 36 h 1.00, 0.99, 0.91, 1.05, 1.02 and
1.05. If the other five logs choose the length (36 h each time), the sixth is 0.91 to 1.05 of the
published wait, farthest off for SDSC-DS. So what matters is that most batches wait for the previous
one of their user; the exact length is not determined. The default is the text's.

Waits of fluid users in LANL-CM5 are a quarter above the published ones under every reading.
"""

from collections.abc import Iterator, Mapping
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.analysis.reproduction import (
    Axis,
    Claim,
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
    OVERRUN,
    SESSION_END,
    SKIPPED,
    SPARE,
    ZAKAY_LOGS,
    chaos_interval,
    easy,
    fluid,
    shaken,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from workloadkit.trace import Trace

#: Numbers for "close", "much", "hundreds", "about the same" and "about equally".
CLOSE, MUCH, HUNDREDS, SAME, EQUALLY = 0.1, 2.0, 100, 0.05, 0.1

#: Share of the jobs by whose end throughput is measured, where the last ones are left out.
MOST = 0.95

SESSIONS = Axis(
    "sessions",
    "sessions end after an hour without a submission; adjusted users wait too short under it",
    {f"{hours}h": f"of adjusted users: {hours} h" for hours in (1, 4, 12, 24, 36)},
)
THROUGHPUT = Axis(
    "throughput",
    '"the global throughput will be approximately the same": over which time is not stated',
    {
        "log": "in the window of the log, from its first submission to its last end",
        "most": "until 95 % of the jobs had ended",
        "makespan": "until the last job had ended",
        "user": "median over the users: jobs over the time from first to last submission",
    },
)

#: Metrics of a simulation.
COLUMNS = (
    *("mean_wait", "mean_queue", "cycle", "activity", "uneven", "longest", "in_time"),
    "queue_of_log",
    *(f"throughput_{option}" for option in THROUGHPUT.options),
)

#: Users by their column of Table I, and their names in claims.
WORDS = {
    "conventional": "conventional",
    "adjusted": "adjusted users",
    "distribution": "distribution based users",
    "fluid": "fluid users",
}

#: A mean with its interval, if any, and a note.
Interval = tuple[float, float | None, float | None, str]

#: Random users, which require several runs.
RANDOM = ("distribution", "fluid")

#: Measurements by scheduler and users.
Found = Mapping[tuple[str, str], "pd.DataFrame"]


#: Axes of each simulation, and those of some users.
_AXES = (SPARE.name, OVERRUN.name)
_OF_USERS = {"fluid": (SESSION_END.name, SKIPPED.name), "adjusted": (SESSIONS.name,)}


class _Task(NamedTuple):
    """Simulations of one log: by scheduler, users (columns of Table I) and reading.

    The reading has only the axes that matter, so that other readings share the simulations.
    """

    log: Log
    scheduler: str
    users: str
    runs: int
    reading: Reading


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the published waits and claims with ours."""
    models = [*(("easy", users) for users in WORDS), ("fcfs", "conventional"), ("fcfs", "fluid")]
    tasks = [
        _Task(
            log,
            scheduler,
            users,
            plan.runs if users in RANDOM else 1,
            {axis: plan.reading[axis] for axis in (*_AXES, *_OF_USERS.get(users, ()))},
        )
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
        yield from _figures(log, of_log, f"throughput_{plan.reading['throughput']}")
    for log, share in zip(plan.logs, each(followed, plan.logs), strict=True):
        words = "share of the jobs that later batches of their users depend on: nearly every job"
        yield Result(log, at_least(words, 1 - CLOSE, "section VI", "ours"), share)


def followed(log: Log, rng: "np.random.Generator") -> float:
    """Share of the jobs of known users that are not in the user's last batch."""
    import workloadkit as wk

    trace = log.read()
    trace = trace.select(trace.ran & (trace.column("user") >= 0))
    batches = wk.delimit_sessions(trace)["batch"]
    last = batches.groupby(trace.column("user")).transform("last")
    return float((batches != last).mean())


def simulations(task: _Task, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate a log; a row for each run."""
    import numpy as np
    import pandas as pd

    import workloadkit as wk
    from workloadkit.provenance import seed_of

    trace = task.log.read()
    ran = trace.select(trace.ran)
    log, longest, until = _cycle_and_activity(ran), _longest(ran), ran.column("submit").max()
    waits = np.nan_to_num(ran.column("wait")).clip(min=0)
    queue = float(waits.sum() / max(ran.end.max() - ran.column("submit").min(), 1))
    scheduler = easy(task.reading) if task.scheduler == "easy" else task.scheduler
    users = {
        "conventional": "open",
        "adjusted": f"adjusted:threshold={task.reading.get('sessions')}",
        "fluid": fluid(task.reading) if task.users == "fluid" else "",
    }.get(task.users, task.users)
    window = float(ran.column("submit").min()), float(ran.end.max())
    random = task.users in RANDOM
    logs = [trace] * task.runs if random else shaken(trace, rng)
    rows = []
    for simulated, stream in zip(logs, rng.spawn(len(logs)), strict=True):
        schedule = wk.simulate(
            simulated,
            scheduler,
            users,
            oversize="drop",
            overrun=task.reading["overrun"],
            rng=seed_of(stream),
        )
        played = schedule.trace()
        cycle, activity = _cycle_and_activity(played)
        rows.append(
            {
                "uneven": abs(cycle - 1 / cycle.size).sum() / 2,
                "longest": _longest(played) / longest if longest else 1.0,
                "in_time": float((played.column("submit") <= until).mean()),
                "queue_of_log": queue,
                "mean_wait": schedule.metrics["mean_wait"],
                "mean_queue": schedule.measure("mean_queue_length"),
                "cycle": abs(cycle - log[0]).sum() / 2,
                "activity": activity / log[1] if log[1] else 1.0,
                **_throughputs(played, window),
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS)).assign(random=random)


def _throughputs(played: "Trace", window: tuple[float, float]) -> dict[str, float]:
    """Jobs per hour by each option of `THROUGHPUT`."""
    import numpy as np

    from workloadkit.metrics import throughput_per_hour

    end, begin = np.sort(played.end), float(played.column("submit").min())
    most = float(np.quantile(end, MOST))
    by_user = _by_user(played)
    activity = by_user.max() - by_user.min()
    of_users = 3600 * by_user.count()[activity > 0] / activity[activity > 0]
    found = {
        "log": throughput_per_hour(end, *window),
        "most": throughput_per_hour(end, begin, most),
        "makespan": throughput_per_hour(end, begin, float(end[-1])),
        "user": float(of_users.median()),
    }
    return {f"throughput_{option}": value for option, value in found.items()}


def _cycle_and_activity(trace: "Trace") -> "tuple[NDArray[np.float64], float]":
    """Shares of the submissions by hour of the week, and the users' median time of activity."""
    import numpy as np

    from workloadkit.clock import Clock

    submit = trace.column("submit")
    hour = (Clock.of(trace).local(submit) // 3600 % 168).astype(np.int64)
    by_user = _by_user(trace)
    length = by_user.max() - by_user.min()
    return np.bincount(hour, minlength=168) / submit.size, float(length.median())


def _longest(trace: "Trace") -> float:
    """Longest time between the first and the last submission of a user, in seconds."""
    by_user = _by_user(trace)
    return float((by_user.max() - by_user.min()).max())


def _by_user(trace: "Trace") -> "pd.api.typing.SeriesGroupBy":
    """Submit times by user."""
    import pandas as pd

    return pd.Series(trace.column("submit")).groupby(trace.column("user"))


def _waits(log: Log, found: Found | None, row: Mapping[str, str]) -> Iterator[Result]:
    """Compare the waits of Table I with ours, and the change by fluid users."""
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


def _figures(log: Log, found: Found, throughput: str) -> Iterator[Result]:
    """Report the statements about the figures, in numbers."""

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
    yield from _users(log, found)
    same = (1 - SAME, 1 + SAME)
    for which, words, base in (
        (("easy", "fluid"), "fluid users over conventional, EASY", ("easy", "conventional")),
        (("fcfs", "fluid"), "FCFS over EASY, fluid users", ("easy", "fluid")),
    ):
        once = _mean(found[base], throughput)[0]
        claim = between(f"throughput, {words}: about the same", same, "section VII", main=True)
        yield result(claim, _mean(found[which], throughput, once))
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


def _users(log: Log, found: Found) -> Iterator[Result]:
    """Report the statements about users and queues, in numbers."""
    words = "submissions moved for an even week, adjusted users: about equally"
    claim = at_most(words, EQUALLY, "Figure 5", "ours")
    yield Result(log, claim, *_mean(found["easy", "adjusted"], "uneven"))
    for users, place in (("distribution", "Figure 7"), ("fluid", "Figure 9")):
        words = f"longest activity of a user over that in the log, {WORDS[users]}"
        claim = above(words, 1, place, "direction")
        yield Result(log, claim, *_mean(found["easy", users], "longest"))
    claim = below("share of the jobs in the time of the log, fluid users", 1, "section VII-C",
                  "direction")  # fmt: skip
    yield Result(log, claim, *_mean(found["easy", "fluid"], "in_time"))
    claim = above("median activity of users, FCFS over EASY, fluid users", 1, "Figure 3",
                  "direction")  # fmt: skip
    once = _mean(found["easy", "fluid"], "activity")[0]
    yield Result(log, claim, *_mean(found["fcfs", "fluid"], "activity", once))
    easy_users, fcfs_users = (found[x, "conventional"] for x in ("easy", "fcfs"))
    recorded = float(easy_users["queue_of_log"].iloc[0])
    if recorded > 0:
        waiting = f"{recorded:.3g} jobs waited in the log"
        easy_claim = below("mean queue over that of the log, EASY", 1, "section VIII", "direction")
        fcfs_claim = at_least("mean queue over that of the log, FCFS: much worse", MUCH,
                              "section VIII", "ours")  # fmt: skip
        for claim, of_users in ((easy_claim, easy_users), (fcfs_claim, fcfs_users)):
            ours, low, high, note = _mean(of_users, "mean_queue", recorded)
            yield Result(log, claim, ours, low, high, f"{waiting}; {note}")


def _mean(table: "pd.DataFrame", name: str = "mean_wait", over: float = 1.0) -> Interval:
    """Mean over the runs in units of `over`, with its interval and a note on it."""
    from workloadkit.experiments.intervals import mean_interval

    values: Any = table[name] / over
    if not table["random"].all():
        return chaos_interval(values)
    return *mean_interval(values, positive=True), ""


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
    axes=(SPARE, OVERRUN, SESSION_END, SKIPPED, SESSIONS, THROUGHPUT),
)
