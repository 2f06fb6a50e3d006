"""Long-term and temporary users, and their dependence.

First Table V: the number of long-term users, with more than 12 weeks between first and last job;
the number of temporary users, which are all others except those with all jobs in the first or the
last 4 weeks of the log; and the number of jobs that each kind submitted. Jobs that never ran and
jobs of unknown users are left out.

The text states 4 weeks, but its numbers of temporary users result from 60 days, counted from second
0 of the log (which may be days before the first submission) and to the last submission. No other
whole number of days gives the exact users and jobs of KTH-SP2, which is the same version of the
log, or those of SDSC-SP2; LANL-CM5 agrees exactly too. This rule was found by trials; the source
does not state it. Counts are exact in the same version of a log; in another one the margin is 5 %.

Then the claims on these users. "Many users" are at least a quarter of them. The periods of activity
of long-term users are uniform between 12 weeks and the length of the log if the largest difference
of the cumulative shares (the Kolmogorov-Smirnov distance, K-S) is at most 0.1, and the lengths of
sessions are similar if it is at most 0.2. These are the bounds of `zakay-resampling-uses` for "very
similar" and "generally similar". New users are counted in the first 4 weeks and after them.

Last, whether users are independent. A day is overloaded by one user who submits more work in it
than the machine can do in a day. The number of jobs of all other users on this day and the next is
compared with that on the same weekdays. The dependence between users is the sum of the covariances
of the hourly numbers of jobs of all pairs of users. The part explained by the cycle is that of the
means by hour of the week. "A large part" is at least half.

The source does not state which versions of the logs it used; those named here are listed in N.
Zakay's thesis (2018, Table 1.1).
"""

from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.analysis.reproduction import (
    Each,
    Log,
    Reading,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    at_most,
    below,
    printed,
    read_table,
)
from workloadkit.analysis.reproduction.runs import TEMPORARY, ZAKAY_LOGS, temporary
from workloadkit.clock import DAY, WEEK

if TYPE_CHECKING:
    import numpy as np

    from workloadkit.trace import Trace

#: Margin of a count in another version of the log.
OTHER = 0.05

#: "Many" users, the K-S distances of "uniform" and of "similar", and "a large part".
MANY, UNIFORM, SIMILAR, LARGE = 0.25, 0.1, 0.2, 0.5

#: The longest activity of a temporary user.
LONG_TERM = 12 * WEEK


class _Found(NamedTuple):
    """Users and jobs of a log by class, properties of the classes, and dependence of users.

    `new` are new users per week, early and later; `means` the means of a temporary user over those
    of a long-term one, by quantity; `others` the jobs of other users on each overloaded day and the
    next, over those on the same weekdays.
    """

    counts: dict[tuple[str, str], int]
    passing: float
    uniform: float
    new: tuple[float, float]
    means: dict[str, float]
    lengths: float
    others: list[float]
    cycle: float


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the published counts and claims with those of the available logs."""
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    tasks = [(log, dict(plan.reading)) for log in plan.logs]
    found = dict(zip(plan.logs, each(look, tasks), strict=True))
    for log in (*plan.logs, *plan.missing):
        for kind in ("long-term", "temporary"):
            for what in ("users", "jobs"):
                figure = int(published[log.name][f"{kind.replace('-', '_')}_{what}"])
                margin = OTHER if log.is_other else 0.0
                claim = printed(f"{kind} {what}", figure, "Table V", margin=margin)
                counted = found[log].counts[kind, what] if log in found else nan
                yield Result(log, claim, counted)
    for log, of_log in found.items():
        yield from _claims(log, of_log)


def look(task: tuple[Log, Reading], rng: "np.random.Generator") -> _Found:
    """Classify the users of a log, and measure the activity of each class."""
    import numpy as np

    from workloadkit import classify_users
    from workloadkit.analysis.logs.distributions import LogParts, kolmogorov_smirnov

    log, reading = task
    trace = log.read()
    classes = classify_users(trace, **temporary(reading))
    users, kinds = classes.users, ("long-term", "temporary")
    longer = np.sort(users["period"][users["period"] > LONG_TERM].to_numpy())
    length = classes.end - classes.begin
    even = np.linspace(LONG_TERM, max(length, LONG_TERM), 1001)
    sessions = LogParts(trace).sessions
    kind = users["class"].reindex(sessions["user"]).to_numpy()
    lengths = {name: np.sort(sessions["length"][kind == name].to_numpy()) for name in kinds}
    n_users = {name: classes.counts["users"][name] for name in kinds}
    a_user = {
        "jobs": {name: classes.counts["jobs"][name] / max(n_users[name], 1) for name in kinds},
        "sessions": {name: lengths[name].size / max(n_users[name], 1) for name in kinds},
    }
    return _Found(
        {
            (name, what): int(classes.counts[what][name])
            for name in kinds
            for what in ("users", "jobs")
        },
        float((users["period"] <= LONG_TERM).mean()),
        kolmogorov_smirnov(longer, even),
        classes.new_per_week,
        {what: _ratio(of["temporary"], of["long-term"]) for what, of in a_user.items()},
        kolmogorov_smirnov(lengths["long-term"], lengths["temporary"]),
        when_overloaded(trace),
        share_of_cycle(trace),
    )


def share_of_cycle(trace: "Trace") -> float:
    """Return the share of the users' common variation that is due to the weekly cycle.

    Examples
    --------
    Two users, each with a job at the same hour of every week and at another one:

    >>> from workloadkit import Trace
    >>> submit = [week * WEEK + hour * 3600 for week in range(9) for hour in (5, 5, 60 + week)]
    >>> log = {"submit": submit, "user": [1, 2, 1] * 9, "run": [60] * 27, "procs": [1] * 27}
    >>> round(share_of_cycle(Trace.from_columns(log)), 3)
    1.0
    """
    import numpy as np

    from workloadkit.clock import Clock

    submit, user = _known(trace)
    hour = (Clock.of(trace).local(submit) // 3600).astype(np.int64)
    if not hour.size:
        return nan
    hour -= hour.min() // 168 * 168
    n = int(-(-(hour.max() + 1) // 168)) * 168  # whole weeks
    every, of_cycle = (
        _common(at, user, size, weight)
        for at, size, weight in ((hour, n, 1.0), (hour % 168, 168, 168 / n))
    )
    return _ratio(of_cycle, every)


def _common(at: Any, user: Any, size: int, weight: float) -> float:
    """Sum of the covariances of the numbers of jobs of any two users, over `size` times."""
    import numpy as np

    of_all = np.bincount(at, minlength=size) * weight
    pair, count = np.unique(user * size + at, return_counts=True)
    own, jobs = pair // size, count * weight
    square = np.bincount(own, jobs**2) / size - (np.bincount(own, jobs) / size) ** 2
    return float(of_all.var() - square.sum())


def when_overloaded(trace: "Trace") -> list[float]:
    """Compare the jobs of other users, on days that one user overloads, with other weeks.

    Examples
    --------
    User 1 fills the machine on the first day of the last week; user 2 then comes less often.

    >>> from workloadkit import Trace
    >>> log = {"submit": [0, 5, DAY, WEEK, WEEK + DAY, 2 * WEEK, 2 * WEEK], "user": [2] * 6 + [1]}
    >>> work = {"run": [60] * 6 + [2 * DAY], "procs": [1] * 7}
    >>> [round(ratio, 3) for ratio in when_overloaded(Trace.from_columns(log | work))]
    [0.667]
    """
    import numpy as np
    import pandas as pd

    submit, user = _known(trace)
    if not submit.size:
        return []
    known = trace.ran & (trace.column("user") >= 0)
    work = (trace.column("run") * trace.used_procs)[known]
    day = ((submit - submit.min()) // DAY).astype(np.int64)
    machine = trace.header.procs or trace.used_procs.max()
    of_day = pd.Series(work).groupby([day, user]).sum()
    n_days = int(day.max()) + 1
    jobs = np.bincount(day, minlength=n_days)
    weekday, ratios = np.arange(n_days) % 7, []
    for first, who in of_day[of_day > machine * DAY].index:
        others = jobs - np.bincount(day[user == who], minlength=n_days)
        days = np.arange(first, min(first + 2, n_days))
        left = np.ones(n_days, np.bool_)
        left[days] = False
        usual = [others[left & (weekday == weekday[x])].mean() for x in days if left.any()]
        ratios.append(_ratio(float(others[days].sum()), float(np.sum(usual))))
    return ratios


def _known(trace: "Trace") -> tuple[Any, Any]:
    """Submissions and users, from 0, of the jobs of known users that ran."""
    import pandas as pd

    known = trace.ran & (trace.column("user") >= 0)
    return trace.column("submit")[known], pd.factorize(trace.column("user")[known])[0]


def _ratio(value: float, other: float) -> float:
    return value / other if other else nan


def _claims(log: Log, found: _Found) -> Iterator[Result]:
    """Compare the text's statements about classes of users, and about dependence, with ours."""
    from workloadkit.experiments.intervals import mean_interval

    place = "section 4"
    claim = at_least("share of users active for up to 12 weeks: many", MANY, place, "ours")
    yield Result(log, claim, found.passing)
    words = "K-S distance of longer activities from uniform ones, 12 weeks to the length of the log"
    yield Result(log, at_most(words, UNIFORM, place, "ours"), found.uniform)
    for what, value in found.means.items():
        words = f"{what} of a temporary user, relative to those of a long-term user"
        yield Result(log, below(words, 1, place, "direction"), value)
    words = "K-S distance of the lengths of sessions of temporary and of long-term users: similar"
    yield Result(log, at_most(words, SIMILAR, place, "ours"), found.lengths)
    words = "new users a week in the first 4 weeks, relative to later ones"
    early, later = found.new
    note = f"{early:.1f} and {later:.1f} a week"
    yield Result(log, above(words, 1, place, "direction"), _ratio(early, later), note=note)
    place = "section 3"
    words = "jobs of others in days that one user overloads, relative to the same weekdays"
    note = f"{len(found.others)} such days of a user"
    values = mean_interval(found.others, positive=True)
    yield Result(log, below(words, 1, place, "direction"), *values, note=note)
    words = "share of what users have in common that is the cycle of the week: a large part"
    yield Result(log, at_least(words, LARGE, place, "ours"), found.cycle)


STUDY = Study(
    name="zakay-users",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "Table V, sections 3 and 4",
    logs=ZAKAY_LOGS,
    compare=compare,
    axes=(TEMPORARY,),
)
