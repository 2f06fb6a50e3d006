"""Similarity of a user's jobs within a session and across sessions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import interval, resample_users, resampled_ratios
from workloadkit.analysis.locality.job_pairs import (
    ATTRIBUTES,
    MEASURES,
    UserJobs,
    check_known,
    compare_distances,
    quotient,
    ratios,
    upper_medians,
    user_jobs,
)
from workloadkit.analysis.section import AnalysisResult
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, takes_rng
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Compared pairs of distances, the nearer first (Zakay 2018, Tables II to IV).
DISTANCES = ((0, 1), (1, 2))


@dataclass(frozen=True, eq=False)
class Similarity(AnalysisResult):
    """Similarity of the jobs of a log by their distance in sessions.

    Parameters
    ----------
    log : str
    attribute : str
    by_distance : DataFrame
        By `distance` and `measure`: `pairs`, `users` with such pairs, the `mean` over users with
        its interval from `low` to `high`, and the `pooled` value over the pairs of all users, with
        `pooled_low` and `pooled_high` (NaN for the median).
    of_users : DataFrame
        By `user` and `distance`: `pairs`, and the `average`, `median` and share of `identical`
        ratios, NaN without pairs.
    seed : int
        Seed of the user bootstrap for the 95 % intervals.
    """

    log: str
    attribute: str
    by_distance: pd.DataFrame
    of_users: pd.DataFrame
    seed: int

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the means over users by distance, with their intervals."""
        means = {
            title: self.by_distance.xs(measure, level="measure")
            for measure, title in MEASURES.items()
        }
        return plot_by_distance(side_by_side(means), ax)


@dataclass(frozen=True, eq=False)
class NearerIsMoreAlike(AnalysisResult):
    """Shares of users with more similar jobs in nearer sessions.

    Parameters
    ----------
    log : str
    n_users : int
        Users with at least 6 sessions and one session of at least two jobs.
    users : DataFrame
        By `attribute`, `measure` and the distances `nearer` and `farther`: the shares of these
        users with more similar pairs at the nearer distance (`nearer_larger`), equally similar
        (`equal`) or more similar at the farther one (`farther_larger`), the number `without_pairs`
        at one of them, and the 95 % interval of the first share, `low` to `high` (Wilson, 1927).
    """

    log: str
    n_users: int
    users: pd.DataFrame

    def plot(self, ax: "Axes | None" = None, *, measure: str = "average") -> "Axes":
        """Draw the shares of users by attribute, one bar per pair of distances."""
        return plot_shares_of_users(self.bars(measure), ax)

    def bars(self, measure: str) -> pd.DataFrame:
        """Return the shares of users by one measure, for `plot_shares_of_users`."""
        of = self.users.xs(measure, level="measure")
        labels = [f"{ATTRIBUTES[name]}, {near} against {far}" for name, near, far in of.index]
        return of.set_axis(labels)


@takes_rng
def similarity_by_distance(
    trace: Trace,
    *,
    attribute: str = "requested_time",
    max_distance: int = 10,
    rng: np.random.Generator | int | None = None,
) -> Similarity:
    """Compare the jobs of each user by the distance of their sessions [1]_.

    The similarity of two jobs is the ratio r of the smaller to the larger value, 1 if they are
    equal (also if both are 0). Distance 0 has all pairs of jobs within a session; distance d has
    all pairs of jobs from sessions that are d apart in the user's sequence of sessions. Sessions
    are delimited by arrival with 60 min.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran or have no known user, and unknown values, are left out.
    attribute : {"procs", "requested_time", "run"}, default "requested_time"
    max_distance : int, default 10
        The largest distance, in sessions.
    rng : Generator or int, optional
        For the bootstrap over users.

    Returns
    -------
    Similarity
        A user's ratios are aggregated by the average, the upper median (the ratio with n // 2
        ratios before it in ascending order) and the share of identical pairs. All are exact except
        for rounding errors in averages: ratios of integers up to 2²⁶ are equal as floats only if
        they are equal.

    Raises
    ------
    ParameterError
        If the attribute is unknown or the distance is negative.
    WorkloadError
        If no job with a known user and value ran.

    References
    ----------
    .. [1] N. Zakay, "Resampling with feedback: a new paradigm of using workload data for
       performance evaluation", thesis, 2018, section "Granularity of resampling", Figure 1.

    Examples
    --------
    User 5 requests 60 s and 30 s, and 60 s again in the next session.

    >>> trace = Trace.from_columns(
    ...     {
    ...         "submit": [0, 10, 9000],
    ...         "run": [5, 5, 5],
    ...         "procs": [1, 1, 1],
    ...         "requested_time": [60, 30, 60],
    ...         "user": [5, 5, 5],
    ...     }
    ... )
    >>> similarity_by_distance(trace, max_distance=1).of_users
                   pairs  average  median  identical
    user distance
    5    0             1     0.50     0.5        0.0
         1             2     0.75     1.0        0.5
    """
    check_trace(trace)
    if max_distance < 0:
        raise ParameterError(f"max_distance must be 0 or more, not {max_distance}")
    seed = seed_of(rng)
    jobs = user_jobs(trace)
    check_known(jobs, [attribute])
    distances = np.arange(max_distance + 1)
    found = ratios(jobs, attribute, distances)
    medians = upper_medians(jobs, attribute, distances, np.array([0, jobs.n_users]))[0]
    weights = resample_users(jobs.n_users, rng=seed)
    unknown = np.full(distances.size, np.nan)
    tables = {}
    for measure in MEASURES:
        table = means_of_users(found.measure(measure), weights)
        table.insert(0, "pairs", found.pairs.sum(axis=0))
        pooled, low, high = medians, unknown, unknown
        if measure != "median":
            above = found.total if measure == "average" else found.identical.astype(np.float64)
            pairs = found.pairs.astype(np.float64)
            pooled = quotient(above.sum(axis=0), pairs.sum(axis=0))
            low, high = interval(resampled_ratios(above, pairs, weights))
        tables[measure] = table.assign(pooled=pooled, pooled_low=low, pooled_high=high)
    by_distance = pd.concat(tables, names=["measure"]).swaplevel()
    by_distance = by_distance.sort_index(level="distance", sort_remaining=False)
    measures = ("average", "median", "identical")
    values = {"pairs": found.pairs} | {name: found.measure(name) for name in measures}
    index = pd.MultiIndex.from_product([jobs.users, distances], names=["user", "distance"])
    of_users = pd.DataFrame({name: x.ravel() for name, x in values.items()}, index)
    return Similarity(trace.name, attribute, by_distance, of_users, seed)


def nearer_is_more_alike(
    trace: Trace,
    *,
    attributes: Collection[str] | None = None,
    distances: Sequence[tuple[int, int]] = DISTANCES,
) -> NearerIsMoreAlike:
    """Count the users with more similar jobs in nearer sessions [1]_.

    Parameters
    ----------
    trace : Trace
        As for `similarity_by_distance`.
    attributes : collection of str, optional
        Some of "procs", "requested_time" and "run"; by default those known in the log.
    distances : sequence of (int, int), default ((0, 1), (1, 2))
        The nearer and the farther distance, in sessions.

    Returns
    -------
    NearerIsMoreAlike
        Shares of identical pairs are compared exactly; averages that differ by less than 10⁻¹² are
        equal.

    Raises
    ------
    ParameterError
        If an attribute is unknown.
    WorkloadError
        If no job with a known user and value ran.

    Notes
    -----
    Table III of the source (requested time) uses the share of identical pairs, and Table IV (run
    time) the upper median. Table II (processors) uses the average computed as a sum of r/n, pair by
    pair: rounding errors then separate most equal averages, which the table counts as larger or
    smaller. `analysis.studies.zakay_locality` shows both.

    References
    ----------
    .. [1] N. Zakay, "Resampling with feedback: a new paradigm of using workload data for
       performance evaluation", thesis, 2018, Tables II to IV.

    Examples
    --------
    >>> log = {"submit": [0, 1, 5000, 5001, 10000, 15000, 20000, 25000]}
    >>> log |= {"procs": [2, 2, 4, 4, 2, 4, 2, 4], "run": [1] * 8, "user": [5] * 8}
    >>> found = nearer_is_more_alike(Trace.from_columns(log), attributes=["procs"])
    >>> float(found.users.loc[("procs", "average", 0, 1), "nearer_larger"])
    1.0
    """
    check_trace(trace)
    return nearer_of(user_jobs(trace), attributes=attributes, distances=distances)


def nearer_of(
    jobs: UserJobs,
    *,
    attributes: Collection[str] | None = None,
    distances: Sequence[tuple[int, int]] = DISTANCES,
) -> NearerIsMoreAlike:
    """Compute `nearer_is_more_alike` from extracted jobs."""
    from workloadkit.experiments.intervals import share_interval

    check_known(jobs, attributes or ())
    names = [name for name in jobs.known if attributes is None or name in attributes]
    needed = distinct(np.array(distances, dtype=np.int64))
    compared = jobs.compared()
    rows = {}
    for name in names:
        found = ratios(jobs, name, needed)
        for measure, (nearer, farther) in product(MEASURES, distances):
            at, other = np.searchsorted(needed, (nearer, farther))
            sign, paired = compare_distances(found, measure, at, other)
            sign, paired = sign[compared], paired[compared]
            n, larger = sign.size, int((paired & (sign > 0)).sum())
            rows[name, measure, nearer, farther] = (
                float(quotient(larger, n)),
                float(quotient((paired & (sign == 0)).sum(), n)),
                float(quotient((paired & (sign < 0)).sum(), n)),
                int((~paired).sum()),
                *share_interval(larger, n)[1:],
            )
    index = pd.MultiIndex.from_tuples(rows, names=["attribute", "measure", "nearer", "farther"])
    columns = ["nearer_larger", "equal", "farther_larger", "without_pairs", "low", "high"]
    users = pd.DataFrame(list(rows.values()), index, columns).sort_index()
    return NearerIsMoreAlike(jobs.log, int(compared.sum()), users)


def means_by_distance(
    jobs: UserJobs, measure: str, max_distance: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Return the means over users by distance ("average" or "identical"), by attribute."""
    weights = resample_users(jobs.n_users, rng=seed)
    tables = {}
    for name in jobs.known:
        found = ratios(jobs, name, np.arange(max_distance + 1), medians=False)
        tables[ATTRIBUTES[name]] = means_of_users(found.measure(measure), weights)
    return tables


def means_of_users(values: NDArray, weights: NDArray) -> pd.DataFrame:
    """Return, by distance, the number of users with a value, their mean and its interval."""
    has = ~np.isnan(values)
    filled = np.where(has, values, 0)
    low, high = interval(resampled_ratios(filled, has.astype(np.float64), weights))
    mean = quotient(filled.sum(axis=0), has.sum(axis=0))
    table = {"users": has.sum(axis=0), "mean": mean, "low": low, "high": high}
    return pd.DataFrame(table, pd.RangeIndex(values.shape[1], name="distance"))


def side_by_side(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Combine the `mean`, `low` and `high` of several tables, by name, into one."""
    columns = {
        f"{name}{' ' * bool(part)}{part}": table[part or "mean"]
        for name, table in tables.items()
        for part in ("", "low", "high")
    }
    return pd.DataFrame(columns)


def plot_by_distance(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw similarities by distance in sessions, with their intervals.

    Parameters
    ----------
    data : DataFrame
        By distance, three columns per quantity, from `side_by_side`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> table = pd.DataFrame({"mean": [0.9, 0.5], "low": [0.8, 0.4], "high": [1.0, 0.6]})
    >>> ax = plot_by_distance(side_by_side({"run": table}), Figure().subplots())
    >>> ax.get_xlabel(), ax.lines[0].get_ydata().tolist()
    ('distance in sessions', [0.9, 0.5])
    """
    ax = style.current_axes(ax)
    names = data.columns[::3]
    for name, colour in zip(names, (style.BLUE, style.ORANGE, style.GREEN), strict=False):
        low, high = data[f"{name} low"], data[f"{name} high"]
        ax.fill_between(data.index, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.plot(data.index, data[name], color=colour, marker="o", markersize=3.5, label=name)
    ax.set_ylim(0, 1.02)
    style.count_axis(ax.xaxis)
    ax.set(xlabel="distance in sessions", ylabel="mean similarity over users")
    style.legend_above(ax)
    return ax


def plot_shares_of_users(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the shares of users with more similar jobs at either distance, as stacked bars.

    Parameters
    ----------
    data : DataFrame
        Result of `NearerIsMoreAlike.bars`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"nearer_larger": 0.5, "equal": 0.3, "farther_larger": 0.2, "low": 0.4, "high": 0.6}
    >>> data = pd.DataFrame([row], index=["0 and 1"])
    >>> ax = plot_shares_of_users(data, Figure().subplots())
    >>> [round(float(bar.get_width()), 9) for bar in ax.patches]
    [0.5, 0.3, 0.2]
    """
    ax = style.current_axes(ax)
    y = np.arange(len(data))
    parts = {
        "nearer_larger": ("nearer", style.BLUE),
        "equal": ("equal", style.PALE),
        "farther_larger": ("farther", style.ORANGE),
    }
    left = np.zeros(len(data))
    for part, (label, colour) in parts.items():
        ax.barh(y, data[part], left=left, height=0.7, color=colour, label=label)
        left += data[part]
    ax.hlines(y, data["low"], data["high"], color=style.INK, linewidth=1)
    ax.set_yticks(y, list(data.index))
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlim(0, 1)
    style.share_axis(ax.xaxis)
    ax.set_xlabel("share of users with higher similarity at this distance")
    ax.set_ylabel("distance in sessions")
    style.legend_above(ax)
    return ax
