"""Resampled users who react or do not, in eight logs.

Logs are resampled with the original length. Their users submit by timestamps, or they are fluid:
then the simulation is trace-based and user-oriented (TBUOS), and long-term users who have finished
pause and begin again. Both are simulated under EASY and first come, first served, with the same
users.

Table I prints the largest mean wait of 100 runs over the least. This ratio depends on chance in the
source and here: if the logarithms of mean waits were normal, those of such ratios would have a
standard deviation of 12 % of their mean. The margin is twice that. The interval (95 %) comes from
resampling the runs. It extends as far above our value as below, because resampling cannot give a
larger ratio; with fewer runs than in the source it has no upper end.

The other claims are those of the text, or conclusions that it draws from the figures. Shares of
runs have intervals by Wilson, ratios of two simulations of the same run by Student's t on their
logarithms. Words of the source are given numbers: "much" is a factor of two, "common" half of the
runs, "no simulation" less than one run in twenty, "similar" a difference of at most 5 %, "quite
different" and "considerably" one of 10 % or more, "about 20 %" up to 22 %.

Throughput is the number of jobs that end in the period in which users submit, per hour. Skipped
sessions are repeated a week later, as in this chapter; the chapter on feedback has another rule.
The source gives CTC-SP2 430 nodes in one simulation and 336 in the other; the other has 338 here,
as in the log. Jobs larger than the machine, jobs that never ran and jobs of unknown users are
dropped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Claim,
    Each,
    Log,
    Result,
    RunsOfLog,
    Study,
    StudyInput,
    above,
    at_least,
    at_most,
    below,
    between,
    percent_more,
    read_table,
    runs_of_logs,
)
from workloadkit.analysis.reproduction.runs import (
    OVERRUN,
    SESSION_END,
    SKIPPED,
    SPARE,
    START,
    TEMPORARY,
    ZAKAY_LOGS,
    easy,
    fluid,
    temporary,
)
from workloadkit.analysis.studies.zakay_ups import FLUID, PART, TIMESTAMPS, population_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

#: A statistic of the runs, with its interval.
Interval = tuple[float, float, float]

LOGS = (
    *("SDSC-BLUE", "LANL-CM5", "CTC-SP2", "HPC2N"),
    *("ANL-Intrepid", "KTH-SP2", "SDSC-DS", "SDSC-SP2"),
)

#: Schedulers; the reading specifies the first further.
EASY, FCFS = "easy", "fcfs"

#: Runs of the source; relative standard deviation of the range of as many normal values.
RUNS, SD_OF_RANGE = 100, 0.12

#: Numbers that stand for words: factors, shares of runs, and differences in percent.
MUCH, COMMON, NO_RUN, SIMILAR, CONSIDERABLE = 2.0, 0.5, 0.05, 5.0, 10.0

#: Mean waits under TBUOS in the source: none above the first, common ones below the second. [s]
LONGEST_WAIT, USUAL_WAIT = 28_800.0, 20_000.0

#: Mean wait that some runs exceed if users do not react. [s]
LONG_WAIT = 100_000.0

#: The log that is simulated on a larger machine, and its size. [nodes]
RESIZED, LARGER = "CTC-SP2", 430

_FIGURE_4, _FIGURE_5, _FIGURE_6, _FIGURE_7 = (
    f"Figure {n} and section IV.{part}" for n, part in ((4, "B"), (5, "B"), (6, "C"), (7, "C"))
)

#: Columns of a run: measure, users and scheduler. The last is for `RESIZED`.
COLUMNS = (
    *(("mean_wait", users, by) for users in (TIMESTAMPS, FLUID) for by in (EASY, FCFS)),
    *(("throughput", users, by) for users in (TIMESTAMPS, FLUID) for by in (EASY, FCFS)),
    *((what, users, EASY) for what in ("weeks", "session") for users in (TIMESTAMPS, FLUID)),
    *(("throughput", "log", ""), ("temporary", "log", "")),
    ("throughput", FLUID, f"{LARGER} nodes"),
)


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the published ratios and claims with ours."""
    found = runs_of_logs(plan, each, simulations, _columns(), PART)
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    for log, of_log in found.items():
        yield from _ratios(log, of_log, published[log.name])
        yield from _waits(log, of_log)
        yield from _users(log, of_log)
        yield from _throughputs(log, of_log)
        if log.name == RESIZED:
            yield from _resized(log, of_log)
    yield from _of_all(found)


def simulations(part: RunsOfLog, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate the runs of a part; return one row per run, with the columns `COLUMNS`."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.provenance import seed_of

    reading = part.reading
    trace, ready = population_of(part.log, reading)
    period = ready.resampling.plan
    hours = (period.end - period.begin) / 3600
    jobs = wk.classify_users(trace, **temporary(reading)).counts["jobs"]
    share = jobs["temporary"] / (jobs["temporary"] + jobs["long-term"])
    behaviours = {TIMESTAMPS: TIMESTAMPS, FLUID: fluid(reading)}
    schedulers = {EASY: easy(reading), FCFS: FCFS}
    how: list[tuple[str, str, int | None]] = [
        (users, by, None) for users in behaviours for by in schedulers
    ]
    if part.log.name == RESIZED:
        how.append((FLUID, EASY, LARGER))
    rows = []
    for stream in rng.spawn(part.runs):
        seed, row = seed_of(stream), {}
        for users, by, procs in how:
            schedule = wk.simulate(
                trace,
                schedulers[by],
                behaviours[users],
                procs=procs,
                population=ready,
                overrun=reading["overrun"],
                oversize="drop",
                rng=seed,
            )
            throughput = float((schedule.end <= period.end).sum()) / hours
            if procs is not None:
                row["throughput", users, f"{procs} nodes"] = throughput
                continue
            row["throughput", users, by] = throughput
            row["mean_wait", users, by] = schedule.metrics["mean_wait"]
            if by == EASY:
                of_users = schedule.productivity
                row["weeks", users, EASY] = float(of_users.users["active_weeks"].mean())
                row["session", users, EASY] = float(of_users.sessions["length"].mean())
        row["throughput", "log", ""] = trace.n_jobs / hours
        row["temporary", "log", ""] = float(share)
        rows.append(row)
    return pd.DataFrame(rows, columns=_columns())


def _columns() -> "pd.MultiIndex":
    import pandas as pd

    return pd.MultiIndex.from_tuples(COLUMNS)


def _ratios(log: Log, found: "pd.DataFrame", published: Mapping[str, str]) -> Iterator[Result]:
    """Table I: the range of the mean waits of the runs, under EASY."""
    import numpy as np

    waits = {
        users: np.log(found["mean_wait", users, EASY].to_numpy()[:RUNS])
        for users in (TIMESTAMPS, FLUID)
    }
    ranges = {}
    for users, words in ((TIMESTAMPS, "do not react"), (FLUID, "react")):
        theirs = float(published[words.replace(" ", "_")])
        agrees = (theirs ** (1 - 2 * SD_OF_RANGE), theirs ** (1 + 2 * SD_OF_RANGE))
        quantity = f"largest mean wait of the runs to the least, users who {words}"
        claim = between(quantity, agrees, "Table I", "printed", published=theirs)
        ranges[users] = _drawings(np.ptp, waits[users])
        ours, low, high = _exp(_interval(ranges[users]))
        if len(found) < RUNS and high == high:
            high = inf
        yield Result(log, claim, ours, low, high, f"of {RUNS} runs there, {len(found)} here")
    apart = _exp(_interval(ranges[FLUID] - ranges[TIMESTAMPS]))
    quantity = "largest mean wait of the runs to the least, users who react over others"
    place = "Table I and section IV.B"
    yield Result(log, below(quantity, 1.0, place, "direction", main=True), *apart)
    yield Result(log, at_most(f"{quantity}: much narrower", 1 / MUCH, place, "ours"), *apart)


def _drawings(
    statistic: "Callable[..., Any]", values: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """Return a statistic of the runs, then of 1000 resamples of them, with a fixed seed."""
    import numpy as np

    if values.size < 2:
        return np.array([statistic(values) if values.size else nan, nan])
    drawn = values[np.random.default_rng(0).integers(values.size, size=(1000, values.size))]
    return np.array([statistic(values), *statistic(drawn, axis=1)])


def _interval(values: "NDArray[np.float64]") -> Interval:
    """Return the first value, with a symmetric interval that covers 95 % of the others."""
    import numpy as np

    ours, low, high = (float(x) for x in (values[0], *np.quantile(values[1:], (0.025, 0.975))))
    reach = max(ours - low, high - ours)
    return ours, ours - reach, ours + reach


def _exp(values: Interval) -> Interval:
    ours, low, high = map(exp, values)
    return ours, low, high


def _waits(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Figure 4: the mean waits under EASY."""
    import numpy as np

    from workloadkit.experiments.intervals import ratio_interval, share_interval

    waits, others = (found["mean_wait", users, EASY] for users in (FLUID, TIMESTAMPS))
    note = f"s: {_range(waits)}; {_range(others)} of users who do not react" if len(found) else ""
    ratio = ratio_interval(waits, others)
    quantity = "mean wait, users who react over others"
    claim = below(quantity, 1.0, _FIGURE_4, "direction", main=True)
    yield Result(log, claim, *ratio, note)
    yield Result(log, at_most(f"{quantity}: much lower", 1 / MUCH, _FIGURE_4, "ours"), *ratio)
    quantity = "largest mean wait of the runs, users who react over others"
    tops = [_drawings(np.max, np.log(x.to_numpy())) for x in (waits, others)]
    claim = below(quantity, 1.0, _FIGURE_4, "direction")
    yield Result(log, claim, *_exp(_interval(tops[0] - tops[1])))
    claim = between(
        "share of runs with a mean wait above 8 h, users who react: none",
        (0.0, NO_RUN),
        _FIGURE_4,
        "printed",
        published=0.0,
    )
    share, low, high = share_interval(int((waits > LONGEST_WAIT).sum()), len(waits))
    yield Result(log, claim, share, max(low, 0.0), high)
    quantity = "share of runs with a mean wait below 20,000 s, users who react: common"
    share_of_usual = share_interval(int((waits < USUAL_WAIT).sum()), len(waits))
    yield Result(log, at_least(quantity, COMMON, _FIGURE_4, "ours"), *share_of_usual)


def _users(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Figure 5: differences between users who react and others."""
    from workloadkit.experiments.intervals import ratio_interval

    words = "{}, users who react over others"
    weeks = above(words.format("weeks in which a user is active"), 1.0, _FIGURE_5, "direction")
    length = below(words.format("mean length of sessions"), 1.0, _FIGURE_5, "direction")
    for what, claim in (("weeks", weeks), ("session", length)):
        ratio = ratio_interval(*(found[what, users, EASY] for users in (FLUID, TIMESTAMPS)))
        yield Result(log, claim, *ratio)
    quantity = "share of the jobs that are of temporary users: up to about 20 %"
    share = found["temporary", "log", ""]
    ours = float(share.iloc[0]) if len(share) else nan
    yield Result(log, between(quantity, (0.0, 0.22), "section IV.A", "bound", published=0.2), ours)


def _throughputs(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Figure 6: the effect of the scheduler on the throughput."""
    of_log = found["throughput", "log", ""]
    reacting, others = (
        [found["throughput", users, by] for by in (EASY, FCFS)] for users in (FLUID, TIMESTAMPS)
    )
    words = "throughput, EASY less FCFS, users who {} (%)"
    claim = above(words.format("react"), 0.0, _FIGURE_6, "direction", main=True)
    yield Result(log, claim, *percent_more(*reacting), _jobs_an_hour(reacting, of_log))
    note = _jobs_an_hour(others, of_log)
    yield Result(log, _similar(words.format("do not react")), *percent_more(*others), note)
    claim = _similar("throughput under EASY less the log's, users who do not react (%)")
    yield Result(log, claim, *percent_more(others[0], of_log))


def _similar(quantity: str) -> Claim:
    return between(f"{quantity}: similar", (-SIMILAR, SIMILAR), _FIGURE_6)


def _resized(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Figure 7: the throughput grows to fill a larger machine."""
    from workloadkit.experiments.intervals import mean_interval

    of_log = found["throughput", "log", ""]
    large, right = (
        100 * (found["throughput", FLUID, by] / of_log - 1) for by in (f"{LARGER} nodes", EASY)
    )
    words = f"throughput with {LARGER} nodes less the log's, users who react (%): considerably more"
    claim = at_least(words, CONSIDERABLE, _FIGURE_7, "ours")
    yield Result(log, claim, *mean_interval(large))
    words = f"distance of the throughput from the log's (%), with {LARGER} nodes less with its own"
    claim = above(words, 0.0, _FIGURE_7, "direction")
    yield Result(log, claim, *mean_interval(large.abs() - right.abs()))


def _of_all(found: "Mapping[Log, pd.DataFrame]") -> Iterator[Result]:
    """Figures 4 and 6: effects in at least one log."""
    tables = {log.name: table for log, table in found.items() if len(table)}
    longest = {name: table["mean_wait", TIMESTAMPS, EASY].max() for name, table in tables.items()}
    quantity = (
        f"logs in which a run has a mean wait above {LONG_WAIT:,.0f} s, users who do not react"
    )
    exceeding = [name for name, wait in longest.items() if wait > LONG_WAIT]
    ours = len(exceeding) if tables else nan
    enough = all(len(table) >= RUNS for table in tables.values())
    most = ours if enough else len(tables)  # further runs may exceed it
    claim = above(quantity, 0, _FIGURE_4)
    yield Result(ALL_LOGS, claim, ours, ours, most, ", ".join(exceeding))
    differs = {
        by: {
            name: percent_more(table["throughput", FLUID, by], table["throughput", "log", ""])
            for name, table in tables.items()
        }
        for by in (EASY, FCFS)
    }
    nothing = {"": (nan, nan, nan)}
    quantity = "throughput under FCFS less the log's, users who react (%), the least of the logs"
    name, least = min((differs[FCFS] or nothing).items(), key=lambda item: item[1][0])
    yield Result(ALL_LOGS, below(quantity, 0.0, _FIGURE_6, "direction"), *least, name)
    quantity = (
        "distance of the throughput under EASY from the log's, users who react (%), the largest of "
        "the logs: quite different"
    )
    name, (ours, *ends) = max((differs[EASY] or nothing).items(), key=lambda x: abs(x[1][0]))
    low, high = ends if ours >= 0 else (-ends[1], -ends[0])
    claim = at_least(quantity, CONSIDERABLE, _FIGURE_6, "ours")
    yield Result(ALL_LOGS, claim, abs(ours), low, high, name)


def _range(values: "pd.Series", form: str = ",.0f") -> str:
    return f"{values.min():{form}} to {values.max():{form}}"


def _jobs_an_hour(throughputs: "Sequence[pd.Series]", of_log: "pd.Series") -> str:
    if of_log.empty:
        return ""
    easys, fcfs = (_range(values, ".3g") for values in throughputs)
    return f"jobs/h: {easys} under EASY, {fcfs} under FCFS, {of_log.iloc[0]:.3g} in the log"


STUDY = Study(
    name="zakay-tbuos",
    text=__doc__,
    source='N. Zakay, "Improved realism and representativeness of workloads to improve reliability '
    'of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter on '
    "trace-based users-oriented simulation, Table I, Figures 4 to 7, section IV",
    logs={name: ZAKAY_LOGS[name] for name in LOGS},
    compare=compare,
    runs=RUNS,
    axes=(SPARE, OVERRUN, SESSION_END, SKIPPED.preferring("reinsert"), TEMPORARY, START),
)
