"""Sessions and batches by arrival in four logs.

The study counts the jobs that ran, and their batches and sessions if more than 60 minutes between
two arrivals end a session; it computes the share of sessions longer than 1,000 min by other
methods, and tests the claims of the text on the figures. Quantities estimated from a curve have
intervals by resampling users. Shares, the longest session and the largest difference of two curves
describe this log alone and have no intervals.

Counts and shares in the text are exact, to half of their last digit, in the same version of a log;
in another one the margin is 5 %. The margin of shares read off a logarithmic axis is a tenth of a
decade, that of the longest session 50 min. "More than 17.7 % in SDSC-DS" (section 6) is an error in
the text for SDSC-SP2, the log of the figure and of the rest of the paragraph. Max+Cut and Last+Cut
differ "only marginally" if less than 5 % of the sessions differ at every length. Last and Max have
no discontinuity if the jump is at most a quarter; `compare_session_methods` measures the jumps. The
source judges by eye where the curves level off; the rule here is that of `suggest_threshold`.

Further words of the source are given numbers: by day is 7:30 to 17:30 on weekdays, and "many more"
sessions an hour are twice as many; "most" is more than half; the slope "changes little" from 25 to
200 min if it falls there by at most a tenth of its fall from 1 min on; distributions are "very
close" or "the same" if the largest difference of the cumulative shares (K-S) is at most 0.1, those
of lengths above 2 min; "large" think times are those above 8 h; "very many" jobs are a hundred;
"clear" is a jump of more than a quarter. Arrival is best if no other method has fewer faults by
`compare_session_methods`: too many sessions above 16 h, and a jump at the cut or threshold.

The source does not state which versions of the logs it used; those named here are listed in N.
Zakay's thesis (2018, Table 1.1).
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.analysis.formats import duration
from workloadkit.analysis.reproduction import (
    ALL_LOGS,
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
from workloadkit.analysis.reproduction.runs import ZAKAY_LOGS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.analysis.sessions.methods import SessionMethods
    from workloadkit.trace import Trace

#: Longest session with any cut, and whether the text gives it as a bound. [min]
LONGEST = {"SDSC-BLUE": (2600, False), "SDSC-SP2": (2000, True)}

#: The logs of the figures.
THINK_TIMES = ("SDSC-BLUE", "SDSC-DS")  # figure 5
DROPS = ("KTH-SP2", "SDSC-SP2")  # figures 6 to 8
SURVIVAL = ("SDSC-BLUE", "SDSC-SP2")  # figure 11
PEAKS = ("SDSC-DS", "KTH-SP2")  # figure 12

_SEED = 1  # of the intervals: nothing else is random

#: Margins of counts in another version of a log and of the longest session [min], the largest jump
#: of a continuous curve, and the largest marginal difference.
OTHER, LONGEST_WITHIN, NO_JUMP, MARGINAL = 0.05, 50, 0.25, 0.05

#: "Many more", "little", "very close" and "very many", and large think times. [s]
MANY_MORE, LITTLE, CLOSE, VERY_MANY, LARGE = 2.0, 0.1, 0.1, 100, 8 * 3600

#: Lengths of sessions are compared above this. [s]
SHORT = 120


class _Found(NamedTuple):
    """Counts of a log, the comparison of methods, and the longest sessions with a cut [min].

    `one_job` has the intervals of the shares of sessions and of batches with one job; `by_day` how
    many sessions begin per hour by day over those at night and on weekends; `jobs` the jobs of each
    session; `within` the share of think times below 20 min; `shapes` the largest K-S distance of
    lengths by different thresholds, by method.
    """

    counts: dict[str, int]
    ways: "SessionMethods"
    one_job: dict[str, tuple[float, float]]
    longest: float
    next_longest: float
    by_day: dict[str, float]
    jobs: "np.ndarray"
    within: float
    shapes: dict[str, float]


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the published counts, shares and claims with those of the available logs."""
    file = Path(__file__)
    counts = {row["log"]: row for row in read_table(file.with_suffix(".csv"))}
    shares = read_table(file.with_name("zakay_sessions_length.csv"))
    found = dict(zip(plan.logs, each(look, plan.logs), strict=True))
    for log in (*plan.logs, *plan.missing):
        margin = OTHER if log.is_other else 0.0
        for quantity in ("jobs", "batches", "sessions"):
            figure = int(counts[log.name][quantity])
            claim = printed(quantity, figure, "Table 1", margin=margin, main=True)
            yield Result(log, claim, found[log].counts[quantity] if log in found else math.nan)
    for log, ours in found.items():
        for row in shares:
            if row["log"] == log.name:
                yield _share_of_long(log, row, ours)
    for log, ours in found.items():
        claims = (*_claims(log, ours), *_more_claims(log, ours))
        yield from (claim for claim in claims if not math.isnan(claim.ours))
    if found:
        yield _drops_at_60(found)


def look(log: Log, rng: "np.random.Generator") -> _Found:
    """Delimit the sessions of a log by every method."""
    import workloadkit as wk
    from workloadkit.analysis.sessions import compare_session_methods, session_lengths
    from workloadkit.analysis.sessions.choice import WAYS

    trace = log.read()
    sessions = wk.delimit_sessions(trace, method="arrival", threshold=3600)
    counts = {
        "jobs": len(sessions),
        "batches": sessions["batch"].nunique(),
        "sessions": sessions["session"].nunique(),
    }
    with_cut = [session_lengths(trace, **way._asdict()).nlargest(2) for way in WAYS if way.cut]
    longest = max(with_cut, key=lambda length: length.iloc[0]) / 60
    return _Found(
        counts,
        compare_session_methods(trace, rng=_SEED),
        {
            "sessions": _one_job(trace, sessions["session"]),
            "batches": _one_job(trace, sessions["batch"]),
        },
        longest.iloc[0],
        longest.iloc[-1],
        _by_day(trace, sessions["session"]),
        sessions.groupby("session").size().to_numpy(),
        _within_20_minutes(trace),
        {way: _shapes(trace, way) for way in ("last", "max")},
    )


def _by_day(trace: "Trace", session: "pd.Series") -> dict[str, float]:
    """Sessions that begin per hour by day, over those at night and on weekends."""
    import numpy as np

    from workloadkit.analysis.load.cycles import DAY_BEGINS, DAY_ENDS
    from workloadkit.clock import DAY, WEEK, Clock

    first = session.drop_duplicates().index
    clock = Clock.of(trace)
    local = clock.local(trace.jobs.loc[first, "submit"].to_numpy()) % WEEK
    weekend, hour = local >= 5 * DAY, local % DAY
    day = ~weekend & (hour >= DAY_BEGINS) & (hour < DAY_ENDS)
    hours = 5 * (DAY_ENDS - DAY_BEGINS) / 3600
    rates = {"at night": (~weekend & ~day, 120 - hours), "on weekends": (weekend, 48.0)}
    by_day = np.count_nonzero(day) / hours
    rate = {name: np.count_nonzero(chosen) / of for name, (chosen, of) in rates.items()}
    return {name: by_day / x if x and clock.known else math.nan for name, x in rate.items()}


def _within_20_minutes(trace: "Trace") -> float:
    """Share of the think times, since the end of the user's last job, that are below 20 min."""
    from workloadkit.sessions import think_times

    times = think_times(trace)["think_time"]
    times = times[times >= 0]
    return float((times < 1200).mean()) if len(times) else math.nan


def _shapes(trace: "Trace", method: str) -> float:
    """Largest K-S distance between the lengths of sessions by any two of the thresholds tried."""
    from itertools import combinations

    import numpy as np

    from workloadkit.analysis.sessions import session_lengths
    from workloadkit.analysis.sessions.batches import distance
    from workloadkit.analysis.sessions.choice import TRIED

    lengths = (session_lengths(trace, method=method, threshold=x).to_numpy() for x in TRIED)
    samples = [np.sort(of[of > SHORT]) for of in lengths]
    return max(distance(*pair) for pair in combinations(samples, 2))


def _one_job(trace: "Trace", labels: "pd.Series") -> tuple[float, float]:
    """Return the interval of the share of sessions, or of batches, that have one job."""
    import numpy as np

    from workloadkit.analysis.bootstrap import (
        interval,
        resample_users,
        resampled_ratios,
        totals_by_user,
    )

    label = labels.to_numpy()
    user = trace.jobs.loc[labels.index, "user"].factorize()[0]
    jobs = np.bincount(label)
    owner = np.empty(jobs.size, np.int64)
    owner[label] = user
    n_users = user.max(initial=-1) + 1
    alone, every = (totals_by_user(x, owner, n_users) for x in (jobs == 1, jobs > 0))
    low, high = interval(resampled_ratios(alone, every, resample_users(n_users, rng=_SEED)))
    return float(low), float(high)


def _share_of_long(log: Log, row: dict[str, str], ours: _Found) -> Result:
    """Compare a share of sessions over 1,000 min with ours."""
    import numpy as np

    way = row["method"].title()
    if row["cut_min"]:
        way += f"+Cut {duration(60 * float(row['cut_min']))}"
    published, share = float(row["share_over_1000_min"]), float(ours.ways.ways["over_1000min"][way])
    words = f"share of sessions over 1,000 min, {way}"
    if row["cut_min"]:
        agrees = (published * 10**-0.1, published * 10**0.1)
        claim = between(words, agrees, "Figure 11", "printed", published=published)
    else:
        digits = len(row["share_over_1000_min"].partition(".")[2])
        within = max(0.5 * 10**-digits, OTHER * published if log.is_other else 0)
        claim = printed(words, published, "section 6", within=within)
    survival = ours.ways.survival[way]
    later = np.interp(1050 * 60, survival.index, survival)
    return Result(log, claim, share, note=f"the curve is steep here: {later:.3f} at 1,050 min")


def _claims(log: Log, ours: _Found) -> Iterator[Result]:
    """Measure the text's statements about the figures."""
    ways, batches, threshold = ours.ways.ways, ours.ways.batches, ours.ways.threshold
    for what, bound in (("sessions", 0.5), ("batches", 0.75)):
        claim = above(f"share of {what} with one job", bound, "section 3")
        low, high = ours.one_job[what]
        note = f'the text says "generally"; resampled users: {low:.3f} to {high:.3f}'
        yield Result(log, claim, float(ways[f"single_job_{what}"]["Arrival"]), note=note)

    low, high = (end / 60 for end in threshold.interval)
    words = "minutes at which inter-arrivals level off"
    for claim in (above(words, 40, "section 3"), below(words, 100, "section 3")):
        yield Result(log, claim, threshold.threshold / 60, low, high)

    if log.name in THINK_TIMES:
        words = "distance of unique think times from common ones, Max less Last"
        claim = above(words, 0, "Figure 5", "direction")
        yield Result(log, claim, batches.difference, *batches.difference_interval)

    for row in _jumps(ours.ways.jumps):
        at = duration(row.limit)
        words = f"jump at the {'cut' if row.cut > 0 else 'threshold'}, {row.way}"
        words += "" if row.cut > 0 else f" {at}"
        found = row.jump, row.jump_low, row.jump_high
        if (log.name in PEAKS and row.cut > 0) or (log.name in DROPS and row.method == "arrival"):
            place = "Figure 12" if row.cut > 0 else "Figures 6 to 8"
            yield Result(log, above(words, 1, place, "direction"), *found)
        elif log.name in DROPS and not row.cut > 0:
            agrees = (1 - NO_JUMP, 1 + NO_JUMP)
            yield Result(log, between(f"{words}: none", agrees, "Figures 6 to 8"), *found)
    if log.name in DROPS:
        arrival = ours.ways.jumps[ours.ways.jumps["way"] == "Arrival"].set_index("limit")["jump"]
        words = "jump at the threshold, Arrival 10 min less 1 h"
        less = float(arrival[600] - arrival[3600])
        yield Result(log, above(words, 0, "Figures 6 to 8", "direction"), less)

    if log.name in SURVIVAL:
        value = float(ways["longest"][["Last", "Max"]].min()) / 60
        claim = above("minutes of the longest session, Last and Max", 1e5, "Figure 11")
        yield Result(log, claim, value)
        table = ours.ways.survival
        for cut in ("30 min", "1 h", "2 h"):
            gap = float((table[f"Max+Cut {cut}"] - table[f"Last+Cut {cut}"]).abs().max())
            words = f"largest difference of survival, Max+Cut and Last+Cut {cut}: marginal"
            yield Result(log, below(words, MARGINAL, "Figure 11", "ours"), gap)

    if log.name in LONGEST:
        published, is_bound = LONGEST[log.name]
        words, place = "minutes of the longest session with a cut", "section 6"
        claim = printed(words, published, place, within=LONGEST_WITHIN)
        note = f"one session; the next longest has {ours.next_longest:,.0f} min"
        if is_bound:
            claim = below(words, published, place)
        yield Result(log, claim, ours.longest, note=note)


def _more_claims(log: Log, ours: _Found) -> Iterator[Result]:
    """Measure the statements that the text makes without numbers."""
    import numpy as np

    ways, batches, threshold = ours.ways.ways, ours.ways.batches, ours.ways.threshold
    for when, value in ours.by_day.items():
        words = f"sessions an hour by day relative to those {when}: many more"
        yield Result(log, at_least(words, MANY_MORE, "section 1", "ours"), value)
    claim = above("share of think times below 20 min: most", 0.5, "section 3")
    yield Result(log, claim, ours.within)
    slope = threshold.curve["slope"]
    at = [float(np.interp(60 * x, slope.index, slope)) for x in (1, 25, 200)]
    words = "fall of the slope of inter-arrivals from 25 to 200 min, over that from 1 min: little"
    fall = (at[1] - at[2]) / (at[0] - at[2]) if at[0] > at[2] else math.nan
    yield Result(log, at_most(words, LITTLE, "section 3", "ours"), fall)
    if log.name in THINK_TIMES:
        words = "K-S distance of common think times by Last and by Max: very close"
        yield Result(log, at_most(words, CLOSE, "Figure 5", "ours"), batches.common_distance)
        yield from _nearer(log, batches.curves)
    for way, value in ours.shapes.items():
        words = f"K-S distance of lengths by different thresholds, {way.title()}: the same"
        yield Result(log, at_most(words, CLOSE, "Figures 6 and 7", "ours"), value)
    faults = ways["overlong"].astype(int) + ways["jumps"]
    words = "faults of Arrival less the fewest of any other way: none has fewer"
    claim = at_most(words, 0, "section 6", "ours")
    note = f"recommended: {ours.ways.recommended or 'none, too few sessions'}"
    fewest = int(faults.drop("Arrival").min())
    yield Result(log, claim, float(faults["Arrival"] - fewest), note=note)
    cut = ways["cut"].notna()
    words = "share of sessions over 1,000 min, Arrival less the largest with a cut"
    claim = at_most(words, 0, "section 6", "ours")
    share = ways["over_1000min"]
    yield Result(log, claim, float(share["Arrival"] - share[cut].max()))
    words = "mean number of jobs in a session over the median: skewed"
    mean, median = ours.jobs.mean(), float(np.median(ours.jobs))
    yield Result(log, above(words, 1, "Figure 15", "direction"), float(mean / median))
    claim = at_least("most jobs in a session: very many", VERY_MANY, "Figure 15", "ours")
    yield Result(log, claim, int(ours.jobs.max()))


def _nearer(log: Log, curves: "pd.DataFrame") -> Iterator[Result]:
    """Report the shares of think times at which Last, or Max, is nearer to the common ones."""
    import numpy as np

    common = (curves["Last, common"] + curves["Max, common"]) / 2
    last, most = ((curves[f"{x}, unique"] - common).abs() for x in ("Last", "Max"))
    value = curves.index.to_numpy(np.float64)
    for words, which, chosen in (
        ("share of the range of think times at which Last is nearer: most", last < most, value > 0),
        ("share of it above 8 h at which Max is nearer: most", most < last, value > LARGE),
    ):
        # share of time: each value counts up to the next
        width = np.diff(value, append=value[-1])[chosen]
        inside = float(width[which.to_numpy()[chosen]].sum())
        claim = above(words, 0.5, "Figure 5", "ours")
        yield Result(log, claim, inside / width.sum() if width.sum() else math.nan)


def _drops_at_60(found: dict[Log, _Found]) -> Result:
    """Report the share of logs with a clear drop at 60 min."""
    jump = {
        log.name: float(of.ways.ways["jump"]["Arrival"])
        for log, of in found.items()
        if not math.isnan(of.ways.ways["jump"]["Arrival"])
    }
    words = "share of logs with a clear drop at 60 min by Arrival: some, not most"
    claim = between(words, (1 / max(len(jump), 2), 0.5), "section 5")
    note = ", ".join(f"{name} {value:.2f}" for name, value in jump.items())
    share = sum(x > 1 + NO_JUMP for x in jump.values()) / len(jump) if jump else math.nan
    return Result(ALL_LOGS, claim, share, note=note)


def _jumps(jumps: "pd.DataFrame") -> "Iterator[Any]":
    """Rows by method, then by limit."""
    return jumps.sort_values(["way", "limit"], kind="stable").itertuples()


STUDY = Study(
    name="zakay-sessions",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel '
    'workload logs", JSSPP 2012, Table 1 and sections 3 to 7',
    logs={name: ZAKAY_LOGS[name] for name in ("SDSC-SP2", "SDSC-DS", "KTH-SP2", "SDSC-BLUE")},
    compare=compare,
)
