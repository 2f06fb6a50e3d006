"""Similarity of the jobs of a session, compared with a user's jobs in random order."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.locality.job_pairs import (
    ATTRIBUTES,
    MEASURES,
    UserJobs,
    compare_distances,
    quotient,
    ratios,
    user_jobs,
)
from workloadkit.analysis.locality.similarity import DISTANCES
from workloadkit.analysis.section import AnalysisResult
from workloadkit.errors import ParameterError, quoted, takes_rng
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDING = 1e-12  # tolerance for sums of ratios


@dataclass(frozen=True, eq=False)
class ShuffledSimilarity(AnalysisResult):
    """Similarity of the jobs of a session compared with a random assignment to sessions.

    Parameters
    ----------
    log : str
    test : DataFrame
        By `attribute`, `measure` and `statistic`: the value `observed` in the log; the mean of the
        `shuffled` logs and their middle 95 % range from `low` to `high`; and `p`, the probability
        of at least this value by chance. The statistic is the `mean` over users, the `pooled`
        value of all pairs, or the share of `users` with more similar jobs within sessions than in
        successive sessions.
    shuffles : DataFrame
        The same statistics as columns, one row per shuffle.
    seed : int
    """

    log: str
    test: pd.DataFrame
    shuffles: pd.DataFrame
    seed: int

    def plot(self, ax: "Axes | None" = None, *, measure: str = "average") -> "Axes":
        """Draw the mean over users in the log (line) and the distribution over shuffled logs."""
        return plot_shuffled(self.means(measure), ax)

    def means(self, measure: str) -> pd.DataFrame:
        """Return the means over users by attribute, of the log and of every shuffle."""
        chosen = {
            ATTRIBUTES[name]: [self.test.at[(name, measure, "mean"), "observed"], *values]
            for (name, of, statistic), values in self.shuffles.items()
            if (of, statistic) == (measure, "mean")
        }
        return pd.DataFrame(chosen, index=["log", *range(1, len(self.shuffles) + 1)])


@takes_rng
def shuffled_similarity(
    trace: Trace,
    *,
    measures: Collection[str] = ("average", "identical"),
    n_shuffles: int = 1000,
    rng: np.random.Generator | int | None = None,
) -> ShuffledSimilarity:
    """Test whether jobs within a session are more similar than a user's jobs in general [1]_.

    The jobs of each user are permuted over the user's sessions: sessions keep their sizes and jobs
    their attributes. The similarity within sessions is then measured again.

    Parameters
    ----------
    trace : Trace
        As for `similarity_by_distance`.
    measures : collection of str, default ("average", "identical")
        Some of "average", "identical" and "median"; the median takes ten times as long.
    n_shuffles : int, default 1000
    rng : Generator or int, optional

    Returns
    -------
    ShuffledSimilarity
        For the attributes known in the log; p is (1 + number of shuffles with at least the observed
        value) / (1 + number of shuffles).

    Raises
    ------
    ParameterError
        If a measure is unknown or `n_shuffles` is below 1.
    WorkloadError
        If no job of a known user ran.

    References
    ----------
    .. [1] N. Zakay, "Resampling with feedback: a new paradigm of using workload data for
       performance evaluation", thesis, 2018, section "Granularity of resampling", Figure 2.

    Examples
    --------
    >>> log = {"submit": [0, 1, 5000, 5001], "run": [1] * 4, "user": [5] * 4}
    >>> log |= {"procs": [2, 2, 4, 4]}
    >>> test = shuffled_similarity(Trace.from_columns(log), n_shuffles=99, rng=1).test
    >>> test.loc[("procs", "average", "mean"), ["observed", "low", "high"]].tolist()
    [1.0, 0.5, 1.0]
    """
    check_trace(trace)
    return shuffled_of(user_jobs(trace), measures=measures, n_shuffles=n_shuffles, rng=rng)


def shuffled_of(
    jobs: UserJobs,
    *,
    measures: Collection[str] = ("average", "identical"),
    n_shuffles: int = 1000,
    rng: np.random.Generator | int | None = None,
) -> ShuffledSimilarity:
    """Compute `shuffled_similarity` from extracted jobs."""
    from workloadkit._kernels.statistics import shuffled_within

    if unknown := set(measures) - set(MEASURES):
        raise ParameterError(
            f"unknown measure {quoted(min(unknown))}; known: {', '.join(MEASURES)}"
        )
    if n_shuffles < 1:
        raise ParameterError(f"n_shuffles must be 1 or more, not {n_shuffles}")
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)
    chosen = [measure for measure in MEASURES if measure in measures]
    compared = jobs.compared()
    session = jobs.session.copy()
    observed = _statistics(jobs, session, chosen, compared)
    shuffled = []
    for _ in range(n_shuffles):
        session = shuffled_within(session, jobs.first_job, generator)
        shuffled.append(list(_statistics(jobs, session, chosen, compared).values()))
    columns = pd.MultiIndex.from_tuples(observed, names=["attribute", "measure", "statistic"])
    shuffles = pd.DataFrame(shuffled, columns=columns)
    of_log = np.array(list(observed.values()))
    low, high = (shuffles.quantile(q).to_numpy() for q in (0.025, 0.975))
    reached = (shuffles.to_numpy() >= of_log - _ROUNDING).sum(axis=0)
    p = np.where(np.isnan(of_log), np.nan, (1 + reached) / (1 + n_shuffles))
    table = {"observed": of_log, "shuffled": shuffles.mean().to_numpy(), "low": low, "high": high}
    return ShuffledSimilarity(jobs.log, pd.DataFrame(table | {"p": p}, columns), shuffles, seed)


def _statistics(
    jobs: UserJobs, session: NDArray, measures: Sequence[str], compared: NDArray
) -> dict[tuple[str, str, str], float]:
    found = {}
    medians = "median" in measures
    for name in jobs.known:
        of = ratios(jobs, name, np.array(DISTANCES[0]), session=session, medians=medians)
        has, n_pairs = of.pairs[:, 0] > 0, of.pairs[:, 0].sum()
        for measure in measures:
            values = of.measure(measure)[has, 0]
            found[name, measure, "mean"] = float(quotient(values.sum(), values.size))
            if measure != "median":
                total = of.total if measure == "average" else of.identical
                found[name, measure, "pooled"] = float(quotient(total[:, 0].sum(), n_pairs))
            sign, paired = compare_distances(of, measure, 0, 1)
            larger = ((sign > 0) & paired & compared).sum()
            found[name, measure, "users"] = float(quotient(larger, compared.sum()))
    return found


def plot_shuffled(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the values of a log (line) and their distributions over shuffled logs.

    Parameters
    ----------
    data : DataFrame
        One column per quantity; the first row is the log, the others are shuffled logs.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = pd.DataFrame({"run": [0.9, 0.5, 0.6]})
    >>> ax = plot_shuffled(data, Figure().subplots())
    >>> ax.get_xlabel(), [label.get_text() for label in ax.get_yticklabels()]
    ('similarity of the jobs of a session', ['run'])
    """
    ax = style.current_axes(ax)
    for i, name in enumerate(data):
        values = data[name].dropna().to_numpy()[1:]
        if not values.size:  # no user has two jobs in a session
            continue
        middle, width = values.mean(), max(np.ptp(values), 1e-3)  # also if all values are equal
        counts, edges = np.histogram(values, 20, (middle - 0.7 * width, middle + 0.7 * width))
        label = "shuffled" if i == 0 else "_"  # an underscore excludes it from the legend
        heights = 0.75 * counts / counts.max()
        ax.stairs(i + heights, edges, baseline=i, fill=True, color=style.BLUE, label=label)
        label = "log" if i == 0 else "_"
        ax.vlines(data[name].iloc[0], i, i + 0.75, color=style.ORANGE, linewidth=2, label=label)
    ax.set_yticks(np.arange(data.shape[1]) + 0.35, list(data))
    ax.set_ylim(-0.15, data.shape[1] - 0.05)
    ax.grid(visible=False, axis="y")
    ax.set(ylabel="attribute", xlabel="similarity of the jobs of a session")
    style.legend_above(ax)
    return ax
