"""How soon the same jobs come again, and whatever else users repeat."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from analysis.day_concentration import (
    DailyConcentration,
    check_shuffles,
    concentration_curves,
    daily_concentration,
    mean_and_range,
    plot_daily_concentration,
    plot_log_and_shuffled,
)
from analysis.formats import UNKNOWN as UNKNOWN_NUMBER
from analysis.formats import count, number, plural, share
from analysis.job_pairs import ATTRIBUTES, UserJobs, attribute_values, user_jobs
from analysis.section import Figure, Result, Section, Table
from analysis.similarity import (
    DISTANCES,
    NearerIsMoreAlike,
    ShuffledSimilarity,
    means_by_distance,
    nearer_of,
    shuffled_of,
)
from analysis.similarity_plots import plot_by_distance, plot_shuffled, side_by_side
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace

_TITLE = "What repeats"
# In a report; the functions do more by themselves.
_SEED = 1
_SHUFFLES = 100  # of each user's jobs
_LOG_SHUFFLES = 20  # of the whole log
_MAX_DISTANCE = 10
_FEW_USERS = 10  # of fewer no share is worth a sentence
_NOTES = (
    "Two jobs of a user are alike by the ratio of the smaller value to the larger, 1 being the "
    "same; sessions are those by arrival.",
    "Depth 0 is the top of the stack: the job before had the same value.",
)

#: How much a value may differ from one on the stack to be the same again: times need not be the
#: same to the second (Zakay 2018, section 5.2).
TOLERANCES = {"procs": 0.0, "requested_time": 0.05, "run": 0.05}


@dataclass(frozen=True, eq=False)
class StackDepths(Result):
    """How deep values are found on a stack of the values before them.

    Parameters
    ----------
    log : str
    by_attribute : DataFrame
        By `attribute`: the `tolerance`; `jobs` of known value; `hits`, those whose value was found,
        and their share `hit_share`; `values`, how many are on the stack in the end; the mean
        `depth` of the hits, and the mean depth if the same values come in random order, `shuffled`,
        with the range from `low` to `high` in which 95 % of the shuffles lie.
    curves : DataFrame
        By depth, the share of the hits that are found at most so deep: for each attribute in the
        log, and in one shuffle.
    seed : int
    """

    log: str
    by_attribute: pd.DataFrame
    curves: pd.DataFrame
    seed: int

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how deep values are found, in the log and shuffled."""
        return plot_stack_depths(self.curves, ax)


def stack_depth(values: ArrayLike, tolerance: float = 0.0) -> float:
    """Return the mean depth at which values are found on a stack of the values before them [1]_.

    Each value is looked for from the top, which has depth 0. The first entry that differs from it
    by at most `tolerance` times the entry is taken out and put on top; if there is none, the value
    itself is put on top.

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN is left out.
    tolerance : float, default 0
        How much a value may differ from a stored one, as a share of the stored one.

    Returns
    -------
    float
        NaN if no value is ever found.

    Raises
    ------
    ParameterError
        If the tolerance is negative.

    References
    ----------
    .. [1] N. Zakay, "Resampling with feedback: a new paradigm of using workload data for
       performance evaluation", thesis, 2018, section "Locality" and Table VI.

    Examples
    --------
    >>> stack_depth([8, 4, 8, 8])
    0.5
    >>> stack_depth([100, 104, 109], tolerance=0.05)
    0.0
    """
    values = np.asarray(values, dtype=np.float64)
    values, search = _searched(values[~np.isnan(values)], tolerance)
    return _mean_depth(search(values)[0])


def stack_depths(
    trace: Trace, *, n_shuffles: int = 100, rng: np.random.Generator | int | None = None
) -> StackDepths:
    """Measure how soon processors, requested times and run times of jobs come again.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out.
    n_shuffles : int, default 100
    rng : Generator or int, optional

    Returns
    -------
    StackDepths
        For the attributes that the log knows; times are the same again within 5 %, as in the
        source's Table VI.

    Raises
    ------
    ParameterError
        If there is no shuffle to do.
    WorkloadError
        If no job ran.

    See Also
    --------
    stack_depth : the definition.

    Examples
    --------
    >>> log = {"submit": [0, 1, 2, 3], "run": [60, 61, 900, 61], "procs": [1, 1, 4, 4]}
    >>> found = stack_depths(Trace.from_columns(log), rng=1).by_attribute
    >>> found[["hits", "values", "depth"]]
               hits  values  depth
    attribute
    procs         2       2    0.0
    run           2       2    0.5
    """
    from workloadkit._kernels.locality import shuffle_within

    check_shuffles(n_shuffles)
    if not trace.ran.any():
        raise WorkloadError(f"{trace.name}: no job ran, so there is nothing to look for")
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)
    rows, curves = {}, {}
    for name, tolerance in TOLERANCES.items():
        values = attribute_values(trace, name)
        values = values[values >= 0]
        if not values.size:
            continue
        values, search = _searched(values, tolerance)
        depths, n_stored = search(values)
        curves[ATTRIBUTES[name]] = depths[depths >= 0]
        hits, mean = curves[ATTRIBUTES[name]].size, _mean_depth(depths)
        means = np.empty(n_shuffles)
        mixed = values.copy()
        for i in range(n_shuffles):
            shuffle_within(mixed, np.array([0, mixed.size]), generator)
            depths, _ = search(mixed)
            means[i] = _mean_depth(depths)
        curves[f"{ATTRIBUTES[name]}, shuffled"] = depths[depths >= 0]
        share = hits / values.size
        rows[name] = (tolerance, values.size, hits, share, n_stored, mean, *mean_and_range(means))
    index = pd.Index(rows, name="attribute")
    columns = ["tolerance", "jobs", "hits", "hit_share", "values", "depth"]
    table = pd.DataFrame(list(rows.values()), index, [*columns, "shuffled", "low", "high"])
    return StackDepths(trace.name, table, _shares_at_most(curves), seed)


def plot_stack_depths(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw how deep values are found on the stack, as `StackDepths.curves` has it.

    Parameters
    ----------
    data : DataFrame
    ax : Axes, optional
        Default: the current Axes.
    """
    label = "place on the stack, the top being 1"
    return plot_log_and_shuffled(data, ax, x=label, y="share of hits")


def _searched(
    values: NDArray[np.float64], tolerance: float
) -> tuple[NDArray, Callable[[NDArray], tuple[NDArray[np.int64], int]]]:
    """Values, and what finds the depth of each, -1 where it is new, and how many are stored."""
    from workloadkit._kernels.locality import exact_depths, near_depths

    if not tolerance >= 0:  # written so that NaN is refused
        raise ParameterError(f"tolerance must be 0 or more, not {tolerance:g}")
    if tolerance > 0:
        return values, lambda values: near_depths(values, float(tolerance))
    distinct, code = np.unique(values, return_inverse=True)
    return code, lambda code: exact_depths(code, distinct.size)


def _mean_depth(depths: NDArray[np.int64]) -> float:
    found = depths[depths >= 0]
    return float(found.mean()) if found.size else np.nan


def _shares_at_most(depths: dict[str, NDArray[np.int64]]) -> pd.DataFrame:
    """Shares of the hits at most so deep, by place on the stack, even on a logarithmic axis."""
    deepest = max((int(d.max(initial=0)) for d in depths.values()), default=0) + 1
    place = np.unique(np.geomspace(1, deepest, 100).round().astype(np.int64))
    curves = {
        name: np.searchsorted(np.sort(d), place - 1, side="right") / max(d.size, 1)
        for name, d in depths.items()
    }
    return pd.DataFrame(curves, index=pd.Index(place, name="place"))


def section(trace: Trace) -> Section:
    """Report what users repeat: in a session, from session to session, and in a day."""
    if not trace.ran.any():
        return Section("locality", _TITLE, notes=("No job of this log ran.",))
    notes = list(_NOTES)
    findings: list[str] = []
    values: dict[str, Any] = {}
    tables: list[Table] = []
    figures: list[Figure] = []
    depths = stack_depths(trace, n_shuffles=_LOG_SHUFFLES, rng=_SEED)
    lacking = [title for name, title in ATTRIBUTES.items() if name not in depths.by_attribute.index]
    notes += [f"No {title} is known, so it is left out." for title in lacking]
    anonymous = int((trace.column("user")[trace.ran] == UNKNOWN).sum())
    if anonymous == trace.ran.sum():
        notes.append("No user is known, so the jobs of sessions are not compared.")
    else:
        if anonymous:
            jobs = plural(anonymous, "job")
            notes.append(f"Left out where users are compared: {jobs} of no known user.")
        work = user_jobs(trace)
        nearer = nearer_of(work)
        test = shuffled_of(work, n_shuffles=_SHUFFLES, rng=_SEED)
        finding, table = _similarity_in_words(nearer, test)
        findings += finding
        tables += table
        figures += _figures_of_similarity(work, test)
        values |= {"n_users_compared": nearer.n_users}
        values |= {"users": _rows(nearer.users), "shuffled": _rows(test.test)}
    days = {
        ATTRIBUTES[name]: daily_concentration(trace, name, n_shuffles=_LOG_SHUFFLES, rng=_SEED)
        for name in depths.by_attribute.index
    }
    tables += [_table_of_depths(depths.by_attribute), _table_of_days(days)]
    if (depths.by_attribute["hits"] > 0).all():
        figures.append(
            Figure(
                "stack",
                "How soon values come again",
                "Share of the jobs whose value came before that find it at most so deep on the "
                "stack, in the log and dashed in random order; the axis is logarithmic.",
                depths.curves,
                plot_stack_depths,
            )
        )
    figures.append(
        Figure(
            "days",
            "Concentration of days",
            "Share of the days whose fullest bin has at most so many of the day's jobs, in the log "
            "and dashed with the jobs shuffled; the vertical line is 1/16. Curves of the log that "
            "lie below those of the shuffled jobs show locality.",
            concentration_curves(days),
            plot_daily_concentration,
        )
    )
    findings += _depths_in_words(depths.by_attribute)
    return Section(
        "locality",
        _TITLE,
        " ".join(findings),
        tuple(notes),
        values,
        tuple(tables),
        tuple(figures),
        {
            "locality_shuffles_of_users": _SHUFFLES,
            "locality_shuffles_of_log": _LOG_SHUFFLES,
            "locality_seed": _SEED,
        },
    )


def _similarity_in_words(
    nearer: NearerIsMoreAlike, test: ShuffledSimilarity
) -> tuple[list[str], list[Table]]:
    """Say how alike the jobs of sessions are, and put it into a table."""
    rows, text = {}, {}
    for name in nearer.users.index.unique("attribute"):
        alike = test.test.loc[(name, "average", "mean")]
        users = test.test.loc[(name, "average", "users")]
        near, far = (nearer.users.loc[(name, "average", *pair)] for pair in DISTANCES)
        rows[ATTRIBUTES[name]] = {
            "in_session": alike["observed"],
            "shuffled": alike["shuffled"],
            "shuffled_low": alike["low"],
            "shuffled_high": alike["high"],
            "p": alike["p"],
            "users_nearer": near["nearer_larger"],
            "users_nearer_low": near["low"],
            "users_nearer_high": near["high"],
            "users_nearer_shuffled": users["shuffled"],
            "users_next": far["nearer_larger"],
            "users_next_low": far["low"],
            "users_next_high": far["high"],
        }
        text[ATTRIBUTES[name]] = {
            "in a session": number(alike["observed"]),
            "shuffled": _with_range(number, alike["shuffled"], alike["low"], alike["high"]),
            "p": number(alike["p"]),
            "users: session over next": _with_range(
                share, near["nearer_larger"], near["low"], near["high"]
            ),
            "users, shuffled": share(users["shuffled"]),
            "users: next over second": _with_range(
                share, far["nearer_larger"], far["low"], far["high"]
            ),
        }
    table = Table(
        "similarity",
        "Mean similarity of the jobs of a session, in the log and with each user's jobs shuffled "
        f"among the user's sessions (mean and 95 % range of {_SHUFFLES} shuffles; p is the "
        "probability of so large a similarity by chance); and for how "
        "many users the jobs of a session are on average more alike than those of successive "
        "sessions, and those more than jobs two sessions apart (with 95 % intervals).",
        pd.DataFrame.from_dict(rows, orient="index"),
        pd.DataFrame.from_dict(text, orient="index"),
    )
    name = "requested_time" if "requested_time" in nearer.users.index else "run"
    if nearer.n_users < _FEW_USERS:
        return [], [table]
    near = nearer.users.loc[(name, "average", *DISTANCES[0])]
    most = test.shuffles[(name, "average", "users")].max()
    of = f"{share(near['nearer_larger'])} of {plural(nearer.n_users, 'user')}"
    finding = (
        f"For {of} (95 % interval {share(near['low'])} to {share(near['high'])}) the jobs of one "
        f"session are more alike in {ATTRIBUTES[name]} than those of successive sessions; with "
        f"jobs shuffled among each user's sessions, for at most {share(most)} in {_SHUFFLES} tries."
    )
    return [finding], [table]


def _figures_of_similarity(jobs: UserJobs, test: ShuffledSimilarity) -> list[Figure]:
    figures = [
        Figure(
            "distance",
            "Similarity by distance",
            "Similarity of a user's jobs by the distance of their sessions, 0 being the same "
            "session: mean of the users who have such jobs, each with the average ratio of the "
            "smaller value to the larger; bands are 95 % intervals by resampling users.",
            side_by_side(means_by_distance(jobs, "average", _MAX_DISTANCE, _SEED)),
            plot_by_distance,
        )
    ]
    if (test.test["observed"].notna()).all():
        figures.append(
            Figure(
                "shuffled",
                "Similarity in sessions",
                "Mean similarity of the jobs of a session: in the log, and its distribution in "
                f"{_SHUFFLES} logs with each user's jobs shuffled among the user's sessions.",
                test.means("average"),
                plot_shuffled,
            )
        )
    return figures


def _table_of_depths(data: pd.DataFrame) -> Table:
    text = {
        ATTRIBUTES[name]: {
            "found again": share(row["hit_share"]),
            "different values": count(row["values"]),
            "mean depth": number(row["depth"]),
            "shuffled": _with_range(number, row["shuffled"], row["low"], row["high"]),
        }
        for name, row in data.iterrows()
    }
    return Table(
        "stack_depths",
        "How many values of jobs came before (times within 5 %), how deep they are found on a "
        "stack that keeps the latest on top, and how deep in random order (mean and 95 % range of "
        f"{_LOG_SHUFFLES} shuffles).",
        data,
        pd.DataFrame.from_dict(text, orient="index"),
    )


def _table_of_days(days: dict[str, DailyConcentration]) -> Table:
    numbers = ("mean", "shuffled", "low", "high")
    rows = {
        name: {**{x: getattr(of, x) for x in numbers}, "whole_log": float(of.bins.max())}
        for name, of in days.items()
    }
    text = {
        name: {
            "mean of days": _percent(of.mean),
            "shuffled": _with_range(_percent, of.shuffled, of.low, of.high),
            "whole log": _percent(of.bins.max()),
        }
        for name, of in days.items()
    }
    return Table(
        "days",
        "Share of the jobs of a day in the fullest of 16 bins that divide the whole log equally, "
        "as far as equal values allow; the same with the log's jobs shuffled (mean and 95 % "
        f"range of {_LOG_SHUFFLES} shuffles), and in the whole log.",
        pd.DataFrame.from_dict(rows, orient="index"),
        pd.DataFrame.from_dict(text, orient="index"),
    )


def _depths_in_words(data: pd.DataFrame) -> list[str]:
    run = data.loc["run"]
    if not run["hits"]:
        return []
    return [
        f"A run time that came before (within 5 %) lies on average {plural(run['depth'], 'other')} "
        f"back, in random order {_with_range(number, run['shuffled'], run['low'], run['high'])}."
    ]


def _with_range(form: Callable[[float], str], value: float, low: float, high: float) -> str:
    return form(value) if np.isnan(low) else f"{form(value)} ({form(low)} to {form(high)})"


def _rows(table: pd.DataFrame) -> list[dict]:
    return table.reset_index().to_dict("records")


def _percent(value: float) -> str:
    return UNKNOWN_NUMBER if np.isnan(value) else f"{100 * value:.1f} %"
