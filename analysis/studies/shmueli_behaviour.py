"""How users react to response times, in five logs.

The study compares the median think times after jobs by response time and slowdown (Table 4.4, five
logs combined), and claims of the text: how likely users are to submit again within 20 min; that
think times rise with the response time in every log but not always with the slowdown; that expected
and unexpected response times have similar effects; that weeks with many jobs have smaller jobs; how
many think times are negative; how many batches have two jobs; how much is submitted by day and on
weekdays; and the curve a / (b r + 1) of the probability to continue. As in the source, negative
think times are left out.

A printed figure agrees within 10 %, a printed share within 0.05, because most shares are printed in
tens of percent. Words of the source are given numbers: a median of "about five minutes" is one of
2.5 to 7.5 min; "a factor of 20 or 30" is one of 18 to 33, with 10 % on both sides; batches of one
job are "dominating" if they are more than half; two probabilities are "very similar" if they differ
by at most 0.085, half of the printed step between the first two bins of response times.

Most printed figures are properties of these logs, in which nothing is random and only the versions
of the logs differ. For these, intervals are only noted. If a claim is more general, such as that
response times matter more than slowdowns, the 95 % interval decides. It comes from resampling users
or, for the correlation by week, blocks of weeks.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Claim,
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
from workloadkit.analysis.reproduction.runs import (
    SHMUELI_CANCELLED,
    SHMUELI_LOGS,
    without,
    without_cancelled,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.analysis.load.cycles import WorkingHours
    from workloadkit.analysis.reactions.continuation import Continuation
    from workloadkit.analysis.reactions.service_bins import Reactions
    from workloadkit.site import Empirical
    from workloadkit.trace import Trace

_SEED = 31
_MINUTE = 60

#: Probabilities to continue after jobs of SDSC-SP2, by bin of response time.
_CONTINUED = {"R1": 0.72, "R2": 0.55}

#: Shares submitted by day and on weekdays if submissions were spread evenly.
_EVEN_DAY, _EVEN_WEEKDAYS = 10 / 24, 5 / 7

#: "Very similar": half of the step between the shares that continue after R1 and R2.
_SIMILAR = 0.085

#: A value and the ends of its interval.
Estimate = tuple[float, float, float]


class BehaviourTask(NamedTuple):
    """One log, or several combined, with or without cancelled jobs."""

    logs: tuple[Log, ...]
    cancelled: str


class _Found(NamedTuple):
    """Measurements of one log, or of several combined."""

    reactions: "Reactions"
    fit: "Continuation"
    differences: "pd.DataFrame"
    hours: "WorkingHours"
    correlation_gap: Estimate
    signature: Estimate
    pairs: Estimate
    batches: "Empirical"
    powers_of_two: float


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the published figures with those of the logs."""
    cancelled = plan.reading["cancelled"]
    tasks = [BehaviourTask((log,), cancelled) for log in plan.logs]
    *alone, combined = each(look, [*tasks, BehaviourTask(tuple(plan.logs), cancelled)])
    found = dict(zip(plan.logs, alone, strict=True))
    note = without(plan)
    for results in (_combined(combined), _across(found)):
        yield from (_noted(result, note) for result in results)
    for log, its in found.items():
        yield from _of_log(log, its)
    for log in plan.missing:
        for result in _of_log(log, alone[0]):
            yield Result(log, result.claim, math.nan)


def look(task: BehaviourTask, rng: "np.random.Generator") -> _Found:
    """Measure one log, or several combined."""
    from workloadkit.analysis.load import working_hours
    from workloadkit.analysis.reactions import feedback_signature, followed_jobs
    from workloadkit.analysis.reactions.continuation import continuation_of
    from workloadkit.analysis.reactions.followed import answered, draw_users
    from workloadkit.analysis.reactions.service_bins import reactions_of

    traces = [without_cancelled(log, task.cancelled) for log in task.logs]
    jobs = followed_jobs(traces)
    weights = draw_users(jobs, rng=_SEED)
    its = answered(jobs)
    signature = feedback_signature(traces, rng=_SEED)
    return _Found(
        reactions_of(jobs, weights),
        continuation_of(its, weights),
        _differences(its, weights),
        working_hours(traces, rng=_SEED),
        _correlation_gap(its, weights),
        (signature.correlation, *signature.interval),
        *_batches(traces),
        _powers_of_two(traces),
    )


def _differences(jobs: "pd.DataFrame", weights: Any) -> "pd.DataFrame":
    """Probability to continue after a short wait minus after a short run, by response-time bin."""
    import numpy as np
    import pandas as pd

    from workloadkit.analysis.bootstrap import interval, resampled_ratios, totals_by_user
    from workloadkit.analysis.reactions.followed import RESPONSE_BINS, SHORT

    n_users, user = weights.shape[1], jobs["user"].to_numpy()
    rows = {}
    for i, name in enumerate(RESPONSE_BINS[1:], start=1):
        shares, draws = [], []
        for quantity in ("wait", "run"):
            chosen = ((jobs["response_bin"] == i) & (jobs[quantity] <= SHORT)).to_numpy()
            stays = totals_by_user(chosen & jobs["continued"].to_numpy(), user, n_users)
            of_user = totals_by_user(chosen, user, n_users)
            shares.append(stays.sum() / of_user.sum() if of_user.sum() else np.nan)
            draws.append(resampled_ratios(stays, of_user, weights))
        rows[name] = (shares[0] - shares[1], *interval(draws[0] - draws[1]))
    return pd.DataFrame(rows, index=["difference", "low", "high"]).T


def _correlation_gap(jobs: "pd.DataFrame", weights: Any) -> Estimate:
    """Rank correlation of think time with response time, minus that with slowdown."""
    from workloadkit.analysis.bootstrap import interval, resampled_rank_correlation

    user, think_time = jobs["user"].to_numpy(), jobs["think_time"]
    value, draws = resampled_rank_correlation(jobs["response"], think_time, user, weights)
    other, other_draws = resampled_rank_correlation(jobs["slowdown"], think_time, user, weights)
    low, high = interval(draws - other_draws)
    return value - other, float(low), float(high)


def _batches(traces: "Sequence[Trace]") -> tuple[Estimate, "Empirical"]:
    """Share of the batches, in sessions by Last of 20 min, that have two jobs, and all widths."""
    import numpy as np
    import pandas as pd

    from workloadkit.analysis.bootstrap import (
        interval,
        resample_users,
        resampled_ratios,
        totals_by_user,
    )
    from workloadkit.fields import UNKNOWN
    from workloadkit.sessions import delimit_sessions
    from workloadkit.site import Empirical

    rng = np.random.default_rng(_SEED)
    counts, weights, widths = [], [], []
    for trace in traces:
        chosen = trace.select(trace.ran & (trace.column("user") != UNKNOWN))
        batch = delimit_sessions(chosen, method="last")["batch"].to_numpy()
        user = pd.factorize(chosen.column("user"))[0]
        width = np.bincount(batch)
        owner = np.empty(width.size, np.int64)
        owner[batch] = user
        n_users = user.max(initial=0) + 1
        of_users = (totals_by_user(x, owner, n_users) for x in (width == 2, width > 0))
        counts.append(np.column_stack([*of_users]))
        weights.append(resample_users(n_users, rng=rng))
        widths.append(width)
    pairs, batches = np.vstack(counts).T
    low, high = interval(resampled_ratios(pairs, batches, np.hstack(weights)))
    every = Empirical.of(np.concatenate(widths))
    return (every.share(2), float(low), float(high)), every


def _powers_of_two(traces: "Sequence[Trace]") -> float:
    """Share of the jobs that ran on 1, 2, 4, … processors."""
    import numpy as np

    size = np.concatenate([trace.used_procs[trace.ran] for trace in traces]).astype(np.int64)
    return float(np.mean((size & (size - 1)) == 0)) if size.size else math.nan


def _combined(found: _Found) -> Iterator[Result]:
    """Compare the source's statements about the combined logs with ours."""
    yield from _medians(found.reactions)
    response = found.reactions.by_response
    words = "bins of response time with a longer median think time than the one before"
    claim = at_least(words, 4, "section 4.3", "direction", main=True)
    yield Result(ALL_LOGS, claim, _rises(response["median_think_time"]))
    words = "bins of response time with a lower probability to go on than the one before"
    claim = at_least(words, 4, "section 4.4", "direction", main=True)
    yield Result(ALL_LOGS, claim, _rises(-response["probability"]))
    yield _gap(ALL_LOGS, found, main=True)
    for name, row in found.differences.iterrows():
        words = f"probability to go on after {name}: short wait less short run"
        claim = between(words, (-_SIMILAR, _SIMILAR), "Figure 4.7")
        value, low, high = map(float, row)
        yield Result(ALL_LOGS, claim, value, low, high)
    of_kind = found.reactions.expectations.set_index("kind")["probability"]
    for kind, waits in (("W", "short waits"), ("E", "short runs")):
        words = f"bins of response time with a lower probability than the one before: {waits}"
        claim = at_least(words, 4, "Figure 4.7", "direction")
        yield Result(ALL_LOGS, claim, _rises(-of_kind[kind]))
    fit = found.fit
    claim = printed("curve of going on: a", 0.8, "equation 5.1")
    yield _figure(ALL_LOGS, claim, fit.a, *fit.a_interval)
    claim = printed("curve of going on: b (1/min)", 0.05, "equation 5.1")
    yield _figure(ALL_LOGS, claim, fit.b, *fit.b_interval)
    yield from _working_hours(ALL_LOGS, found)


def _medians(reactions: "Reactions") -> Iterator[Result]:
    """Compare the medians of Table 4.4 and their trends over the bins with ours."""
    columns = ["median_think_time", "think_time_low", "think_time_high"]
    cells = reactions.by_both.set_index(["response_bin", "slowdown_bin"])[columns] / _MINUTE
    for row in read_table(Path(__file__).with_suffix(".csv")):
        response = row["response_bin"]
        for slowdown in cells.index.unique("slowdown_bin"):
            words = f"median think time after {response}{slowdown} (min)"
            claim = printed(words, float(row[slowdown]), "Table 4.4")
            yield _figure(ALL_LOGS, claim, *cells.loc[(response, slowdown)])
    table = cells["median_think_time"].unstack("slowdown_bin")
    known = not table.isna().any(axis=None)
    words = "cells with a longer median think time than the one of the shorter responses"
    longer = float((table.diff() > 0).to_numpy().sum()) if known else math.nan
    yield Result(ALL_LOGS, at_least(words, 20, "Table 4.4", "direction"), longer)
    words = "cells with a longer median think time than the one of the lower slowdowns: no pattern"
    longer = float((table.diff(axis=1) > 0).to_numpy().sum()) if known else math.nan
    yield Result(ALL_LOGS, below(words, 20, "Table 4.4", "direction"), longer)
    words = "bins of response time in which S1 has the shortest median think time"
    lowest = float((table.idxmin(axis=1) == "S1").sum()) if known else math.nan
    yield Result(ALL_LOGS, at_least(words, 5, "Table 4.4", "direction"), lowest)


def _across(found: dict[Log, _Found]) -> Iterator[Result]:
    """Compare the source's statements about differences between logs with ours."""
    place = "section 4.3"
    medians = {log: its.reactions.by_slowdown["median_think_time"] for log, its in found.items()}
    for name in ("S1", "S2", "S3", "S4", "S5"):
        words = f"longest median think time of a log over the shortest: after {name}"
        of_logs = [float(its[name]) for its in medians.values()]
        claim = between(words, (18, 33), place, published=25)
        yield Result(ALL_LOGS, claim, _over(max(of_logs), of_logs))
    others = [its for log, its in medians.items() if log.name != "SDSC-SP2"]
    for log, its in medians.items():
        if log.name == "SDSC-SP2" and others:
            words = f"median think time of {log.name} over the {{}} of the others: after {{}}"
            claim = below(words.format("shortest", "S2"), 1.0, place, "direction")
            yield Result(ALL_LOGS, claim, _over(its["S2"], [other["S2"] for other in others]))
            claim = above(words.format("longest", "S4"), 1.0, place, "direction")
            longest = max(other["S4"] for other in others)
            yield Result(ALL_LOGS, claim, _over(its["S4"], [longest]))
    most = max((its.reactions for its in found.values()), key=lambda its: its.negative)
    claim = above("share of negative think times: the log with most", 0.5, "section 3.3.1")
    yield _figure(ALL_LOGS, claim, most.negative, *most.negative_interval)


def _of_log(log: Log, found: _Found) -> Iterator[Result]:
    """Compare the source's statements about each log with ours."""
    response = found.reactions.by_response
    words = "bins of response time with a longer median think time than the one before"
    claim = at_least(words, 4, "Figure 4.1", "direction")
    yield Result(log, claim, _rises(response["median_think_time"]))
    columns = ["median_think_time", "think_time_low", "think_time_high"]
    words, place = "median think time after {} (min)", "section 4.3"
    for name, claim in (
        ("R1", between(words.format("R1"), (2.5, 7.5), place)),
        ("R2", at_most(words.format("R2"), 20.0, place)),
        ("R3", between(words.format("R3"), (20.0, 60.0), place, "bound")),
    ):
        yield _figure(log, claim, *(response.loc[name, columns] / _MINUTE))
    words = "bins of response time with a lower probability to go on than the one before"
    claim = at_least(words, 4, "Figure 4.5", "direction")
    yield Result(log, claim, _rises(-response["probability"]))
    yield _gap(log, found)
    if log.name == "SDSC-SP2":
        columns = ["probability", "probability_low", "probability_high"]
        for name, published in _CONTINUED.items():
            words = f"go on within 20 min after {name}"
            claim = printed(words, published, "section 4.4", within=0.05)
            yield _figure(log, claim, *response.loc[name, columns])
    if log.name == "SDSC-Par":
        medians = found.reactions.by_slowdown["median_think_time"]
        words = "median think time after S4 over the shortest of S1, S2 and S3"
        claim = below(words, 1.0, "section 4.3", "direction")
        yield Result(log, claim, _over(medians["S4"], medians[["S1", "S2", "S3"]]))
    words = "rank correlation of the jobs of a week and their mean node-seconds"
    yield Result(log, below(words, 0.0, "Figure 3.1", "direction"), *found.signature)
    claim = printed("share of batches of two jobs", 0.1, "section 3.3.1", within=0.05)
    yield _figure(log, claim, *found.pairs)
    one, two, three = (found.batches.share(width) for width in (1, 2, 3))
    claim = above("share of batches of one job", 0.5, "Figure 3.5", "ours")
    yield Result(log, claim, one)
    words = "share of batches of two jobs less that of three"
    yield Result(log, above(words, 0.0, "Figure 3.5", "direction"), two - three)
    words = "share of jobs on a power of two of processors"
    yield Result(log, above(words, 0.5, "Figure 3.8", "bound"), found.powers_of_two)
    yield from _working_hours(log, found)


def _gap(log: Log, found: _Found, *, main: bool = False) -> Result:
    words = "rank correlation with think time: response less slowdown"
    claim = above(words, 0.0, "section 4.3", "direction", main=main)
    return Result(log, claim, *found.correlation_gap)


def _working_hours(log: Log, found: _Found) -> Iterator[Result]:
    """Compare the shares by day and on weekdays with ours, and with an even spread."""
    hours = found.hours
    for words, published, even, ours in (
        ("7:30 to 17:30", 0.7, _EVEN_DAY, (hours.day, *hours.day_interval)),
        ("Monday to Friday", 0.8, _EVEN_WEEKDAYS, (hours.weekdays, *hours.weekdays_interval)),
    ):
        words = f"share submitted {words}"
        yield _figure(log, printed(words, published, "Figure 5.8", within=0.05), *ours)
        yield Result(log, above(words, even, "Figure 5.8", "direction"), *ours)


def _rises(values: "pd.Series") -> float:
    """Count how often the next value is larger; NaN if a value is unknown."""
    return math.nan if values.isna().any() else float((values.diff() > 0).sum())


def _over(value: float, others: "Sequence[float] | pd.Series") -> float:
    """Return a value over the smallest of others; NaN if one of these is unknown or 0."""
    known = all(other > 0 for other in others)
    return float(value / min(others)) if known else math.nan


def _figure(log: Log, claim: Claim, ours: float, low: float, high: float) -> Result:
    """Return the result for a property of the log itself; a note has its interval."""
    note = "" if math.isnan(low) else f"resampled users: {low:.3g} to {high:.3g}"
    return Result(log, claim, float(ours), note=note)


def _noted(result: Result, note: str) -> Result:
    """Return a result with an additional note."""
    return replace(result, note="; ".join(part for part in (result.note, note) if part))


STUDY = Study(
    name="shmueli-behaviour",
    text=__doc__,
    source='E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
    'schedulers", PhD thesis, Hebrew University, 2008, chapters 3 to 5',
    logs=SHMUELI_LOGS,
    compare=compare,
    axes=(SHMUELI_CANCELLED,),
)
