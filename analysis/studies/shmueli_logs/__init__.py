"""What five logs look like: size, run time, think time.

The study reproduces the counts of the logs (Table 2.1), and the distributions that the source draws
from them and uses in simulations: think times (Figures 3.3, 4.3, 5.2), also by the previous
response time (Figure 4.4), batches (Figures 3.5 to 3.7), sizes, run times and repetitions of sizes
(Figures 3.8 to 3.10), short and long think times (Figure 5.4), hours and days (Figure 5.8).

Words of the source are given numbers, chosen before anything was measured. The "steep climb" of the
think times ends at the knee of their cumulative shares from 0 to 8 h, the source's longest break:
the point farthest above a straight line; "about twenty minutes" is 10 to 40 min. "A large portion"
is at least a third. Think times are "evenly distributed" if their cumulative shares differ from a
straight line by at most 0.1, and have "no feature" if no 20 min have twice as many as the 20 min
before. Distributions, and curves, are "alike" if they differ by at most 0.1. A "large variance" is
larger than that of an exponential distribution: the coefficient of variation is above 1. "Very
short" gaps have a median of at most a minute; a distribution is "skewed" if its skewness is above
1; bins of "approximately equal sizes" have from half to one and a half times the average number of
jobs; a correlation of at most 0.3 is "weak"; one of at least 0.1
between size and run time makes their joint distribution "more accurate" than that of run times
alone; "several months" are at least 90 days. Whether larger
batches are "progressively rarer" is tested up to ten jobs.

Negative think times are left out, except where the whole distribution is drawn. A count agrees with
a printed one within 1 %, a number of months within one. All results describe these logs, in which
nothing is random.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from workloadkit.analysis.reactions.followed import CONTINUE_WITHIN, RESPONSE_BINS
from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Drawing,
    Each,
    Log,
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
from workloadkit.analysis.reproduction.runs import SHMUELI_CANCELLED, SHMUELI_LOGS, without
from workloadkit.analysis.studies.shmueli_creasy import CLASSES
from workloadkit.analysis.studies.shmueli_logs.measuring import (
    KINDS,
    SiteFindings,
    SiteTask,
    awaited,
    draw_all,
    knee,
    largest_difference,
    look,
    spread,
    steepest_rise,
    unevenness,
)
from workloadkit.clock import DAY, Clock
from workloadkit.distinct import distinct
from workloadkit.site.distributions import PERIODS, SESSION, SiteDistributions
from workloadkit.site.empirical import Empirical, Workpool, pooled

# Statements of the source about its logs, compared with the logs.

#: Numbers for words of the source; the reasons are in the study's text.
ALIKE, LARGE, EVEN, RISE = 0.1, 1 / 3, 0.1, 2.0
ABOUT_TWENTY = (10.0, 40.0)
SHORT_GAP, SKEWED, VARIES, WEAK, RELATED = 60.0, 1.0, 1.0, 0.3, 0.1
EQUAL, EQUAL_OF_3 = (0.1, 0.3), (1 / 6, 1 / 2)
MONTHS = 90.0
WIDEST = 10

#: Distributions that the source calls similar in all logs.
_ALIKE = {"batch_width": ("batch widths", "Figure 3.5")}


def counts(log: Log) -> Iterator[Result]:
    """Compare a row of Table 2.1 with ours."""
    rows = read_table(Path(__file__).with_name("traces.csv"))
    (row,) = (row for row in rows if row["log"] == log.name)
    found = dict.fromkeys(("procs", "users", "jobs"), math.nan)
    months = within = math.nan
    if log.path is not None:
        from workloadkit.fields import UNKNOWN

        trace = log.read()
        user = trace.column("user")
        found = {
            "procs": float(trace.header.procs or math.nan),
            "users": float(distinct(user[user != UNKNOWN]).size),
            "jobs": float(trace.n_jobs),
        }
        clock = Clock.of(trace)
        if clock.known:
            month = clock.dates(trace.column("submit")).to_period("M")
            months = float((month[-1] - clock.dates([0.0]).to_period("M")[0]).n + 1)
            first, last = (pd.Period(row[end], "M") for end in ("first", "last"))
            within = float(np.mean((month >= first) & (month <= last)))
    for name, ours in found.items():
        words = "processors" if name == "procs" else name
        claim = printed(words, float(row[name]), "Table 2.1", margin=0.01)
        yield Result(log, claim, ours)
    first, last = (pd.Period(row[end], "M") for end in ("first", "last"))
    words = "calendar months from second 0 to the last submission"
    claim = printed(words, (last - first).n + 1, "Table 2.1", within=1)
    yield Result(log, claim, months)
    words = "share of jobs submitted in the printed months"
    yield Result(log, at_least(words, 1.0, "Table 2.1", "printed"), within)


def size_and_run(log: Log) -> Result:
    """Report whether run times depend on sizes, which separate distributions cannot show."""
    from scipy.stats import spearmanr

    words = "rank correlation of processors and run time, either way"
    claim = at_least(words, RELATED, "section 2.2 and section 5.3.2.2", "ours")
    if log.path is None:
        return Result(log, claim, math.nan)
    trace = log.read()
    jobs = trace.select(trace.ran)
    found = float(spearmanr(jobs.column("procs"), jobs.column("run")).statistic)
    return Result(log, claim, abs(found), note=f"correlation {found:.2f}")


def of_log(log: Log, found: SiteFindings) -> Iterator[Result]:
    """Compare the source's statements about each log with ours."""
    site, reactions = found.site, found.reactions
    yield from _think_times(log, site.since_end)
    words = "widths of batches, of 3 to 10 jobs, that are rarer than the width before"
    shares = [site.batch_width.share(width) for width in range(2, WIDEST + 1)]
    rarer = np.diff(shares) < 0
    also = ", ".join(str(3 + i) for i in np.flatnonzero(~rarer))
    claim = at_least(words, WIDEST - 2, "Figure 3.5", "direction")
    yield Result(log, claim, float(rarer.sum()), note=f"not so: {also}" if also else "")
    words = "median time between the submissions of a batch (s)"
    yield Result(log, at_most(words, SHORT_GAP, "section 4.4", "ours"), site.gap.median)
    claim = above("skewness of run times", SKEWED, "Figure 5.5", "ours")
    yield Result(log, claim, site.run.skewness)
    claim = above("share of run times of up to a minute", 0.5, "Figure 5.5", "bound")
    yield Result(log, claim, float(site.run.share_at_most(60)))
    for words, varies in found.variation.items():
        place = "section 4.5" if "short" in words else "section 4.3"
        claim = above(f"coefficient of variation: {words}", VARIES, place, "ours")
        yield Result(log, claim, varies)
    claim = between("rank correlation of think time and slowdown", (-WEAK, WEAK), "Figure 4.1")
    yield Result(log, claim, found.slowdown_correlation)
    yield from _curves(log, reactions.think_times)
    yield from _by_day(log, site)


def _think_times(log: Log, of: Empirical) -> Iterator[Result]:
    """Report the knee of the think times, and the shares below and above it."""
    place = "Figure 3.3"
    claim = between("knee of the think times (min)", ABOUT_TWENTY, place, published=20, main=True)
    yield Result(log, claim, knee(of) / 60, note=f"of 2 h: {knee(of, 7200.0) / 60:g} min")
    claim = at_least("share of think times up to 20 min", LARGE, place, "ours", main=True)
    yield Result(log, claim, float(awaited(of, SESSION)))
    first, second = np.diff(of.share_at_most([0, SESSION, 2 * SESSION]))
    claim = above("share of think times up to 20 min less that of 20 to 40 min", 0, place,
                  "direction")  # fmt: skip
    yield Result(log, claim, float(first - second))
    words = "think times from 20 min to 8 h, cumulative shares: departure from a straight line"
    yield Result(log, at_most(words, EVEN, place, "ours"), unevenness(of))
    words = "think times from 20 min to 8 h: largest share of 20 min over that of the 20 min before"
    yield Result(log, at_most(words, RISE, place, "ours"), steepest_rise(of))


def _curves(log: Log, curves: "pd.DataFrame") -> Iterator[Result]:
    """Report the think times after the jobs of each bin (Figure 4.4)."""
    place = "Figure 4.4"
    table = curves[list(RESPONSE_BINS)]
    at_end = table.loc[CONTINUE_WITHIN].to_numpy()
    later = np.array([np.interp(2 * SESSION, table.index, table[name]) for name in table])
    known = not np.isnan(at_end).any()
    steep = float(np.sum(at_end > 2 * (later - at_end))) if known else math.nan
    words = "bins with more than twice as many think times in 20 min as in the next 20 min"
    yield Result(log, at_least(words, 5, place, "ours"), steep)
    words = "share of think times up to 20 min: smallest gap between successive bins"
    gaps = -np.diff(at_end)
    yield Result(log, at_least(words, 0.05, place, "ours"), float(gaps.min()))
    words = "gap between R1 and R5 at 20 min over their largest gap"
    largest = float((table["R1"] - table["R5"]).max())
    ours = float(at_end[0] - at_end[-1]) / largest if largest > 0 else math.nan
    yield Result(log, above(words, 0.5, place, "ours"), ours)


def _by_day(log: Log, site: SiteDistributions) -> Iterator[Result]:
    """Report whether daytime jobs are lighter than other jobs."""
    day, night = (
        pooled(site.workpools[name] for name in names if name in site.workpools)
        if set(names) & set(site.workpools)
        else None
        for names in (PERIODS[:1], PERIODS[1:])
    )
    lighter = different = math.nan
    if day is not None and night is not None:
        heavy = _work(night).median
        lighter = _work(day).median / heavy if heavy else math.nan
        different = largest_difference([_work(day), _work(night)])
    note = "days are Monday to Friday, 7:30 to 17:30"
    words = "processor seconds of jobs by day, and of others: difference of the cumulative shares"
    yield Result(log, above(words, ALIKE, "chapter 6", "ours"), different, note=note)
    words = "median processor seconds of jobs by day over those of others"
    yield Result(log, below(words, 1.0, "chapter 6", "direction"), lighter, note=note)


def _work(pool: Workpool) -> Empirical:
    return Empirical.of(pool.size * pool.run, pool.counts)


def combined(found: SiteFindings, plan: StudyInput) -> Iterator[Result]:
    """Compare the source's statements about the combined logs with ours."""
    note = without(plan)
    by_response, by_slowdown = found.reactions.by_response, found.reactions.by_slowdown
    for bins, place in ((by_response, "Table 4.2"), (by_slowdown, "Table 4.3")):
        for name, jobs in bins["jobs"].items():
            claim = between(f"share of jobs in {name}: about a fifth", EQUAL, place)
            total = bins["jobs"].sum()
            yield Result(ALL_LOGS, claim, float(jobs / total) if total else math.nan, note=note)
    for words, (low, high) in CLASSES.items():
        claim = between(f"share of run times of {words}: about a third", EQUAL_OF_3, "Figure 5.5")
        ours = float(np.diff(found.site.run.share_at_most([low, high]))[0])
        yield Result(ALL_LOGS, claim, ours, note=note)
    for (kind, medians), sign, way in zip(
        found.slowdowns.items(), (-1, 1), ("lower", "higher"), strict=True
    ):
        words = f"bins of response time with a {way} median slowdown than the one before: {kind}"
        claim = at_least(words, 4, "Figure 4.7", "direction")
        known = not medians.isna().any()
        ours = float((sign * medians.diff() > 0).sum()) if known else math.nan
        yield Result(ALL_LOGS, claim, ours, note=note)
    for kind in KINDS.values():
        words = f"response time of {kind}"
        claim = above(f"coefficient of variation: {words}", VARIES, "section 4.5", "ours")
        yield Result(ALL_LOGS, claim, found.variation[words], note=note)


def across(found: Mapping[Log, SiteFindings], plan: StudyInput) -> Iterator[Result]:
    """Compare the source's statements about differences between logs with ours."""
    note = without(plan)
    for name, (words, place) in _ALIKE.items():
        words = f"{words} of two logs: largest difference of the cumulative shares"
        ours = largest_difference([getattr(its.site, name) for its in found.values()])
        yield Result(ALL_LOGS, at_most(words, ALIKE, place, "ours"), ours, note=note)
    hours = [np.cumsum(its.site.hour) for its in found.values()]
    words = "submissions by hour of two logs: largest difference of the cumulative shares"
    claim = at_most(words, ALIKE, "Figure 5.8", "ours")
    yield Result(ALL_LOGS, claim, spread(hours), note=note)
    curves = [its.reactions.think_times for its in found.values()]
    for name in RESPONSE_BINS:
        words = f"think times after {name} of two logs: largest difference of the cumulative shares"
        claim = at_most(words, ALIKE, "Figure 4.4", "ours")
        yield Result(ALL_LOGS, claim, spread([each[name] for each in curves]), note=note)
    shares = np.array([[each.at[CONTINUE_WITHIN, x] for x in RESPONSE_BINS] for each in curves])
    for i, name in enumerate(RESPONSE_BINS):
        words = f"probability to go on after {name}: largest difference of two logs"
        claim = at_most(words, ALIKE, "Figure 4.5", "ours")
        yield Result(ALL_LOGS, claim, spread(shares[:, i : i + 1]), note=note)
    gaps = shares[:, 0] - shares[:, -1]
    words = "gap between R1 and R5 at 20 min: largest difference of two logs"
    ours = spread(gaps[:, None])
    yield Result(ALL_LOGS, at_most(words, ALIKE, "Figure 4.4", "ours"), ours, note=note)
    words = "longest think time in a log (days)"
    longest = max(float(its.site.since_end.values.max(initial=0)) for its in found.values()) / DAY
    claim = at_least(words, MONTHS, "section 5.3.2.1", "ours")
    yield Result(ALL_LOGS, claim, longest, note=note)


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the source's statements about its logs with ours, and draw its figures."""
    tasks = [SiteTask((log,), plan.reading["cancelled"]) for log in plan.logs]
    everything = SiteTask(tuple(plan.logs), plan.reading["cancelled"])
    *alone, together = each(look, [*tasks, everything])
    found = dict(zip(plan.logs, alone, strict=True))
    for log in (*plan.logs, *plan.missing):
        yield from counts(log)
        yield size_and_run(log)
    yield from combined(together, plan)
    yield from across(found, plan)
    for log, its in found.items():
        yield from of_log(log, its)
    for log in plan.missing:
        for result in of_log(log, alone[0]):
            yield Result(log, result.claim, float("nan"))
    yield from draw_all(found, together)


STUDY = Study(
    name="shmueli-logs",
    text=__doc__,
    source='E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
    'schedulers", PhD thesis, Hebrew University, 2008, chapters 2 to 6',
    logs=SHMUELI_LOGS,
    compare=compare,
    axes=(SHMUELI_CANCELLED,),
)
