"""What resampled logs keep, and further uses of them.

First how similar resampled logs are to their source: eight distributions of users and of the week
(Figure 4), and the daily concentration of jobs in 16 bins (Figure 5), each by the largest
difference of the cumulative shares (Kolmogorov and Smirnov's distance, K-S). "Very similar", as
well as agreement "to a high degree", is taken for a distance of at most 0.1: a tenth of the height
of a graph, and the margin that studies give a printed figure. "Generally similar" is taken for
twice as much, and "different" for more than that. "A bit below" is a mean of the days that is lower
by at most 0.1. Figure 4 shows ANL-Intrepid; the text says the same of the other logs. "Slightly
different" numbers of users differ by at most 10 % from the log's, which counts also those at its
ends who are not resampled. A long-term user who is regenerated stays one user.

Then SDSC-DS, five times longer (Figure 10): the first, third and fifth part, each as a log of its
own. Its end effects are the shares of users who are first seen in the first 4 weeks and last seen
in the last 4 weeks; they agree with the log's within 0.1. The source has three such logs; here
there are as many as runs.

Then flurries as rare behaviours (Figures 14 to 16). The source takes the original logs of SDSC-SP2,
LANL-CM5 and SDSC-Par and does not print when their flurries begin and end, so these claims lack
their input. They are tested on another original log, NASA-iPSC, in which user 3 submitted 24,025
jobs of one processor that its cleaned version leaves out. All jobs of that user count as the
flurry, as those of two users of SDSC-Par do in the source. It lasts as long as the log, 13 weeks,
so new logs have 52, and temporary users are those of 4 weeks at its ends under each reading.
"Dramatically" and "much lower" are taken for less than half, "lightly reduced" for a reduction of
at most a fifth, "approximately the same" for 10 %. A number of flurries agrees with its rate if it
is nearer to it than to any other rate of the source. The tail of the waits is heavier if more than
a tenth of the runs exceed what nine tenths of those without flurries do not.

Last the ideas of section 6.5, which the source states and has not tested; the numbers that stand
for its words are ours.

- Mixing: KTH-SP2 and SDSC-SP2, with half of the users of each and sizes rescaled to 128 processors,
  under EASY. Results are equivalent to averages of results of the two, each resampled alone for the
  same machine, if they differ by at most 10 %. The logs begin with their first submissions.
- Stationarity: "many" is taken for half of the logs, with at least two stationary segments each. A
  log is more uniform if it has fewer segments, and if the work of its quarters varies less.
- Shaking by at most a minute, on KTH-SP2: the perturbation is small if most resampled logs are
  farther from the log's slowdown than any shaken one.
- Selection: users of one class are drawn four times as often as others.
- Locality: mean stack depths of run times (5 %), which are smaller the more locality there is.
  Simple randomization violates stability if the largest work of a week grows.

Waits of logs with flurries and of mixed logs differ much, so there are five times as many runs of
them. Jobs that never ran, jobs of unknown user and jobs larger than the machine are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import nan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from analysis.reproduction import (
    ALL_LOGS,
    Claim,
    Each,
    Log,
    Plan,
    Reading,
    Result,
    Study,
    above,
    at_least,
    at_most,
    below,
    between,
    printed,
)
from analysis.reproduction.sources import (
    OVERRUN,
    SPARE,
    START,
    TEMPORARY,
    ZAKAY_LOGS,
    easy,
    temporary,
    without,
)
from workloadkit.clock import DAY, WEEK

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from analysis.log_comparison import Looked
    from workloadkit.resample.runs import Resampling
    from workloadkit.trace import Trace

#: Largest K-S distance of distributions that are "very similar" and "generally similar".
VERY_SIMILAR, SIMILAR = 0.1, 0.2

#: The parts of a log five times longer that the source shows, from 0.
PARTS = (0, 2, 4)

#: Weeks at either end of a log in which its end effects are looked for.
END = 4

#: Flurries a week, as the source sets them (Figures 14 and 16).
RATES = (0.0, 1 / 8, 1 / 6, 1 / 4, 1 / 2)

#: Of the log with a flurry here: its user, and weeks of the new logs.
FLURRY_USER, FLURRY_WEEKS = 3, 52

#: Runs of logs with flurries, and of mixed logs, for one run of all else.
MANY = 5

#: Original logs whose flurries the source shows, and in which figures; that of NASA stands in.
FLURRIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "SDSC-SP2": ("SDSC-SP2-1998-3", ("14", "16")),
    "LANL-CM5": ("LANL-CM5-1994-3", ("15", "16, top row", "16")),
    "SDSC-Par": ("SDSC-Par-1995-3", ("16",)),
}
NASA, FIGURES = "NASA-iPSC", ("14", "15", "16, top row", "16")

#: Logs that are mixed, the machine, and weeks of the new logs.
MIXED, MACHINE, MIXED_WEEKS = ("KTH-SP2", "SDSC-SP2"), 128, 52

#: Classes of users who are drawn more often, how often, and what then grows.
SELECTED, WEIGHT = {"long": "run", "parallel": "procs"}, 4.0
CLASSES = {"long": "length", "parallel": "size"}

Unit = Literal["job", "session", "user"]
UNITS: tuple[Unit, ...] = ("job", "session", "user")

#: The logs that are shaken and made longer.
_SHAKEN, _LONGER = "KTH-SP2", "SDSC-DS"


class Likeness(NamedTuple):
    """Distributions of a log, and of each new log how far its own are from them."""

    original: "Looked"
    runs: "pd.DataFrame"


def compare(plan: Plan, each: Each) -> Iterator[Result]:
    """Set what the source states beside what the logs show."""
    reading, runs = dict(plan.reading), plan.runs
    logs = [log for log in plan.logs if log.name in ZAKAY_LOGS]
    missing = [log for log in plan.missing if log.name in ZAKAY_LOGS]
    by_name = {log.name: log for log in logs}
    of_all = each(likeness, [(log, reading, runs) for log in logs])
    alike = dict(zip(logs, of_all, strict=True))
    for log in (*logs, *missing):
        yield from _figures_4_and_5(log, alike.get(log))
    yield from _all_logs(alike, without(Plan([], missing, 0, {})))
    longer = [(by_name[_LONGER], reading, runs)] if _LONGER in by_name else []
    of_parts = {task[0]: of for task, of in zip(longer, each(lengthen, longer), strict=True)}
    for log in (*logs, *missing):
        if log.name == _LONGER:
            yield from _figure_10(log, of_parts.get(log))
    raw = [x for x in plan.logs if x.name == NASA and not x.version.endswith("-cln")]
    rates = [(log, reading, rate, MANY * runs) for log in raw for rate in RATES]
    of_rates = each(flurries, rates)
    for log in (*plan.logs, *plan.missing):
        if log.name == NASA:
            by_rate = dict(zip(RATES, of_rates, strict=True)) if log in raw else None
            yield from _flurries(log, by_rate, FIGURES)
    for name, (version, figures) in FLURRIES.items():
        yield from _flurries(Log(f"{name}, with flurries", version), None, figures)
    both = [by_name[name] for name in MIXED if name in by_name]
    chosen = [([log], 1.0) for log in both] + [(both, 1 / len(MIXED))]
    enough = chosen if len(both) == len(MIXED) else []
    yield from _mixing(each(mix, [(x, reading, load, MANY * runs) for x, load in enough]))
    tasks = [(log, reading, runs) for log in logs]
    yield from _stationarity(dict(zip(logs, each(quarters, tasks), strict=True)))
    shaken = [(by_name[_SHAKEN], reading, runs)] if _SHAKEN in by_name else []
    for task, found in zip(shaken, each(disturb, shaken), strict=True):
        yield from _shaking(task[0], found)
    for log, found in zip(logs, each(manipulate, tasks), strict=True):
        yield from _selection_and_locality(log, found)


def likeness(task: tuple[Log, Reading, int], rng: "np.random.Generator") -> Likeness:
    """Measure how far the distributions of resampled logs are from those of the log."""
    from workloadkit.provenance import seed_of

    log, reading, runs = task
    trace = _jobs(log)
    resampling, seed = _prepare([trace], reading), seed_of(rng)
    new = (resampling.run_of(i, seed) for i in range(runs))
    return alike(trace, new, resampling.plan.begin)


def alike(trace: "Trace", new: "Iterable[Trace]", begin: float) -> Likeness:
    """Measure how far the distributions of new logs, which begin at a time, are from a log's."""
    import pandas as pd

    from analysis.resampling.validation import FIGURE_4, FIGURE_5

    names = (*FIGURE_4, *FIGURE_5)
    original = _look(trace, names, begin)
    looked = (_look(one, names, begin) for one in new)
    return Likeness(original, pd.DataFrame([_apart(original, one) for one in looked]))


def lengthen(task: tuple[Log, Reading, int], rng: "np.random.Generator") -> Likeness:
    """Measure the same of parts of logs five times longer; a row for each run and part."""
    import pandas as pd

    from analysis.log_distributions import kolmogorov_smirnov
    from analysis.resampling.validation import FIGURE_4
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
            rows.append(_apart(original, one) | _ends(one) | among | {"run": i, "part": number + 1})
    return Likeness(original, pd.DataFrame(rows))


def flurries(task: tuple[Log, Reading, float, int], rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate logs with so many flurries a week; a row for each."""
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
    """Simulate logs resampled from several, or from one, for one machine; a row for each."""
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
    """Simulate a log, logs shaken by each unit, and resampled ones; a row for each."""
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

    from analysis.log_distributions import kolmogorov_smirnov
    from workloadkit.provenance import seed_of
    from workloadkit.resample.locality import enhance_locality, reduce_locality
    from workloadkit.resample.user_table import user_table

    log, reading, runs = task
    trace, seed = _jobs(log), seed_of(rng)
    by_unit = {unit: _prepare([trace], reading, unit=unit) for unit in UNITS}
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
    from analysis.resampling.measures import comparable

    return comparable(log.read())


def _prepare(traces: "Sequence[Trace]", reading: Reading, **how: Any) -> "Resampling":
    import warnings

    from workloadkit.errors import WorkloadWarning
    from workloadkit.resample.runs import prepare

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # an empty pool is no news here
        return prepare(traces, **{"start": reading["start"], **temporary(reading), **how})


def _simulate(trace: "Trace", reading: Reading) -> dict[str, float]:
    import workloadkit as wk

    schedule = wk.simulate(trace, easy(reading), oversize="drop", overrun=reading["overrun"])
    found = schedule.metrics
    return {"wait": found["mean_wait"], "slowdown": found["mean_bounded_slowdown"]}


def _look(trace: "Trace", distributions: Iterable[str], begin: float | None = None) -> "Looked":
    """Take distributions from a log, days counted from its begin or else its first submission."""
    from analysis.log_comparison import look

    looked = look(trace, distributions=distributions)
    if begin is None:
        return looked
    shift = (float(trace.column("submit").min()) - begin) / DAY
    later = {name: looked.samples[name] + shift for name in ("first_arrivals", "final_departures")}
    return looked._replace(samples={**looked.samples, **later})


def _apart(original: "Looked", new: "Looked") -> dict[str, float]:
    """K-S distances of all distributions; number of users, relative; differences of means."""
    from analysis.log_distributions import kolmogorov_smirnov

    found: dict[str, float] = {}
    for name, values in new.samples.items():
        before = original.samples[name]
        found[name] = kolmogorov_smirnov(before, values)
        if values.size and before.size:
            found[f"mean {name}"] = float(values.mean() - before.mean())
    users = [x.samples["jobs_by_user"].size for x in (new, original)]
    return found | {"users": users[0] / users[1]}


def _ends(looked: "Looked") -> dict[str, float]:
    """Share of the users first seen in the first weeks of a log, and last seen in its last."""
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
    """Share of the successive jobs of a user whose order is another one in a shaken log.

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
    from analysis.locality.stack import mean_depths

    return mean_depths(trace)["run"]


def _most_work(trace: "Trace") -> float:
    """Largest work that is submitted in a week."""
    import numpy as np

    submit = trace.column("submit")
    week = ((submit - submit[0]) // WEEK).astype(np.int64)
    return float(np.bincount(week, trace.column("run") * trace.used_procs).max())


def _figures_4_and_5(log: Log, found: Likeness | None) -> Iterator[Result]:
    """Say how similar the logs resampled from one are to it."""
    from analysis.log_distributions import DISTRIBUTIONS
    from analysis.resampling.validation import FIGURE_4, FIGURE_5

    shown = log.name == "ANL-Intrepid"
    place = "Figure 4" if shown else "section 5.1"
    for name in FIGURE_4:
        words = f"K-S distance of resampled logs: {DISTRIBUTIONS[name].title}"
        yield _result(log, at_most(words, VERY_SIMILAR, place, "ours"), found, name)
    if shown:
        words = "share of distributions that are very similar"
        yield Result(log, at_least(words, 1, place, "ours", main=True), *_very_similar([found]))
    words = "users of resampled logs relative to the log"
    yield _result(log, between(words, (0.9, 1.1), "section 5.1"), found, "users")
    for name in FIGURE_5:
        words = f"K-S distance of resampled logs: {DISTRIBUTIONS[name].title}"
        yield _result(log, at_most(words, SIMILAR, "Figure 5", "ours"), found, name)


def _very_similar(found: "Sequence[Likeness | None]") -> tuple[float, float, float]:
    """Share of the distributions that are very similar, mean of the runs."""
    import numpy as np

    from analysis.resampling.validation import FIGURE_4
    from workloadkit.experiments.intervals import mean_interval

    here = [of.runs[list(FIGURE_4)].to_numpy() for of in found if of is not None]
    if not here:
        return nan, nan, nan
    return mean_interval((np.hstack(here) <= VERY_SIMILAR).mean(axis=1))


def _all_logs(found: Mapping[Log, Likeness], note: str) -> Iterator[Result]:
    """Say in how many cases resampled logs are similar, and what locality they lose."""
    import numpy as np

    from analysis.log_distributions import DISTRIBUTIONS, kolmogorov_smirnov
    from analysis.resampling.validation import FIGURE_4, FIGURE_5
    from workloadkit.experiments.intervals import mean_interval

    if not found:
        return
    words = "share of distributions that are very similar, of all logs"
    far = [
        f"{log.name}: {DISTRIBUTIONS[name].title}"
        for log, of in found.items()
        for name in FIGURE_4
        if of.runs[name].mean() > VERY_SIMILAR
    ]
    further = "; ".join([*([f"not on average: {', '.join(far)}"] if far else []), note])
    claim = at_least(words, 1, "section 5.1", "ours", main=True)
    yield Result(ALL_LOGS, claim, *_very_similar(list(found.values())), further)
    means = [
        (f"{log.name}: {DISTRIBUTIONS[name].title}", mean_interval(of.runs[f"mean {name}"]))
        for log, of in found.items()
        for name in FIGURE_5
        if f"mean {name}" in of.runs
    ]
    below_it = [mean for _, (mean, _, high) in means if high < 0]
    words = "share of cases with less daily concentration than the log: some"
    value = len(below_it) / len(means) if means else nan
    yield Result(ALL_LOGS, above(words, 0, "section 5.2", "direction"), value)
    words = "most that the mean daily concentration is below that of the log: a bit"
    claim = between(words, (0, VERY_SIMILAR), "section 5.2", published=VERY_SIMILAR)
    worst = min(means, key=lambda case: case[1][0], default=("", (nan, nan, nan)))
    mean, low, high = worst[1]
    yield Result(ALL_LOGS, claim, -mean, -high, -low, worst[0])
    words = "largest K-S distance of the daily concentration, between"
    samples = {(log, x): of.original.samples[x] for log, of in found.items() for x in FIGURE_5}
    pairs = list(combinations(samples, 2))
    for what, same in (("two logs", 1), ("two attributes of a log", 0)):
        apart = [kolmogorov_smirnov(samples[a], samples[b]) for a, b in pairs if a[same] == b[same]]
        claim = above(f"{words} {what}: different", SIMILAR, "section 5.2", "ours")
        yield Result(ALL_LOGS, claim, float(np.nanmax(apart, initial=0)) if apart else nan)


def _figure_10(log: Log, found: Likeness | None) -> Iterator[Result]:
    """Say how similar parts of a longer log are to the log, and to each other."""
    from analysis.log_distributions import DISTRIBUTIONS
    from analysis.resampling.validation import FIGURE_4

    place, names = "Figure 10", list(FIGURE_4)
    by_run = None
    if found:
        run = found.runs["run"]
        by_run = found.runs.groupby(run).mean()
        by_run["close"] = (found.runs[names] <= VERY_SIMILAR).mean(axis=1).groupby(run).mean()
        by_run["among"] = by_run[[f"among {name}" for name in names]].mean(axis=1)
    for name in names:
        words = f"K-S distance of parts of a log five times longer: {DISTRIBUTIONS[name].title}"
        yield _result(log, at_most(words, VERY_SIMILAR, place, "ours"), by_run, name)
    words = "share of distributions of parts that agree to a high degree"
    yield _result(log, at_least(words, 1, place, "ours", main=True), by_run, "close")
    words = "largest K-S distance between two of the parts, mean of the distributions"
    yield _result(log, at_most(words, VERY_SIMILAR, place, "ours"), by_run, "among")
    for number in PARTS:
        part = None if found is None else found.runs[found.runs["part"] == number + 1]
        for end, words in (("first", "first seen in the first"), ("last", "last seen in the last")):
            words = f"share of users {words} {END} weeks of part {number + 1}, less that of the log"
            claim = between(words, (-VERY_SIMILAR, VERY_SIMILAR), "section 6.2")
            yield _end_effect(log, claim, found and found.original, part, end)


def _end_effect(
    log: Log, claim: Claim, original: "Looked | None", part: "pd.DataFrame | None", end: str
) -> Result:
    """Return by how much an end effect of a part differs from that of the log."""
    from workloadkit.experiments.intervals import mean_interval

    if original is None or part is None:
        return Result(log, claim, nan)
    before = _ends(original)[end]
    note = f"of the log {before:.3f}"
    return Result(log, claim, *mean_interval(part[end] - before), note)


def _flurries(
    log: Log, found: "Mapping[float, pd.DataFrame] | None", figures: Iterable[str]
) -> Iterator[Result]:
    """Say what more flurries change."""
    few, most = "one flurry in 8 weeks", "one flurry in 2 weeks"
    low, middle, high = 1 / 8, 1 / 4, 1 / 2
    words = "share of the flurry's jobs on one processor for less than a minute: typical"
    yield _result(log, above(words, 0.5, "section 6.4", "ours"), found and found[0.0], "small")
    if "14" in figures:
        words = f"most jobs of a week, no flurries relative to {few}: dramatically lower"
        claim = below(words, 0.5, "Figure 14", "ours")
        yield Result(log, claim, *_ratio(found, "of a week", 0.0, low))
        words = f"most jobs of a week, one flurry in 4 weeks relative to {few}"
        claim = above(words, 1, "Figure 14", "direction", main=True)
        yield Result(log, claim, *_ratio(found, "of a week", middle, low))
        for rate in (low, 1 / 6, middle):
            nearest = min(abs(rate - other) for other in RATES if other != rate)
            words = f"flurries a week, one in {1 / rate:.0f} weeks"
            claim = printed(words, rate, "section 6.4", within=nearest / 2)
            note = "of a single flurry at most one begins in a week" if found else ""
            yield _result(log, claim, found and found[rate], "flurries", note)
    if "15" in figures:
        for name, what in (("of a user", "jobs of a user"), ("session", "mean session of a user")):
            words = f"largest {what}, no flurries relative to {few}: much lower"
            claim = below(words, 0.5, "Figure 15", "ours")
            yield Result(log, claim, *_ratio(found, name, 0.0, low))
    if "16, top row" in figures:
        agrees = {"jobs": (0.8, 1.0), "utilization": (0.8, 1.0), "users": (0.9, 1.1)}
        about = {"jobs": "other jobs", "utilization": "utilization by other jobs"}
        for name, margin in agrees.items():
            words = f"{about.get(name, name)}, {most} relative to none"
            claim = between(words, margin, "Figure 16")
            yield Result(log, claim, *_ratio(found, name, high, 0.0))
    if "16" in figures:
        yield from _waits(log, found)


def _waits(log: Log, found: "Mapping[float, pd.DataFrame] | None") -> Iterator[Result]:
    """Say what flurries do to the waits and slowdowns of all other jobs."""
    import pandas as pd

    from workloadkit.experiments.intervals import share_interval

    place, more = "Figure 16", "one flurry in 2 weeks"
    for name in ("wait", "slowdown"):
        claim = above(f"mean {name} of other jobs, {more} relative to none", 1, place, "direction",
                      main=name == "wait")  # fmt: skip
        yield Result(log, claim, *_ratio(found, name, RATES[-1], 0.0))
        lower = heavier = (nan, nan, nan)
        if found:
            none, many = (found[rate][name] for rate in (0.0, RATES[-1]))
            middle = float(pd.concat([none, many]).median())
            lower = share_interval(int((none < middle).sum()), len(none))
            heavier = share_interval(int((many > none.quantile(0.9)).sum()), len(many))
        words = f"share of runs without flurries with a {name} below the median of these and {more}"
        yield Result(log, above(words, 0.5, place, "direction"), *lower)
        words = f"share of runs with {more} with a {name} above that of 9 of 10 runs without"
        yield Result(log, above(words, 0.1, place, "direction"), *heavier)


def _mixing(found: "Sequence[pd.DataFrame]") -> Iterator[Result]:
    """Compare mixed logs, the last, with averages of the logs that they are mixed of."""
    from workloadkit.experiments.intervals import ratio_interval

    for name in ("wait", "slowdown"):
        words = f"mean {name} of mixed logs relative to the average of both: equivalent"
        claim = between(words, (0.9, 1.1), "section 6.5.1")
        if not found:
            yield Result(ALL_LOGS, claim, nan)
            continue
        *alone, mixed = found
        average = sum(of[name] for of in alone) / len(alone)
        pairs = zip((*MIXED, "mixed"), found, strict=True)
        note = ", ".join(f"{what} {of[name].mean():.4g}" for what, of in pairs)
        yield Result(ALL_LOGS, claim, *ratio_interval(mixed[name], average), note)


def _stationarity(found: "Mapping[Log, pd.DataFrame]") -> Iterator[Result]:
    """Say how many logs change, and how much less resampled ones do."""
    from workloadkit.experiments.intervals import mean_interval

    place = "section 6.5.2"
    changes = {log.name: int(of["segments"].iloc[0]) for log, of in found.items()}
    if changes:
        note = ", ".join(f"{name} {n}" for name, n in changes.items())
        claim = at_least("share of logs with several stationary segments: many", 0.5, place, "ours")
        share = sum(n > 1 for n in changes.values()) / len(changes)
        yield Result(ALL_LOGS, claim, share, note=note)
    for log, of in found.items():
        words = "variation of the work of quarters, resampled relative to the log"
        relative = of["variation"].iloc[1:] / of["variation"].iloc[0]
        claim = below(words, 1, place, "direction")
        yield Result(log, claim, *mean_interval(relative, positive=True))
        if changes[log.name] > 1:
            words = "stationary segments of resampled logs: fewer than of the log"
            claim = below(words, changes[log.name], place, "direction")
            yield Result(log, claim, *mean_interval(of["segments"].iloc[1:], positive=True))


def _shaking(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare what is shaken by jobs, sessions and users with resampled logs."""
    from workloadkit.experiments.intervals import mean_interval, share_interval

    place, by = "section 6.5.3", dict(iter(found.groupby("how")))
    original = float(by["log"]["slowdown"].iloc[0])
    for unit in UNITS:
        words = f"share of users' successive jobs that change order, shaken by {unit}"
        if unit == "job":
            claim = above(words, 0, place, "direction")
        else:
            claim = at_most(words, 0, place, "direction")
        yield Result(log, claim, *mean_interval(by[unit]["overtaking"]))
    for unit in UNITS:
        farthest = float((by[unit]["slowdown"] - original).abs().max())
        apart = (by["resampled"]["slowdown"] - original).abs()
        words = f"share of resampled logs farther from the log's slowdown than any shaken by {unit}"
        note = f"{original:.4g}; shaken at most {farthest:.2g} off, resampled {apart.max():.2g}"
        claim = above(words, 0.5, place, "ours")
        yield Result(log, claim, *share_interval(int((apart > farthest).sum()), len(apart)), note)


def _selection_and_locality(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Say what preferring users of a class changes, and what changes locality."""
    from workloadkit.experiments.intervals import ratio_interval

    place, grows = "section 6.5.4", {"run": "run time", "procs": "number of processors"}
    for of, column in SELECTED.items():
        words = f"mean {grows[column]} if {of} users are drawn {WEIGHT:g} times as often, relative"
        note = f"all users are {of}" if found[of].isna().all() else ""
        yield _result(log, above(words, 1, place, "direction"), found, of, note)
    place = "section 6.5.5"
    for unit in ("session", "user"):
        words = f"stack depth of run times, resampled by job relative to by {unit}"
        values = ratio_interval(found["depth by job"], found[f"depth by {unit}"])
        yield Result(log, above(words, 1, place, "direction"), *values)
    words = "largest work of a week, jobs shuffled, relative to the log"
    yield _result(log, above(words, 1, place, "ours"), found, "shuffled")
    words = "stack depth, jobs exchanged while each day keeps its work, relative to the log"
    yield _result(log, above(words, 1, place, "direction"), found, "exchanged")
    words = "stack depth, jobs repeated while each day keeps its work, relative to the log"
    yield _result(log, below(words, 1, place, "direction"), found, "repeated")
    words = "K-S distance of run times, jobs repeated: same statistics"
    yield _result(log, at_most(words, VERY_SIMILAR, place, "ours"), found, "ks")


def _result(
    log: Log, claim: Claim, found: "Likeness | pd.DataFrame | None", name: str, note: str = ""
) -> Result:
    """Return the result of a claim about the mean of a quantity that is never negative."""
    from workloadkit.experiments.intervals import mean_interval

    runs = found.runs if isinstance(found, Likeness) else found
    if runs is None or runs[name].isna().any():
        return Result(log, claim, nan, note=note)
    return Result(log, claim, *mean_interval(runs[name], positive=True), note)


def _ratio(
    found: "Mapping[float, pd.DataFrame] | None", name: str, rate: float, other: float
) -> tuple[float, float, float]:
    """Return the ratio of a quantity at two rates of flurries, with its interval."""
    from workloadkit.experiments.intervals import ratio_interval

    if not found:
        return nan, nan, nan
    return ratio_interval(found[rate][name], found[other][name])


STUDY = Study(
    name="zakay-resampling-uses",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "Figures 4, 5, 10 and 14 to 16, sections 5.1, 5.2, 6.2, 6.4 and 6.5",
    logs={**ZAKAY_LOGS, NASA: "NASA-iPSC-1993-3"},
    compare=compare,
    runs=8,
    axes=(SPARE, OVERRUN, TEMPORARY, START),
)
