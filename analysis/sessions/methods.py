"""Six ways to delimit sessions, compared: what each makes of their lengths, and which to take."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from analysis.bootstrap import (
    N_RESAMPLES,
    interval,
    resample_users,
    resampled_ratios,
    totals_by_user,
)
from analysis.formats import count, duration, number, share, with_interval
from analysis.load.over_time import waits_known
from analysis.section import SEED, Figure, Result, Section, Table, shown, shown_intervals
from analysis.sessions.batches import BatchAgreement, compare_batches, plot_batch_agreement
from analysis.sessions.choice import OVERLONG, judge, reasons, recommend
from analysis.sessions.curves import (
    histogram,
    plot_session_lengths,
    plot_session_survival,
    survival,
)
from analysis.sessions.description import lengths_of
from analysis.sessions.jumps import jump_at_limit
from analysis.sessions.threshold import (
    LEVEL,
    ThresholdSuggestion,
    plot_inter_arrival_slope,
    plot_inter_arrivals,
    suggest_threshold,
)
from analysis.sessions.ways import UNCUT, WAYS, Way
from workloadkit.errors import takes_rng
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import delimit_sessions
from workloadkit.trace import Trace, check_trace

_TITLE = "Ways to delimit sessions"

#: The source's figure 10 is read at 10³ min, which it calls 16 h too. [s]
OVERLONG_PUBLISHED = 1000 * 60.0


@dataclass(frozen=True, eq=False)
class SessionMethods(Result):
    """What six ways to delimit sessions make of a log; `compare_session_methods` returns it.

    Parameters
    ----------
    ways : DataFrame
        By `way`: its `method`, `threshold` [s] and `cut` [s]; numbers of `sessions` and `batches`;
        means of `jobs_per_session` and `batches_per_session`; shares of the sessions and the
        batches with one job, `single_job_sessions` and `single_job_batches`; share of the sessions
        of length 0, `zero_length`; `median_length` [s]; shares of the sessions longer than
        1,000 min and than 16 h, `over_1000min` and `over_16h`, and the latter's 95 % interval,
        `over_16h_low` and `over_16h_high`; the median length of these, `overlong_median` [s]; the
        `longest` session [s]; the `jump` at the cut, else at the threshold, and its 95 % interval,
        `jump_low` and `jump_high`; `overlong` and `jumps`, whether these are faults.
    jumps : DataFrame
        One row for each limit, as `analysis.sessions.jumps.jump_at_limit` gives it.
    survival : DataFrame
        By `value`, a length [s]: for each way the share of the sessions that are longer.
    lengths : DataFrame
        By `value`, a length [s], the middle of a bin, eight of which double the length: for each
        way the number of its sessions in the bin.
    batches : BatchAgreement
        Think times after the batches that Last and Max have in common, and after others.
    threshold : ThresholdSuggestion
        Where the inter-arrivals level off.
    recommended : str
        The way with the fewest faults and, of several, with the least jump; empty if the log is
        too small to tell.
    reasons : tuple of str
        Sentences on what speaks for it and against the others.
    """

    ways: pd.DataFrame
    jumps: pd.DataFrame
    survival: pd.DataFrame
    lengths: pd.DataFrame
    batches: BatchAgreement
    threshold: ThresholdSuggestion
    recommended: str
    reasons: tuple[str, ...]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the survival functions of the session lengths."""
        return plot_session_survival(self.survival, ax)


@takes_rng
def compare_session_methods(
    trace: Trace, *, rng: int | np.random.Generator | None = None
) -> SessionMethods:
    """Compare the ways to delimit sessions, and recommend one.

    Last, Max and Arrival with the thresholds that are used where none is given; Last+Cut and
    Max+Cut with cuts of 30 min, 1 h and 2 h; with a cut of 0 both are Arrival with their own
    threshold of 20 min. The lengths are those of `session_lengths`. What the source [1]_ judges
    by eye is measured, with intervals from resampling users: the share of sessions longer than
    16 h, the peak or drop in the numbers of sessions at the cut or the threshold, the likeness of
    think times, the time at which inter-arrivals level off.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown user are left out.
    rng : int or Generator, optional
        For the intervals.

    Returns
    -------
    SessionMethods

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel
       workload logs", JSSPP 2012.

    Examples
    --------
    Two jobs of a day, the second submitted as the first runs:

    >>> log = {"submit": [0, 40000], "run": [86400, 86400], "procs": [1, 1], "user": [5, 5]}
    >>> found = compare_session_methods(Trace.from_columns(log))
    >>> found.ways["sessions"].head(4).to_dict()
    {'Last': 1, 'Max': 1, 'Arrival': 2, 'Last+Cut 30 min': 2}
    >>> found.ways["over_16h"].head(4).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    check_trace(trace)
    known = trace.column("user") != UNKNOWN
    if not known.all():
        trace = trace.select(known)
    streams = np.random.default_rng(rng).spawn(3)
    user, users = pd.factorize(trace.column("user")[trace.ran])
    weights = resample_users(max(users.size, 1), rng=streams[0])
    rows, jumps, lengths = {}, [], {}
    for way in dict.fromkeys((*WAYS, *UNCUT)):
        labels = delimit_sessions(trace, **way._asdict())
        length = lengths_of(trace, labels, method=way.method, cut=way.cut).to_numpy()
        owner = np.zeros(length.size, dtype=np.int64)
        owner[labels["session"]] = user
        jumps.append(jump_at_limit(way, length, owner, weights))
        if way in WAYS:
            lengths[way.name] = np.sort(length)
            jump = {name: jumps[-1][name] for name in ("jump", "jump_low", "jump_high")}
            rows[way.name] = _describe(way, labels, length, owner, weights) | jump
    ways = judge(pd.DataFrame.from_dict(rows, orient="index").rename_axis("way"))
    recommended = recommend(ways)
    return SessionMethods(
        ways=ways,
        jumps=pd.DataFrame(jumps).sort_values(["cut", "way", "threshold"], ignore_index=True),
        survival=survival(lengths),
        lengths=histogram(lengths),
        batches=compare_batches(trace, rng=streams[1]),
        threshold=suggest_threshold(trace, rng=streams[2]),
        recommended=recommended,
        reasons=tuple(reasons(ways, recommended)),
    )


def _describe(
    way: Way,
    labels: pd.DataFrame,
    length: NDArray[np.float64],
    owner: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> dict[str, Any]:
    """One row of `SessionMethods.ways`, but for the jump."""
    session, batch = labels["session"].to_numpy(), labels["batch"].to_numpy()
    jobs, jobs_of_batch = np.bincount(session), np.bincount(batch)
    long = length > OVERLONG
    n_users = weights.shape[1]
    long_of_user = totals_by_user(long, owner, n_users)
    of_user = totals_by_user(np.ones(length.size), owner, n_users)
    low, high = interval(resampled_ratios(long_of_user, of_user, weights)).tolist()
    return {
        **way._asdict(),
        "sessions": length.size,
        "batches": jobs_of_batch.size,
        "jobs_per_session": _mean(jobs),
        "batches_per_session": jobs_of_batch.size / max(length.size, 1),
        "single_job_sessions": _mean(jobs == 1),
        "single_job_batches": _mean(jobs_of_batch == 1),
        "zero_length": _mean(length == 0),
        "median_length": _median(length),
        "over_1000min": _mean(length > OVERLONG_PUBLISHED),
        "over_16h": _mean(long),
        "over_16h_low": low,
        "over_16h_high": high,
        "overlong_median": _median(length[long]),
        "longest": float(length.max()) if length.size else np.nan,
    }


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if values.size else np.nan


def _median(values: NDArray[np.float64]) -> float:
    return float(np.median(values)) if values.size else np.nan


def section(trace: Trace) -> Section:
    """Report what each way to delimit sessions makes of the log, and which suits it."""
    known = trace.column("user") != UNKNOWN
    if not (trace.ran & known).any():
        reason = "No user is known" if trace.ran.any() else "No job of this log ran"
        note = f"{reason}, so there are no sessions to compare."
        return Section("session_methods", _TITLE, notes=(note,))
    found = compare_session_methods(trace, rng=SEED)
    notes = [*found.reasons]
    if not waits_known(trace):
        notes.append(
            "No wait time is known; jobs are taken to end their run time after they were "
            "submitted, so what depends on ends is only roughly right."
        )
    return Section(
        "session_methods",
        _TITLE,
        _finding(found),
        tuple(notes),
        {
            "recommended": found.recommended,
            "threshold": found.threshold.threshold,
            "threshold_interval": found.threshold.interval,
            "threshold_between": found.threshold.between,
            "think_times_closer": found.batches.closer,
            "think_times_difference": found.batches.difference,
            "think_times_difference_interval": found.batches.difference_interval,
        },
        (
            *_tables_of_ways(found.ways),
            _table_of_jumps(found.jumps),
            _table_of_batches(found.batches),
        ),
        tuple(_figures(found)),
        {"seed": SEED, "session_methods_resamples": N_RESAMPLES},
    )


def _finding(found: SessionMethods) -> str:
    last, arrival = found.ways.loc["Last"], found.ways.loc["Arrival"]
    part = with_interval(last["over_16h"], last["over_16h_low"], last["over_16h_high"])
    text = f"Sessions longer than {duration(OVERLONG)}: {part} by Last" + (
        ", an artefact of long jobs" if last["overlong"] else ""
    )
    text += f"; {share(arrival['over_16h'])} by Arrival."
    if found.recommended:
        text += f" The measures speak for {found.recommended}."
    if found.threshold.threshold > 0:
        level = with_interval(found.threshold.threshold, *found.threshold.interval, _in_minutes)
        text += (
            f" Users' inter-arrivals level off at {level}; the threshold used is "
            f"{duration(found.threshold.fixed)}."
        )
    return text


def _tables_of_ways(ways: pd.DataFrame) -> tuple[Table, Table]:
    over = f"over {duration(OVERLONG)}"
    lengths = {
        "threshold": ("threshold", duration),
        "sessions": ("sessions", count),
        "zero_length": ("length 0", share),
        "median_length": ("median", duration),
        "over_16h": (over, share),
        "longest": ("longest", duration),
        "jump": ("jump at limit", number),
    }
    sizes = {
        "batches": ("batches", count),
        "jobs_per_session": ("jobs per session", number),
        "batches_per_session": ("batches per session", number),
        "single_job_sessions": ("sessions of one job", share),
        "single_job_batches": ("batches of one job", share),
    }
    caption = (
        "Lengths of the sessions by each way. With a cut, a job holds its session open no longer "
        "than so long after its arrival; with a cut of 0, Last and Max are Arrival with their own "
        "threshold."
    )
    text = shown(ways, lengths)
    text[over] = shown_intervals(ways, "over_16h")
    return (
        Table("ways", caption, ways, text),
        Table("sizes", "Sizes of the sessions by each way.", ways[[*sizes]], shown(ways, sizes)),
    )


def _table_of_jumps(jumps: pd.DataFrame) -> Table:
    data = jumps.set_index("way")
    columns = {
        "limit": ("limit", duration),
        "at": ("sessions at the limit", count),
        "beside": ("beside it", number),
    }
    text = shown(data, columns)
    text["jump"] = shown_intervals(data, "jump", number)
    caption = (
        "The mark that a limit leaves in the distribution of session lengths. At a cut: sessions "
        "as long as the cut (within a bin an eighth of a doubling wide) over the mean of the two "
        "bins below and the two above. At a threshold: sessions up to a fifth shorter over those "
        "up to a quarter longer, relative to the trend on both sides. A jump of 1 is none."
    )
    return Table("jumps", caption, data, text, folded=True)


def _table_of_batches(found: BatchAgreement) -> Table:
    columns = {
        "batches": ("batches", count),
        "common": ("common", count),
        "unique": ("unique", count),
        "common_median": ("median think time after common", duration),
        "unique_median": ("after unique", duration),
    }
    text = shown(found.batches, columns).rename(str.title)
    text["distance"] = [
        with_interval(distance, low, high, number)
        for distance, low, high in found.batches[["distance", "low", "high"]].to_numpy()
    ]
    caption = (
        "Batches that Last and Max have in common, and others; the think times of up to a day "
        "that follow them, and the largest difference between their cumulative distributions."
    )
    return Table("batches", caption, found.batches, text, folded=True)


def _figures(found: SessionMethods) -> list[Figure]:
    limit = duration(OVERLONG)
    figures = []
    if (found.lengths.to_numpy() > 0).any():
        figures = [
            Figure(
                "survival",
                "Sessions that are longer",
                "Share of the sessions that are longer than a time, by Last, Max and Arrival "
                "and by Last+Cut with three cuts, on logarithmic axes; the dashed line is at "
                f"{limit}. Max+Cut, not drawn, differs from Last+Cut by at most "
                f"{share(_largest_difference(found.survival))} of the sessions.",
                found.survival,
                plot_session_survival,
            ),
            Figure(
                "lengths",
                "Numbers of sessions by length",
                "Numbers of sessions by Last, by Arrival, and by Last+Cut with a cut of 1 h, in "
                "bins of which eight double the length, on logarithmic axes. The dashed line, 1 h, "
                "is both the cut and the threshold of Arrival: one may leave a peak there, the "
                "other a drop. Sessions shorter than 1 min are not shown.",
                found.lengths,
                plot_session_lengths,
            ),
        ]
    if found.threshold.n:
        marks: dict[str, Any] = {
            "suggestion": found.threshold.threshold,
            "fixed": found.threshold.fixed,
        }
        about = _in_minutes(found.threshold.threshold)
        figures += [
            Figure(
                "inter_arrivals",
                "Times between a user's arrivals",
                "Share of the times of up to a day between a user's successive jobs that are at "
                f"most so long. Lines: where it levels off, {about}, and the threshold of Arrival.",
                found.threshold.curve,
                partial(plot_inter_arrivals, **marks),
            ),
            Figure(
                "slope",
                "Where they level off",
                "How steeply that share rises, as a multiple of its mean rise over the day, on "
                f"logarithmic axes. From {about} on it stays at or below {LEVEL:g} times the mean "
                "(dashed), over any stretch that begins there.",
                found.threshold.curve,
                partial(plot_inter_arrival_slope, **marks),
            ),
        ]
    if len(found.batches.curves.columns):
        figures.append(
            Figure(
                "think_times",
                "Think times after batches",
                "Think times of up to a day after batches that Last and Max have in common, and "
                "after those that only one of them finds.",
                found.batches.curves,
                plot_batch_agreement,
            )
        )
    return figures


def _largest_difference(table: pd.DataFrame) -> float:
    """Return how far Max+Cut is from Last+Cut with the same cut, at most."""
    pairs = {name: name.replace("Max", "Last") for name in table if name.startswith("Max+Cut")}
    return max(float((table[one] - table[other]).abs().max()) for one, other in pairs.items())


def _in_minutes(seconds: float) -> str:
    """Write a time to the minute: more than that no threshold is known by."""
    return duration(60 * round(seconds / 60) if seconds >= 60 else seconds)
