"""Tasks of the study: predictions around outages, their scores and figures."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.analysis.reproduction import Drawing, Log
from workloadkit.analysis.searching import find_minimum
from workloadkit.analysis.studies.recorded_reactions.forecasting import (
    BEHAVIOURS,
    BIN,
    N_AFTER,
    N_BEFORE,
    N_DURING,
    QUANTITIES,
    RUNS,
    SCORED,
    WindowActivity,
    fitted_users,
    play,
    react,
)
from workloadkit.analysis.studies.recorded_reactions.windows import (
    Pair,
    outside,
    pairs_of,
    population_of,
    synthetic_log,
)
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# How well counts were predicted: log scores of negative binomials, and gains over open users.

#: Range of the fitted size: the relative standard error of a predicted mean is at least about 1/5.
SIZES = (0.05, 20.0)


class OutageAndControl(NamedTuple):
    """An outage and its control (None if there is none)."""

    kind: str
    outage: WindowActivity
    placebo: WindowActivity | None


def log_score(count: ArrayLike, mean: ArrayLike, size: ArrayLike) -> NDArray[np.float64]:
    """Return the log probability of a count under the negative binomial distribution.

    Its variance is mean + mean² / size. With a given size, the true mean has the best expected
    score, whatever the distribution of the counts: predictions below the mean score less, even if
    most counts are low.

    Examples
    --------
    A size of 1 is the geometric distribution, here with probabilities 1/3, 2/9, ...:

    >>> np.exp(log_score([0, 1], 2.0, 1.0)).round(4).tolist()
    [0.3333, 0.2222]
    """
    from scipy.special import gammaln

    count, mean, size = (np.asarray(values, np.float64) for values in (count, mean, size))
    ways = gammaln(count + size) - gammaln(size) - gammaln(count + 1)
    none, more = np.log(size / (size + mean)), np.log(mean / (size + mean))
    score: NDArray[np.float64] = ways + size * none + count * more
    return score


def fit_size(count: NDArray[np.float64], mean: NDArray[np.float64]) -> float:
    """Return the maximum-likelihood size of negative binomial counts with given means."""

    def misfit(log_size: float) -> float:
        return -float(log_score(count, mean, np.exp(log_size)).sum())

    low, high = np.log(SIZES)
    return float(np.exp(find_minimum(misfit, low, high, 1e-5)[0]))


def sizes_of(found: Sequence[OutageAndControl]) -> NDArray[np.float64]:
    """Return the size for each quantity, fitted on the recorded controls and their templates."""
    cases = [each.placebo for each in found if each.placebo is not None]
    if not cases:
        return np.ones(len(QUANTITIES))
    observed = np.array([case.observed[:, SCORED] for case in cases])
    base = np.array([case.base[:, SCORED] for case in cases])
    return np.array([fit_size(observed[:, q], base[:, q]) for q in range(len(QUANTITIES))])


def change_of(found: Sequence[OutageAndControl], users: str) -> NDArray[np.float64]:
    """Return the mean activity over all windows, without an outage and with it."""
    cases = [case for each in found for case in (each.outage, each.placebo) if case is not None]
    mean: NDArray[np.float64] = np.mean([case.played[users] for case in cases], axis=0)
    return mean


def forecast(
    case: WindowActivity, users: str, change: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the forecast of users in a window, by the given change or that of the window."""
    return react(case.base, *(case.played[users] if change is None else change))


def gains(
    found: Sequence[OutageAndControl], users: str, *, pooled: bool = True
) -> NDArray[np.float64]:
    """Return the gain of users over open ones in the prediction of the day after.

    Parameters
    ----------
    found : sequence of OutageAndControl
        Outages of one log, at least one.
    pooled : bool, default True
        Whether the change by an outage is the mean over all windows of the log; otherwise it is
        that of the window's templates.

    Returns
    -------
    ndarray, shape (n_outages, 2, n_quantities)
        Gains for outages and controls; NaN where there is no control. [nats per day]
    """
    size = sizes_of(found)[:, None]
    gain = np.full((len(found), 2, len(QUANTITIES)), np.nan)
    both = [(name, change_of(found, name) if pooled else None) for name in (users, "open")]
    for place, each in enumerate(found):
        for which, case in enumerate((each.outage, each.placebo)):
            if case is not None:
                ours, theirs = (
                    log_score(case.observed, forecast(case, name, change), size)[:, SCORED]
                    for name, change in both
                )
                gain[place, which] = (ours - theirs).sum(axis=1)
    return gain


#: Users in the synthetic logs of the test, in addition to open ones.
TESTED = ("fluid", "p(r)")

#: Number of outages in a task.
PART = 5


class OutagePart(NamedTuple):
    """Some outages of a log, by their positions."""

    log: Log
    places: tuple[int, ...]
    interrupted: str


class SyntheticTask(NamedTuple):
    """A synthetic log with known users, by the names of `BEHAVIOURS`."""

    log: Log
    users: str
    interrupted: str
    pooled: bool


@lru_cache(maxsize=4)
def jobs_and_pairs(log: Log) -> tuple[Trace, list[Pair]]:
    """Return the jobs of a log that ran, and its outages."""
    trace = log.read()
    trace = trace.select(trace.ran & (trace.column("user") >= 0))
    return trace, pairs_of(trace)


@lru_cache(maxsize=4)
def _behaviours(log: Log) -> dict[str, Any]:
    """Return the behaviours; p(r) is fitted on jobs that are not near an outage."""
    fitted = {"p(r)": fitted_users(outside(*jobs_and_pairs(log)))}
    return {name: fitted.get(name, name) for name in BEHAVIOURS}


@lru_cache(maxsize=4)
def _population(log: Log) -> Any:
    return population_of(jobs_and_pairs(log)[0])


def parts_of(log: Log, interrupted: str) -> list[OutagePart]:
    """Return the tasks of a recorded log."""
    places = range(len(jobs_and_pairs(log)[1]))
    return [
        OutagePart(log, tuple(places[first : first + PART]), interrupted)
        for first in range(0, len(places), PART)
    ]


def play_part(part: OutagePart, rng: np.random.Generator) -> list[OutageAndControl]:
    """Simulate users of every behaviour in some outages of a log and their controls."""
    trace, pairs = jobs_and_pairs(part.log)
    chosen = [pairs[place] for place in part.places]
    behaviours = _behaviours(part.log)
    return _play_all(trace, chosen, behaviours, rng, part.interrupted)


def gains_if_known(
    known: SyntheticTask, rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Return the gains over open users in a synthetic log, by tested behaviour."""
    trace, pairs = jobs_and_pairs(known.log)
    behaviours = _behaviours(known.log)
    drawn = synthetic_log(
        trace, _population(known.log), pairs, behaviours[known.users], rng,
        interrupted=known.interrupted,
    )  # fmt: skip
    tested = TESTED if known.users == "open" else (known.users,)
    chosen = {name: behaviours[name] for name in ("open", *tested)}
    found = [
        played
        for first in range(0, len(pairs), PART)
        for played in _play_all(
            drawn, pairs[first : first + PART], chosen, rng, known.interrupted, runs=1
        )
    ]
    return {users: gains(found, users, pooled=known.pooled) for users in tested}


def _play_all(
    trace: Trace,
    pairs: Sequence[Pair],
    behaviours: dict[str, Any],
    rng: np.random.Generator,
    interrupted: str,
    runs: int = RUNS,
) -> list[OutageAndControl]:
    """Simulate the templates of outages and of their controls."""
    windows = [pair.outage for pair in pairs]
    windows += [pair.placebo for pair in pairs if pair.placebo is not None]
    cases = iter(play(trace, windows, behaviours, rng, runs=runs, interrupted=interrupted))
    outages = [next(cases) for _ in pairs]
    return [
        OutageAndControl(pair.kind, outage, None if pair.placebo is None else next(cases))
        for pair, outage in zip(pairs, outages, strict=True)
    ]


# Recorded and predicted activity by hours from an outage.

#: Reference of the hours, and the midpoints of the bins. [h]
_HOURS = BIN / 3600
SIDES = {
    "start": _HOURS * (np.arange(-N_BEFORE, N_DURING) + 0.5),
    "end": _HOURS * (np.arange(N_AFTER) + 0.5),
}

#: Lines of the figure; users in the order of the theme's styles.
LINES = ("recorded", "fluid", "adjusted", "distribution", "open", "p(r)")


def draw_log(log: Log, found: Sequence[OutageAndControl], *, pooled: bool) -> Drawing:
    """Draw the recorded and the predicted activity around the outages of a log, as means."""
    title = f"{log.name}: means of {len(found)} outages, recorded and predicted"
    name = f"after-outages-{log.name.lower()}"
    return Drawing(name, title, table_of(found, pooled=pooled), plot_hours, (10.0, 7.5))


def table_of(found: Sequence[OutageAndControl], *, pooled: bool = True) -> pd.DataFrame:
    """Return means over outages.

    Parameters
    ----------
    found : sequence of OutageAndControl
        At least one.
    pooled : bool, default True
        See `gains`.

    Returns
    -------
    DataFrame
        A row for each `side` ("start" or "end" of the outage), bin (`hour`, its middle), `quantity`
        and `line`: `mean`. Bins that begin by the start count only outages that last as long.
    """
    cases = [each.outage for each in found]
    lines = {"recorded": [case.observed for case in cases]}
    for users in BEHAVIOURS:
        change = change_of(found, users) if pooled else None
        lines[users] = [forecast(case, users, change) for case in cases]
    whole = np.array([case.whole for case in cases])[:, None, :]
    n_whole = np.where(whole.any(axis=0), whole.sum(axis=0), np.nan)
    rows = []
    for line, values in lines.items():
        mean = (np.array(values) * whole).sum(axis=0) / n_whole
        for quantity, of_quantity in zip(QUANTITIES, mean, strict=True):
            parts = (of_quantity[: SCORED.start], of_quantity[SCORED])
            for (side, hours), part in zip(SIDES.items(), parts, strict=True):
                rows += [(side, hour, quantity, line, value)
                         for hour, value in zip(hours, part, strict=True)]  # fmt: skip
    return pd.DataFrame(rows, columns=["side", "hour", "quantity", "line", "mean"])


def plot_hours(data: pd.DataFrame, ax: "Axes | None" = None) -> "list[Axes]":
    """Plot each quantity in a row: relative to the start (left) and to the end (right).

    Parameters
    ----------
    data : DataFrame
        Result of `table_of`.
    """
    from workloadkit.analysis import style

    axes = style.panels(style.current_axes(ax), 2 * len(QUANTITIES), rows=len(QUANTITIES))
    for row, quantity in enumerate(QUANTITIES):
        pair = axes[2 * row : 2 * row + 2]
        top = 1.05 * data.loc[data["quantity"] == quantity, "mean"].max()
        for panel, side in zip(pair, SIDES, strict=True):
            its = data[(data["quantity"] == quantity) & (data["side"] == side)]
            for place, line in enumerate(LINES):
                points = its[its["line"] == line]
                look: dict[str, Any] = {"color": style.INK, "marker": "o", "zorder": 3}
                if place:
                    look = {**style.LINES[place - 1], "linewidth": 1.2}
                panel.plot(points["hour"], points["mean"], label=line, **look)
            panel.set_ylim(0, top)
            panel.set_xticks(SIDES[side][::2] - _HOURS / 2)
            if side == "start":
                panel.axvspan(0, SIDES["start"][-1] + _HOURS / 2, color=style.MUTED, alpha=0.12)
                panel.set_ylabel(quantity if row == 2 else f"{quantity} in 3 h")
            else:
                panel.tick_params(labelleft=False)
            if row == len(QUANTITIES) - 1:
                panel.set_xlabel(f"hours since the {side} of the outage")
    style.legend_above(axes[0])
    return axes
