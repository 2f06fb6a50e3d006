"""Users who look automatic: ids behind which scripts, services, or several people submit jobs.

N. Zakay and D. G. Feitelson (JSSPP 2012) find sessions of nearly two days "unreasonable for
humans", and explain them by scripts, or by people who share an id; E. Shmueli (2008, section 5.3)
finds 70 % of all jobs in ten hours of the day. So an id has signs *in time* (no night, equal
spacing) and signs of *sameness* (equal sizes, repeated run times, a large part of the log).
"""

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import DAY, Clock
from workloadkit.fields import UNKNOWN

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.trace import Trace

#: Minimum share of jobs that agree in a field for these to be of one kind.
ALIKE = 0.95

#: Share of all jobs of a log from which jobs of one user dominate it.
DOMINATING = 0.1

#: Fewest jobs of a judged user, and fewest hours of activity for their shares by hour of the day.
FEWEST = 100

_NIGHT = 8  # hours
_HOUR = 3600
_SLEEP = 6 * _HOUR  # a longer pause may be a night [s]
_FEWEST_PAUSES = 50
_PAUSE = 60  # shorter pauses are those within a batch [s]
_EQUAL = 0.01  # times within 1 % are equal


@dataclass(frozen=True)
class AutomaticLimits:
    """Thresholds from which a measure of a user is a sign.

    Parameters
    ----------
    all_hours : float, default 0.25
        Share of the hours of activity that lie in the quietest 8 hours of the day; evenly spread
        activity has a third.
    awake : float, default 259200
        Longest time without a pause of 6 hours; three days are more than the longest sessions of
        people in the source. [s]
    spacing : float, default 0.25
        Share of the pauses of a minute or more that are equal.
    clockwork : float, default 0.5
        The same share, from which it needs no second sign.
    sizes : float, default 0.95
        Share of the jobs on the commonest number of processors, as for flurries.
    runs : float, default 0.4
        Share of the run times that are equal.
    share : float, default 0.1
        Share of all jobs of the log, as for dominating flurries.
    """

    all_hours: float = 0.25
    awake: float = 3.0 * DAY
    spacing: float = 0.25
    clockwork: float = 0.5
    sizes: float = ALIKE
    runs: float = 0.4
    share: float = DOMINATING

    def scaled(self, factor: float) -> "AutomaticLimits":
        """Return the limits multiplied, for sensitivity analysis; shares are at most 1."""
        scaled = {each.name: factor * getattr(self, each.name) for each in fields(self)}
        return replace(self, **{n: x if n == "awake" else min(x, 1.0) for n, x in scaled.items()})


LIMITS = AutomaticLimits()

#: Signs in time, and signs of sameness: columns of the table of users.
IN_TIME, OF_SAMENESS = ("all_hours", "awake", "spacing"), ("sizes", "runs", "share")


def automatic_users(trace: "Trace", *, limits: AutomaticLimits = LIMITS) -> "pd.DataFrame":
    """Measure how automatic the users of a log look.

    A user is automatic with two signs of which one is in time, or if most pauses are equal. A
    sign is a measure that reaches its limit. Users of fewer than 100 jobs are not judged.

    Parameters
    ----------
    trace : Trace
        Jobs of unknown user are left out, but count as jobs of the log.
    limits : AutomaticLimits, optional

    Returns
    -------
    DataFrame
        By `user`, most jobs first: `jobs`; the measures `all_hours`, `awake` [s], `spacing`,
        `sizes`, `runs` and `share`, see `AutomaticLimits`, NaN if there is too little to measure;
        `every`, the pause that is repeated [s], and `run`, the run time [s]; `signs`, the number of
        measures that reach their limits; `automatic`.

    Examples
    --------
    >>> import numpy as np
    >>> from workloadkit import Trace
    >>> i = np.arange(120)
    >>> by_day = 86400 * (i // 4) + 3600 * (9 + 2 * (i % 4)) + 37 * i**2 % 1800
    >>> submit = np.append(3600 * np.arange(700), by_day)  # each hour; four a day, from 9 h on
    >>> user = np.repeat([7, 8], [700, 120])
    >>> order = np.argsort(submit, kind="stable")
    >>> log = Trace.from_columns({"submit": submit[order], "user": user[order]})
    >>> automatic_users(log)[["jobs", "signs", "automatic"]].to_numpy().tolist()
    [[700, 4, True], [120, 1, False]]
    """
    table = _measures(trace).copy()
    reached = {name: table[name] >= getattr(limits, name) for name in (*IN_TIME, *OF_SAMENESS)}
    table["signs"] = np.sum([*reached.values()], axis=0, dtype=np.int64)
    in_time = np.any([reached[name] for name in IN_TIME], axis=0)
    table["automatic"] = (in_time & (table["signs"] >= 2)) | (table["spacing"] >= limits.clockwork)
    return table.astype({"jobs": np.int64}).sort_values("jobs", ascending=False, kind="stable")


@lru_cache(maxsize=1)  # sections of a report and other limits use the same measures
def _measures(trace: "Trace") -> "pd.DataFrame":
    """Return the measures of users of enough jobs, ascending by user."""
    import pandas as pd

    user, submit = trace.column("user"), trace.column("submit")
    names = ["jobs", *IN_TIME, *OF_SAMENESS, "every", "run"]
    known = np.flatnonzero(user != UNKNOWN)
    order = known[np.lexsort((submit[known], user[known]))]
    users, first, n_jobs = np.unique(user[order], return_index=True, return_counts=True)
    local = Clock.of(trace).local(submit) if trace.n_jobs else submit
    run, procs = np.where(trace.ran, trace.column("run"), np.nan), trace.used_procs
    rows = {}
    for i in np.flatnonzero(n_jobs >= FEWEST):
        jobs = order[first[i] : first[i] + n_jobs[i]]
        repeated, every = _repeated(_pauses(submit[jobs]), _FEWEST_PAUSES)
        equal, of_run = _repeated(run[jobs], FEWEST)
        rows[int(users[i])] = (
            *(int(n_jobs[i]), _in_night(local[jobs]), _awake(submit[jobs]), repeated),
            *(_of_one_size(procs[jobs]), equal, n_jobs[i] / trace.n_jobs),
            *(every, of_run),
        )
    return pd.DataFrame.from_dict(rows, orient="index", columns=names).rename_axis("user")


@lru_cache(maxsize=1)  # an expression asks for its jobs several times
def looks_automatic(trace: "Trace") -> NDArray[np.int64]:
    """Return for each job whether its user is automatic: 1 or 0, -1 for an unknown user."""
    table, user = automatic_users(trace), trace.column("user")
    found = np.isin(user, table.index[table["automatic"]])
    return np.where(user == UNKNOWN, UNKNOWN, found).astype(np.int64)


def _in_night(local: NDArray[np.float64]) -> float:
    """Return the share of the distinct hours of activity in the quietest hours of the day."""
    hours = np.unique(np.floor(local / _HOUR))
    if hours.size < FEWEST:
        return np.nan
    of_day = np.bincount((hours % 24).astype(np.int64), minlength=24)
    around = np.append(0, np.cumsum(np.append(of_day, of_day)))
    return float((around[_NIGHT:] - around[:-_NIGHT]).min() / hours.size)


def _awake(submit: NDArray[np.float64]) -> float:
    """Return the longest time in which submissions follow each other without a night."""
    begins = np.flatnonzero(np.append(True, np.diff(submit) >= _SLEEP))
    ends = np.append(begins[1:], submit.size) - 1
    return float((submit[ends] - submit[begins]).max())


def _pauses(submit: NDArray[np.float64]) -> NDArray[np.float64]:
    pauses = np.diff(submit)
    return pauses[pauses >= _PAUSE]


def _repeated(times: NDArray[np.float64], fewest: int) -> tuple[float, float]:
    """Return the largest share of known times that are equal, and the least of these times."""
    times = np.sort(times[~np.isnan(times)])
    if times.size < fewest:
        return np.nan, np.nan
    until = times + np.clip(_EQUAL * times, 1.0, _PAUSE)
    count = np.searchsorted(times, until, side="right") - np.arange(times.size)
    most = int(count.argmax())
    return float(count[most] / times.size), float(times[most])


def _of_one_size(procs: NDArray[np.float64]) -> float:
    """Return the share of the commonest number of processors among the known ones."""
    known = procs[procs > 0]
    if known.size < FEWEST:
        return np.nan
    return float(np.unique(known, return_counts=True)[1].max() / known.size)
