"""Resampling by users in twelve logs, and EASY on them.

First Tables VI and VII: mean stack depths and Hurst parameters (R/S of hourly arrivals) of eight
resampled logs. The margin of a published mean is the standard deviation that the source gives. Jobs
that never ran are left out of the original.

Then the log and logs resampled from it are simulated under EASY; the source makes 1,000 of each.
Their numbers of jobs, utilizations, mean waits and mean bounded slowdowns are compared with those
of the log. All intervals are of 95 %: of shares of the runs by Wilson, of medians by order
statistics, of means by Student's t, and of the ratio of the largest to the least mean wait by
resampling the runs. The margin of a published share is 0.1, that of a published median difference
0.25 %, that of the ratio a factor of two. "Around" the log's value means at least one run of twenty
on either side, "nearly all" nine of ten, "largely" three of four, "most" more than half, "near"
full utilization 0.95.

The utilization is that between the first and the last submission, because the end of a log would
count as idle time. "Generally below" is at least three runs of four. Response times behave like
waits if the rank correlation of their means over the runs is at least 0.9. Slowdowns vary most if
their coefficient of variation is above those of all other metrics. The study `zakay-load` changes
the number of users.

"In most cases the most extreme differences were not more than 10-20 %" contradicts the source's own
figures of waits: elsewhere in the thesis, the largest mean wait of 100 such simulations is 2.7 to
17 times the least. In a resampled log, the combination of users differs from that of the original,
and users do not wait for better times. So in some months more work arrives than the machine can do,
which never lasts long in the original log.

Jobs larger than the machine are dropped.
"""

from collections.abc import Iterator, Mapping
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
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
    sizes_of_parts,
)
from workloadkit.analysis.reproduction.runs import (
    CTC_NODES,
    OVERRUN,
    SPARE,
    START,
    TEMPORARY,
    ZAKAY_LOGS,
    easy,
    procs_of,
    resampling_of,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.resample.runs import Resampling
    from workloadkit.simulation.schedule import Schedule
    from workloadkit.trace import Trace

#: Number of resampled logs in Tables VI and VII.
TABLE_RUNS = 8

#: Runs of a task: small enough to share, and independent of the number of workers.
PART = 25

#: Metrics of a simulation, and their names in claims.
METRICS = {
    "jobs": "throughput",
    "utilization": "utilization",
    "mean_wait": "mean wait",
    "mean_bounded_slowdown": "slowdown",
}

_NO_ESTIMATES = ("SDSC-Par", "PIK-IPLEX")
_COLUMNS = ("original", "resampled", "sd")
_DEPTHS = {"procs": "processors", "requested_time": "requested time", "run": "run time"}


class ResamplingPart(NamedTuple):
    """Simulations of a log, or of logs resampled from it."""

    log: Log
    reading: Reading
    runs: int
    factor: float = 1.0


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the published figures and claims with ours."""
    logs, runs, reading = plan.logs, plan.runs, dict(plan.reading)
    with_estimates = [log for log in logs if log.name not in _NO_ESTIMATES]
    in_tables = [(log, reading) for log in logs]
    sizes = sizes_of_parts(runs, PART)
    originals = [ResamplingPart(log, reading, 0) for log in logs]
    parts = [ResamplingPart(log, reading, size) for log in with_estimates for size in sizes]
    measured = each(tables, in_tables)
    done = each(simulations, [*originals, *parts])
    n = len(originals)
    of_log = {part.log: done[i].iloc[0] for i, part in enumerate(originals)}
    for (log, _), found in zip(in_tables, measured, strict=True):
        yield from _tables(log, found)
    for log in plan.missing:
        yield from _tables(log, None)
        yield from _side(log, None)
    of_runs = {
        log: _joined([d for part, d in zip(parts, done[n:], strict=True) if part.log == log])
        for log in with_estimates
    }
    for log, found in of_runs.items():
        yield from _compare_runs(log, of_log[log], found)
    if of_runs:
        yield from _together(of_runs, of_log)


def tables(task: tuple[Log, Reading], rng: "np.random.Generator") -> "pd.DataFrame":
    """Measure the stack depths and the Hurst parameter of a log and of eight resampled ones."""
    import pandas as pd

    from workloadkit.provenance import seed_of

    trace, resampling = pools(*task)
    seed = seed_of(rng)
    new = (resampling.run_of(i, seed) for i in range(TABLE_RUNS))
    return pd.DataFrame([_measure(x) for x in (trace, *new)])


def simulations(part: ResamplingPart, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate a log under EASY, or logs resampled from it; impossible ones have no row."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.errors import ParameterError
    from workloadkit.provenance import seed_of
    from workloadkit.simulation.schedule.saturation import outstanding

    trace, resampling = pools(part.log, part.reading)
    seed = seed_of(rng)
    rows: list[dict[str, Any]] = []
    try:
        factor = resampling.at_load(part.factor)
    except ParameterError:  # more temporary users than the pool has
        return pd.DataFrame(rows, columns=[*METRICS, "saturated"])
    new = (factor.run_of(i, seed) for i in range(part.runs)) if part.runs else (trace,)
    for log in new:
        schedule = wk.simulate(
            log,
            easy(part.reading),
            procs=procs_of(part.log, part.reading),
            oversize="drop",
            overrun=part.reading["overrun"],
        )
        values = {name: schedule.metrics[name] for name in (*METRICS, "mean_response")}
        grew = outstanding(schedule.workload.submit, schedule.end).grew
        values |= _load(schedule) | {"saturated": bool(grew)}
        rows.append(values)
    return pd.DataFrame(rows)


def _load(schedule: "Schedule") -> dict[str, float]:
    """Return load and utilization of the machine while jobs arrive."""
    import numpy as np

    from workloadkit import metrics

    w, machine = schedule.workload, schedule.machine
    first, last = float(w.submit[0]), float(w.submit[-1])
    busy = metrics.utilization(schedule.start, schedule.end, w.procs, machine, first, last)
    work = float(np.dot(w.run.astype(np.float64), w.procs))
    return {"utilization": busy, "offered_load": work / (machine * (last - first))}


def pools(log: Log, reading: Reading) -> tuple["Trace", "Resampling"]:
    """Return the jobs of a log that ran and have known users, and their resampling."""
    from workloadkit.analysis.resampling.measures import comparable

    trace = comparable(log.read())
    return trace, resampling_of([trace], reading)


def _measure(trace: "Trace") -> dict[str, float]:
    from workloadkit.analysis.locality.stack import mean_depths
    from workloadkit.analysis.memory.arrivals import arrivals_per_unit
    from workloadkit.analysis.memory.hurst_parameter import estimate_hurst

    return mean_depths(trace) | {"hurst": estimate_hurst(arrivals_per_unit(trace), "rs").estimate}


def _joined(parts: list["pd.DataFrame"]) -> "pd.DataFrame":
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _tables(log: Log, found: "pd.DataFrame | None") -> Iterator[Result]:
    """Compare the rows of Tables VI and VII with ours."""
    from workloadkit.experiments.intervals import mean_interval

    folder = Path(__file__).parent
    published: dict[str, tuple[str, str, float, float, float]] = {}
    for row in read_table(folder / "zakay_locality_depth.csv"):
        if row["log"] == log.name:
            for name, words in _DEPTHS.items():
                original, mean, sd = (float(row[f"{name}_{x}"]) for x in _COLUMNS)
                words = f"mean stack depth, {words}"
                published[name] = (words, "Table VI", original, mean, sd)
    for row in read_table(folder / "zakay_hurst.csv"):
        if row["log"] == log.name:
            original, mean, sd = (float(row[x]) for x in ("original", "resampled", "resampled_sd"))
            published["hurst"] = ("Hurst parameter by R/S", "Table VII", original, mean, sd)
    for name, (words, place, original, resampled, sd) in published.items():
        claim = printed(f"{words}, {TABLE_RUNS} resampled", resampled, place, within=sd)
        if found is None or found[name].iloc[1:].isna().any():  # the log knows no such times
            yield Result(log, claim, nan)
            continue
        first, others = float(found[name].iloc[0]), found[name].iloc[1:]
        note = (
            f"of the original {original:g}, here {first:.4g}; standard deviation {sd:g}, here "
            f"{others.std():.2g}"
        )
        yield Result(log, claim, *mean_interval(others, positive=True), note)


def _compare_runs(log: Log, original: "pd.Series", runs: "pd.DataFrame") -> Iterator[Result]:
    """Compare simulations of resampled logs with that of the log."""
    import numpy as np

    from workloadkit.experiments.intervals import median_interval

    relative = runs[list(METRICS)] / original[list(METRICS)].astype(np.float64) - 1
    lower = {name: runs[name] < original[name] for name in METRICS}
    share, low, high = _share(lower["jobs"])
    place = "section 6.1"
    if log.name == "SDSC-BLUE":
        words = "share of runs with a throughput below the log's"
        yield Result(log, printed(words, 0.92, place, within=0.1), share, low, high)
        words = "median throughput relative to the log (%)"
        values = median_interval(100 * relative["jobs"])
        yield Result(log, printed(words, -0.45, place, within=0.25), *values)
    else:
        apart, least, most = _size(share - 0.5, low - 0.5, high - 0.5)
        words = "larger share of runs with a throughput on one side of the log's: at most BLUE's"
        claim = at_most(words, 0.92, place)
        yield Result(log, claim, 0.5 + apart, 0.5 + least, 0.5 + most)
    values = median_interval(100 * relative["utilization"])
    claim = below("median difference of the utilization from the log's (%)", 8.0, place)
    note = f"{_range(100 * relative['utilization'])}: median {values[0]:+.1f} %"
    yield Result(log, claim, *_size(*values), note)
    yield from _side(log, lower["utilization"])
    yield from _waits(log, original, runs, lower)
    yield from _varied(log, runs)
    rows = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    if log.name in rows and len(runs) > 1:
        published = float(rows[log.name]["largest_to_least_wait"])
        words, about = "largest mean wait of the runs to the least", (published / 2, 2 * published)
        claim = between(words, about, "2018, chapter on TBUOS, Table I", "printed",
                        published=published)  # fmt: skip
        note = f"published of 100 runs; {len(runs)} here"
        yield Result(log, claim, *_spread(runs["mean_wait"].to_numpy()), note)


def _waits(
    log: Log, original: "pd.Series", runs: "pd.DataFrame", lower: Mapping[str, Any]
) -> Iterator[Result]:
    """Report whether waits and slowdowns of resampled logs are above or below the log's."""
    # the words, and the smallest and largest share of the runs above the log's
    claims = {
        ("SDSC-BLUE", "mean_wait"): ("largely above", 0.75, 1.0),
        ("HPC2N", "mean_wait"): ("largely above", 0.75, 1.0),
        ("SDSC-DS", "mean_wait"): ("around", 0.05, 0.95),
        ("CTC-SP2", "mean_wait"): ("around", 0.05, 0.95),
        ("SDSC-BLUE", "mean_bounded_slowdown"): ("around", 0.05, 0.95),
        ("CTC-SP2", "mean_bounded_slowdown"): ("around", 0.05, 0.95),
        ("SDSC-DS", "mean_bounded_slowdown"): ("nearly all below", 0.0, 0.1),
        ("HPC2N", "mean_bounded_slowdown"): ("nearly all above", 0.9, 1.0),
    }
    for name in ("mean_wait", "mean_bounded_slowdown"):
        if (log.name, name) in claims:
            words, least, most = claims[log.name, name]
            quantity = f"share of runs with a {METRICS[name]} above the log's: {words}"
            claim = between(quantity, (least, most), "section 6.1")
            note = f"{_range(runs[name] / original[name])} times that of the log"
            yield Result(log, claim, *_share(~lower[name]), note)


def _varied(log: Log, runs: "pd.DataFrame") -> Iterator[Result]:
    """Report the correlation of response times and waits, and the metric that varies most."""
    if len(runs) < 3:
        return
    place = "section 6.1"
    words = "rank correlation of mean response times and waits over the runs: similar"
    both = float(runs[["mean_response", "mean_wait"]].rank().corr().iloc[0, 1])
    yield Result(log, at_least(words, 0.9, place, "ours"), both, note=f"of {len(runs)} runs")
    of = runs[list(METRICS)].std() / runs[list(METRICS)].mean()
    others = of.drop("mean_bounded_slowdown")
    words = "coefficient of variation of slowdowns over the largest of other metrics"
    note = ", ".join(f"{METRICS[name]} {value:.2g}" for name, value in of.items())
    claim = above(words, 1, place, "direction")
    ratio = float(of["mean_bounded_slowdown"] / others.max()) if others.max() > 0 else nan
    yield Result(log, claim, ratio, *_interval_of_variation(runs), note)


def _side(log: Log, lower: "pd.Series | None") -> Iterator[Result]:
    """Report whether utilizations of resampled logs are above or below the log's."""
    least, words = {"CTC-SP2": (0.05, "around"), "CEA-Curie": (0.75, "generally below")}.get(
        log.name, (nan, "")
    )
    if words:
        quantity = f"share of runs with a utilization below the log's: {words}"
        claim = between(quantity, (least, 0.95 if words == "around" else 1.0), "section 6.1")
        yield Result(log, claim, *((nan, None, None) if lower is None else _share(lower)))


def _interval_of_variation(runs: "pd.DataFrame") -> tuple[float, float]:
    """Interval of the ratio of the coefficients of variation, by resampling the runs."""
    import numpy as np

    names = [name for name in METRICS if name != "mean_bounded_slowdown"]
    values = runs[["mean_bounded_slowdown", *names]].to_numpy(np.float64)
    drawn = values[np.random.default_rng(0).integers(0, len(values), (1000, len(values)))]
    variation = drawn.std(axis=1) / drawn.mean(axis=1)
    most = variation[:, 1:].max(axis=1)
    ratios = variation[:, 0] / np.where(most > 0, most, np.nan)
    low, high = np.nanquantile(ratios, (0.025, 0.975)) if (most > 0).any() else (nan, nan)
    return float(low), float(high)


def _together(
    runs: Mapping[Log, "pd.DataFrame"], original: Mapping[Log, "pd.Series"]
) -> Iterator[Result]:
    """Report the shares of cases with the log among its runs, and with runs near the log."""
    apart, outside, count = [], [], 0
    for log, of_runs in runs.items():
        for name in METRICS:
            count += 1
            value = float(original[log][name])
            if not of_runs[name].min() <= value <= of_runs[name].max():
                outside.append(f"{log.name}: {METRICS[name]}")
        for name in ("mean_wait", "mean_bounded_slowdown"):
            farthest = (of_runs[name] / original[log][name] - 1).abs().max()
            apart += [float(farthest)]
    words = "share of cases in which some runs are on either side of the log"
    claim = at_least(words, 1, "section 6.1", main=True)
    note = f"not so: {'; '.join(outside)}" if outside else ""
    yield Result(ALL_LOGS, claim, 1 - len(outside) / count, note=note)
    words = "share of cases with waits or slowdowns at most 20 % apart: most"
    note = f"largest differences {100 * min(apart):,.0f} to {100 * max(apart):,.0f} %"
    share = sum(x <= 0.2 for x in apart) / len(apart)
    yield Result(ALL_LOGS, above(words, 0.5, "section 6.1", "ours"), share, note=note)


def _size(ours: float, low: float, high: float) -> tuple[float, float, float]:
    """Return the absolute value of an interval and its centre."""
    ends = sorted((abs(low), abs(high)))
    return abs(ours), 0.0 if low < 0 < high else ends[0], ends[1]


def _share(flags: "pd.Series") -> tuple[float, float, float]:
    from workloadkit.experiments.intervals import share_interval

    return share_interval(int(flags.sum()), len(flags))


def _spread(values: "np.ndarray") -> tuple[float, float, float]:
    """Ratio of the largest to the least, and its interval by resampling the runs."""
    import numpy as np

    drawn = np.random.default_rng(0).choice(values, (1000, values.size))
    low, high = np.quantile(drawn.max(axis=1) / drawn.min(axis=1), (0.025, 0.975))
    return float(values.max() / values.min()), float(low), float(high)


def _range(values: "pd.Series") -> str:
    return f"{values.min():.3g} to {values.max():.3g}"


STUDY = Study(
    name="zakay-resampling",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "Tables VI and VII, section 6.1; the ratios of waits are of N. Zakay's thesis, 2018, "
    "chapter on TBUOS, Table I",
    logs=ZAKAY_LOGS,
    compare=compare,
    runs=100,
    axes=(SPARE, OVERRUN, TEMPORARY, START, CTC_NODES),
)
