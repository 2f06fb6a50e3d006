"""Comparison of methods to delimit sessions, and a recommendation."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import bootstrap
from workloadkit.analysis.formats import count, duration, number, share, with_interval
from workloadkit.analysis.load.over_time import waits_known
from workloadkit.analysis.section import (
    SEED,
    AnalysisResult,
    Figure,
    Section,
    Table,
    shown,
    shown_intervals,
    why_no_users,
)
from workloadkit.analysis.sessions.batches import (
    BatchAgreement,
    compare_batches,
    histogram,
    plot_batch_agreement,
    plot_session_lengths,
    plot_session_survival,
    survival,
    table_of_batches,
)
from workloadkit.analysis.sessions.choice import (
    OVERLONG,
    UNCUT,
    WAYS,
    Way,
    judge,
    jump_at_limit,
    reasons,
    recommend,
)
from workloadkit.analysis.sessions.description import lengths_of
from workloadkit.analysis.sessions.threshold import (
    LEVEL,
    ThresholdSuggestion,
    plot_inter_arrival_slope,
    plot_inter_arrivals,
    suggest_threshold,
)
from workloadkit.errors import takes_rng
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import delimit_sessions
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLE = "Session methods"

#: The source reads its figure 10 at 10³ min, which it also calls 16 h. [s]
OVERLONG_PUBLISHED = 1000 * 60.0


@dataclass(frozen=True, eq=False)
class SessionMethods(AnalysisResult):
    """Comparison of session methods in a log, as returned by `compare_session_methods`.

    Parameters
    ----------
    ways : DataFrame
        By `way`: its `method`, `threshold` [s] and `cut` [s]; numbers of `sessions` and `batches`;
        means of `jobs_per_session` and `batches_per_session`; shares of the sessions and the
        batches with one job, `single_job_sessions` and `single_job_batches`; share of the sessions
        of length 0, `zero_length`; `median_length` [s]; shares of the sessions longer than
        1,000 min and 16 h, `over_1000min` and `over_16h`, and the 95 % interval of the latter,
        `over_16h_low` and `over_16h_high`; the median length of these, `overlong_median` [s]; the
        `longest` session [s]; the `jump` at the cut or threshold, and its 95 % interval,
        `jump_low` and `jump_high`; the faults `overlong` and `jumps`.
    jumps : DataFrame
        One row per limit, see `analysis.sessions.choice.jump_at_limit`.
    survival : DataFrame
        By `value`, a length [s]: the share of longer sessions under each method.
    lengths : DataFrame
        By `value`, a length [s], the centre of a bin (eight per doubling): the number of sessions
        in the bin under each method.
    batches : BatchAgreement
        Think times after batches common to Last and Max, and after others.
    threshold : ThresholdSuggestion
        Threshold suggested by the inter-arrival times.
    recommended : str
        Method with the fewest faults and, among these, the smallest jump; empty if the log is too
        small.
    reasons : tuple of str
        Sentences with the reasons for the recommendation.
    """

    ways: pd.DataFrame
    jumps: pd.DataFrame
    survival: pd.DataFrame
    lengths: pd.DataFrame
    batches: BatchAgreement
    threshold: ThresholdSuggestion
    recommended: str
    reasons: tuple[str, ...]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the survival functions of the session lengths."""
        return plot_session_survival(self.survival, ax)


@takes_rng
def compare_session_methods(
    trace: Trace, *, rng: int | np.random.Generator | None = None
) -> SessionMethods:
    """Compare methods to delimit sessions, and recommend one.

    Last, Max and Arrival use their default thresholds; Last+Cut and Max+Cut use cuts of 30 min, 1 h
    and 2 h. With a cut of 0 both are equal to Arrival with their own threshold of 20 min. The
    lengths are those of `session_lengths`. The source [1]_ compares by eye; here, four quantities
    are measured, with intervals from a bootstrap over users: the share of sessions longer than 16
    h, the jump in the number of sessions at the cut or threshold, the similarity of think times,
    and the time at which the inter-arrival distribution levels off.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown user are left out.
    rng : int or Generator, optional
        For the intervals.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel
       workload logs", JSSPP 2012.

    Examples
    --------
    Two jobs of one day each; the second is submitted while the first runs:

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
    weights = bootstrap.resample_users(max(users.size, 1), rng=streams[0])
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
    """Return a row of `SessionMethods.ways` without the jump."""
    session, batch = labels["session"].to_numpy(), labels["batch"].to_numpy()
    jobs, jobs_of_batch = np.bincount(session), np.bincount(batch)
    long = length > OVERLONG
    n_users = weights.shape[1]
    long_of_user = bootstrap.totals_by_user(long, owner, n_users)
    of_user = bootstrap.totals_by_user(np.ones(length.size), owner, n_users)
    low, high = bootstrap.interval(
        bootstrap.resampled_ratios(long_of_user, of_user, weights)
    ).tolist()
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
    """Report the comparison of session methods and the recommended one."""
    if reason := why_no_users(trace):
        note = f"{reason}, so there are no sessions to compare."
        return Section("session_methods", _TITLE, notes=(note,))
    found = compare_session_methods(trace, rng=SEED)
    notes = [*found.reasons]
    if not waits_known(trace):
        notes.append(
            "No wait time is known; results that depend on the ends of jobs assume that jobs end "
            "their run time after submission, and are only approximate."
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
            table_of_batches(found.batches),
        ),
        tuple(_figures(found)),
        {"seed": SEED, "session_methods_resamples": bootstrap.N_RESAMPLES},
    )


def _finding(found: SessionMethods) -> str:
    last, arrival = found.ways.loc["Last"], found.ways.loc["Arrival"]
    part = with_interval(last["over_16h"], last["over_16h_low"], last["over_16h_high"])
    text = f"{part} of the sessions by Last are longer than {duration(OVERLONG)}" + (
        ", an artefact of long jobs" if last["overlong"] else ""
    )
    text += f"; by Arrival, {share(arrival['over_16h'])}."
    if found.recommended:
        text += f" The recommended method is {found.recommended}."
    if found.threshold.threshold > 0:
        level = with_interval(found.threshold.threshold, *found.threshold.interval, _in_minutes)
        text += (
            f" The inter-arrival distribution of users levels off at {level}; the threshold in use "
            f"is {duration(found.threshold.fixed)}."
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
        "Session lengths under each method. With a cut, a job extends its session by at most the "
        "cut after its arrival; with a cut of 0, Last and Max are equal to Arrival with their own "
        "threshold."
    )
    text = shown(ways, lengths)
    text[over] = shown_intervals(ways, "over_16h")
    return (
        Table("ways", caption, ways, text),
        Table("sizes", "Session sizes under each method.", ways[[*sizes]], shown(ways, sizes)),
    )


def _table_of_jumps(jumps: pd.DataFrame) -> Table:
    data = jumps.set_index("way")
    columns = {
        "limit": ("limit", duration),
        "at": ("sessions at the limit", count),
        "nearby": ("sessions next to it", number),
    }
    text = shown(data, columns)
    text["jump"] = shown_intervals(data, "jump", number)
    caption = (
        "Effect of a limit on the distribution of session lengths. At a cut: sessions as long as "
        "the cut (in a bin of an eighth of a doubling) over the mean of the two bins below and the "
        "two above. At a threshold: sessions up to a fifth shorter over sessions up to a quarter "
        "longer, relative to the trend on both sides. A value of 1 means no jump."
    )
    return Table("jumps", caption, data, text, folded=True)


def _figures(found: SessionMethods) -> Iterator[Figure]:
    if (found.lengths.to_numpy() > 0).any():
        yield from _figures_of_lengths(found)
    if found.threshold.n:
        yield from _figures_of_threshold(found.threshold)
    if len(found.batches.curves.columns):
        yield Figure(
            "think_times",
            "Think times after batches",
            "Think times of up to a day after batches common to Last and Max, and after "
            "batches found by only one of them.",
            found.batches.curves,
            plot_batch_agreement,
        )


def _figures_of_lengths(found: SessionMethods) -> Iterator[Figure]:
    yield Figure(
        "survival",
        "Survival function of session lengths",
        "Share of the sessions longer than a time, under Last, Max and Arrival and under "
        f"Last+Cut with three cuts, on logarithmic axes; the dashed line marks "
        f"{duration(OVERLONG)}. Max+Cut (not drawn) differs from Last+Cut by at most "
        f"{share(_largest_difference(found.survival))} of the sessions.",
        found.survival,
        plot_session_survival,
    )
    yield Figure(
        "lengths",
        "Number of sessions by length",
        "Number of sessions under Last, under Arrival, and under Last+Cut with a cut of 1 h, in "
        "eight bins per doubling of the length, on logarithmic axes. The dashed line at 1 h marks "
        "the cut and the threshold of Arrival: a cut can leave a peak there, a threshold a drop. "
        "Sessions shorter than 1 min are not shown.",
        found.lengths,
        plot_session_lengths,
    )


def _figures_of_threshold(found: ThresholdSuggestion) -> Iterator[Figure]:
    about = _in_minutes(found.threshold)
    marks: dict[str, Any] = {"suggestion": found.threshold, "fixed": found.fixed}
    yield Figure(
        "inter_arrivals",
        "Inter-arrival times of users",
        "Cumulative share of the times between successive jobs of a user, of up to a day. Lines "
        f"mark where it levels off, {about}, and the threshold of Arrival.",
        found.curve,
        partial(plot_inter_arrivals, **marks),
    )
    yield Figure(
        "slope",
        "Slope of the inter-arrival distribution",
        "Slope of the cumulative distribution of inter-arrival times, relative to its mean over "
        f"the day, on logarithmic axes. From {about} on, it stays at or below {LEVEL:g} times the "
        "mean (dashed), over any interval that starts there.",
        found.curve,
        partial(plot_inter_arrival_slope, **marks),
    )


def _largest_difference(table: pd.DataFrame) -> float:
    """Return the largest difference between Max+Cut and Last+Cut with the same cut."""
    pairs = {name: name.replace("Max", "Last") for name in table if name.startswith("Max+Cut")}
    return max(float((table[one] - table[other]).abs().max()) for one, other in pairs.items())


def _in_minutes(seconds: float) -> str:
    """Format a time to the minute, the precision of a threshold."""
    return duration(60 * round(seconds / 60) if seconds >= 60 else seconds)
