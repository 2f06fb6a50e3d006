"""Report section on locality."""

import numpy as np
import pandas as pd

from workloadkit.analysis.formats import UNKNOWN as UNKNOWN_NUMBER
from workloadkit.analysis.formats import count, number, share, with_interval
from workloadkit.analysis.locality.days import (
    DailyConcentration,
    concentration_curves,
    daily_concentration,
    plot_daily_concentration,
)
from workloadkit.analysis.locality.job_pairs import (
    ATTRIBUTES,
    LEAST_SESSIONS,
    UserJobs,
    user_jobs,
)
from workloadkit.analysis.locality.shuffled import ShuffledSimilarity, plot_shuffled, shuffled_of
from workloadkit.analysis.locality.similarity import (
    DISTANCES,
    NearerIsMoreAlike,
    means_by_distance,
    nearer_of,
    plot_by_distance,
    side_by_side,
)
from workloadkit.analysis.locality.stack import StackDepths, plot_stack_depths, stack_depths
from workloadkit.analysis.section import SEED, Figure, Section, Table, joined, part
from workloadkit.errors import plural
from workloadkit.fields import UNKNOWN
from workloadkit.trace import Trace

_TITLE = "Locality"
# fewer shuffles than the functions' defaults
_SHUFFLES = 100  # of each user's jobs
_LOG_SHUFFLES = 20  # of the whole log
_MAX_DISTANCE = 10
_FEW_USERS = 10  # fewer users give no meaningful share
_NOTES = (
    "The similarity of two jobs of a user is the ratio of the smaller value to the larger; 1 means "
    "equal. Sessions are delimited by arrival.",
    "Depth 0 is the top of the stack: the previous job had the same value.",
)


def section(trace: Trace) -> Section:
    """Report locality: within sessions, between sessions, and within days."""
    if not trace.ran.any():
        return Section("locality", _TITLE, notes=("No job of this log ran.",))
    depths = stack_depths(trace, n_shuffles=_LOG_SHUFFLES, rng=SEED)
    lacking = [title for name, title in ATTRIBUTES.items() if name not in depths.by_attribute.index]
    notes = (*_NOTES, *(f"No {title} is known." for title in lacking))
    parameters = {
        "locality_shuffles_of_users": _SHUFFLES,
        "locality_shuffles_of_log": _LOG_SHUFFLES,
        "seed": SEED,
    }
    return joined(
        Section("locality", _TITLE, notes=notes, parameters=parameters),
        _similarity(trace),
        _depths(depths),
        _days(trace, list(depths.by_attribute.index)),
    )


def _similarity(trace: Trace) -> Section:
    """Report the similarity of the jobs of a user within sessions and between them."""
    anonymous = int((trace.column("user")[trace.ran] == UNKNOWN).sum())
    if anonymous == trace.ran.sum():
        return part(notes=("No user is known, so jobs are not compared by session.",))
    notes: tuple[str, ...] = ()
    if anonymous:
        jobs = plural(anonymous, "job")
        notes = (f"Left out of the comparison of users: {jobs} of unknown users.",)
    work = user_jobs(trace)
    nearer = nearer_of(work)
    test = shuffled_of(work, n_shuffles=_SHUFFLES, rng=SEED)
    finding, table = _similarity_in_words(nearer, test)
    if not finding:
        notes += (
            f"A share of users who are more similar within sessions needs {_FEW_USERS} users with "
            f"{LEAST_SESSIONS} sessions or more, one of them of two jobs; "
            f"{plural(nearer.n_users, 'user has', 'users have')} them.",
        )
    values = {
        "n_users_compared": nearer.n_users,
        "users": _rows(nearer.users),
        "shuffled": _rows(test.test),
    }
    figures = tuple(_figures_of_similarity(work, test))
    return part(finding, notes, values, (table,), figures)


def _similarity_in_words(nearer: NearerIsMoreAlike, test: ShuffledSimilarity) -> tuple[str, Table]:
    """Describe the similarity of jobs within sessions in a finding and a table."""
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
            "within sessions": number(alike["observed"]),
            "shuffled": with_interval(alike["shuffled"], alike["low"], alike["high"], number),
            "p": number(alike["p"]),
            "users, same > next session": with_interval(
                near["nearer_larger"], near["low"], near["high"]
            ),
            "users, shuffled": share(users["shuffled"]),
            "users, next > second session": with_interval(
                far["nearer_larger"], far["low"], far["high"]
            ),
        }
    table = Table(
        "similarity",
        "Mean similarity of the jobs of a session, in the log and with each user's jobs shuffled "
        f"over the user's sessions (mean and 95 % range of {_SHUFFLES} shuffles; p is the "
        "probability of at least this similarity by chance); and share of users with a higher mean "
        "similarity within a session than between successive sessions, and between successive "
        "sessions than between sessions two apart (with 95 % intervals).",
        pd.DataFrame.from_dict(rows, orient="index"),
        pd.DataFrame.from_dict(text, orient="index"),
    )
    name = "requested_time" if "requested_time" in nearer.users.index else "run"
    if nearer.n_users < _FEW_USERS:
        return "", table
    near = nearer.users.loc[(name, "average", *DISTANCES[0])]
    most = test.shuffles[(name, "average", "users")].max()
    part = with_interval(near["nearer_larger"], near["low"], near["high"])
    finding = (
        f"Jobs of {part} of {plural(nearer.n_users, 'user')} are more similar in "
        f"{ATTRIBUTES[name]} within a session than in successive sessions; with each user's jobs "
        f"shuffled over the sessions, of at most {share(most)} in {_SHUFFLES} shuffles."
    )
    return finding, table


def _figures_of_similarity(jobs: UserJobs, test: ShuffledSimilarity) -> list[Figure]:
    figures = [
        Figure(
            "distance",
            "Similarity by distance",
            "Similarity of a user's jobs by the distance of their sessions (0 is the same "
            "session): mean over users of the average ratio of the smaller value to the larger; "
            "bands are 95 % intervals (bootstrap over users).",
            side_by_side(means_by_distance(jobs, "average", _MAX_DISTANCE, SEED)),
            plot_by_distance,
        )
    ]
    if (test.test["observed"].notna()).all():
        figures.append(
            Figure(
                "shuffled",
                "Similarity in sessions",
                "Mean similarity of the jobs of a session: in the log, and its distribution over "
                f"{_SHUFFLES} logs with each user's jobs shuffled over the user's sessions.",
                test.means("average"),
                plot_shuffled,
            )
        )
    return figures


def _depths(found: StackDepths) -> Section:
    """Report the depth of repeated values on a stack."""
    data = found.by_attribute
    figures: tuple[Figure, ...] = ()
    if (data["hits"] > 0).all():
        figure = Figure(
            "stack",
            "Stack depth of repeated values",
            "Cumulative share of the repeated values by their depth on the stack, in the log and "
            "(dashed) in random order; the axis is logarithmic.",
            found.curves,
            plot_stack_depths,
        )
        figures = (figure,)
    run, finding = data.loc["run"], ""
    if run["hits"]:
        finding = (
            "A run time that occurred before (within 5 %) has a mean stack depth of "
            f"{number(run['depth'])}, compared with "
            f"{with_interval(run['shuffled'], run['low'], run['high'], number)} in random order."
        )
    return part(finding, tables=(_table_of_depths(data),), figures=figures)


def _table_of_depths(data: pd.DataFrame) -> Table:
    text = {
        ATTRIBUTES[name]: {
            "repeated": share(row["hit_share"]),
            "distinct values": count(row["values"]),
            "mean depth": number(row["depth"]),
            "shuffled": with_interval(row["shuffled"], row["low"], row["high"], number),
        }
        for name, row in data.iterrows()
    }
    return Table(
        "stack_depths",
        "Share of the jobs with a value that occurred before (times within 5 %), its mean depth on "
        "a stack with the latest value on top, and its depth in random order (mean and 95 % range "
        f"of {_LOG_SHUFFLES} shuffles).",
        data,
        pd.DataFrame.from_dict(text, orient="index"),
    )


def _days(trace: Trace, attributes: list[str]) -> Section:
    """Report the concentration of a day's jobs."""
    days = {
        ATTRIBUTES[name]: daily_concentration(trace, name, n_shuffles=_LOG_SHUFFLES, rng=SEED)
        for name in attributes
    }
    figure = Figure(
        "days",
        "Daily concentration",
        "Cumulative share of the days by the share of the day's jobs in its fullest bin, in the "
        "log and (dashed) with shuffled jobs; the vertical line is 1/16. Curves of the log below "
        "those of the shuffled jobs show locality.",
        concentration_curves(days),
        plot_daily_concentration,
    )
    return part(tables=(_table_of_days(days),), figures=(figure,))


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
        "Share of the jobs of a day in its fullest bin, of 16 bins with about equal shares of the "
        f"whole log; with the log's jobs shuffled (mean and 95 % range of {_LOG_SHUFFLES} "
        "shuffles); and in the whole log.",
        pd.DataFrame.from_dict(rows, orient="index"),
        pd.DataFrame.from_dict(text, orient="index"),
    )


def _rows(table: pd.DataFrame) -> list[dict]:
    return table.reset_index().to_dict("records")


def _percent(value: float) -> str:
    return UNKNOWN_NUMBER if np.isnan(value) else f"{100 * value:.1f} %"
