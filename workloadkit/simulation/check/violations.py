"""Violations of the dependencies between jobs in a schedule."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.dependencies import Activities, activities
from workloadkit.display import Displayed, plot_counts
from workloadkit.errors import ParameterError, quoted
from workloadkit.preceding import find_preceding
from workloadkit.simulation.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Violations(Displayed):
    """Number of jobs that were submitted or started before the jobs on which they depend.

    Parameters
    ----------
    jobs : int
        All jobs of the schedule.
    dependent : int
        Jobs that depend on others.
    submission : int
        Jobs submitted before the end of a job on which they depend.
    execution : int
        Jobs started before the start of a job on which they depend.
    """

    jobs: int
    dependent: int
    submission: int
    execution: int

    @property
    def submission_share(self) -> float:
        """Share of all jobs that were submitted too early."""
        return self.submission / self.jobs

    @property
    def execution_share(self) -> float:
        """Share of all jobs that started too early."""
        return self.execution / self.jobs

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw how many jobs depend on others, and how many came or started too early."""
        counts = {
            "depend on others": self.dependent,
            "submitted too early": self.submission,
            "started too early": self.execution,
        }
        return plot_counts(counts, ax, label="jobs")


def violations(schedule: Schedule) -> Violations:
    """Count the violations of dependencies between jobs [1]_.

    In a conventional simulation jobs arrive at their recorded times, whether or not the jobs for
    which their users had waited have ended.

    Parameters
    ----------
    schedule : Schedule
        Its log defines the dependencies: preceding jobs (field 17) if there are any, otherwise
        batches, see `workloadkit.dependencies`; each job of a batch then depends on all jobs of the
        batches on which its batch depends.

    Raises
    ------
    ParameterError
        If it is not a schedule, or is one of resampled users who react: their log, made from their
        submissions, does not contain the batches for which they waited.

    Warns
    -----
    WorkloadWarning
        If batches decide and jobs have no known user; these count as jobs of one user.

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel systems
       schedulers", PhD thesis, The Hebrew University of Jerusalem, 2008, section 3.4.2.

    Examples
    --------
    In the log the second job came after the end of the first.

    >>> import workloadkit as wk
    >>> columns = {"submit": [0, 20], "run": [10, 5], "procs": [1, 1], "user": [5, 5]}
    >>> trace = wk.Trace.from_columns(columns)
    >>> schedule = wk.simulate(trace, procs=1, scale_arrivals=0.25)
    >>> schedule.jobs["submit"].tolist()
    [0, 5]
    >>> violations(schedule)
    Violations(jobs=2, dependent=1, submission=1, execution=0)
    """
    if not isinstance(schedule, Schedule):
        raise ParameterError(
            f"schedule is {quoted(schedule)}; give a Schedule, as wk.simulate returns"
        )
    w, trace = schedule.workload, schedule.unscaled or schedule.source
    numbers = trace.column("preceding_job")[w.row]
    if (numbers > 0).any():
        submit = trace.column("submit")[w.row]
        before = find_preceding(trace.column("job")[w.row], submit, numbers).place
        depends = np.flatnonzero(before >= 0)
        before = before[depends]
        end, start = schedule.end[before], schedule.start[before]
    else:
        if schedule.reacting and "population" in schedule.parameters:
            raise ParameterError(
                "resampled users who react submit at other times than in their log: there are no "
                "recorded batches whose dependencies could be violated"
            )
        in_log = np.argsort(w.row)  # places in the workload, in the order of the log
        acts = activities(trace.take(w.row[in_log]))
        job = in_log[acts.job]
        end, start = (_latest_before(acts, x[job]) for x in (schedule.end, schedule.start))
        waits = np.repeat(acts.think_time >= 0, np.diff(acts.first_job))
        depends, end, start = job[waits], end[waits], start[waits]
    return Violations(
        jobs=w.row.size,
        dependent=depends.size,
        submission=int((w.submit[depends] < end).sum()),
        execution=int((schedule.start[depends] < start).sum()),
    )


def _latest_before(acts: Activities, time: NDArray) -> NDArray:
    """Return the latest time among the jobs on which each job depends, by `Activities.job`.

    Values of jobs without dependencies are meaningless.
    """
    if not acts.job.size:
        return time
    latest = np.maximum.reduceat(time, acts.first_job[:-1])  # of each batch
    before = np.append(latest[:1], latest[:-1])  # within a session, of the previous batch
    # the sessions of each user in the order of their recorded ends: the latest up to each
    last = np.append(np.flatnonzero(np.diff(acts.session)), latest.size - 1)
    user = np.repeat(np.arange(acts.user.size), np.diff(acts.first_session))
    in_order = np.empty(acts.place.size, latest.dtype)
    in_order[acts.first_session[user] + acts.place] = latest[last]
    so_far = _maximum_so_far(in_order, user)
    opens = np.flatnonzero(acts.needs)
    first = acts.first_session[user[acts.session[opens]]]
    before[opens] = so_far[first + acts.needs[opens] - 1]
    return np.repeat(before, np.diff(acts.first_job))


def _maximum_so_far(values: NDArray, group: NDArray[np.int64]) -> NDArray:
    """Return the cumulative maximum within each group; groups ascend."""
    known, rank = np.unique(values, return_inverse=True)
    above = group * known.size  # each group is above all previous ones
    return known[np.maximum.accumulate(rank + above) - above]
