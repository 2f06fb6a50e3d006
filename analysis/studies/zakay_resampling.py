"""Resampling by users in twelve logs, and EASY on them.

First Tables VI and VII: mean stack depths and Hurst parameters (R/S of hourly arrivals) of eight
resampled logs. A figure is *held* if the mean of ours differs from the published mean by no more
than the standard deviation that the source gives, *direction only* if resampling moves it to the
same side of the original. The original is taken without jobs that never ran.

Then the log and logs resampled from it are simulated under EASY; the source makes 1,000 of each.
Their jobs, utilizations, mean waits and mean bounded slowdowns are set beside those of the log.
Shares of the runs have intervals by Wilson, medians by their order, means by Student's t, and the
ratio of the largest to the least mean wait by drawing runs anew, all of 95 %. A published share or
median is *held* if it lies in our interval, else the direction is, if both are on the same side of
one half or of 0. "Around" the log's value is taken for at least one run of twenty on either side,
"nearly all" for nine of ten, "largely" for three of four, "most" for more than half.

The utilization is that between the first and the last submission: the end of a log would count as
idle time. Last, more and fewer users, 10 runs for each factor of their numbers; runs that saturate
are left out. The utilization at which a log saturates is taken for the mean of the other runs at
the largest factor at which at least half of the runs do not saturate.

"In most cases the most extreme differences were not more than 10-20 %" cannot hold of the waits
by the source's own figures: elsewhere in the thesis, the largest mean wait of 100 such simulations
is 2.7 to 17 times the least; here it is 4 times and more. In a resampled log users come together
who did not, and nobody waits for better times: in some months more work arrives than the machine
can do, as it never did for long in the log.

Long-term users begin amid their activity, as the text says, so that the first weeks are heavier
than the others. If they begin anywhere in their period instead (``start="period"``), the waits come
nearer to those of the log in all seven logs, by a little or by much, and stay above them.

Jobs that outlive their estimates have these raised; jobs larger than the machine are dropped. The
OSC cluster's log has no estimates: its run times are taken for them.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.studies import ZAKAY_LOGS, Each, Log, Result, Study, Verdict, read_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.resample.runs import Resampling
    from workloadkit.simulation.schedule import Schedule
    from workloadkit.trace import Trace

#: Logs of Tables VI and VII are resampled so often.
TABLE_RUNS = 8

#: Runs of a task, so that many can share the work and the same runs come of any number of them.
PART = 25

#: Runs for each factor of the numbers of users, and the factors.
LOAD_RUNS = 10
FACTORS = {
    "SDSC-DS": (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5),
    "SDSC-BLUE": (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5),
    "OSC-Clust": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
}

#: What is measured of a simulation, in words.
METRICS = {
    "jobs": "throughput",
    "utilization": "utilization",
    "mean_wait": "mean wait",
    "mean_bounded_slowdown": "slowdown",
}

_NO_ESTIMATES = ("SDSC-Par", "PIK-IPLEX", "OSC-Clust")
_COLUMNS = ("original", "resampled", "sd")
_DEPTHS = {"procs": "processors", "requested_time": "requested time", "run": "run time"}


class Part(NamedTuple):
    """Simulations of one log: of itself, or of so many resampled from it."""

    log: Log
    runs: int
    factor: float = 1.0


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the published figures and claims beside ours."""
    with_estimates = [log for log in logs if log.name not in _NO_ESTIMATES]
    in_tables = [log for log in logs if log.name != "OSC-Clust"]
    sizes = [min(PART, runs - first) for first in range(0, runs, PART)]
    loads = [Part(log, LOAD_RUNS, x) for log in logs for x in FACTORS.get(log.name, ())]
    originals = [Part(log, 0) for log in logs]
    parts = [Part(log, size) for log in with_estimates for size in sizes]
    measured = dict(zip(in_tables, each(tables, in_tables), strict=True))
    tasks = [*originals, *parts, *loads]
    done = each(simulations, tasks)
    n, m = len(originals), len(originals) + len(parts)
    of_log = {part.log: done[i].iloc[0] for i, part in enumerate(originals)}
    for log, found in measured.items():
        yield from _tables(log, found)
    of_runs = {
        log: _joined([d for part, d in zip(parts, done[n:m], strict=True) if part.log == log])
        for log in with_estimates
    }
    for log, found in of_runs.items():
        yield from _beside(log, of_log[log], found)
    if of_runs:
        yield from _together(of_runs, of_log)
    for log in logs:
        if log.name in FACTORS:
            found = {p.factor: d for p, d in zip(loads, done[m:], strict=True) if p.log == log}
            yield from _loads(log, of_log[log], found)


def tables(log: Log, rng: "np.random.Generator") -> "pd.DataFrame":
    """Measure the stack depths and the Hurst parameter of a log and of eight resampled ones."""
    import pandas as pd

    from workloadkit.provenance import seed_of

    trace, resampling = _pools(log)
    seed = seed_of(rng)
    new = (resampling.run_of(i, seed) for i in range(TABLE_RUNS))
    return pd.DataFrame([_measure(x) for x in (trace, *new)])


def simulations(part: Part, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate a log under EASY, or logs resampled from it; without a row where that cannot be."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.errors import ParameterError
    from workloadkit.provenance import seed_of
    from workloadkit.simulation.saturation import outstanding

    trace, resampling = _pools(part.log)
    seed = seed_of(rng)
    rows: list[dict[str, Any]] = []
    try:
        factor = resampling.at_load(part.factor)
    except ParameterError:  # more temporary users than there are
        return pd.DataFrame(rows, columns=[*METRICS, "saturated"])
    new = (factor.run_of(i, seed) for i in range(part.runs)) if part.runs else (trace,)
    for log in new:
        schedule = wk.simulate(log, "easy", oversize="drop")
        values = {name: schedule.metrics[name] for name in METRICS}
        grew = outstanding(schedule.workload.submit, schedule.end).grew
        values |= _load(schedule) | {"saturated": bool(grew)}
        rows.append(values)
    return pd.DataFrame(rows)


def _load(schedule: "Schedule") -> dict[str, float]:
    """Load and utilization of the machine as long as jobs arrive."""
    import numpy as np

    from workloadkit import metrics

    w, machine = schedule.workload, schedule.machine
    first, last = float(w.submit[0]), float(w.submit[-1])
    busy = metrics.utilization(schedule.start, schedule.end, w.procs, machine, first, last)
    work = float(np.dot(w.run.astype(np.float64), w.procs))
    return {"utilization": busy, "offered_load": work / (machine * (last - first))}


def _pools(log: Log) -> tuple["Trace", "Resampling"]:
    """Return the jobs of a log that ran and are of known users, and what resamples them."""
    import warnings

    from workloadkit.errors import WorkloadWarning
    from workloadkit.resample.runs import prepare

    trace = log.read()
    trace = trace.select(trace.ran & (trace.column("user") >= 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # an empty pool is no news here
        return trace, prepare(trace, start="activity")


def _measure(trace: "Trace") -> dict[str, float]:
    from analysis.locality.stack import mean_depths
    from analysis.memory.arrivals import arrivals_per_unit
    from analysis.memory.hurst_parameter import hurst

    return mean_depths(trace) | {"hurst": hurst(arrivals_per_unit(trace), "rs").estimate}


def _joined(parts: list["pd.DataFrame"]) -> "pd.DataFrame":
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _tables(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Set the rows of Tables VI and VII beside ours."""
    from workloadkit.experiments.intervals import mean_interval

    folder = Path(__file__).parent
    published: dict[str, tuple[str, float, float, float]] = {}
    for row in read_table(folder / "zakay_locality_depth.csv"):
        if row["log"] == log.name:
            for name, words in _DEPTHS.items():
                original, mean, sd = (float(row[f"{name}_{x}"]) for x in _COLUMNS)
                published[name] = (f"mean stack depth, {words}", original, mean, sd)
    for row in read_table(folder / "zakay_hurst.csv"):
        if row["log"] == log.name:
            original, mean, sd = (float(row[x]) for x in ("original", "resampled", "resampled_sd"))
            published["hurst"] = ("Hurst parameter by R/S", original, mean, sd)
    for name, (words, original, resampled, sd) in published.items():
        first, others = float(found[name].iloc[0]), found[name].iloc[1:]
        if others.isna().any():
            continue  # the log knows no such times
        ours, low, high = mean_interval(others, positive=True)
        verdict: Verdict = "not held"
        if abs(ours - resampled) <= sd:
            verdict = "held"
        elif (ours - first) * (resampled - original) > 0:
            verdict = "direction only"
        note = (
            f"published {resampled:g} ± {sd:g}, of the original {original:g}; ours {ours:.3g} ± "
            f"{others.std():.2g}, of the original {first:.4g}{_version(log)}"
        )
        quantity = f"{words}, {TABLE_RUNS} resampled"
        yield Result(log.name, log.version, quantity, resampled, ours, verdict, low, high, note)


def _beside(log: Log, original: "pd.Series", runs: "pd.DataFrame") -> Iterator[Result]:
    """Say how simulations of resampled logs differ from that of the log."""
    import numpy as np

    from workloadkit.experiments.intervals import median_interval

    relative = runs[list(METRICS)] / original[list(METRICS)].astype(np.float64) - 1
    below = {name: runs[name] < original[name] for name in METRICS}
    share, low, high = _share(below["jobs"])
    if log.name == "SDSC-BLUE":
        words = "share of runs with a throughput below the log's"
        yield _result(log, words, 0.92, (share, low, high), _near(0.92, share, low, high, 0.5))
        values = median_interval(100 * relative["jobs"])
        verdict = _near(-0.45, *values, 0.0)
        yield _result(log, "median throughput relative to the log (%)", -0.45, values, verdict)
    else:
        apart, least, most = _size(share - 0.5, low - 0.5, high - 0.5)
        sides = (0.5 + apart, 0.5 + least, 0.5 + most)
        words = "larger share of runs with a throughput on one side of the log's, at most BLUE's"
        yield _result(log, words, 0.92, sides, _at_most(0.92, sides))
    values = median_interval(100 * relative["utilization"])
    size = _size(*values)
    note = f"{_range(100 * relative['utilization'])}: median {values[0]:+.1f} %"
    words = "median difference of the utilization from the log's (%), below"
    yield _result(log, words, 8.0, size, _at_most(8.0, size), note)
    yield from _waits(log, original, runs, below)
    rows = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    if log.name in rows and len(runs) > 1:
        published = float(rows[log.name]["largest_to_least_wait"])
        ratio = _spread(runs["mean_wait"].to_numpy())
        inside = ratio[1] <= published <= ratio[2]
        about = published / 2 <= ratio[0] <= 2 * published
        verdict = "held" if inside else "direction only" if about else "not held"
        words = "largest mean wait of the runs to the least"
        yield _result(log, words, published, ratio, verdict, f"published of 100; {len(runs)} here")


def _waits(
    log: Log, original: "pd.Series", runs: "pd.DataFrame", below: Mapping[str, Any]
) -> Iterator[Result]:
    """Say on which side of the log's the waits and slowdowns of resampled logs lie."""
    # In words, and the share of the runs above the log's, at least and at most.
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
        claim = claims.get((log.name, name))
        if claim is None:
            continue
        words, least, most = claim
        share, low, high = _share(~below[name])
        verdict: Verdict = "not held"
        if least <= share <= most:
            verdict = "held"
        elif words != "around" and (share > 0.5) == (least > 0.5):
            verdict = "direction only"
        bound = least if least > 0.5 else most
        quantity = f"share of runs with a {METRICS[name]} above the log's ({words})"
        note = f"{_range(runs[name] / original[name])} times that of the log"
        yield _result(log, quantity, bound, (share, low, high), verdict, note)


def _together(
    runs: Mapping[Log, "pd.DataFrame"], original: Mapping[Log, "pd.Series"]
) -> Iterator[Result]:
    """Say in how many cases the log is among its runs, and the runs are near to it."""
    everywhere = Log("all", "", Path())
    cases, inside, apart = [], [], []
    for log, of_runs in runs.items():
        for name in METRICS:
            value = float(original[log][name])
            within = bool(of_runs[name].min() <= value <= of_runs[name].max())
            cases.append((log, name, within))
            inside.append(within)
        for name in ("mean_wait", "mean_bounded_slowdown"):
            farthest = (of_runs[name] / original[log][name] - 1).abs().max()
            apart += [float(farthest)]
    outside = [f"{log.name}: {METRICS[name]}" for log, name, within in cases if not within]
    n = sum(inside)
    verdict: Verdict = "held" if n == len(inside) else "direction only" if n else "not held"
    words = f"cases of {len(inside)} in which some runs are on either side of the log"
    note = f"not so: {'; '.join(outside)}" if outside else ""
    yield Result(everywhere.name, "", words, len(inside), n, verdict, note=note)
    near = sum(x <= 0.2 for x in apart)
    verdict = "held" if near > len(apart) / 2 else "not held"
    words = f"cases of {len(apart)} with waits or slowdowns at most 20 % apart: most"
    note = f"largest differences {100 * min(apart):,.0f} to {100 * max(apart):,.0f} %"
    least = len(apart) // 2 + 1
    yield Result(everywhere.name, "", words, least, near, verdict, note=note)


def _loads(
    log: Log, original: "pd.Series", found: Mapping[float, "pd.DataFrame"]
) -> Iterator[Result]:
    """Say how more and fewer users load the machine, and where it saturates."""
    from workloadkit.experiments.intervals import mean_interval

    found = {factor: runs for factor, runs in found.items() if len(runs)}
    stable = {factor: runs[~runs["saturated"].astype(bool)] for factor, runs in found.items()}
    shares = {factor: len(stable[factor]) / len(runs) for factor, runs in found.items()}
    listed = ", ".join(f"{share:.0%} at {factor:g}" for factor, share in shares.items())
    if log.name == "OSC-Clust":
        once = float(original["utilization"])
        verdict: Verdict = "equal" if round(once, 3) == 0.128 else "differs"
        yield Result(log.name, log.version, "utilization of the log", 0.128, once, verdict)
        if 6.0 in found:
            values = mean_interval(found[6.0]["offered_load"], positive=True)
            verdict = _near(0.768, *values, 0.128)
            busy = found[6.0]["utilization"].mean()
            note = f"utilization {busy:.3f}; the other work is done after the last submission"
            words = "offered load with 6 times the users"
            yield _result(log, words, 0.768, values, verdict, note)
    else:
        begins = min(
            (factor for factor, share in shares.items() if share < 1), default=float("inf")
        )
        words = "least factor of the users at which runs saturate: above"
        verdict = "held" if begins > 1 else "not held"
        yield Result(log.name, log.version, words, 1.0, begins, verdict, note=f"stable: {listed}")
    half = [factor for factor, share in shares.items() if share >= 0.5]
    if half:
        values = mean_interval(stable[max(half)]["utilization"], positive=True)
        most = max(float(runs["utilization"].max()) for runs in stable.values() if len(runs))
        note = f"factor {max(half):g}; at most {most:.3f} in a run; stable: {listed}"
        words = "utilization at which the log saturates: "
        if log.name == "SDSC-DS":
            verdict = _at_most(0.9, values)
            yield _result(log, f"{words}below", 0.9, values, verdict, note)
        else:
            verdict = (
                "held" if values[0] >= 0.95 else "direction only" if values[0] > 0.9 else "not held"
            )
            yield _result(log, f"{words}near", 1.0, values, verdict, note)
        largest: Verdict = "held" if most <= 1 else "not held"
        words = "largest utilization of a run that does not saturate: at most"
        yield Result(log.name, log.version, words, 1.0, most, largest)


def _result(
    log: Log,
    quantity: str,
    published: float,
    values: tuple[float, float, float],
    verdict: Verdict,
    note: str = "",
) -> Result:
    """Make a result; no interval where there is none."""
    ours, low, high = values
    known = low == low  # NaN is not itself
    return Result(
        log.name,
        log.version,
        quantity,
        published,
        ours,
        verdict,
        low if known else None,
        high if known else None,
        note,
    )


def _near(published: float, ours: float, low: float, high: float, middle: float) -> Verdict:
    if low <= published <= high:
        return "held"
    return "direction only" if (ours - middle) * (published - middle) > 0 else "not held"


def _at_most(bound: float, values: tuple[float, float, float]) -> Verdict:
    ours, _, high = values
    if ours > bound:
        return "not held"
    return "direction only" if high > bound else "held"


def _size(ours: float, low: float, high: float) -> tuple[float, float, float]:
    """Return an absolute value with its interval, of a value with its interval."""
    ends = sorted((abs(low), abs(high)))
    return abs(ours), 0.0 if low < 0 < high else ends[0], ends[1]


def _share(flags: "pd.Series") -> tuple[float, float, float]:
    from workloadkit.experiments.intervals import share_interval

    return share_interval(int(flags.sum()), len(flags))


def _spread(values: "np.ndarray") -> tuple[float, float, float]:
    """Ratio of the largest to the least, and its interval by drawing runs anew."""
    import numpy as np

    drawn = np.random.default_rng(0).choice(values, (1000, values.size))
    low, high = np.quantile(drawn.max(axis=1) / drawn.min(axis=1), (0.025, 0.975))
    return float(values.max() / values.min()), float(low), float(high)


def _range(values: "pd.Series") -> str:
    return f"{values.min():.3g} to {values.max():.3g}"


def _version(log: Log) -> str:
    if log.name == "SDSC-Par" and log.version.split("-")[2] != "1995":
        return "; the log of another year"
    return "" if log.version == log.published else "; another version of the log"


STUDY = Study(
    name="zakay-resampling",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "Tables VI and VII, sections 6.1 and 6.3; the ratios of waits are of N. Zakay's thesis, 2018, "
    "chapter on TBUOS, Table I",
    logs={**ZAKAY_LOGS, "OSC-Clust": "OSC-Clust-2000-3.1-cln"},
    compare=compare,
    runs=100,
)
