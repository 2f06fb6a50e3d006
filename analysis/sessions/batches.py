"""Batches that "last" and "max" agree on, batches that one of them finds, and what follows them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from analysis import style
from analysis.bootstrap import interval, resample_users
from analysis.distributions.marginals import cumulative_shares
from analysis.section import Result
from workloadkit.errors import takes_rng
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import delimit_sessions
from workloadkit.trace import Trace, check_trace

#: Think times above a day are left out, as the inter-arrivals are. [s]
LONGEST = 86400.0

METHODS = ("last", "max")
KINDS = ("common", "unique")

_GRID = np.append(np.geomspace(1, LONGEST, 200), np.inf)


@dataclass(frozen=True, eq=False)
class BatchAgreement(Result):
    """Common and unique batches, as `compare_batches` tells them apart.

    Parameters
    ----------
    batches : DataFrame
        By method, "last" and "max": `batches`; `common`, those whose jobs are a batch by the other
        method too; `unique`, the others; the median think time after each, `common_median` and
        `unique_median` [s]; the `distance` (Kolmogorov–Smirnov) between the think times after the
        common and after the unique batches, and its 95 % interval, `low` and `high`.
    common_distance : float
        Distance between the think times by the two methods after the common batches.
    difference : float
        How much further from the common ones the unique ones are by "max" than by "last".
    difference_interval : tuple of float
        95 % interval of the difference, users resampled.
    closer : {"last", "max", ""}
        By which method the unique batches are more like the common ones; empty where the interval
        of the difference has 0 in it, or there is none.
    curves : DataFrame
        By `value`, a think time [s]: cumulative shares of "Last" and "Max", which are all, and of
        "Last, common", "Max, common", "Last, unique" and "Max, unique".
    """

    batches: pd.DataFrame
    common_distance: float
    difference: float
    difference_interval: tuple[float, float]
    closer: str
    curves: pd.DataFrame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distributions of the think times."""
        return plot_batch_agreement(self.curves, ax)


@takes_rng
def compare_batches(
    trace: Trace, *, rng: int | np.random.Generator | None = None
) -> BatchAgreement:
    """Compare the think times of "last" and "max" after batches common to both and after others.

    A batch is common if its jobs, no more and no less, are a batch by the other method too. The
    think time that follows a batch runs to its user's next batch: by "last" from the end of the
    job of the batch that was submitted last, by "max" from the latest end. The source takes the
    think times after common batches for the real ones, and prefers the method by which those
    after the other batches are more like them [1]_. What it judges by eye is measured here as the
    largest difference between cumulative distributions.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown user are left out.
    rng : int or Generator, optional
        For the intervals.

    Returns
    -------
    BatchAgreement
        Of think times up to a day. The source does not say up to which it went.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel
       workload logs", JSSPP 2012, section 4.

    Examples
    --------
    Of three jobs the first is long: by "max" it holds the others in one batch.

    >>> log = {"submit": [0, 10, 100, 2000], "run": [1000, 50, 20, 5], "procs": [1] * 4}
    >>> found = compare_batches(Trace.from_columns({**log, "user": [5] * 4}))
    >>> found.batches[["batches", "common", "unique"]]
            batches  common  unique
    method
    last          3       1       2
    max           2       1       1
    """
    check_trace(trace)
    known = trace.column("user") != UNKNOWN
    if not known.all():
        trace = trace.select(known)
    user, after = _think_times_after_batches(trace)
    weights = resample_users(int(user.max(initial=0)) + 1, rng=rng)
    rows: dict[str, dict[str, float]] = {}
    samples: dict[str, NDArray[np.float64]] = {}
    resampled: dict[str, NDArray[np.float64]] = {}
    for method in METHODS:
        batches = after[method]
        kinds = {"common": batches[batches["common"]], "unique": batches[~batches["common"]]}
        follow = {
            kind: rows_of[rows_of["think_time"] <= LONGEST] for kind, rows_of in kinds.items()
        }
        times = {kind: np.sort(rows_of["think_time"]) for kind, rows_of in follow.items()}
        samples |= {f"{method.title()}, {kind}": values for kind, values in times.items()}
        resampled[method] = _resampled_distances(follow, weights)
        low, high = interval(resampled[method]).tolist()
        rows[method] = {
            "batches": len(batches),
            **{kind: len(rows_of) for kind, rows_of in kinds.items()},
            **{f"{kind}_median": _median(values) for kind, values in times.items()},
            "distance": distance(times["common"], times["unique"]),
            "low": low,
            "high": high,
        }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
    table = table.astype(dict.fromkeys(("batches", "common", "unique"), np.int64))
    difference = float(table["distance"]["max"] - table["distance"]["last"])
    low, high = interval(resampled["max"] - resampled["last"]).tolist()
    common_first = sorted(samples, key=lambda name: name.endswith("unique"))
    curves = {
        method.title(): np.concatenate([samples[f"{method.title()}, {kind}"] for kind in KINDS])
        for method in METHODS
    } | {name: samples[name] for name in common_first}
    return BatchAgreement(
        batches=table,
        common_distance=distance(samples["Last, common"], samples["Max, common"]),
        difference=difference,
        difference_interval=(low, high),
        closer="last" if low > 0 else "max" if high < 0 else "",
        curves=cumulative_shares(curves),
    )


def distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Largest difference between two cumulative distributions (Kolmogorov–Smirnov).

    Parameters
    ----------
    one, other : ndarray of float
        Two samples, ascending; NaN is the result where one is empty.

    Examples
    --------
    >>> distance(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    if not (one.size and other.size):
        return np.nan
    at = np.concatenate((one, other))
    shares = [np.searchsorted(x, at, side="right") / x.size for x in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def plot_batch_agreement(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the think times after common and after unique batches.

    Parameters
    ----------
    data : DataFrame
        As `BatchAgreement.curves`; those of all batches are left out.
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    colours = {"common": style.MUTED, "unique": style.BLUE}
    for name in data:
        if ", " not in str(name):
            continue
        method, kind = str(name).split(", ")
        colour = style.ORANGE if (method, kind) == ("Max", "unique") else colours[kind]
        dashes = "--" if (method, kind) == ("Max", "common") else "-"
        ax.plot(data.index, data[name], color=colour, linestyle=dashes, label=name)
    style.time_axis(ax.xaxis)
    ax.set_ylim(0, 1.02)
    style.share_axis(ax.yaxis)
    ax.set_xlabel("think time after the batch")
    ax.set_ylabel("share at or below")
    style.legend_above(ax)
    return ax


def _think_times_after_batches(
    trace: Trace,
) -> tuple[NDArray[np.int64], dict[str, pd.DataFrame]]:
    """User of each job that ran, from 0, and by method: user, think time, whether common."""
    user = pd.factorize(trace.column("user")[trace.ran])[0]
    order = np.argsort(user, kind="stable")
    starts, think_time = {}, {}
    for method in METHODS:
        # Without a threshold a user has one session, so every batch but the first has its think
        # time; the batches are the same, as every new session begins with a new batch.
        found = delimit_sessions(trace, method=method, threshold=np.inf).take(order)
        starts[method] = np.flatnonzero(np.diff(found["batch"], prepend=-1) != 0)
        think_time[method] = found["think_time"].to_numpy()
    # Every batch of "max" begins a batch of "last": so a batch is common if it is a whole one.
    is_start = np.zeros(user.size + 1, dtype=np.bool_)
    is_start[starts["max"]] = is_start[-1] = True
    inside = np.diff(np.searchsorted(starts["last"], np.append(starts["max"], user.size)))
    common = {"last": is_start[starts["last"]] & is_start[_next(starts["last"], user.size)]}
    common["max"] = inside == 1
    after = {}
    for method in METHODS:
        following = np.append(think_time[method], np.nan)[_next(starts[method], user.size)]
        columns = {"user": user[order][starts[method]], "think_time": following}
        after[method] = pd.DataFrame({**columns, "common": common[method]})
    return user, after


def _next(starts: NDArray[np.int64], n_jobs: int) -> NDArray[np.int64]:
    """Where the batch after each begins; after the last one, at the end."""
    return np.append(starts, n_jobs)[1:]


def _resampled_distances(
    follow: dict[str, pd.DataFrame], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distances between common and unique think times, users weighted; from counts on a grid."""
    shares = []
    for rows in follow.values():
        place = np.searchsorted(_GRID, rows["think_time"])
        size = weights.shape[1] * _GRID.size
        counts = np.bincount(rows["user"].to_numpy() * _GRID.size + place, minlength=size)
        cumulative = np.cumsum(weights @ counts.reshape(-1, _GRID.size), axis=1)
        total = cumulative[:, -1:]
        shares.append(cumulative / np.where(total > 0, total, np.nan))
    return np.abs(shares[0] - shares[1]).max(axis=1)


def _median(values: NDArray[np.float64]) -> float:
    return float(np.median(values)) if values.size else np.nan
