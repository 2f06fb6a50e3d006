"""What a log shows, or several combined, and the source's figures of it."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.analysis.reproduction import Drawing, Log
from workloadkit.analysis.reproduction.runs import without_cancelled
from workloadkit.distinct import distinct
from workloadkit.site.distributions import LONGEST_BREAK, SESSION

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from workloadkit.analysis.reactions.service_bins import Reactions
    from workloadkit.site import Empirical, SiteDistributions


_SEED = 31

#: The largest number below 0.
_BELOW_ZERO = float(np.nextafter(0.0, -1.0))

#: Kinds of jobs by whether users could expect their response times (Figure 4.7).
KINDS = {"wait": "short waits", "run": "short runs"}


class SiteTask(NamedTuple):
    """One log, or several combined, with or without cancelled jobs."""

    logs: tuple[Log, ...]
    cancelled: str


class SiteFindings(NamedTuple):
    """Measurements of one log, or of several combined.

    Parameters
    ----------
    site : SiteDistributions
        Distributions of submissions and jobs.
    reactions : Reactions
        Think times by the service of the previous jobs.
    variation : mapping of str to float
        Coefficients of variation, by quantity.
    slowdown_correlation : float
        Rank correlation of think time and slowdown.
    slowdowns : mapping of str to sequence of float
        By kind of job: the median slowdown in each bin of response time.
    """

    site: "SiteDistributions"
    reactions: "Reactions"
    variation: Mapping[str, float]
    slowdown_correlation: float
    slowdowns: "Mapping[str, pd.Series]"


def look(task: SiteTask, rng: "np.random.Generator") -> SiteFindings:
    """Measure one log, or several combined."""
    from workloadkit.analysis.reactions import followed_jobs
    from workloadkit.analysis.reactions.followed import RESPONSE_BINS, SHORT, answered, draw_users
    from workloadkit.analysis.reactions.service_bins import reactions_of
    from workloadkit.site import site_distributions

    traces = [without_cancelled(log, task.cancelled) for log in task.logs]
    jobs = followed_jobs(traces)
    its = answered(jobs)
    columns = {"response time": "response", "slowdown": "slowdown", "think time": "think_time"}
    varies = {words: variation(its[column]) for words, column in columns.items()}
    for i, name in enumerate(RESPONSE_BINS):
        varies[f"slowdown in {name}"] = variation(its["slowdown"][its["response_bin"] == i])
    slowdowns = {}
    for quantity, words in KINDS.items():
        short = its[its[quantity] <= SHORT]
        varies[f"response time of {words}"] = variation(short["response"])
        medians = short.groupby("response_bin")["slowdown"].median()
        slowdowns[words] = medians.reindex(range(len(RESPONSE_BINS)))
    return SiteFindings(
        site_distributions(traces),
        reactions_of(jobs, draw_users(jobs, rng=_SEED)),
        varies,
        float(its["slowdown"].corr(its["think_time"], method="spearman")),
        slowdowns,
    )


def variation(values: ArrayLike) -> float:
    """Return the coefficient of variation, NaN of fewer than two values.

    Examples
    --------
    >>> round(variation([1, 2, 3]), 9)
    0.5
    """
    from workloadkit.analysis.distributions.marginals import describe

    return describe(values)["cv"]


def awaited(of: "Empirical", times: ArrayLike) -> NDArray[np.float64]:
    """Return the shares of the think times from 0 on that are at or below each time."""
    before = of.share_at_most(_BELOW_ZERO)
    with np.errstate(invalid="ignore"):
        shares: NDArray[np.float64] = (of.share_at_most(times) - before) / (1 - before)
    return shares


def _from_straight(of: "Empirical", low: float, high: float) -> tuple[NDArray, NDArray]:
    """Return each minute, and the height of the cumulative shares above a straight line.

    Only values between `low` and `high` count.
    """
    at = np.arange(low, high + 1, 60.0)
    shares = of.share_at_most(at)
    with np.errstate(invalid="ignore"):
        shares = (shares - shares[0]) / (shares[-1] - shares[0])
    return at, shares - (at - low) / (high - low)


def knee(of: "Empirical", longest: float = LONGEST_BREAK) -> float:
    """Return the knee of the cumulative shares of think times, to a minute [1]_.

    It is the point from 0 to `longest` that is farthest above a straight line. [s]

    References
    ----------
    .. [1] V. Satopaa, J. Albrecht, D. Irwin, B. Raghavan, "Finding a 'kneedle' in a haystack:
       detecting knee points in system behavior", ICDCS Workshops 2011.

    Examples
    --------
    Half of the think times are spread over 20 min, and half over the rest of 8 h:

    >>> from workloadkit.site import Empirical
    >>> minutes = [*range(1, 21), *range(43, 481, 23)]
    >>> knee(Empirical.of([60 * minute for minute in minutes])) / 60
    20.0
    """
    at, above = _from_straight(of, 0.0, longest)
    return float("nan") if np.isnan(above).any() else float(at[np.argmax(above)])


def unevenness(of: "Empirical") -> float:
    """Return the largest distance of the cumulative shares, 20 min to 8 h, from a straight line."""
    return float(np.abs(_from_straight(of, SESSION, LONGEST_BREAK)[1]).max())


def steepest_rise(of: "Empirical") -> float:
    """Return the largest share of 20 min over that of the 20 min before, from 20 min to 8 h."""
    shares = np.diff(of.share_at_most(np.arange(SESSION, LONGEST_BREAK + 1, SESSION)))
    if not (shares > 0).all():
        return float("nan")
    return float((shares[1:] / shares[:-1]).max())


def largest_difference(of: "list[Empirical]") -> float:
    """Return the largest difference of the cumulative shares of any two distributions.

    Examples
    --------
    >>> from workloadkit.site import Empirical
    >>> largest_difference([Empirical.of(x) for x in ([1, 1], [1, 2], [1, 2, 2, 2])])
    0.75
    """
    at = distinct(np.concatenate([each.values for each in of]))
    return spread(np.array([each.share_at_most(at) for each in of]))


def spread(rows: ArrayLike) -> float:
    """Return the largest difference of two rows at one position; NaN if a value is unknown."""
    rows = np.asarray(rows, dtype=np.float64)
    return float(np.ptp(rows, axis=0).max()) if len(rows) > 1 and rows.size else float("nan")


# The source's figures of its logs, drawn from ours.

#: Distributions, and what the source's figures call them.
DISTRIBUTIONS = {
    "since_end": "Figures 3.3, 4.3 and 5.2. Think times",
    "batch_width": "Figures 3.5 and 5.6b. Batch widths",
    "gap": "Figure 3.6. Times between the submissions of a batch",
    "think_time": "Figures 3.7 and 5.4a. Think times between batches, up to 20 min",
    "size": "Figures 3.8 and 5.5a. Job sizes",
    "run": "Figures 3.9 and 5.5b. Run times",
    "repetition": "Figures 3.10 and 5.6a. Jobs of the same size in a row",
    "break_time": "Figure 5.4b. Breaks, up to 8 h",
}
CYCLES = {
    "hour": "Figure 5.8a. Submissions by hour of the day",
    "weekday": "Figure 5.8b. Submissions by day of the week",
}


def draw_all(found: Mapping[Log, SiteFindings], together: SiteFindings) -> Iterator[Drawing]:
    """Draw each figure: a curve for each log, and for all combined."""
    from workloadkit.analysis.reactions.service_bins import plot_think_time_bins
    from workloadkit.analysis.site import (
        plot_site_curves,
        plot_site_cycle,
        site_curves,
        site_cycle,
    )

    site = together.site
    for name, title in DISTRIBUTIONS.items():
        plot = partial(plot_site_curves, what=name)
        yield Drawing(f"shmueli-logs-{name}", title, site_curves(site, name), plot)
    for name, title in CYCLES.items():
        yield Drawing(f"shmueli-logs-{name}", title, site_cycle(site, name), plot_site_cycle)
    for log, its in found.items():
        yield Drawing(
            f"shmueli-logs-bins-{log.name}",
            f"Figure 4.4. Think times by the response time before, {log.name}",
            its.reactions.think_times,
            plot_think_time_bins,
        )
    yield _mapping(found)


def _mapping(found: Mapping[Log, SiteFindings]) -> Drawing:
    """Return Figure 4.5: the probability to continue, by the previous response time."""
    import pandas as pd

    columns = ["median_response", "probability"]
    parts = {log.name: its.reactions.by_response[columns] for log, its in found.items()}
    data = pd.concat(parts, names=["log", "bin"]).dropna()
    title = "Figure 4.5. How likely users go on, by response time"
    return Drawing("shmueli-logs-mapping", title, data, _plot_mapping)


def _plot_mapping(data: "pd.DataFrame", ax: "Axes | None" = None) -> "Axes":
    from workloadkit.analysis import style
    from workloadkit.analysis.reactions.service_bins import probability_axes

    ax = style.current_axes(ax)
    for (name, points), line in zip(data.groupby(level="log"), style.LINES, strict=False):
        at = points["median_response"].clip(lower=1.0)
        ax.plot(at, points["probability"], **line, marker="o", markersize=4, label=name)
    return probability_axes(ax)
