"""Report section on the reactions of users to the service of their jobs."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.analysis.bootstrap import N_RESAMPLES
from workloadkit.analysis.formats import count, duration, number, share, with_interval
from workloadkit.analysis.load.over_time import waits_known
from workloadkit.analysis.reactions.continuation import (
    Continuation,
    continuation_of,
    plot_continuation,
)
from workloadkit.analysis.reactions.followed import (
    RESPONSE_BINS,
    RESPONSE_TITLES,
    SLOWDOWN_BINS,
    SLOWDOWN_TITLES,
    answered,
    draw_users,
    followed_jobs,
)
from workloadkit.analysis.reactions.predictors import (
    QUANTITIES,
    TITLES,
    Predictors,
    plot_predictors,
    predictors_of,
)
from workloadkit.analysis.reactions.service_bins import (
    Reactions,
    plot_expectations,
    plot_medians,
    plot_think_time_bins,
    reactions_of,
)
from workloadkit.analysis.section import SEED, Figure, Section, Table
from workloadkit.errors import plural
from workloadkit.fields import UNKNOWN
from workloadkit.site.empirical import PUBLISHED_A, PUBLISHED_B
from workloadkit.trace import Trace

_TITLE = "User reactions to response times"


def section(trace: Trace) -> Section:
    """Report think times and the probability of continuing, by the service of jobs."""
    if missing := _missing(trace):
        return Section("reactions", _TITLE, notes=(missing,))
    jobs = followed_jobs(trace)
    weights = draw_users(jobs, rng=SEED)
    if not (jobs["think_time"] >= 0).any():
        note = "No user waited for the end of a job, so there are no think times."
        return Section("reactions", _TITLE, notes=(note,))
    found = reactions_of(jobs, weights)
    its = answered(jobs)
    del jobs
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
    """Return why reactions cannot be measured, or an empty string."""
    known = trace.column("user") != UNKNOWN
    if not trace.ran.any():
        return "No job of this log ran, so there are no reactions."
    if not (trace.ran & known).any():
        return "No user is known, so reactions are unknown."
    if not waits_known(trace):
        return "No wait time is known, so response times and slowdowns are unknown."
    return ""


def _finding(found: Reactions, predictors: Predictors) -> str:
    """Describe the probability of continuing after short and long responses, and its predictors."""
    text = ""
    bins = found.by_response[found.by_response["jobs"] > 0]
    shares = [
        f"{_cell(row, 'probability', share)} of the jobs with a response time of "
        f"{RESPONSE_TITLES[RESPONSE_BINS.index(name)]}"
        for name, row in bins.iloc[[0, -1] if len(bins) > 1 else [0]].iterrows()
    ]
    text = f"Users submit the next job within 20 min after {' and after '.join(shares)}."
    explained = predictors.quantities["explained"]
    if not explained[["response", "slowdown"]].isna().any():
        response, slowdown = (
            _cell(predictors.quantities.loc[name], "explained", share)
            for name in ("response", "slowdown")
        )
        text += (
            f" Response time explains {response} of the deviance of this decision, slowdown "
            f"{slowdown}."
        )
    return text


def _figures(found: Reactions, fit: Continuation, predictors: Predictors) -> tuple[Figure, ...]:
    figures = (
        Figure(
            "continuation",
            "Probability of continuing after a job",
            "Probability that users submit their next job within 20 min of a job's end, by "
            f"response time: {_fit_text(fit)}. Dots are bins of response times at their median, "
            "bars are 95 % intervals; the dashed line is the published curve. r is the response "
            "time in minutes.",
            fit.points,
            partial(plot_continuation, a=fit.a, b=fit.b),
        ),
        Figure(
            "medians",
            "Think times by response time and by slowdown",
            "Median time from a job's end to the user's next submission, by bin of response "
            "time and by bin of slowdown, with 95 % intervals. The relevant metric for users shows "
            "the steadier increase.",
            found.medians,
            plot_medians,
        ),
        Figure(
            "think_times",
            "Think times by response time",
            "Cumulative share of the think times after jobs with response times of up to 5, 15, 45 "
            "and 135 min, and more; shaded: 95 % intervals. The dashed line at 20 min marks the "
            "limit of a session.",
            found.think_times,
            plot_think_time_bins,
        ),
        Figure(
            "expectations",
            "Expected and unexpected response times",
            "Probability of continuing after jobs with short waits, where the response time was "
            "expected, and after jobs with short run times, where a long response time was "
            "unexpected.",
            found.expectations,
            plot_expectations,
        ),
        Figure(
            "predictors",
            "Predictors of continuing",
            "Share of the deviance of the decision to continue that the logarithm of each quantity "
            "explains, alone and in addition to response time, with 95 % intervals.",
            predictors.quantities,
            plot_predictors,
        ),
    )
    short = (found.expectations["jobs"] > 0).any()
    explained = predictors.quantities["explained"].notna().any()
    empty = {"expectations": not short, "predictors": not explained}
    return tuple(figure for figure in figures if not empty.get(figure.name))


def _notes(found: Reactions, n_answered: int) -> tuple[str, ...]:
    negative = with_interval(found.negative, *found.negative_interval)
    return (
        f"{plural(n_answered, 'job')} count: the user submitted the next job after their end. "
        f"{negative} of the next jobs came earlier and carry no information on reactions.",
        "Brackets and bars are 95 % intervals from "
        f"{N_RESAMPLES} bootstrap resamples of users (not jobs); they need at least three users.",
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
        "fit_at_bound": list(fit.at_bound),
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
    limits = f"; at a bound, so only a limit: {', '.join(fit.at_bound)}" if fit.at_bound else ""
    return (
        f"a / (b r + 1) with a = {fit.in_words('a')} and b = {fit.in_words('b')} per min, "
        f"published: {PUBLISHED_A} and {PUBLISHED_B}{limits}"
    )


def _cell(row: pd.Series, name: str, form: Callable[[float], str], limits: str = "") -> str:
    limits = limits or name
    return with_interval(row[name], row[f"{limits}_low"], row[f"{limits}_high"], form)


def _gain(value: float) -> str:
    """Format a difference of shares, which may be negative."""
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
    columns = ["jobs", "median response", "median think time", "continue within 20 min"]
    index = [f"{bin_}: {title}" for bin_, title in zip(data.index, titles, strict=True)]
    caption = f"Think time and continuation after jobs, by bin of {quantity}."
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
        "Probability of continuing within 20 min, by response time: after jobs with short waits, "
        "where the response time was expected, and after jobs with short run times, where a longer "
        "one was unexpected. Jobs with both are in both columns."
    )
    return Table("expectations", caption, data, pd.DataFrame(cells, index, dtype=object))


def _predictor_table(found: Predictors) -> Table:
    columns = {
        "correlation": ("rank correlation", number),
        "explained": ("deviance explained", share),
        "odds_ratio": ("odds ratio, tenfold", number),
        "beside_response": ("in addition to response time", _gain),
        "beyond_it": ("response time in addition", _gain),
    }
    cells = {
        title: [_cell(found.quantities.loc[q], name, form) for q in QUANTITIES]
        for name, (title, form) in columns.items()
    }
    index = [TITLES[name] for name in QUANTITIES]
    together = with_interval(found.all_explained, *found.all_interval)
    caption = (
        "Predictors of continuing within 20 min: rank correlation with the think time; and "
        "logistic models of continuing on the logarithm of each quantity: deviance explained, odds "
        "ratio for a tenfold quantity, additional deviance explained by the quantity given "
        "response time, and by response time given the quantity. All quantities together explain "
        f"{together}. Any two of response time, slowdown and run time determine the third, so "
        "slowdown and run time have equal additional deviance."
    )
    shown = pd.DataFrame(cells, index, dtype=object)
    return Table("predictors", caption, found.quantities, shown)
