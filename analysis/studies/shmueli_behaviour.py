"""How users react to response times, in five logs.

The median think times after jobs by response time and slowdown (Table 4.4, five logs combined),
and what the text says of the logs: how likely users are to submit again within 20 min, that think
times rise with the response time in every log but not always with the slowdown, that awaited and
unexpected responses matter alike, that weeks of many jobs have smaller ones, how many think times
are negative and how many batches have two jobs ("about 0.10" is taken for 0.05 to 0.15), how much
is submitted by day and on weekdays, and the curve a / (b r + 1) of going on.

The source does not say which jobs count. Here all do that ran; but Table 4.4 and the shares of
SDSC-SP2 come out much nearer if cancelled jobs (status 5) are left out, both as jobs and as the
next submission. These figures are shown in both readings. The second was found by trying.

Negative think times are left out, as in the source. Intervals are of 95 %, from drawing users anew,
of the correlation by week from drawing blocks of weeks. Of a figure, "held" says that the published
one lies in the interval, or, if it is called approximate, is ours when rounded to one digit;
"direction only" that a median lies between those of shorter and of longer responses as the
published does, that more is submitted by day or on weekdays than an even spread would give, or that
another claim holds of the figures, but within what chance can do.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.formats import plural
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
_BY_EYE = "the source judges by eye"
_UNKNOWN = "cause unknown"
_WITHOUT = ", without cancelled jobs"

_RESPONSE = ("R1", "R2", "R3", "R4", "R5")
_ROUGH = "the source calls its curve a rough description of a smoothed one"

#: Shares that go on after jobs of SDSC-SP2, by bin of response time.
_CONTINUED = {"R1": 0.72, "R2": 0.55}

#: Shares submitted by day and on weekdays if nobody slept or rested.
_EVEN_DAY, _EVEN_WEEKDAYS = 10 / 24, 5 / 7

#: The most and the least a share "of about 0.10" may be.
_ABOUT_A_TENTH = 0.05, 0.15


class Found(NamedTuple):
    """What one log says, or several combined."""

    reactions: "Reactions"
    fit: "Continuation"
    differences: "pd.DataFrame"
    hours: "WorkingHours"
    opened_by_day: float
    correlation_gap: tuple[float, float, float]
    signature: tuple[float, float, float]
    pairs: tuple[float, float, float]


class Kept(NamedTuple):
    """What one log says without its cancelled jobs, or several combined."""

    reactions: "Reactions"
    differences: "pd.DataFrame"


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
    together = Log("combined", "", Path(f"{plural(len(logs), 'log')}.swf"))
    found = dict(zip(logs, alone, strict=True))
    named = [log for log in logs if log.name == "SDSC-SP2"]
    *kept_alone, kept = each(without_cancelled, [(log,) for log in named] + [tuple(logs)])
    yield from _medians(together, combined.reactions, kept.reactions)
    for log, its_kept in zip(named, kept_alone, strict=True):
        yield from _continued(log, found[log].reactions, its_kept.reactions)
    for log, ours in found.items():
        yield from _monotone(log, ours)
    yield from _monotone(together, combined)
    for log, ours in (*found.items(), (together, combined)):
        quantity = "rank correlation with think time: response less slowdown; above 0"
        yield _sign(log, quantity, *ours.correlation_gap, above=True)
    yield from _expectations(together, combined, kept, alone)
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
        yield from _working_hours(log, ours)


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
        working_hours([_openers(trace) for trace in traces], n_resamples=1, rng=_SEED).day,
        _correlation_gap(its, weights),
        (signature.correlation, *signature.interval),
        _share_of_pairs(traces),
    )


def without_cancelled(logs: tuple[Log, ...], rng: Any) -> Kept:
    """Measure one log, or several combined, as if cancelled jobs had never been submitted."""
    from analysis import followed_jobs
    from analysis.reactions.followed_jobs import answered, draw_users
    from analysis.reactions.service_bins import reactions_of
    from workloadkit.fields import CANCELLED

    traces = [log.read() for log in logs]
    jobs = followed_jobs([trace.select(trace.column("status") != CANCELLED) for trace in traces])
    weights = draw_users(jobs, rng=_SEED)
    return Kept(reactions_of(jobs, weights), _differences(answered(jobs), weights))


def _openers(trace: Any) -> Any:
    """Return the jobs that open a session by Last of 20 min."""
    from workloadkit.fields import UNKNOWN
    from workloadkit.sessions import delimit_sessions

    chosen = trace.select(trace.ran & (trace.column("user") != UNKNOWN))
    session = delimit_sessions(chosen, method="last")["session"]
    return chosen.select(~session.duplicated().to_numpy())


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


def _medians(log: Log, plain: "Reactions", kept: "Reactions") -> Iterator[Result]:
    """Set the medians of Table 4.4 beside ours, with cancelled jobs and without."""
    published = {
        (row["response_bin"], name): float(row[name])
        for row in read_table(Path(__file__).with_suffix(".csv"))
        for name in row
        if name != "response_bin"
    }
    with_all, without = _median_cells(plain), _median_cells(kept)
    known = [cell for cell in published if not math.isnan(with_all[cell][0] + without[cell][0])]
    away, away_with_all = (
        sum(abs(cells[cell][0] / published[cell] - 1) for cell in known) / max(len(known), 1)
        for cells in (without, with_all)
    )
    nearer = f"on average {100 * away:.1f} % from the published, else {100 * away_with_all:.1f} %"
    for cells, reading in ((with_all, ""), (without, _WITHOUT)):
        for cell, figure in published.items():
            ours, low, high = cells[cell]
            verdict: Verdict = "not held"
            if low <= figure <= high:
                verdict = "held"
            elif _order(published, *cell) == _order(cells, *cell):
                verdict = "direction only"
            notes = [nearer] if reading else []
            if verdict != "held":
                notes.append(_OTHER_LOGS if reading else _without(figure, *without[cell]))
            quantity = f"median think time after {''.join(cell)} (min){reading}"
            note = "; ".join(notes)
            yield Result(log.name, log.version, quantity, figure, ours, verdict, low, high, note)


def _median_cells(reactions: "Reactions") -> dict[tuple[str, str], tuple[float, float, float]]:
    """Return the median think times with their intervals, in minutes, by both bins."""
    columns = ["median_think_time", "think_time_low", "think_time_high"]
    cells = reactions.by_both.set_index(["response_bin", "slowdown_bin"])[columns] / _MINUTE
    return {cell: tuple(values) for cell, *values in cells.itertuples(name=None)}


def _order(cells: Mapping[tuple[str, str], Any], response: str, slowdown: str) -> list[bool]:
    """Say of each bin of response times whether its cell is above that of the one named."""
    return [cells[r, slowdown] > cells[response, slowdown] for r in _RESPONSE]


def _continued(log: Log, plain: "Reactions", kept: "Reactions") -> Iterator[Result]:
    """Set the shares that go on beside ours, with cancelled jobs and without."""
    columns = ["probability", "probability_low", "probability_high"]
    for name, published in _CONTINUED.items():
        ours, without = (tuple(map(float, x.by_response.loc[name, columns])) for x in (plain, kept))
        quantity = f"go on within 20 min after {name}"
        yield _figure(log, quantity, published, *ours, note=_without(published, *without))
        yield _figure(log, f"{quantity}{_WITHOUT}", published, *without)


def _without(published: float, ours: float, low: float, high: float) -> str:
    held = "held" if low <= published <= high else "not held"
    return f"without cancelled jobs {ours:.3g}: {held}"


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


def _expectations(log: Log, found: Found, kept: Kept, alone: Sequence[Found]) -> Iterator[Result]:
    """Say whether the curves of short waits and short runs are alike."""
    for name, row in found.differences.iterrows():
        value, low, high = map(float, row)
        verdict: Verdict = "held" if low <= 0 <= high else "not held"
        quantity = f"go on after {name}: short wait less short run"
        note = ""
        if verdict == "not held":
            above = sum(its.differences.at[name, "difference"] > 0 for its in alone)
            note = (
                f"{_BY_EYE}; likelier after a short wait in {above} of {len(alone)} logs; "
                f"without cancelled jobs {kept.differences.at[name, 'difference']:.3f}"
            )
        yield Result(log.name, log.version, quantity, 0.0, value, verdict, low, high, note)


def _working_hours(log: Log, found: Found) -> Iterator[Result]:
    """Set the shares by day and on weekdays beside ours, and beside an even spread."""
    hours = found.hours
    why = _UNKNOWN if log.name == "combined" else "the source gives one round figure for all logs"
    opened = f"{why}; of the jobs that open a session {found.opened_by_day:.2f}"
    for quantity, published, even, value, limits, note in (
        ("7:30 to 17:30", 0.7, _EVEN_DAY, hours.day, hours.day_interval, opened),
        ("Monday to Friday", 0.8, _EVEN_WEEKDAYS, hours.weekdays, hours.weekdays_interval, why),
    ):
        quantity = f"share submitted {quantity}"
        result = _figure(log, quantity, published, value, *limits, digits=1, note=note)
        if result.verdict == "not held" and limits[0] > even:
            result = replace(result, verdict="direction only")
        yield result


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
        note = f"{_OTHER_YEAR}; {note}" if note else _OTHER_YEAR
    return Result(log.name, log.version, quantity, published, float(ours), verdict, low, high, note)


def _sign(log: Log, quantity: str, ours: float, low: float, high: float, *, above: bool) -> Result:
    """Return the result for a claim that something is above 0, or below."""
    sign = 1 if above else -1
    verdict: Verdict = "not held"
    if sign * ours > 0:
        verdict = "held" if min(sign * low, sign * high) > 0 else "direction only"
    note = ""
    if verdict != "held":
        note = _OTHER_YEAR if log.name == "SDSC-Par" else _BY_EYE
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
