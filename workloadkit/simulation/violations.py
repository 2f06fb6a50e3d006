"""How often a schedule could not be, as jobs depend on the ends of others."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.dependencies import Activities, activities
from workloadkit.display import Displayed, plot_counts
from workloadkit.errors import ParameterError
from workloadkit.preceding import find_preceding
from workloadkit.simulation.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Violations(Displayed):
    """Jobs that came or started too early for what they depend on.

    Parameters
    ----------
    jobs : int
        All jobs of the schedule.
    dependent : int
        Those that depend on others.
    submission : int
        Those that were submitted while a job they depend on had not ended.
    execution : int
        Those that started before a job they depend on had started.
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

    In a conventional simulation jobs arrive at their recorded times, be the jobs that their users
    had waited for done or not.

    Parameters
    ----------
    schedule : Schedule
        What jobs depend on its log says: by the preceding jobs (field 17) if it has any, else by
        its batches, see `workloadkit.dependencies`; each job of a batch then depends on all jobs
        of the batches that its batch depends on.

    Returns
    -------
    Violations

    Raises
    ------
    ParameterError
        If it is no schedule, or one of resampled users who react: their log, made as they
        submitted, does not tell which batches they waited for.

    Warns
    -----
    WorkloadWarning
        If batches decide and jobs have no known user; they are taken for the jobs of one user.

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel systems
       schedulers", PhD thesis, The Hebrew University of Jerusalem, 2008, section 3.4.2.

    Examples
    --------
    In the log the second job came when the first one had ended.

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
        raise ParameterError(f"schedule is {schedule!r}; give a Schedule, as wk.simulate returns")
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
                "recorded batches of theirs to be violated"
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
    """Latest time among all jobs that each job depends on, in the order of `Activities.job`.

    The value of jobs that depend on none is of no meaning.
    """
    if not acts.job.size:
        return time
    latest = np.maximum.reduceat(time, acts.first_job[:-1])  # of each batch
    before = np.append(latest[:1], latest[:-1])  # inside a session, of the batch before
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
    """Maximum of each group up to each of its values; groups ascend."""
    known, rank = np.unique(values, return_inverse=True)
    above = group * known.size  # each group stands above all before
    return known[np.maximum.accumulate(rank + above) - above]
