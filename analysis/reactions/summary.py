"""How users react to the service of their jobs: the time they take until the next."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import N_RESAMPLES
from analysis.formats import count, duration, number, plural, share, with_interval
from analysis.load.over_time import waits_known
from analysis.reactions.continuation import Continuation, continuation_of, plot_continuation
from analysis.reactions.figures import plot_expectations, plot_medians, plot_think_time_bins
from analysis.reactions.followed import (
    RESPONSE_BINS,
    RESPONSE_TITLES,
    SLOWDOWN_BINS,
    SLOWDOWN_TITLES,
    answered,
    draw_users,
    followed_jobs,
)
from analysis.reactions.predictors import (
    QUANTITIES,
    TITLES,
    Predictors,
    plot_predictors,
    predictors_of,
)
from analysis.reactions.service_bins import Reactions, reactions_of
from analysis.section import SEED, Figure, Section, Table
from workloadkit.fields import UNKNOWN
from workloadkit.site.going_on import PUBLISHED_A, PUBLISHED_B
from workloadkit.trace import Trace

_TITLE = "How users react to response times"


def section(trace: Trace) -> Section:
    """Report think times and the decision to go on, by how jobs were served."""
    if missing := _missing(trace):
        return Section("reactions", _TITLE, notes=(missing,))
    jobs = followed_jobs(trace)
    weights = draw_users(jobs, rng=SEED)
    its = answered(jobs)
    if its.empty:
        note = "No user awaited the end of a job before the next, so there are no think times."
        return Section("reactions", _TITLE, notes=(note,))
    found = reactions_of(jobs, weights)
    fit = continuation_of(its, weights)
    predictors = predictors_of(its, weights)
    return Section(
        "reactions",
        _TITLE,
        _finding(found, predictors),
        _notes(found, len(its)),
        _values(found, fit, predictors, len(its)),
        (
            _bin_table(found.by_response, RESPONSE_TITLES, "response_bins", "response time"),
            _bin_table(found.by_slowdown, SLOWDOWN_TITLES, "slowdown_bins", "slowdown"),
            _table_of_both(found.by_both),
            _expectation_table(found.expectations),
            _predictor_table(predictors),
        ),
        _figures(found, fit, predictors),
        {"reaction_resamples": N_RESAMPLES, "seed": SEED},
    )


def _missing(trace: Trace) -> str:
    """Why there is nothing to measure, in a sentence."""
    known = trace.column("user") != UNKNOWN
    if not trace.ran.any():
        return "No job of this log ran, so there is nothing that users could react to."
    if not (trace.ran & known).any():
        return "No user is known, so it is unknown how users react."
    if not waits_known(trace):
        return "No wait time is known, so response times and slowdowns are unknown."
    return ""


def _finding(found: Reactions, predictors: Predictors) -> str:
    """Say how likely users are to go on after short and long responses, and what tells it."""
    text = ""
    bins = found.by_response[found.by_response["jobs"] > 0]
    said = [
        f"{_cell(row, 'probability', share)} of the time after a response of "
        f"{RESPONSE_TITLES[RESPONSE_BINS.index(name)]}"
        for name, row in bins.iloc[[0, -1] if len(bins) > 1 else [0]].iterrows()
    ]
    text = f"Users submit again within 20 min {' and '.join(said)}."
    told = predictors.quantities["explained"]
    if not told[["response", "slowdown"]].isna().any():
        response, slowdown = (
            _cell(predictors.quantities.loc[name], "explained", share)
            for name in ("response", "slowdown")
        )
        text += (
            f" Response time explains {response} of the deviance of that decision, slowdown "
            f"{slowdown}."
        )
    return text


def _figures(found: Reactions, fit: Continuation, predictors: Predictors) -> tuple[Figure, ...]:
    figures = (
        Figure(
            "continuation",
            "Going on after a job",
            "How likely users are to submit their next job within 20 min of a job's end, by "
            f"its response time: {_fit_text(fit)}. Dots are the bins of response times at "
            "their median, bars their 95 % intervals; dashed is the published curve. r is the "
            "response time in minutes.",
            fit.points,
            partial(plot_continuation, a=fit.a, b=fit.b),
        ),
        Figure(
            "medians",
            "Think times by response time and by slowdown",
            "Median time from a job's end to the user's next submission, by bin of response "
            "time and by bin of slowdown, with 95 % intervals. The metric that matters to "
            "users shows the steadier climb.",
            found.medians,
            plot_medians,
        ),
        Figure(
            "think_times",
            "Think times after jobs of each response time",
            "Share of the think times up to each length after jobs that responded in up to "
            "5, 15, 45 and 135 min, and in more; shaded: 95 % intervals. The dashed line is "
            "at 20 min, where a session ends.",
            found.think_times,
            plot_think_time_bins,
        ),
        Figure(
            "expectations",
            "Awaited and unexpected response times",
            "How likely users are to go on after jobs that waited little, so that they "
            "responded as expected, and after jobs that ran briefly, so that a long response "
            "came unexpected.",
            found.expectations,
            plot_expectations,
        ),
        Figure(
            "predictors",
            "What tells whether users go on",
            "Share of the deviance of the decision to go on that the logarithm of each "
            "quantity explains, alone and added to response time, with 95 % intervals.",
            predictors.quantities,
            plot_predictors,
        ),
    )
    short = (found.expectations["jobs"] > 0).any()
    told = predictors.quantities["explained"].notna().any()
    empty = {"expectations": not short, "predictors": not told}
    return tuple(figure for figure in figures if not empty.get(figure.name))


def _notes(found: Reactions, n_answered: int) -> tuple[str, ...]:
    negative = with_interval(found.negative, *found.negative_interval)
    return (
        f"Counted are {plural(n_answered, 'job')} whose user submitted the next one after their "
        f"end. {negative} of the next jobs came before it, and tell nothing of a reaction.",
        "In brackets, and as bars: 95 % intervals, from drawing users (not jobs) anew "
        f"{N_RESAMPLES} times; there is none where fewer than three users can be drawn.",
    )


def _values(
    found: Reactions, fit: Continuation, predictors: Predictors, n_answered: int
) -> dict[str, Any]:
    return {
        "jobs": found.jobs,
        "answered_jobs": n_answered,
        "users": found.users,
        "negative": found.negative,
        "negative_low": found.negative_interval[0],
        "negative_high": found.negative_interval[1],
        "fit_a": fit.a,
        "fit_a_low": fit.a_interval[0],
        "fit_a_high": fit.a_interval[1],
        "fit_b": fit.b,
        "fit_b_low": fit.b_interval[0],
        "fit_b_high": fit.b_interval[1],
        "fit_rmse": fit.rmse,
        "published_a": PUBLISHED_A,
        "published_b": PUBLISHED_B,
        "published_rmse": fit.published_rmse,
        "all_explained": predictors.all_explained,
        "all_explained_low": predictors.all_interval[0],
        "all_explained_high": predictors.all_interval[1],
    }


def _fit_text(fit: Continuation) -> str:
    if np.isnan(fit.a):
        return "there are too few bins to fit a curve"
    a = with_interval(fit.a, *fit.a_interval, number)
    b = with_interval(fit.b, *fit.b_interval, number)
    return (
        f"a / (b r + 1) with a = {a} and b = {b} per min, beside the published {PUBLISHED_A} and "
        f"{PUBLISHED_B}"
    )


def _cell(row: pd.Series, name: str, form: Callable[[float], str], limits: str = "") -> str:
    limits = limits or name
    return with_interval(row[name], row[f"{limits}_low"], row[f"{limits}_high"], form)


def _gain(value: float) -> str:
    """Write a difference of shares, which may be negative."""
    return share(value) if np.isnan(value) else f"{round(100 * value, 1) + 0.0:.1f} %"


def _bin_table(data: pd.DataFrame, titles: Sequence[str], name: str, quantity: str) -> Table:
    rows = [
        (
            count(row["jobs"]),
            duration(row["median_response"]),
            _cell(row, "median_think_time", duration, "think_time"),
            _cell(row, "probability", share),
        )
        for _, row in data.iterrows()
    ]
    columns = ["jobs", "median response", "median think time", "go on within 20 min"]
    index = [f"{bin_}: {title}" for bin_, title in zip(data.index, titles, strict=True)]
    caption = f"What follows jobs by bin of {quantity}."
    return Table(name, caption, data, pd.DataFrame(rows, index, columns, dtype=object))


def _table_of_both(data: pd.DataFrame) -> Table:
    times = data.pivot(index="response_bin", columns="slowdown_bin", values="median_think_time")
    cells = times.loc[list(RESPONSE_BINS), list(SLOWDOWN_BINS)].map(duration).astype(object)
    cells.index = [f"{x}: {title}" for x, title in zip(cells.index, RESPONSE_TITLES, strict=True)]
    cells.columns = [f"{x}: {title}" for x, title in zip(cells, SLOWDOWN_TITLES, strict=True)]
    caption = "Median think time by bin of response time (rows) and of slowdown (columns)."
    return Table("sub_bins", caption, data, cells)


def _expectation_table(data: pd.DataFrame) -> Table:
    titles = {"W": "waited up to 5 min", "E": "ran up to 5 min"}
    cells = {
        titles[kind]: [_cell(row, "probability", share) for _, row in rows.iterrows()]
        for kind, rows in data.groupby("kind", sort=False)
    }
    index = [f"{x}: {title}" for x, title in zip(RESPONSE_BINS, RESPONSE_TITLES, strict=True)]
    caption = (
        "How likely users are to go on within 20 min, by response time: after jobs that waited "
        "little, which responded as expected, and after jobs that ran briefly, whose longer "
        "responses came unexpected. Jobs that did both are in both."
    )
    return Table("expectations", caption, data, pd.DataFrame(cells, index, dtype=object))


def _predictor_table(found: Predictors) -> Table:
    columns = {
        "correlation": ("rank correlation", number),
        "explained": ("deviance explained", share),
        "odds_ratio": ("odds for the tenfold", number),
        "beside_response": ("adds to response", _gain),
        "beyond_it": ("response adds to it", _gain),
    }
    cells = {
        title: [_cell(found.quantities.loc[q], name, form) for q in QUANTITIES]
        for name, (title, form) in columns.items()
    }
    index = [TITLES[name] for name in QUANTITIES]
    together = with_interval(found.all_explained, *found.all_interval)
    caption = (
        "What tells whether users go on within 20 min: rank correlation with the think time, and "
        "logistic models of going on, on the logarithm of each quantity: the deviance explained, "
        "by what the odds of going on are multiplied for a tenfold quantity, and what it adds to "
        f"response time, and response time to it. All together explain {together}. Any two of "
        "response time, slowdown and run time tell the third, so slowdown and run time add the "
        "same."
    )
    shown = pd.DataFrame(cells, index, dtype=object)
    return Table("predictors", caption, found.quantities, shown)
