"""What studies share: logs, axes, random runs split into tasks, fairness, figures."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.analysis.reproduction.logs import Log
from workloadkit.analysis.reproduction.study import (
    Axis,
    Drawing,
    Each,
    Reading,
    Result,
    StudyInput,
)
from workloadkit.clock import DAY

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from workloadkit.resample.runs import Resampling
    from workloadkit.simulation import Schedule
    from workloadkit.trace import Trace


# Logs and axes that several studies of one source share.


#: The logs of N. Zakay's thesis (2018), and their versions by its Table 1.1.
ZAKAY_LOGS: Mapping[str, str] = {
    "LANL-CM5": "LANL-CM5-1994-3.1-cln",
    "SDSC-Par": "SDSC-Par-1995-3.1-cln",
    "CTC-SP2": "CTC-SP2-1996-2.1-cln",
    "KTH-SP2": "KTH-SP2-1996-2",
    "SDSC-SP2": "SDSC-SP2-1998-3.1-cln",
    "SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln",
    "HPC2N": "HPC2N-2002-1.1-cln",
    "SDSC-DS": "SDSC-DS-2004-1",
    "ANL-Intrepid": "ANL-Intrepid-2009-1",
    "PIK-IPLEX": "PIK-IPLEX-2009-1",
    "CEA-Curie": "CEA-Curie-2011-2.1-cln",
}


#: Axes of N. Zakay's simulations. `SPARE` applies to all schedulers that are based on EASY.
SPARE = Axis(
    "spare",
    '"EASY" backfills what "does not delay" the first job: the source gives no details',
    {
        "none": "a job is backfilled only if it ends by the shadow time",
        "strict": "a job is backfilled only if it ends before the shadow time",
        "extra": "or if it requests no more than the spare processors at that time",
    },
)
OVERRUN = Axis(
    "overrun",
    "the source does not mention jobs that outlive their estimates",
    {
        "late": "the scheduler expects them to end at the current second until they do",
        "raise": "their estimates are raised to the run times from the start",
        "kill": "they are stopped",
    },
)
SESSION_END = Axis(
    "end",
    "the source does not specify when a session of the fluid model ends",
    {
        "threshold": "60 min after its last submission",
        "end": "at the latest end of its jobs",
        "submit": "at its last submission",
    },
)
SKIPPED = Axis(
    "skipped",
    "the source gives two rules for skipped sessions",
    {
        "recycle": "all sessions are repeated, as many weeks later as they last",
        "reinsert": "a session in which nothing was submitted is repeated a week later",
    },
)
TEMPORARY = Axis(
    "temporary",
    '"the first and last 4 weeks": but the numbers in Table V correspond to 60 days',
    {
        "60 days": "the ends of the log that define temporary users are 60 days, from second 0",
        "4 weeks": "the ends of the log that define temporary users are 4 weeks",
    },
)
CTC_NODES = Axis(
    "ctc",
    "CTC was simulated with 430 nodes, then with 336 (2018, chapter on TBUOS, Figure 7)",
    {"430": "430 nodes", "338": "338 nodes, as in the header of the available log"},
)
START = Axis(
    "start",
    '"we start each such user from an arbitrary week in the trace"',
    {
        "period": "any week from the first job to the regeneration, so that some users pause",
        "activity": "any week from the first job to the last, so that the first weeks are heavier",
    },
)

#: The logs of E. Shmueli's thesis (2008), and their versions by its Table 2.1.
SHMUELI_LOGS: Mapping[str, str] = {
    "SDSC-Par": "SDSC-Par-1995-2.1-cln",
    "CTC-SP2": "CTC-SP2-1996-2.1-cln",
    "KTH-SP2": "KTH-SP2-1996-2",
    "SDSC-SP2": "SDSC-SP2-1998-3.1-cln",
    "SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln",
}

#: Axes of E. Shmueli's site-level simulations, on a machine of 128 processors.
SHMUELI_SIZE = Axis(
    "size",
    '"the number of processors": no details on SDSC-BLUE, which allocates whole nodes',
    {
        "nodes": "the size of a job of SDSC-BLUE is its number of nodes, of 8 processors each",
        "processors": "the size of a job of SDSC-BLUE is its number of processors",
    },
)
SHMUELI_SPARE = replace(
    SPARE.preferring("extra"),
    words='EASY backfills what "will not conflict with" the start of the first job: no details',
)
SHMUELI_REPEAT = Axis(
    "repeat",
    '"jobs of the same size appear successively": but also "users tend to submit the same jobs"',
    {
        "size": "the size is repeated, with another run time",
        "job": "the size is repeated with the same run time",
    },
)
SHMUELI_CANCELLED = Axis(
    "cancelled",
    "the source does not specify which jobs count",
    {
        "without": "cancelled jobs are left out, also as next submissions; chosen by trial",
        "with": "all jobs that ran count",
    },
)


def without_cancelled(log: Log, cancelled: str) -> "Trace":
    """Return the jobs of a log that count under an option of `SHMUELI_CANCELLED`."""
    from workloadkit.fields import CANCELLED

    trace = log.read()
    return trace if cancelled == "with" else trace.select(trace.column("status") != CANCELLED)


#: Parameters of backfilling schedulers, by option of `SPARE`.
_RULES = {"none": "spare=none", "strict": "spare=none,strict=yes", "extra": ""}


def backfilling(scheduler: str, reading: Reading) -> str:
    """Return EASY, or a scheduler based on it, with the backfilling rule of a reading.

    Examples
    --------
    >>> backfilling("creasy", {"spare": "none"}), backfilling("creasy:500", {"spare": "strict"})
    ('creasy:spare=none', 'creasy:500,spare=none,strict=yes')
    """
    rule = _RULES[reading["spare"]]
    return scheduler + ("," if ":" in scheduler else ":") + rule if rule else scheduler


def easy(reading: Reading) -> str:
    """Return EASY with the backfilling rule of a reading."""
    return backfilling("easy", reading)


def procs_of(log: Log, reading: Reading) -> int | None:
    """Return the machine size of a log under a reading; None for that of its header."""
    return int(reading["ctc"]) if log.name == "CTC-SP2" else None


def fluid(reading: Reading) -> str:
    """Return fluid users with the parameters of a reading."""
    return f"fluid:end={reading['end']},skipped={reading['skipped']}"


def temporary(reading: Reading) -> dict[str, Any]:
    """Return the settings of `classify_users` for temporary users under a reading."""
    return {"edge": 60 * DAY, "begin": 0} if reading["temporary"] == "60 days" else {}


def resampling_of(traces: "Sequence[Trace]", reading: Reading, **how: Any) -> "Resampling":
    """Prepare the resampling of logs under a reading, with settings of `workloadkit.resample`."""
    import warnings

    from workloadkit.errors import WorkloadWarning
    from workloadkit.resample.runs import prepare

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # an empty pool is expected
        return prepare(traces, **{"start": reading["start"], **temporary(reading), **how})


def without(plan: StudyInput) -> str:
    """Return the note for results of all logs together: the names of the missing logs.

    Examples
    --------
    >>> from workloadkit.analysis.reproduction import Log
    >>> without(StudyInput([], [Log("KTH-SP2", "KTH-SP2-1996-2")], 1, {}))
    'without KTH-SP2'
    """
    names = ", ".join(log.name for log in plan.missing)
    return f"without {names}" if names else ""


# What studies share: random runs split into tasks, fairness, figures.


class RunsOfLog(NamedTuple):
    """Several runs of one log, which form one task.

    Parameters
    ----------
    log : Log
    runs : int
    reading : mapping of str to str
    """

    log: Log
    runs: int
    reading: Reading


def sizes_of_parts(runs: int, at_most: int) -> list[int]:
    """Split runs into tasks; return the number of runs of each task.

    Parameters
    ----------
    runs : int
        Number of all runs.
    at_most : int
        Largest number of runs in a task.

    Examples
    --------
    >>> sizes_of_parts(25, 10)
    [10, 10, 5]
    """
    return [min(at_most, runs - first) for first in range(0, runs, at_most)]


def runs_of_logs(
    plan: StudyInput,
    each: Each,
    function: "Callable[[RunsOfLog, np.random.Generator], pd.DataFrame]",
    columns: "pd.Index",
    at_most: int,
) -> "dict[Log, pd.DataFrame]":
    """Split the runs of each log into tasks, and concatenate their tables.

    Parameters
    ----------
    plan : StudyInput
    each : callable
        The second argument of `Study.compare`.
    function : callable
        Returns a table with one row for each run of a part.
    columns : Index
        Columns of that table.
    at_most : int
        Largest number of runs in a task; a task reads its log once.

    Returns
    -------
    dict of Log to DataFrame
        One row for each run; an empty table for a missing log.

    Examples
    --------
    >>> import pandas as pd
    >>> import numpy as np
    >>> def draw(part, rng):
    ...     return pd.DataFrame({"wait": rng.random(part.runs)})
    >>> def each(function, parts):
    ...     return [function(part, np.random.default_rng(0)) for part in parts]
    >>> log = Log("KTH", "KTH-SP2-1996-2")
    >>> plan = StudyInput([log], [], runs=5, reading={})
    >>> len(runs_of_logs(plan, each, draw, pd.Index(["wait"]), at_most=2)[log])
    5
    """
    import pandas as pd

    sizes = sizes_of_parts(plan.runs, at_most)
    parts = [RunsOfLog(log, size, dict(plan.reading)) for log in plan.logs for size in sizes]
    found: dict[Log, list[pd.DataFrame]] = {log: [] for log in plan.logs}
    for part, table in zip(parts, each(function, parts), strict=True):
        found[part.log].append(table)
    for log in plan.missing:
        found[log] = [pd.DataFrame(columns=columns, dtype=float)]
    return {log: pd.concat(tables, ignore_index=True) for log, tables in found.items()}


# A figure of one deterministic simulation is a draw of a chaotic quantity: another second of one
# submission gives another one.

#: Most jobs of a log that is shaken; the number of shaken logs; the largest shift. [s]
MOST_SHAKEN, SHAKES, SHAKEN_BY = 100_000, 10, 30.0

#: Notes for the mean over shaken logs, and for a value that rests on one simulation.
CHAOS, ONE_RUN = "interval of chaos, not of sampling", "one run"


def shaken(trace: "Trace", rng: "np.random.Generator") -> "list[Trace]":
    """Return a log with its submit times shaken, `SHAKES` times; of a large log, the log itself.

    A deterministic simulation of each has a mean with an interval, that of chaos.
    """
    from workloadkit.resample.shaking import shake

    if trace.n_jobs > MOST_SHAKEN:
        return [trace]
    return [shake(trace, by=SHAKEN_BY, rng=stream) for stream in rng.spawn(SHAKES)]


def draw_seed(task: object, rng: "np.random.Generator") -> int:
    """Draw a seed, so that several tasks have the same random logs."""
    from workloadkit.provenance import seed_of

    return seed_of(rng)


def chaos_interval(
    values: "Sequence[float] | pd.Series",
) -> tuple[float, float | None, float | None, str]:
    """Return the mean over shaken logs with its interval, and the note on it.

    Examples
    --------
    >>> mean, low, high, note = chaos_interval([9.0, 10.0, 11.0])
    >>> mean, low < 10 < high, note
    (10.0, True, 'interval of chaos, not of sampling')
    >>> chaos_interval([9.0])
    (9.0, None, None, 'one run')
    """
    from workloadkit.experiments.intervals import mean_interval

    if len(values) == 1:
        return float(next(iter(values))), None, None, ONE_RUN
    return *mean_interval(values), CHAOS


def of_one_run(results: "Iterable[Result | Drawing]") -> "Iterator[Result | Drawing]":
    """Mark results that rest on one deterministic simulation."""
    return of_shakes(lambda _: results, {})


def of_shakes(
    results_of: "Callable[[int], Iterable[Result | Drawing]]", n_runs: Mapping[Log, int]
) -> "Iterator[Result | Drawing]":
    """Combine the results of shaken logs: the mean of each value, with its interval of chaos.

    Parameters
    ----------
    results_of : callable
        Returns the results and drawings of one run, given its number: the same claims in the same
        order for each. A log that is not shaken has the same values in all of them.
    n_runs : mapping of Log to int
        The number of runs of each log that is simulated, see `shaken`.

    Yields
    ------
    Result or Drawing
        Drawings are those of the first run. Where notes differ, that of one run is given.
    """
    once = [log.name for log, runs in n_runs.items() if runs == 1]
    for first, *others in zip(*map(results_of, range(max(n_runs.values(), default=1))),
                              strict=True):  # fmt: skip
        if isinstance(first, Drawing) or math.isnan(first.ours):
            yield first
            continue
        runs = [first, *others][: n_runs.get(first.log)]
        ours, low, high, chaos = chaos_interval([run.ours for run in runs])
        notes = [run.note for run in runs]
        note = next(filter(None, notes), "")
        if len(set(notes)) > 1:
            note = f"in one of the runs: {note}"
        if len(runs) > 1 and once and first.log not in n_runs:
            chaos += f", of {', '.join(once)} {ONE_RUN}"
        note = "; ".join(filter(None, (note, chaos)))
        yield replace(first, ours=ours, low=low, high=high, note=note)


def percent_more(ours: "pd.Series", others: "pd.Series") -> tuple[float, float, float]:
    """Return by how many percent one quantity exceeds another in the same runs.

    Parameters
    ----------
    ours, others : Series
        One positive value for each run.

    Returns
    -------
    mean, low, high : float
        Geometric mean of the ratios minus 1, with its 95 % interval (Student's t on the
        logarithms). [%]

    Examples
    --------
    >>> import pandas as pd
    >>> more, low, high = percent_more(pd.Series([12.0, 10.0]), pd.Series([10.0, 12.0]))
    >>> abs(round(more, 6)), low < more < high
    (0.0, True)
    """
    from workloadkit.experiments.intervals import ratio_interval

    ratio, low, high = (100 * (x - 1) for x in ratio_interval(ours, others))
    return ratio, low, high


# How fairly a scheduler treats users, by their mean bounded slowdowns and by overtaking.

#: A measure of a schedule, given the begin and end of the period in which its users submit.
Measure = Callable[["Schedule", tuple[float, float]], float]

#: Measures of fairness by name; larger values of the first are fairer, smaller of the others.
FAIRNESS = {
    "jain": "Jain's index of the users' mean bounded slowdowns",
    "worst tenth": "90th percentile of the users' mean bounded slowdowns over their median",
    "later": "share of jobs that start later than by FCFS (points)",
}


def jain_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """Jain's index of the users' mean bounded slowdowns."""
    from workloadkit.metrics import jain_fairness

    return jain_fairness(_slowdowns(schedule))


def worst_tenth_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """90th percentile of the users' mean bounded slowdowns over their median."""
    import numpy as np

    slowdowns = _slowdowns(schedule)
    return float(np.quantile(slowdowns, 0.9) / np.median(slowdowns))


def later_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """Share of the jobs that start later than under FCFS. [%]."""
    from workloadkit.experiments.measuring import later_than_fcfs

    return 100 * later_than_fcfs(schedule)


FAIRNESS_MEASURES: Mapping[str, Measure] = dict(
    zip(FAIRNESS, (jain_of, worst_tenth_of, later_of), strict=True)
)


def _slowdowns(schedule: "Schedule") -> "NDArray[np.float64]":
    """Return the mean bounded slowdown of each user."""
    import numpy as np

    from workloadkit.metrics import bounded_slowdown

    jobs = schedule.served
    _, user = np.unique(jobs.user, return_inverse=True)
    return np.bincount(user, bounded_slowdown(jobs.wait, jobs.run)) / np.bincount(user)


# Figures that several studies draw.


def plot_by_group(
    data: "pd.DataFrame", ax: "Axes | None" = None, *, label: str, log: bool = False
) -> "Axes":
    """Plot values with their intervals: a line for each row, a color for each group.

    Parameters
    ----------
    data : DataFrame
        With columns row, group, value, low and high.
    label : str
        Of the values, with their unit.
    log : bool
        Whether their axis is logarithmic.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import pandas as pd
    >>> data = {"row": ["KTH", "KTH"], "group": ["fcfs", "easy"], "value": [5.0, 2.0]}
    >>> data = pd.DataFrame(data | {"low": [4.0, 1.5], "high": [6.0, 2.5]})
    >>> ax = plot_by_group(data, Figure().subplots(), label="mean wait [h]")
    >>> ax.get_xlabel(), ax.get_legend_handles_labels()[1]
    ('mean wait [h]', ['fcfs', 'easy'])
    """
    from workloadkit.analysis import style

    ax = style.current_axes(ax)
    rows, groups = list(dict.fromkeys(data["row"])), data.groupby("group", sort=False)
    for i, (line, (group, of)) in enumerate(zip(style.LINES, groups, strict=False)):
        at = [rows.index(row) + 0.15 * (i - (len(groups) - 1) / 2) for row in of["row"]]
        errors = [of["value"] - of["low"], of["high"] - of["value"]]
        ax.errorbar(of["value"], at, xerr=errors, fmt="o", color=line["color"], label=group)
    ax.set_yticks(range(len(rows)), rows)
    ax.invert_yaxis()
    if log:
        style.log_axis(ax.xaxis)
        ends = data[["value", "low", "high"]]
        ax.set_xlim(ends.min(axis=None) / 1.05, ends.max(axis=None) * 1.05)
    ax.set_xlabel(label)
    style.legend_above(ax)
    return ax
