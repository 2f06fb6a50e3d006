"""Batches and session lengths under each method."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import interval, resample_users
from workloadkit.analysis.distributions.marginals import cumulative_shares
from workloadkit.analysis.formats import count, duration, number, with_interval
from workloadkit.analysis.section import AnalysisResult, Columns, Table, shown
from workloadkit.analysis.sessions.choice import CUTS, OVERLONG, WAYS
from workloadkit.distinct import order_by
from workloadkit.errors import takes_rng
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import THRESHOLDS, delimit_sessions
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Think times above a day are left out, as inter-arrivals are. [s]
LONGEST = 86400.0

METHODS = ("last", "max")
KINDS = ("common", "unique")

_GRID = np.append(np.geomspace(1, LONGEST, 200), np.inf)


@dataclass(frozen=True, eq=False)
class BatchAgreement(AnalysisResult):
    """Common and unique batches, as returned by `compare_batches`.

    Parameters
    ----------
    batches : DataFrame
        By method, "last" and "max": `batches`; `common`, the batches with the same jobs under the
        other method; `unique`, the others; the median think time after each kind, `common_median`
        and `unique_median` [s]; the `distance` (Kolmogorov-Smirnov) between the think times after
        common and unique batches, and its 95 % interval, `low` and `high`.
    common_distance : float
        Distance between the methods' think times after common batches.
    difference : float
        Distance of "max" minus distance of "last".
    difference_interval : tuple of float
        95 % interval of the difference (bootstrap over users).
    closer : {"last", "max", ""}
        Method with unique batches more similar to the common ones; empty if the interval of the
        difference contains 0 or is undefined.
    curves : DataFrame
        By `value`, a think time [s]: cumulative shares after all batches, "Last" and "Max", and
        after "Last, common", "Max, common", "Last, unique" and "Max, unique".
    """

    batches: pd.DataFrame
    common_distance: float
    difference: float
    difference_interval: tuple[float, float]
    closer: str
    curves: pd.DataFrame

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the distributions of think times."""
        return plot_batch_agreement(self.curves, ax)


@takes_rng
def compare_batches(
    trace: Trace, *, rng: int | np.random.Generator | None = None
) -> BatchAgreement:
    """Compare think times after batches common to "last" and "max" and after other batches.

    A batch is common if exactly the same jobs form a batch under the other method. The think time
    after a batch runs to the user's next batch: by "last" from the end of the batch's last
    submitted job, by "max" from the latest end in the batch. The source regards the think times
    after common batches as the true ones, and prefers the method with unique batches more similar
    to them [1]_. The source compares by eye; here, the Kolmogorov-Smirnov distance is measured.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown user are left out.
    rng : int or Generator, optional
        For the intervals.

    Returns
    -------
    BatchAgreement
        For think times of up to a day; the source does not specify its limit.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel
       workload logs", JSSPP 2012, section 4.

    Examples
    --------
    The first of three jobs is long: by "max", the others are in its batch.

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
    """Return the largest difference between two cumulative distributions (Kolmogorov-Smirnov).

    The samples are sorted; the distance to an empty sample is NaN.

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


def plot_batch_agreement(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the think times after common and unique batches.

    Parameters
    ----------
    data : DataFrame
        `BatchAgreement.curves`; curves of all batches are not drawn.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> shares = {"Max, unique": [0.2, 1.0], "Last, unique": [0.4, 1.0]}
    >>> ax = plot_batch_agreement(pd.DataFrame(shares, index=[60, 600]), Figure().subplots())
    >>> ax.get_xlabel(), [line.get_label() for line in ax.lines]
    ('think time after the batch', ['Max, unique', 'Last, unique'])
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
    ax.set(xlabel="think time after the batch", ylabel="share at or below")
    style.legend_above(ax)
    return ax


def _think_times_after_batches(
    trace: Trace,
) -> tuple[NDArray[np.int64], dict[str, pd.DataFrame]]:
    """Return the user of each job that ran, and by method: user, think time, whether common."""
    user = pd.factorize(trace.column("user")[trace.ran])[0]
    order = order_by(user)
    starts, think_time = {}, {}
    for method in METHODS:
        # An infinite threshold gives each user one session, so every batch but the first has a
        # think time; the batches stay the same, since every session starts with a new batch.
        found = delimit_sessions(trace, method=method, threshold=np.inf).take(order)
        starts[method] = np.flatnonzero(np.diff(found["batch"], prepend=-1) != 0)
        think_time[method] = found["think_time"].to_numpy()
    # Every "max" batch starts at the start of a "last" batch, so it is common if it contains one.
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
    """Return the start of the batch after each; the end for the last batch."""
    return np.append(starts, n_jobs)[1:]


def _resampled_distances(
    follow: dict[str, pd.DataFrame], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return distances between common and unique think times in each draw, from binned counts."""
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


# Session lengths under each method: survival functions and histograms.

_SHORTEST = 60.0  # shortest drawn length [s]
_PER_DOUBLING = 8

# Max+Cut is not drawn: it coincides with Last+Cut.
_LINES: dict[str, dict[str, Any]] = {
    "Last": {"color": style.BLUE, "linestyle": "-"},
    "Max": {"color": style.BLUE, "linestyle": "--"},
    "Arrival": {"color": style.GREEN, "linestyle": "-"},
}
_LINES |= {
    way.name: {"color": style.ORANGE, "linestyle": dashes}
    for way, dashes in zip(
        (way for way in WAYS if way.kind == "Last+Cut"), (":", "--", "-"), strict=True
    )
}


def survival(lengths: Mapping[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Return the shares of sessions longer than times evenly spaced on a logarithmic axis.

    Parameters
    ----------
    lengths : mapping of str to ndarray
        Sorted session lengths by method. [s]

    Examples
    --------
    >>> survival({"Max": np.array([30.0, 60.0, 600.0, 6000.0])})["Max"].iloc[[0, -1]].tolist()
    [0.5, 0.0]
    """
    longest = max((float(x[-1]) for x in lengths.values() if x.size), default=0.0)
    value = np.geomspace(_SHORTEST, max(longest, 2 * _SHORTEST), 250)
    table = {
        name: 1 - np.searchsorted(x, value, side="right") / max(x.size, 1)
        for name, x in lengths.items()
    }
    return pd.DataFrame(table, index=pd.Index(value, name="value"))


def histogram(lengths: Mapping[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Count sessions in bins, eight per doubling of the length; each cut is the centre of a bin.

    Parameters
    ----------
    lengths : mapping of str to ndarray
        Sorted session lengths by method. [s]

    Examples
    --------
    >>> bins = histogram({"Max+Cut 1 h": np.array([600.0, 3600.0, 3600.0])})
    >>> bins["Max+Cut 1 h"][3600.0].item()
    2
    """
    longest = max((float(x[-1]) for x in lengths.values() if x.size), default=0.0)
    first = np.ceil(_PER_DOUBLING * np.log2(_SHORTEST / CUTS[0]))
    last = np.ceil(_PER_DOUBLING * np.log2(max(longest, CUTS[0]) / CUTS[0]))
    at = np.arange(first, last + 1)
    edges = CUTS[0] * 2 ** (np.append(at, last + 1) / _PER_DOUBLING - 0.5 / _PER_DOUBLING)
    table = {name: np.diff(np.searchsorted(x, edges, side="right")) for name, x in lengths.items()}
    value = CUTS[0] * 2 ** (at / _PER_DOUBLING)
    return pd.DataFrame(table, index=pd.Index(value, name="value"))


def plot_session_survival(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw survival functions of the session lengths on logarithmic axes.

    Parameters
    ----------
    data : DataFrame
        `SessionMethods.survival`. Max+Cut is not drawn: it coincides with Last+Cut.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> longer = survival({"Last": np.array([30.0, 60.0, 600.0, 6000.0])})
    >>> ax = plot_session_survival(longer, Figure().subplots())
    >>> ax.get_ylabel(), ax.lines[0].get_label()
    ('share of longer sessions', 'Last')
    """
    ax = style.current_axes(ax)
    for name, line in _LINES.items():
        if name in data:
            seen = data[name][data[name] > 0]
            ax.plot(seen.index, seen, **line, label=name.removeprefix("Last+"))
    ax.update_datalim([(OVERLONG, 1)])
    ax.axvline(OVERLONG, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    style.time_axis(ax.xaxis)
    style.log_axis(ax.yaxis, percent=True)
    ax.set(xlabel="session length", ylabel="share of longer sessions")
    style.legend_above(ax)
    return ax


def plot_session_lengths(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw histograms of the session lengths.

    Parameters
    ----------
    data : DataFrame
        `SessionMethods.lengths`; Last, Arrival and the cut of 1 h are drawn.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> bins = histogram({"Last": np.array([600.0, 3600.0, 3600.0])})
    >>> ax = plot_session_lengths(bins, Figure().subplots())
    >>> ax.get_ylabel(), ax.lines[0].get_ydata().tolist()
    ('sessions', [1, 2])
    """
    ax = style.current_axes(ax)
    for name in ("Last+Cut 1 h", "Last", "Arrival"):
        if name in data:
            seen = data[name][data[name] > 0]
            line = _LINES[name] | {"linestyle": "-", "linewidth": 1}
            label = name.removeprefix("Last+")
            ax.plot(seen.index, seen, **line, marker=".", markersize=3.5, label=label)
    ax.axvline(THRESHOLDS["arrival"], color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    style.time_axis(ax.xaxis)
    style.log_axis(ax.yaxis)
    ax.set(xlabel="session length", ylabel="sessions")
    style.legend_above(ax)
    return ax


def table_of_batches(found: BatchAgreement) -> Table:
    """Return the counts of batches and the think times after them."""
    columns: Columns = {
        "batches": ("batches", count),
        "common": ("common", count),
        "unique": ("unique", count),
        "common_median": ("median think time after common", duration),
        "unique_median": ("median think time after unique", duration),
    }
    text = shown(found.batches, columns).rename(str.title)
    text["distance"] = [
        with_interval(distance, low, high, number)
        for distance, low, high in found.batches[["distance", "low", "high"]].to_numpy()
    ]
    caption = (
        "Batches common to Last and Max, and other batches; think times of up to a day after them, "
        "and the largest difference between their cumulative distributions."
    )
    return Table("batches", caption, found.batches, text, folded=True)
