"""Sessions and batches by arrival in four logs.

How many jobs ran, and in how many batches and sessions, if a silence of more than 60 minutes
between two arrivals ends a session; the share of sessions longer than 1,000 min by other ways to
delimit them; and what the text says of the figures, measured. "Held" is a claim whose interval
(users resampled) lies on its side of the bound, "direction only" one whose value does. A claim on
the longest session, or on the largest difference of two curves, is about this log alone and has no
interval.

"More than 17.7 % in SDSC-DS" (section 6) is a slip of the text for SDSC-SP2, of which the figure
and the rest of the paragraph speak. Shares read off a logarithmic axis are equal if they are to a
tenth of a decade. That Max+Cut and Last+Cut differ only marginally is taken for less than 5 % of
the sessions at every length; that Last and Max have no discontinuity, for a jump of 1 inside the
interval. The jumps are those of `analysis.sessions.jumps`.

The source does not say which versions of the logs it took; those named here are the ones that
N. Zakay's thesis (2018, Table 1.1) lists.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.formats import duration
from analysis.studies import (
    ZAKAY_LOGS,
    Each,
    Log,
    Result,
    Study,
    Verdict,
    compare_count,
    read_table,
)

if TYPE_CHECKING:
    import pandas as pd

    from analysis.sessions.methods import SessionMethods
    from workloadkit.trace import Trace

#: Longest session with any cut, and whether the text gives it as a bound. [min]
LONGEST = {"SDSC-BLUE": (2600, False), "SDSC-SP2": (2000, True)}

#: The logs of the figures.
THINK_TIMES = ("SDSC-BLUE", "SDSC-DS")  # figure 5
DROPS = ("KTH-SP2", "SDSC-SP2")  # figures 6 to 8
SURVIVAL = ("SDSC-BLUE", "SDSC-SP2")  # figure 11
PEAKS = ("SDSC-DS", "KTH-SP2")  # figure 12

_SEED = 1  # of the intervals: nothing else is random

_OTHER_VERSION = "another version of the log"
_OUR_RULE = "the source judges by eye and takes 60; the rule is that of `suggest_threshold`"


class Found(NamedTuple):
    """What a log says: the counts, the comparison, and the longest sessions with a cut [min].

    `one_job` has the intervals of the shares of sessions and of batches with one job.
    """

    counts: dict[str, int]
    ways: "SessionMethods"
    one_job: dict[str, tuple[float, float]]
    longest: float
    next_longest: float


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the published counts, shares and claims beside those of the logs that are here."""
    file = Path(__file__)
    counts = {row["log"]: row for row in read_table(file.with_suffix(".csv"))}
    shares = read_table(file.with_name("zakay_sessions_length.csv"))
    found = dict(zip(logs, each(look, logs), strict=True))
    for log, ours in found.items():
        for quantity, number in ours.counts.items():
            yield compare_count(log, quantity, int(counts[log.name][quantity]), number)
    for log, ours in found.items():
        for row in shares:
            if row["log"] == log.name:
                yield _share_of_long(log, row, ours)
    for log, ours in found.items():
        yield from (claim for claim in _claims(log, ours) if not math.isnan(claim.ours))


def look(log: Log, rng: Any) -> Found:
    """Delimit the sessions of a log in every way."""
    import workloadkit as wk
    from analysis import compare_session_methods, session_lengths
    from analysis.sessions.ways import WAYS

    trace = log.read()
    sessions = wk.delimit_sessions(trace, method="arrival", threshold=3600)
    counts = {
        "jobs": len(sessions),
        "batches": sessions["batch"].nunique(),
        "sessions": sessions["session"].nunique(),
    }
    with_cut = [session_lengths(trace, **way._asdict()).nlargest(2) for way in WAYS if way.cut]
    longest = max(with_cut, key=lambda length: length.iloc[0]) / 60
    return Found(
        counts,
        compare_session_methods(trace, rng=_SEED),
        {
            "sessions": _one_job(trace, sessions["session"]),
            "batches": _one_job(trace, sessions["batch"]),
        },
        longest.iloc[0],
        longest.iloc[-1],
    )


def _one_job(trace: "Trace", labels: "pd.Series") -> tuple[float, float]:
    """Return the interval of the share of sessions, or of batches, that have one job."""
    import numpy as np

    from analysis.bootstrap import interval, resample_users, resampled_ratios, totals_by_user

    label = labels.to_numpy()
    user = trace.jobs.loc[labels.index, "user"].factorize()[0]
    jobs = np.bincount(label)
    owner = np.empty(jobs.size, np.int64)
    owner[label] = user
    n_users = user.max(initial=-1) + 1
    alone, every = (totals_by_user(x, owner, n_users) for x in (jobs == 1, jobs > 0))
    low, high = interval(resampled_ratios(alone, every, resample_users(n_users, rng=_SEED)))
    return float(low), float(high)


def _share_of_long(log: Log, row: dict[str, str], ours: Found) -> Result:
    """Set a share of sessions over 1,000 min beside ours."""
    import numpy as np

    way = row["method"].title()
    if row["cut_min"]:
        way += f"+Cut {duration(60 * float(row['cut_min']))}"
    published, share = float(row["share_over_1000_min"]), float(ours.ways.ways["over_1000min"][way])
    if row["cut_min"]:
        equal = share > 0 and abs(math.log10(share / published)) < 0.1
    else:
        digits = len(row["share_over_1000_min"].partition(".")[2])
        equal = round(share, digits) == published
    verdict: Verdict = "equal" if equal else "differs"
    note = ""
    if not equal:
        survival = ours.ways.survival[way]
        later = np.interp(1050 * 60, survival.index, survival)
        version = "" if log.version == log.published else f"{_OTHER_VERSION}; "
        note = f"{version}the curve is steep here: ours is {later:.3f} at 1,050 min"
    quantity = f"share of sessions over 1,000 min, {way}"
    return Result(log.name, log.version, quantity, published, share, verdict, note=note)


def _claims(log: Log, ours: Found) -> Iterator[Result]:
    """Measure what the text says of the figures."""
    ways, batches, threshold = ours.ways.ways, ours.ways.batches, ours.ways.threshold

    def claim(quantity: str, bound: float, value: float, verdict: Verdict, **more: Any) -> Result:
        return Result(log.name, log.version, quantity, bound, value, verdict, **more)

    for what, bound in (("sessions", 0.5), ("batches", 0.75)):
        value = float(ways[f"single_job_{what}"]["Arrival"])
        low, high = ours.one_job[what]
        verdict = _above(value, low, bound)
        note = 'the text says "generally"' if verdict == "not held" else ""
        quantity = f"share of {what} with one job >"
        yield claim(quantity, bound, value, verdict, low=low, high=high, note=note)

    low, high = (end / 60 for end in threshold.interval)
    value = threshold.threshold / 60
    for bound, held, inside in ((40, low > 40, value > 40), (100, high < 100, value < 100)):
        verdict = "held" if held else "direction only" if inside else "not held"
        quantity = f"minutes at which inter-arrivals level off {'>' if bound == 40 else '<'}"
        yield claim(quantity, bound, value, verdict, low=low, high=high, note=_OUR_RULE)

    if log.name in THINK_TIMES:
        quantity = "distance of unique think times from common, Max less Last >"
        low, high = batches.difference_interval
        value = batches.difference
        yield claim(quantity, 0, value, _above(value, low, 0), low=low, high=high)

    for row in _jumps(ours.ways.jumps):
        at = duration(row.limit)
        quantity = f"jump at the {'cut' if row.cut > 0 else 'threshold'}, {row.way}"
        quantity += "" if row.cut > 0 else f" {at}"
        ends = {"low": row.jump_low, "high": row.jump_high}
        if (log.name in PEAKS and row.cut > 0) or (log.name in DROPS and row.method == "arrival"):
            yield claim(f"{quantity} >", 1, row.jump, _above(row.jump, row.jump_low, 1), **ends)
        elif log.name in DROPS and not row.cut > 0:
            verdict = "held" if row.jump_low <= 1 <= row.jump_high else "not held"
            note = "a rise, not a drop; the source judges by eye" if row.jump_high < 1 else ""
            yield claim(quantity, 1, row.jump, verdict, **ends, note=note)
    if log.name in DROPS:
        arrival = ours.ways.jumps[ours.ways.jumps["way"] == "Arrival"].set_index("limit")["jump"]
        less = float(arrival[600] - arrival[3600])
        verdict = "direction only" if less > 0 else "not held"
        quantity = "jump at the threshold, Arrival 10 min less 1 h >"
        yield claim(quantity, 0, less, verdict, note="the difference has no interval")

    if log.name in SURVIVAL:
        value = float(ways["longest"][["Last", "Max"]].min()) / 60
        verdict = "held" if value > 1e5 else "not held"
        yield claim("minutes of the longest session, Last and Max >", 1e5, value, verdict)
        table = ours.ways.survival
        for cut in ("30 min", "1 h", "2 h"):
            gap = float((table[f"Max+Cut {cut}"] - table[f"Last+Cut {cut}"]).abs().max())
            quantity = f"largest difference of survival, Max+Cut and Last+Cut {cut} <"
            yield claim(quantity, 0.05, gap, "held" if gap < 0.05 else "not held")

    if log.name in LONGEST:
        published, is_bound = LONGEST[log.name]
        note = f"one session; the next longest has {ours.next_longest:,.0f} min"
        if log.version != log.published:
            note += f"; {_OTHER_VERSION}"
        quantity = f"minutes of the longest session with a cut{' <' if is_bound else ''}"
        if is_bound:
            verdict = "held" if ours.longest < published else "not held"
        else:
            verdict = "equal" if abs(ours.longest - published) <= 50 else "differs"
        note = "" if verdict in ("held", "equal") else note
        yield claim(quantity, published, ours.longest, verdict, note=note)


def _above(value: float, low: float, bound: float) -> Verdict:
    return "held" if low > bound else "direction only" if value > bound else "not held"


def _jumps(jumps: "pd.DataFrame") -> "Iterator[Any]":
    """Rows by way, then by limit."""
    return jumps.sort_values(["way", "limit"], kind="stable").itertuples()


STUDY = Study(
    name="zakay-sessions",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel '
    'workload logs", JSSPP 2012, Table 1 and sections 3 to 7',
    logs={name: ZAKAY_LOGS[name] for name in ("SDSC-SP2", "SDSC-DS", "KTH-SP2", "SDSC-BLUE")},
    compare=compare,
)
