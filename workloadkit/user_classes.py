"""Long-term and temporary users of a log."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK
from workloadkit.display import Displayed, current_axes
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError
from workloadkit.fields import UNKNOWN
from workloadkit.settings.resampling import EDGE, LONG_TERM, Classify
from workloadkit.settings.setting import takes
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: The classes of users, in the order of tables.
CLASSES = ("long-term", "temporary", "truncated")

_BIN = 4  # weeks; the limit of 12 weeks is a bin edge
_MOST_BINS = 60  # a figure can show no more
_MOST_WEEKS = 1000


@dataclass(frozen=True, eq=False)
class UserClasses(Displayed):
    """Long-term and temporary users, as returned by `classify_users`.

    Parameters
    ----------
    users : DataFrame
        By `user`, in order of first jobs: `first` and `last`, the submissions of the first and
        the last job [s]; `period`, the time between them [s]; `jobs`; `class`.
    counts : DataFrame
        By class: `users`, `jobs` and their shares, `users_share` and `jobs_share`.
    seen : DataFrame
        By `week` of the log, from 0: `users`, the number seen before that week; at most a thousand
        weeks of a longer log.
    begin, end : float
        Begin and end of logging. [s]
    """

    users: "pd.DataFrame"
    counts: "pd.DataFrame"
    seen: "pd.DataFrame"
    begin: float
    end: float

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw how many users were seen by each week."""
        ax = current_axes(ax)
        ax.plot(self.seen.index, self.seen["users"])
        ax.set_xlabel("week of the log")
        ax.set_ylabel("users seen so far")
        return ax

    def _summary(self) -> str:
        users = ", ".join(f"{n:,} {name}" for name, n in self.counts["users"].items())
        return f"{users} users, {self.weeks:.1f} weeks"

    @property
    def weeks(self) -> float:
        """Weeks from the begin of logging to its end."""
        return (self.end - self.begin) / WEEK

    @property
    def new_per_week(self) -> tuple[float, float]:
        """New users per week in the first four weeks, and after them; NaN if the log is shorter."""
        early = int((self.users["first"] < self.begin + EDGE).sum())
        later = self.weeks - EDGE / WEEK
        rest = (len(self.users) - early) / later if later > 0 else np.nan
        return early / (EDGE / WEEK), rest

    @property
    def periods(self) -> "pd.DataFrame":
        """Number of users by period of activity, in bins of 4 weeks or more.

        Returns
        -------
        DataFrame
            By `weeks`, the lower edge of the bin: `long_term` and `other` users. A period on an
            edge belongs to the lower bin, because exactly 12 weeks is not yet long-term.
        """
        import pandas as pd

        weeks = self.users["period"].to_numpy() / WEEK
        width = _BIN * max(1, int(np.ceil(self.weeks / _BIN / _MOST_BINS)))
        place = np.maximum(np.ceil(weeks / width).astype(np.int64) - 1, 0)
        n_bins = max(int(np.ceil(self.weeks / width)), int(LONG_TERM / WEEK / _BIN))
        is_long_term = self.users["class"].to_numpy() == CLASSES[0]
        counts = {
            name: np.bincount(place[chosen], minlength=n_bins)
            for name, chosen in (("other", ~is_long_term), ("long_term", is_long_term))
        }
        return pd.DataFrame(counts, pd.Index(width * np.arange(n_bins), name="weeks"))


@takes(Classify)
def classify_users(trace: Trace, settings: Classify | None = None, **keywords: Any) -> UserClasses:
    """Separate long-term from temporary users [1]_.

    A user is long-term if more than 12 weeks lie between the first and the last job, else
    temporary. Temporary users close to the begin or end of logging are "truncated": they may also
    have been active before or after.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown user are left out, but the log ends with the last
        submission of any job. Without `begin`, jobs outside the log's window are left out, too.
    settings : workloadkit.settings.Classify, optional
        All following parameters as one object; keyword arguments take precedence.
    {settings}

    Raises
    ------
    ParameterError
        If `long_term` or `edge` is negative or not a number, `end_effects` is unknown, or `begin`
        lies after the last submission.

    Notes
    -----
    The source states 4 weeks, but its printed numbers are those of 60 days, from second 0:
    ``classify_users(trace, edge=60 * 86400, begin=0)``.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, section 4.

    Examples
    --------
    One user is active for all 30 weeks, one for two weeks in the middle, one in the last week.

    >>> week = 7 * 86400
    >>> log = {"submit": np.array([0, 10, 12, 29, 30]) * week, "user": [3, 4, 4, 5, 3]}
    >>> trace = Trace.from_columns({**log, "run": [60] * 5, "procs": [1] * 5})
    >>> classify_users(trace).users["class"].to_dict()
    {3: 'long-term', 4: 'temporary', 5: 'truncated'}
    """
    import pandas as pd

    check_trace(trace)
    found = classes_of(trace, Classify.of(settings, keywords))
    columns: dict[str, NDArray] = {
        "first": found.first,
        "last": found.last,
        "period": found.last - found.first,
    }
    columns |= {"jobs": found.jobs, "class": np.array(CLASSES, dtype=object)[found.kind]}
    users = pd.DataFrame(columns, pd.Index(found.user, name="user"))
    week = np.floor((found.first - found.begin) / WEEK).astype(np.int64)
    n_weeks = int((found.end - found.begin) // WEEK) + 1
    return UserClasses(users, _count(users), _seen(week, n_weeks), found.begin, found.end)


class ClassOfUsers(NamedTuple):
    """The columns of `UserClasses.users`; `kind` is the place of the class in `CLASSES`."""

    user: NDArray[np.int64]
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    jobs: NDArray[np.int64]
    kind: NDArray[np.int64]
    begin: float
    end: float

    @property
    def weeks(self) -> float:
        """Weeks from the begin of logging to its end."""
        return (self.end - self.begin) / WEEK


def classes_of(trace: Trace, options: Classify) -> ClassOfUsers:
    """Classify users as `classify_users` does."""
    begin, edge = options.begin, options.edge
    if begin is None:
        trace = trace.within_window()
    submit = trace.column("submit")
    chosen = trace.ran & (trace.column("user") != UNKNOWN)
    users, at, who = np.unique(trace.column("user")[chosen], return_index=True, return_inverse=True)
    of_user = np.argsort(at)
    first, last = submit[chosen][at], np.zeros(users.size)
    last[who] = submit[chosen]  # the last of a user's times stays
    user, first, last = users[of_user], first[of_user], last[of_user]
    jobs = np.bincount(who, minlength=users.size)[of_user]
    earliest, end = (float(submit[i]) if submit.size else 0.0 for i in (0, -1))
    begin = earliest if begin is None else begin
    if not -np.inf < begin <= end:
        raise ParameterError(f"logging began at {begin:g} s, after the last submission, {end:g} s")
    whole = options.end_effects == "whole"
    near_begin, near_end = (last, first) if whole else (first, last)
    at_an_end = (near_begin <= begin + edge) | (near_end >= end - edge)
    kind = np.where(last - first > options.long_term, 0, np.where(at_an_end, 2, 1))
    return ClassOfUsers(user, first, last, jobs, kind, begin, end)


def _count(users: "pd.DataFrame") -> "pd.DataFrame":
    """Count users and jobs by class."""
    import pandas as pd

    groups = users.groupby("class")["jobs"]
    counts = pd.DataFrame({"users": groups.size(), "jobs": groups.sum()})
    counts = counts.reindex(list(CLASSES), fill_value=0).rename_axis("class")
    for name in ("users", "jobs"):
        counts[f"{name}_share"] = counts[name] / max(counts[name].sum(), 1)
    return counts


def _seen(week: NDArray[np.int64], n_weeks: int) -> "pd.DataFrame":
    """Return the number of users seen by the begin of each week, from the weeks of first jobs."""
    import pandas as pd

    at = distinct(np.linspace(0, n_weeks, min(n_weeks, _MOST_WEEKS) + 1).astype(np.int64))
    seen = np.searchsorted(np.sort(week), at, side="left")
    return pd.DataFrame({"users": seen}, pd.Index(at, name="week"))
