"""What is measured of logs that are resampled, mixed, shaken or made longer."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import nan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from workloadkit.analysis.reproduction import (
    Log,
    Reading,
)
from workloadkit.analysis.reproduction.runs import easy, temporary
from workloadkit.clock import DAY, WEEK

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.analysis.logs.comparison import ComparedLog
    from workloadkit.resample.runs import Resampling
    from workloadkit.trace import Trace

#: The parts of a log five times longer that the source shows, numbered from 0.
PARTS = (0, 2, 4)

#: Weeks at either end of a log in which end effects are measured.
END = 4

#: User of the flurry, and weeks of the new logs.
FLURRY_USER, FLURRY_WEEKS = 3, 52

#: Logs that are mixed, the machine, and weeks of the new logs.
MIXED, MACHINE, MIXED_WEEKS = ("KTH-SP2", "SDSC-SP2"), 128, 52

#: Classes of users who are sampled more often, how often, and the column that then increases.
SELECTED, WEIGHT = {"long": "run", "parallel": "procs"}, 4.0
CLASSES = {"long": "length", "parallel": "size"}

Unit = Literal["job", "session", "user"]
UNITS: tuple[Unit, ...] = ("job", "session", "user")


class Likeness(NamedTuple):
    """Distributions of a log, and the distances of each new log's distributions from them."""

    original: "ComparedLog"
    runs: "pd.DataFrame"


def likeness(task: tuple[Log, Reading, int], rng: "np.random.Generator") -> Likeness:
    """Measure the distances of the distributions of resampled logs from those of the log."""
    from workloadkit.provenance import seed_of

    log, reading, runs = task
    trace = _jobs(log)
    resampling, seed = _prepare([trace], reading), seed_of(rng)
    new = (resampling.run_of(i, seed) for i in range(runs))
    return alike(trace, new, resampling.plan.begin)


def alike(trace: "Trace", new: "Iterable[Trace]", begin: float) -> Likeness:
    """Measure the distances of the distributions of new logs from those of a log."""
    import pandas as pd

    from workloadkit.analysis.resampling.measures import FIGURE_4, FIGURE_5

    names = (*FIGURE_4, *FIGURE_5)
    original = _look(trace, names, begin)
    looked = (_look(one, names, begin) for one in new)
    return Likeness(original, pd.DataFrame([_apart(original, one) for one in looked]))


def lengthen(task: tuple[Log, Reading, int], rng: "np.random.Generator") -> Likeness:
    """Measure the distances for parts of logs five times longer; one row per run and part."""
    import pandas as pd

    from workloadkit.analysis.logs.distributions import kolmogorov_smirnov
    from workloadkit.analysis.resampling.measures import FIGURE_4
    from workloadkit.provenance import seed_of

    log, reading, runs = task
    trace = _jobs(log)
    plan, seed = _prepare([trace], reading).plan, seed_of(rng)
    length = plan.end - plan.begin
    resampling = _prepare([trace], reading, weeks=5 * length / WEEK)
    original = _look(trace, FIGURE_4, plan.begin)
    rows = []
    for i in range(runs):
        new = resampling.run_of(i, seed)
        part = (new.column("submit") - plan.begin) // length
        looked = [
            _look(new.select(part == number), FIGURE_4, plan.begin + number * length)
            for number in PARTS
        ]
        pairs = list(combinations(looked, 2))
        among = {
            f"among {x}": max(kolmogorov_smirnov(a.samples[x], b.samples[x]) for a, b in pairs)
            for x in FIGURE_4
        }
        for number, one in zip(PARTS, looked, strict=True):
            rows.append(_apart(original, one) | ends(one) | among | {"run": i, "part": number + 1})
    return Likeness(original, pd.DataFrame(rows))


def flurries(task: tuple[Log, Reading, float, int], rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate logs with a given rate of flurries per week; one row for each log."""
    import numpy as np
    import pandas as pd

    import workloadkit as wk
    from workloadkit.provenance import seed_of

    log, reading, rate, runs = task
    trace = _jobs(log)
    rare = [(FLURRY_USER, 0.0, float(trace.column("submit").max()))]
    small = (trace.used_procs == 1) & (trace.column("run") < 60)
    small_share = small[trace.column("user") == FLURRY_USER].mean()
    short = {**reading, "temporary": "4 weeks"}
    resampling = _prepare([trace], short, weeks=FLURRY_WEEKS, rare=rare, rare_per_week=rate)
    seed, rows = seed_of(rng), []
    for i in range(runs):
        new = resampling.run_of(i, seed)
        users = wk.rare_users(new)
        ours = ~np.isin(new.column("user"), users)
        schedule = wk.simulate(
            new,
            easy(reading),
            oversize="drop",
            overrun=reading["overrun"],
            uncounted=users.tolist(),
        )
        week = ((new.column("submit") - resampling.plan.begin) // WEEK).astype(np.int64)
        looked = _look(new, ("jobs_by_user", "session_length_by_user")).samples
        work = new.column("run") * new.used_procs
        rows.append(
            {
                "of a week": np.bincount(week).max(),
                "of a user": looked["jobs_by_user"][-1],
                "session": looked["session_length_by_user"][-1],
                "flurries": users.size / (FLURRY_WEEKS - 1),  # none begins in the first week
                "users": looked["jobs_by_user"].size,
                "jobs": ours.sum(),
                "utilization": work[ours].sum() / (schedule.machine * FLURRY_WEEKS * WEEK),
                "wait": schedule.metrics["mean_wait"],
                "slowdown": schedule.metrics["mean_bounded_slowdown"],
                "small": small_share,
            }
        )
    return pd.DataFrame(rows)


def mix(
    task: tuple[Sequence[Log], Reading, float, int], rng: "np.random.Generator"
) -> "pd.DataFrame":
    """Simulate logs resampled from one or several logs for one machine; one row for each."""
    import pandas as pd

    from workloadkit.provenance import seed_of

    logs, reading, load, runs = task
    how = {"procs": MACHINE, "rescale": True, "load": load, "weeks": MIXED_WEEKS, "begin": None}
    resampling = _prepare([_jobs(log) for log in logs], reading, **how)
    seed = seed_of(rng)
    return pd.DataFrame([_simulate(resampling.run_of(i, seed), reading) for i in range(runs)])


def quarters(task: tuple[Log, Reading, int], rng: "np.random.Generator") -> "pd.DataFrame":
    """Measure how uniform a log is, in the first row, and logs resampled from it."""
    import pandas as pd

    from workloadkit.provenance import seed_of

    log, reading, runs = task
    trace = _jobs(log)
    resampling, seed = _prepare([trace], reading), seed_of(rng)
    return pd.DataFrame(
        [_uniformity(x) for x in (trace, *(resampling.run_of(i, seed) for i in range(runs)))]
    )


def disturb(task: tuple[Log, Reading, int], rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate a log, logs shaken by each unit, and resampled ones; one row for each."""
    import pandas as pd

    from workloadkit.provenance import seed_of
    from workloadkit.resample.shaking import shake

    log, reading, runs = task
    trace = _jobs(log)
    rows: list[dict[str, Any]] = [{"how": "log", **_simulate(trace, reading)}]
    for unit in UNITS:
        for stream in rng.spawn(runs):
            new = shake(trace, unit, rng=stream)
            overtaking = _overtaking(trace, new)
            rows.append({"how": unit, "overtaking": overtaking, **_simulate(new, reading)})
    resampling, seed = _prepare([trace], reading), seed_of(rng)
    resampled = (resampling.run_of(i, seed) for i in range(runs))
    rows += [{"how": "resampled", **_simulate(new, reading)} for new in resampled]
    return pd.DataFrame(rows)


def manipulate(task: tuple[Log, Reading, int], rng: "np.random.Generator") -> "pd.DataFrame":
    """Resample a log by users, sessions, jobs and classes, and change its locality."""
    import numpy as np
    import pandas as pd

    from workloadkit.analysis.logs.distributions import kolmogorov_smirnov
    from workloadkit.provenance import seed_of
    from workloadkit.resample.locality import enhance_locality, reduce_locality
    from workloadkit.resample.pools import user_table

    log, reading, runs = task
    trace, seed = _jobs(log), seed_of(rng)
    by_unit = {unit: _prepare([trace], reading, move=unit) for unit in UNITS}
    by_class = {of: _prepare([trace], reading, weights={of: WEIGHT}) for of in SELECTED}
    users = user_table(trace)
    differ = {of for of, names in CLASSES.items() if (users[names] != of).any()}
    depth, most, run = _depth(trace), _most_work(trace), np.sort(trace.column("run"))
    rows = []
    for i, stream in enumerate(rng.spawn(runs)):
        new = {unit: resampling.run_of(i, seed) for unit, resampling in by_unit.items()}
        row = {f"depth by {unit}": _depth(one) for unit, one in new.items()}
        for of, column in SELECTED.items():
            chosen = by_class[of].run_of(i, seed)
            grown = float(chosen.column(column).mean() / new["user"].column(column).mean())
            row[of] = grown if of in differ else nan
        shuffled = reduce_locality(trace, stream, tolerance=np.inf)
        repeated = enhance_locality(trace, rng=stream)
        row["shuffled"] = _most_work(shuffled) / most
        row["exchanged"] = _depth(reduce_locality(trace, stream)) / depth
        row["repeated"] = _depth(repeated) / depth
        row["ks"] = kolmogorov_smirnov(run, np.sort(repeated.column("run")))
        rows.append(row)
    return pd.DataFrame(rows)


def _jobs(log: Log) -> "Trace":
    from workloadkit.analysis.resampling.measures import comparable

    return comparable(log.read())


def _prepare(traces: "Sequence[Trace]", reading: Reading, **how: Any) -> "Resampling":
    import warnings

    from workloadkit.errors import WorkloadWarning
    from workloadkit.resample.runs import prepare

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # an empty pool is expected
        return prepare(traces, **{"start": reading["start"], **temporary(reading), **how})


def _simulate(trace: "Trace", reading: Reading) -> dict[str, float]:
    import workloadkit as wk

    schedule = wk.simulate(trace, easy(reading), oversize="drop", overrun=reading["overrun"])
    found = schedule.metrics
    return {"wait": found["mean_wait"], "slowdown": found["mean_bounded_slowdown"]}


def _look(
    trace: "Trace", distributions: Iterable[str], begin: float | None = None
) -> "ComparedLog":
    """Measure the distributions of a log, with days from its begin or first submission."""
    from workloadkit.analysis.logs.comparison import extract

    looked = extract(trace, distributions=distributions)
    if begin is None:
        return looked
    shift = (float(trace.column("submit").min()) - begin) / DAY
    later = {name: looked.samples[name] + shift for name in ("first_arrivals", "final_departures")}
    return looked._replace(samples={**looked.samples, **later})


def _apart(original: "ComparedLog", new: "ComparedLog") -> dict[str, float]:
    """K-S distances of all distributions; number of users, relative; differences of means."""
    from workloadkit.analysis.logs.distributions import kolmogorov_smirnov

    found: dict[str, float] = {}
    for name, values in new.samples.items():
        before = original.samples[name]
        found[name] = kolmogorov_smirnov(before, values)
        if values.size and before.size:
            found[f"mean {name}"] = float(values.mean() - before.mean())
    users = [x.samples["jobs_by_user"].size for x in (new, original)]
    return found | {"users": users[0] / users[1]}


def ends(looked: "ComparedLog") -> dict[str, float]:
    """Shares of the users first seen in the first weeks of a log, and last seen in its last."""
    days = END * WEEK / DAY
    first, last = (looked.samples[name] for name in ("first_arrivals", "final_departures"))
    return {
        "first": float((first < first[0] + days).mean()),
        "last": float((last > last[-1] - days).mean()),
    }


def _uniformity(trace: "Trace") -> dict[str, float]:
    """Count the stationary segments, and measure how much the work of the quarters varies."""
    import numpy as np

    from workloadkit.resample.segments import stationary_segments

    submit = trace.column("submit")
    edges = np.linspace(submit[0], submit[-1], 5)[1:-1]
    quarter = np.searchsorted(edges, submit, side="right")
    work = np.bincount(quarter, trace.column("run") * trace.used_procs, minlength=4)
    return {
        "segments": len(stationary_segments(trace)),
        "variation": float(work.std() / work.mean()),
    }


def _overtaking(trace: "Trace", new: "Trace") -> float:
    """Share of pairs of successive jobs of a user that have another order in a shaken log.

    Examples
    --------
    >>> from workloadkit import Trace
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [1] * 3, "procs": [1] * 3,
    ...                           "user": [5] * 3, "job": [1, 2, 3]})
    >>> _overtaking(log, log.take([0, 2, 1]))
    0.5
    """
    import numpy as np
    import pandas as pd

    place = pd.Index(new.column("job")).get_indexer(trace.column("job"))
    order = np.argsort(trace.column("user"), kind="stable")
    same = np.diff(trace.column("user")[order]) == 0
    return float((np.diff(place[order])[same] < 0).mean()) if same.any() else nan


def _depth(trace: "Trace") -> float:
    from workloadkit.analysis.locality.stack import mean_depths

    return mean_depths(trace)["run"]


def _most_work(trace: "Trace") -> float:
    """Largest work submitted in a week."""
    import numpy as np

    submit = trace.column("submit")
    week = ((submit - submit[0]) // WEEK).astype(np.int64)
    return float(np.bincount(week, trace.column("run") * trace.used_procs).max())
