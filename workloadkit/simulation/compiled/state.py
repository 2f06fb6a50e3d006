"""The state of a compiled simulation: a value that can be copied and continued."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.record import Record

# Reasons: all is over; the time to stop has come; the policy requests it; the machine may have too
# little room for the next instant (perhaps together with a request of the policy); a pause is due.
OVER, STOPPED, REQUESTED, LACKS_ROOM, PAUSED = range(5)


class _At(Record):
    """What the loop counts."""

    n_running: int
    arrived: int  # jobs that have arrived
    n_waiting: int
    why: int  # reason for the loop's return
    cut: bool  # whether the loop stops before all events of the second in which it is to stop
    n_taken: int  # entries taken from the users' agenda
    n_done: int  # those of them that are processed
    n_seen: int  # jobs that had arrived by the last pass
    n_due: int  # with a pass after each event, ends of this second that are listed
    n_ended: int  # those of them that are taken
    stale: bool  # whether predictions are to be renewed
    oldest: int  # a job that no waiting one has arrived before
    n_passes: int  # passes of the loop
    pause: int  # the pass after which it pauses; 0 for none


class Jobs(NamedTuple):
    """The jobs of a simulation, in the order of (submit, job number).

    If users react or a predictor plans they are tables, filled in as the jobs arrive. Without a
    predictor, `limit` and `prediction` are the same array as `estimate`.

    Parameters
    ----------
    submit, run, estimate : ndarray of int64 or all of float64, shape (n_jobs,)
        Estimates are those for planning, at least 1; of a running job as corrected. [s]
    procs : ndarray of int64, shape (n_jobs,)
        From 1 to the size of the machine.
    user, queue : ndarray of int64, shape (n_jobs,)
        User of each job, from 0 on or by their numbers, and its queue, -1 for unknown.
    start : ndarray, shape (n_jobs,)
        The same array as `State.start`, for functions that see the jobs alone. [s]
    limit, prediction : ndarray, shape (n_jobs,)
        The user's upper limit of the run time, and the estimate at the arrival, or as renewed. [s]
    at : record
        The same as `State.at`, see `queue_length`.
    running : ndarray of int64
        The same array as `State.end_jobs`, see `busy_procs`.
    """

    submit: NDArray
    run: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    user: NDArray[np.int64]
    queue: NDArray[np.int64]
    start: NDArray = np.empty(0)  # until the state is made, as are the others
    limit: NDArray = np.empty(0)
    prediction: NDArray = np.empty(0)
    at: _At = _At()
    running: NDArray[np.int64] = np.empty(0, np.int64)


class State(NamedTuple):
    """Jobs, clock and parts of a simulation.

    Parameters
    ----------
    jobs : Jobs
    start : ndarray, shape (n_jobs,)
        Start of each job, `never` for those that have not started. [s]
    first : ndarray, shape (1,)
        The first submission of all. [s]
    ends, planned_ends : ndarray, shape (capacity,)
        Ends of the running jobs, real and as planned, descending. [s]
    end_jobs, planned_jobs : ndarray of int64, shape (capacity,)
        The jobs that end then.
    due : ndarray of int64
        The jobs whose ends are due, see `events.free_what_ends`: with passes after each event, all
        that end in one second, which can be more than run at once.
    clock : ndarray, shape (1,)
        The present second. [s]
    never : scalar
        A time after all times. [s]
    at : record
    late, by_event : bool
        Whether jobs may outlive their estimates; whether there is a pass after each event.
    spares, strict : bool
        Whether jobs that overtake may use spare processors at the shadow time; whether those that
        end exactly at it need them as well.
    machine : NamedTuple
        See `workloadkit.simulation.machine`.
    policy : NamedTuple
        See `policies`.
    users : NamedTuple or None
        Users who react; without any the jobs arrive at their submit times.
    predictor : Predicting
        See `predicting`.
    cancellations : Cancellations or None
        Jobs that leave the queue, see `cancellations`.
    """

    jobs: Jobs
    start: NDArray
    first: NDArray
    ends: NDArray
    end_jobs: NDArray[np.int64]
    planned_ends: NDArray
    planned_jobs: NDArray[np.int64]
    due: NDArray[np.int64]
    clock: NDArray
    never: Any
    at: _At
    late: bool
    by_event: bool
    spares: bool
    strict: bool
    machine: Any
    policy: Any
    users: Any
    predictor: Any
    cancellations: Any = None


def new_state(
    jobs: Jobs,
    machine: Any,
    *,
    capacity: int,
    late: bool,
    by_event: bool,
    users: Any = None,
    predictor: Any,
    cancellations: Any = None,
) -> State:
    """Return the state before the first submission, without a policy.

    `capacity` is the number of jobs that can run at once.
    """
    n_jobs, dtype = jobs.submit.size, jobs.submit.dtype
    capacity = min(n_jobs, capacity) + 1
    start = np.full(n_jobs, never(dtype))
    times = [jobs.estimate.copy() if predictor.is_there else jobs.estimate for _ in range(2)]
    limit = jobs.limit if jobs.limit.size else times[0]
    at, running = _At(), np.empty(capacity, np.int64)
    times_of_jobs = {"start": start, "limit": limit, "prediction": times[1]}
    return State(
        jobs=jobs._replace(**times_of_jobs, at=at, running=running),
        start=start,
        first=np.zeros(1, dtype),
        ends=np.empty(capacity, dtype),
        end_jobs=running,
        planned_ends=np.empty(capacity, dtype),
        planned_jobs=np.empty(capacity, np.int64),
        due=np.empty(n_jobs + capacity if by_event else 0, np.int64),
        clock=np.zeros(1, dtype),
        never=never(dtype),
        at=at,
        late=late,
        by_event=by_event,
        spares=True,
        strict=False,
        machine=machine,
        policy=None,
        users=users,
        predictor=predictor,
        cancellations=cancellations,
    )


def no_jobs(dtype: np.dtype) -> Jobs:
    """Return an empty table of jobs."""
    times, none = np.empty(0, dtype), np.empty(0, np.int64)
    return Jobs(times, times, times, none, none, none, times, times, times, _At(), none)


@bare
def queue_length(jobs: Jobs) -> int:
    """Return the number of jobs that wait now."""
    return jobs.at.n_waiting


@bare
def busy_procs(jobs: Jobs) -> int:
    """Return the number of processors that run jobs now."""
    busy = 0
    for place in range(jobs.at.n_running):
        busy += jobs.procs[jobs.running[place]]
    return busy


def never(dtype: np.dtype) -> Any:
    """Return a time after all times."""
    return dtype.type(np.iinfo(dtype).max if dtype.kind == "i" else np.inf)


def waiting_jobs(state: State, low: int = 0) -> NDArray[np.int64]:
    """Return the jobs from `low` on that have arrived and not started, in order of arrival."""
    return low + np.flatnonzero(state.start[low : state.at.arrived] == state.never)


def jobs_there(state: State) -> NDArray[np.int64]:
    """Return the jobs that run or wait, in order of arrival."""
    there = np.concatenate((state.end_jobs[: state.at.n_running], waiting_jobs(state)))
    if state.cancellations is not None:
        there = there[~state.cancellations.left[there]]
    return np.sort(there)


def running_jobs(state: State) -> NDArray[np.int64]:
    """Return the jobs that run, in the order of their starts."""
    running = state.end_jobs[: state.at.n_running]
    return running[np.lexsort((running, state.start[running]))]
