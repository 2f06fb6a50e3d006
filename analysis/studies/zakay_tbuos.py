"""Users drawn anew, who react or do not, in eight logs.

Logs are resampled as long as they are. Their users submit by timestamps, or they are fluid: then
the simulation is trace-based and user-oriented (TBUOS), and long-term users who are done pause and
begin again. Both are simulated under EASY and first come, first served, which meet the same users.

First Table I: the largest mean wait of the runs under EASY over the least. Ours is *held* if the
published ratio is within its interval (by drawing runs anew, 95 %, which finds no larger ratio than
ours: a larger published one is never held), *direction only* if users who react make it less than
half of what it is with others, as seven of the eight published pairs do. The other claims
stand in the text or are what the figures are said to show. Shares of runs have intervals by Wilson,
differences between two simulations of the same run by Student's t. "Common" is taken for half of
the runs, "similar" throughputs for 1 % of a difference.

Throughput is the number of jobs that have ended by the end of the period in which users submit, an
hour of that period. Jobs that outlive their estimates have these raised; jobs larger than the
machine are dropped, and so are those that never ran or whose user is unknown. Sessions last from
their first to their last submission, and are recycled.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analysis.studies import ZAKAY_LOGS, Each, Log, Result, Study, Verdict, read_table
from analysis.studies.zakay_feedback import FLUID
from analysis.studies.zakay_ups import PART, population_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

LOGS = (
    *("SDSC-BLUE", "LANL-CM5", "CTC-SP2", "HPC2N"),
    *("ANL-Intrepid", "KTH-SP2", "SDSC-DS", "SDSC-SP2"),
)

#: Behaviours and schedulers.
TIMESTAMPS = "open"
EASY, FCFS = "easy", "fcfs"

#: In percent: what is similar.
SIMILAR = 1.0

#: Mean waits that the source finds under TBUOS: none above the first, usual ones below. [s]
LONGEST_WAIT, USUAL_WAIT = 28_800.0, 20_000.0


class Part(NamedTuple):
    """So many runs of one log."""

    log: Log
    runs: int


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the published ratios and claims beside ours."""
    import pandas as pd

    sizes = [min(PART, runs - first) for first in range(0, runs, PART)]
    parts = [Part(log, size) for log in logs for size in sizes]
    done = list(zip(parts, each(simulations, parts), strict=True))
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    for log in logs:
        found = pd.concat([table for part, table in done if part.log == log], ignore_index=True)
        if log.name in published and len(found) > 1:
            yield from _ratios(log, found, published[log.name])
        yield from _waits(log, found)
        yield from _users(log, found)
        yield from _throughputs(log, found)


def simulations(part: Part, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate so many runs; one row a run, one column a measure, behaviour and scheduler."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.provenance import seed_of

    trace, ready = population_of(part.log)
    plan = ready.resampling.plan
    hours = (plan.end - plan.begin) / 3600
    rows = []
    for stream in rng.spawn(part.runs):
        seed, row = seed_of(stream), {}
        for users in (TIMESTAMPS, FLUID):
            for scheduler in (EASY, FCFS):
                schedule = wk.simulate(
                    trace, scheduler, users, population=ready, oversize="drop", rng=seed
                )
                ended = float((schedule.end <= plan.end).sum())
                row["mean_wait", users, scheduler] = schedule.metrics["mean_wait"]
                row["throughput", users, scheduler] = ended / hours
                if scheduler == EASY:
                    of_users = schedule.productivity
                    row["weeks", users, EASY] = float(of_users.users["active_weeks"].mean())
                    row["session", users, EASY] = float(of_users.sessions["length"].mean())
        row["throughput", "log", ""] = trace.n_jobs / hours
        rows.append(row)
    return pd.DataFrame(rows)


def _ratios(log: Log, found: "pd.DataFrame", published: "dict[str, str]") -> Iterator[Result]:
    """Set Table I beside ours."""
    ratios = {
        users: _spread(found["mean_wait", users, EASY].to_numpy()) for users in (TIMESTAMPS, FLUID)
    }
    narrows = ratios[FLUID][0] < ratios[TIMESTAMPS][0] / 2
    for users, words in ((TIMESTAMPS, "do not react"), (FLUID, "react")):
        theirs, (ours, low, high) = float(published[words.replace(" ", "_")]), ratios[users]
        verdict: Verdict = "direction only" if narrows else "not held"
        if low <= theirs <= high:
            verdict = "held"
        quantity = f"largest mean wait of the runs to the least, users who {words}"
        note = f"published of 100 runs; {len(found)} here"
        yield Result(log.name, log.version, quantity, theirs, ours, verdict, low, high, note)


def _spread(values: "np.ndarray") -> tuple[float, float, float]:
    """Ratio of the largest to the least, and its interval by drawing runs anew."""
    import numpy as np

    drawn = np.random.default_rng(0).choice(values, (1000, values.size))
    low, high = np.quantile(drawn.max(axis=1) / drawn.min(axis=1), (0.025, 0.975))
    return float(values.max() / values.min()), float(low), float(high)


def _waits(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Say which mean waits there are."""
    from workloadkit.experiments.intervals import share_interval

    waits, others = (found["mean_wait", users, EASY] for users in (FLUID, TIMESTAMPS))
    note = (
        f"{waits.min():,.0f} to {waits.max():,.0f} s; {others.min():,.0f} to {others.max():,.0f} s"
    )
    note += " of users who do not react"
    share = share_interval(int((waits > LONGEST_WAIT).sum()), len(waits))
    verdict: Verdict = "held" if share[0] == 0 else "not held"
    yield _result(log, "share of runs with a mean wait above 8 h: none", 0.0, share, verdict, note)
    share = share_interval(int((waits < USUAL_WAIT).sum()), len(waits))
    verdict = "held" if share[0] >= 0.5 else "not held"
    yield _result(log, "share of runs with a mean wait below 20,000 s: common", 0.5, share, verdict)
    yield _less(log, "mean wait, users who react less others (%)", waits, others)


def _users(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Say how users who react differ from others (Figure 5)."""
    weeks = (found["weeks", users, EASY] for users in (FLUID, TIMESTAMPS))
    yield _more(log, "weeks in which users are active, who react less others (%)", *weeks)
    length = (found["session", users, EASY] for users in (FLUID, TIMESTAMPS))
    yield _less(log, "mean length of sessions, users who react less others (%)", *length)


def _throughputs(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Say what the scheduler does to the throughput (Figure 6)."""
    easy, fcfs = (found["throughput", FLUID, scheduler] for scheduler in (EASY, FCFS))
    note = f"jobs/h: {_range(easy)} under EASY, {_range(fcfs)} under FCFS"
    note += f", {found['throughput', 'log', ''].iloc[0]:.3g} in the log"
    yield _more(log, "throughput, EASY less FCFS, users who react (%)", easy, fcfs, note)
    easy, fcfs = (found["throughput", TIMESTAMPS, scheduler] for scheduler in (EASY, FCFS))
    values = _difference(easy, fcfs)
    verdict: Verdict = "not held"
    if abs(values[0]) <= SIMILAR:
        verdict = "held" if max(-values[1], values[2]) <= SIMILAR else "direction only"
    words = "throughput, EASY less FCFS, users who do not react (%): similar"
    note = f"jobs/h: {_range(easy)} under EASY, {_range(fcfs)} under FCFS"
    yield _result(log, words, 0.0, values, verdict, note)


def _more(log: Log, words: str, ours: "pd.Series", others: "pd.Series", note: str = "") -> Result:
    """Judge what is to be more than something else in the same runs."""
    values = _difference(ours, others)
    verdict: Verdict = "direction only" if values[0] > 0 else "not held"
    return _result(
        log, f"{words}: above 0", 0.0, values, "held" if values[1] > 0 else verdict, note
    )


def _less(log: Log, words: str, ours: "pd.Series", others: "pd.Series") -> Result:
    """Judge what is to be less than something else in the same runs."""
    values = _difference(ours, others)
    verdict: Verdict = "direction only" if values[0] < 0 else "not held"
    return _result(log, f"{words}: below 0", 0.0, values, "held" if values[2] < 0 else verdict)


def _difference(ours: "pd.Series", others: "pd.Series") -> tuple[float, float, float]:
    """Mean difference of the runs, in percent of the others, with its interval."""
    from workloadkit.experiments.intervals import mean_interval

    return mean_interval(100 * (ours / others - 1))


def _range(values: "pd.Series") -> str:
    return f"{values.min():.3g} to {values.max():.3g}"


def _result(
    log: Log,
    words: str,
    published: float,
    values: tuple[float, float, float],
    verdict: Verdict,
    note: str = "",
) -> Result:
    """Make a result; no interval where there is none."""
    ours, *limits = values
    low, high = limits if limits[0] == limits[0] else (None, None)  # NaN is not itself
    return Result(log.name, log.version, words, published, ours, verdict, low, high, note)


STUDY = Study(
    name="zakay-tbuos",
    text=__doc__,
    source='N. Zakay, "Improved realism and representativeness of workloads to improve reliability '
    'of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter on '
    "trace-based users-oriented simulation, Table I, Figures 4 to 6, section IV",
    logs={name: ZAKAY_LOGS[name] for name in LOGS},
    compare=compare,
    runs=100,
)
