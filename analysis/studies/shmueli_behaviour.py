"""How users react to response times, in five logs.

The median think times after jobs by response time and slowdown (Table 4.4, five logs combined),
and what the text says of the logs: how likely users are to submit again within 20 min, that think
times rise with the response time in every log but not always with the slowdown, that awaited and
unexpected responses matter alike, that weeks of many jobs have smaller ones, how many think times
are negative and how many batches have two jobs, how much is submitted by day and on weekdays, and
the curve a / (b r + 1) of going on.

Negative think times are left out, as in the source. Intervals are from drawing users anew, of the
correlation by week from drawing blocks of weeks. Of a figure, "held" says that the published one
lies in the interval, or, if it is called approximate, is ours when rounded to one digit; "direction
only" that a claim holds of the figures, but within what chance can do. Median think times, which
have no direction of their own, are held or differ.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.studies import Each, Log, Result, Study, Verdict, read_table

if TYPE_CHECKING:
    import pandas as pd

    from analysis.reactions.continuation import Continuation
    from analysis.reactions.service_bins import Reactions
    from analysis.working_hours import WorkingHours

_SEED = 31
_MINUTE = 60

_OTHER_YEAR = "the log of another year"
_OTHER_LOGS = "other versions of the logs, and SDSC-Par of another year"
_ROUGH = "the source calls its curve a rough description of a smoothed one"

#: Shares that go on after jobs of SDSC-SP2, by bin of response time.
_CONTINUED = {"R1": 0.72, "R2": 0.55}

#: The most and the least a share "of about 0.10" may be.
_ABOUT_A_TENTH = 0.05, 0.15


class Found(NamedTuple):
    """What one log says, or several combined."""

    reactions: "Reactions"
    fit: "Continuation"
    differences: "pd.DataFrame"
    hours: "WorkingHours"
    correlation_gap: tuple[float, float, float]
    signature: tuple[float, float, float]
    pairs: tuple[float, float, float]


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set what was published beside what the logs that are here say, where they do."""
    for result in _results(logs, each):
        if math.isnan(result.ours):
            continue
        if result.low is not None and math.isnan(result.low):
            result = replace(result, low=None, high=None)
        yield result


def _results(logs: Sequence[Log], each: Each) -> Iterator[Result]:
    *alone, combined = each(look, [(log,) for log in logs] + [tuple(logs)])
    together = Log("combined", "", Path(f"{len(logs)} logs.swf"))
    yield from _medians(together, combined)
    found = dict(zip(logs, alone, strict=True))
    for log, ours in found.items():
        if log.name == "SDSC-SP2":
            for name, published in _CONTINUED.items():
                row = ours.reactions.by_response.loc[name]
                limits = row["probability_low"], row["probability_high"]
                quantity = f"go on within 20 min after {name}"
                yield _figure(log, quantity, published, row["probability"], *limits)
    for log, ours in found.items():
        yield from _monotone(log, ours)
    yield from _monotone(together, combined)
    for log, ours in (*found.items(), (together, combined)):
        quantity = "rank correlation with think time: response less slowdown; above 0"
        yield _sign(log, quantity, *ours.correlation_gap, above=True)
    yield from _expectations(together, combined)
    fit = combined.fit
    for quantity, published, value, limits in (
        ("curve of going on, a", 0.8, fit.a, fit.a_interval),
        ("curve of going on, b (1/min)", 0.05, fit.b, fit.b_interval),
    ):
        yield _figure(together, quantity, published, value, *limits, note=_ROUGH)
    for log, ours in found.items():
        quantity = "weekly jobs and mean node-seconds, rank correlation; below 0"
        yield _sign(log, quantity, *ours.signature, above=False)
    yield _negative(found)
    for log, ours in found.items():
        value, low, high = ours.pairs
        least, most = _ABOUT_A_TENTH
        verdict: Verdict = "held" if least <= value <= most else "not held"
        quantity = "share of batches of two jobs"
        yield Result(log.name, log.version, quantity, 0.1, value, verdict, low, high)
    for log, ours in (*found.items(), (together, combined)):
        hours = ours.hours
        for quantity, published, value, limits in (
            ("share submitted 7:30 to 17:30", 0.7, hours.day, hours.day_interval),
            ("share submitted Monday to Friday", 0.8, hours.weekdays, hours.weekdays_interval),
        ):
            yield _figure(log, quantity, published, value, *limits, digits=1)


def look(logs: tuple[Log, ...], rng: Any) -> Found:
    """Measure one log, or several combined."""
    from analysis import feedback_signature, followed_jobs, working_hours
    from analysis.reactions.continuation import continuation_of
    from analysis.reactions.followed_jobs import answered, draw_users
    from analysis.reactions.service_bins import reactions_of

    traces = [log.read() for log in logs]
    jobs = followed_jobs(traces)
    weights = draw_users(jobs, rng=_SEED)
    its = answered(jobs)
    signature = feedback_signature(traces, rng=_SEED)
    return Found(
        reactions_of(jobs, weights),
        continuation_of(its, weights),
        _differences(its, weights),
        working_hours(traces, rng=_SEED),
        _correlation_gap(its, weights),
        (signature.correlation, *signature.interval),
        _share_of_pairs(traces),
    )


def _differences(jobs: "pd.DataFrame", weights: Any) -> "pd.DataFrame":
    """By bin of response time, how much likelier users go on after a short wait than a short run.

    In the first bin, all jobs have both.
    """
    import numpy as np
    import pandas as pd

    from analysis.bootstrap import interval, resampled_ratios, totals_by_user
    from analysis.reactions.followed_jobs import RESPONSE_BINS, SHORT

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


def _correlation_gap(jobs: "pd.DataFrame", weights: Any) -> tuple[float, float, float]:
    """Rank correlation of think time with response time, less that with slowdown."""
    from analysis.bootstrap import interval, resampled_rank_correlation

    user, think_time = jobs["user"].to_numpy(), jobs["think_time"]
    value, draws = resampled_rank_correlation(jobs["response"], think_time, user, weights)
    other, other_draws = resampled_rank_correlation(jobs["slowdown"], think_time, user, weights)
    low, high = interval(draws - other_draws)
    return value - other, float(low), float(high)


def _share_of_pairs(traces: Sequence[Any]) -> tuple[float, float, float]:
    """Share of the batches, in sessions by Last of 20 min, that have two jobs."""
    import numpy as np
    import pandas as pd

    from analysis.bootstrap import interval, resample_users, resampled_ratios, totals_by_user
    from workloadkit.fields import UNKNOWN
    from workloadkit.sessions import delimit_sessions

    rng = np.random.default_rng(_SEED)
    counts, weights = [], []
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
    pairs, batches = np.vstack(counts).T
    low, high = interval(resampled_ratios(pairs, batches, np.hstack(weights)))
    total = batches.sum()
    return float(pairs.sum() / total) if total else np.nan, float(low), float(high)


def _medians(log: Log, found: Found) -> Iterator[Result]:
    published = {row["response_bin"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    for _, row in found.reactions.by_both.iterrows():
        r, s = row["response_bin"], row["slowdown_bin"]
        figure = float(published[r][s])
        ours, low, high = (
            float(row[name]) / _MINUTE
            for name in ("median_think_time", "think_time_low", "think_time_high")
        )
        verdict: Verdict = "held" if low <= figure <= high else "differs"
        note = "" if verdict == "held" else _OTHER_LOGS
        quantity = f"median think time after {r}{s} (min)"
        yield Result(log.name, log.version, quantity, figure, ours, verdict, low, high, note)


def _monotone(log: Log, found: Found) -> Iterator[Result]:
    """Count how often the next bin has the larger median, and the smaller probability."""
    response, slowdown = found.reactions.by_response, found.reactions.by_slowdown
    rises = int((response["median_think_time"].diff() > 0).sum())
    verdict: Verdict = "held" if rises == 4 else "not held"
    quantity = "rises of the median think time from R1 to R5"
    yield Result(log.name, log.version, quantity, 4, rises, verdict)
    falls = int((response["probability"].diff() < 0).sum())
    verdict = "held" if falls == 4 else "not held"
    quantity = "falls of the probability to go on from R1 to R5"
    yield Result(log.name, log.version, quantity, 4, falls, verdict)
    if log.name == "SDSC-Par":
        median = slowdown["median_think_time"]
        lower = int((median["S4"] < median[["S1", "S2", "S3"]]).sum())
        verdict = "held" if lower == 3 else "not held"
        quantity = "medians of S1, S2 and S3 above that of S4"
        yield Result(log.name, log.version, quantity, 3, lower, verdict, note=_OTHER_YEAR)
    if log.name == "combined":
        table = found.reactions.by_both.pivot(
            index="response_bin", columns="slowdown_bin", values="median_think_time"
        )
        lowest = int((table.idxmin(axis=1) == "S1").sum())
        verdict = "held" if lowest == 5 else "not held"
        quantity = "bins of response time where S1 has the lowest median"
        yield Result(log.name, log.version, quantity, 5, lowest, verdict)


def _expectations(log: Log, found: Found) -> Iterator[Result]:
    """Say whether the curves of short waits and short runs are alike."""
    for name, row in found.differences.iterrows():
        value, low, high = map(float, row)
        verdict: Verdict = "held" if low <= 0 <= high else "not held"
        quantity = f"go on after {name}: short wait less short run"
        yield Result(log.name, log.version, quantity, 0.0, value, verdict, low, high)


def _negative(found: dict[Log, Found]) -> Result:
    """Say whether more than half of the think times of some log are negative, as published."""
    log = max(found, key=lambda log: found[log].reactions.negative)
    value, limits = found[log].reactions.negative, found[log].reactions.negative_interval
    verdict: Verdict = "not held"
    if value > 0.5:
        verdict = "held" if limits[0] > 0.5 else "direction only"
    quantity = "largest share of negative think times in a log; above 0.5"
    return Result(log.name, log.version, quantity, 0.5, value, verdict, *limits)


def _figure(
    log: Log,
    quantity: str,
    published: float,
    ours: float,
    low: float,
    high: float,
    *,
    digits: int | None = None,
    note: str = "",
) -> Result:
    """Return the result for a figure; `digits` are those of an approximate one."""
    alike = low <= published <= high
    alike |= digits is not None and round(ours, digits) == published
    verdict: Verdict = "held" if alike else "not held"
    if verdict == "held":
        note = ""
    elif log.name == "SDSC-Par":
        note = _OTHER_YEAR
    return Result(log.name, log.version, quantity, published, float(ours), verdict, low, high, note)


def _sign(log: Log, quantity: str, ours: float, low: float, high: float, *, above: bool) -> Result:
    """Return the result for a claim that something is above 0, or below."""
    sign = 1 if above else -1
    verdict: Verdict = "not held"
    if sign * ours > 0:
        verdict = "held" if min(sign * low, sign * high) > 0 else "direction only"
    note = _OTHER_YEAR if log.name == "SDSC-Par" and verdict != "held" else ""
    return Result(log.name, log.version, quantity, 0.0, ours, verdict, low, high, note)


STUDY = Study(
    name="shmueli-behaviour",
    text=__doc__,
    source='E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
    'schedulers", PhD thesis, Hebrew University, 2008, chapters 3 to 5',
    logs={
        "SDSC-Par": "SDSC-Par-1995-2.1-cln",
        "CTC-SP2": "CTC-SP2-1996-2.1-cln",
        "KTH-SP2": "KTH-SP2-1996-2",
        "SDSC-SP2": "SDSC-SP2-1998-3.1-cln",
        "SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln",
    },
    compare=compare,
)
