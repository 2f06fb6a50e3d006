"""What repeats in a log, for its report."""

from typing import Any

import numpy as np
import pandas as pd

from analysis.formats import UNKNOWN as UNKNOWN_NUMBER
from analysis.formats import count, number, plural, share, with_interval
from analysis.locality.days import (
    DailyConcentration,
    concentration_curves,
    daily_concentration,
    plot_daily_concentration,
)
from analysis.locality.job_pairs import ATTRIBUTES, UserJobs, user_jobs
from analysis.locality.similarity import (
    DISTANCES,
    NearerIsMoreAlike,
    ShuffledSimilarity,
    means_by_distance,
    nearer_of,
    shuffled_of,
)
from analysis.locality.similarity_plots import plot_by_distance, plot_shuffled, side_by_side
from analysis.locality.stack import plot_stack_depths, stack_depths
from analysis.section import SEED, Figure, Section, Table
from workloadkit.fields import UNKNOWN
from workloadkit.trace import Trace

_TITLE = "What repeats"
# In a report; the functions do more by themselves.
_SHUFFLES = 100  # of each user's jobs
_LOG_SHUFFLES = 20  # of the whole log
_MAX_DISTANCE = 10
_FEW_USERS = 10  # of fewer no share is worth a sentence
_NOTES = (
    "Two jobs of a user are alike by the ratio of the smaller value to the larger, 1 being the "
    "same; sessions are those by arrival.",
    "Depth 0 is the top of the stack: the job before had the same value.",
)


def section(trace: Trace) -> Section:
    """Report what users repeat: in a session, from session to session, and in a day."""
    if not trace.ran.any():
        return Section("locality", _TITLE, notes=("No job of this log ran.",))
    notes = list(_NOTES)
    findings: list[str] = []
    values: dict[str, Any] = {}
    tables: list[Table] = []
    figures: list[Figure] = []
    depths = stack_depths(trace, n_shuffles=_LOG_SHUFFLES, rng=SEED)
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
        test = shuffled_of(work, n_shuffles=_SHUFFLES, rng=SEED)
        finding, table = _similarity_in_words(nearer, test)
        findings += finding
        tables += table
        figures += _figures_of_similarity(work, test)
        values |= {"n_users_compared": nearer.n_users}
        values |= {"users": _rows(nearer.users), "shuffled": _rows(test.test)}
    days = {
        ATTRIBUTES[name]: daily_concentration(trace, name, n_shuffles=_LOG_SHUFFLES, rng=SEED)
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
            "seed": SEED,
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
            "shuffled": with_interval(alike["shuffled"], alike["low"], alike["high"], number),
            "p": number(alike["p"]),
            "users: session over next": with_interval(
                near["nearer_larger"], near["low"], near["high"]
            ),
            "users, shuffled": share(users["shuffled"]),
            "users: next over second": with_interval(far["nearer_larger"], far["low"], far["high"]),
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
    part = with_interval(near["nearer_larger"], near["low"], near["high"])
    finding = (
        f"For {part} of {plural(nearer.n_users, 'user')} the jobs of one session are more alike "
        f"in {ATTRIBUTES[name]} than those of successive sessions; with jobs shuffled among each "
        f"user's sessions, for at most {share(most)} in {_SHUFFLES} tries."
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
            side_by_side(means_by_distance(jobs, "average", _MAX_DISTANCE, SEED)),
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
            "shuffled": with_interval(row["shuffled"], row["low"], row["high"], number),
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
            "shuffled": with_interval(of.shuffled, of.low, of.high, _percent),
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
        f"back, in random order {with_interval(run['shuffled'], run['low'], run['high'], number)}."
    ]


def _rows(table: pd.DataFrame) -> list[dict]:
    return table.reset_index().to_dict("records")


def _percent(value: float) -> str:
    return UNKNOWN_NUMBER if np.isnan(value) else f"{100 * value:.1f} %"
