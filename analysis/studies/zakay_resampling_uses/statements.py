"""Statements of the source about the uses of resampling, compared with what is measured."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import nan
from typing import TYPE_CHECKING

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Claim,
    Log,
    Result,
    above,
    at_least,
    at_most,
    below,
    between,
    printed,
)
from workloadkit.analysis.studies.zakay_resampling_uses.measuring import (
    END,
    MIXED,
    PARTS,
    SELECTED,
    UNITS,
    WEIGHT,
    Likeness,
    ends,
)

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.analysis.logs.comparison import ComparedLog

#: Largest K-S distance of distributions that are "very similar" and "generally similar".
VERY_SIMILAR, SIMILAR = 0.1, 0.2

#: Flurries a week, as the source sets them (Figures 14 and 16).
RATES = (0.0, 1 / 8, 1 / 6, 1 / 4, 1 / 2)


def figures_4_and_5(log: Log, found: Likeness | None) -> Iterator[Result]:
    """Report the similarity of resampled logs to the original."""
    from workloadkit.analysis.logs.distributions import DISTRIBUTIONS
    from workloadkit.analysis.resampling.measures import FIGURE_4, FIGURE_5

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

    from workloadkit.analysis.resampling.measures import FIGURE_4
    from workloadkit.experiments.intervals import mean_interval

    here = [of.runs[list(FIGURE_4)].to_numpy() for of in found if of is not None]
    if not here:
        return nan, nan, nan
    return mean_interval((np.hstack(here) <= VERY_SIMILAR).mean(axis=1))


def all_logs(found: Mapping[Log, Likeness], note: str) -> Iterator[Result]:
    """Report the share of cases in which resampled logs are similar, and the loss of locality."""
    import numpy as np

    from workloadkit.analysis.logs.distributions import DISTRIBUTIONS, kolmogorov_smirnov
    from workloadkit.analysis.resampling.measures import FIGURE_4, FIGURE_5
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


def figure_10(log: Log, found: Likeness | None) -> Iterator[Result]:
    """Report the similarity of parts of a longer log to the log, and to each other."""
    from workloadkit.analysis.logs.distributions import DISTRIBUTIONS
    from workloadkit.analysis.resampling.measures import FIGURE_4

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
    log: Log, claim: Claim, original: "ComparedLog | None", part: "pd.DataFrame | None", end: str
) -> Result:
    """Return the difference of an end effect between a part and the log."""
    from workloadkit.experiments.intervals import mean_interval

    if original is None or part is None:
        return Result(log, claim, nan)
    before = ends(original)[end]
    note = f"of the log {before:.3f}"
    return Result(log, claim, *mean_interval(part[end] - before), note)


def with_flurries(
    log: Log, found: "Mapping[float, pd.DataFrame] | None", figures: Iterable[str]
) -> Iterator[Result]:
    """Report the effects of more flurries."""
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
    """Report the effect of flurries on the waits and slowdowns of all other jobs."""
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


def mixing(found: "Sequence[pd.DataFrame]") -> Iterator[Result]:
    """Compare mixed logs (last) with averages of the logs that they are mixed from."""
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


def stationarity(found: "Mapping[Log, pd.DataFrame]") -> Iterator[Result]:
    """Report the share of nonstationary logs, and how much more uniform resampled ones are."""
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


def shaking(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare logs shaken by jobs, sessions and users with resampled logs."""
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


def selection_and_locality(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Report the effects of preferring a class of users, and of manipulating locality."""
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
