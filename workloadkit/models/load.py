"""Set the offered load of a log by arrivals, users or machine size."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import DAY, WEEK, span
from workloadkit.distinct import distinct
from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    check_choice,
    check_load,
    plural,
    takes_rng,
)
from workloadkit.fields import MAX_JOBS_MADE, MAX_PROCS, MAX_TIME, UNKNOWN
from workloadkit.models.made import machine_of
from workloadkit.provenance import as_note, noted, provenance, seed_of
from workloadkit.trace import Trace, check_trace

# Remove or duplicate whole users of a log to set its load.


def remove_users(
    trace: Trace, work: NDArray[np.float64], busy: float, rng: np.random.Generator
) -> tuple[Trace, int]:
    """Remove users in random order until the work per second is closest to `busy` processors.

    Parameters
    ----------
    work : ndarray of float, shape (n_jobs,)
        0 for jobs that did not run. [processor-seconds]

    Returns
    -------
    trace : Trace
    removed : int
        Number of users removed.
    """
    ran, user, submit = trace.ran, trace.column("user"), trace.column("submit")
    order = rng.permutation(_known_users(trace))
    # position of each job's user in the order; unknown users come last and stay
    by_number = np.argsort(order)
    found = by_number[np.minimum(np.searchsorted(order[by_number], user), order.size - 1)]
    place = np.where(order[found] == user, found, order.size)

    n = order.size + 1
    first, last = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(first, place[ran], submit[ran])
    np.maximum.at(last, place[ran], submit[ran])
    # work, span and rate of the remaining users after removing the first k
    left = np.cumsum(np.bincount(place, work, minlength=n)[::-1])[::-1]
    span = np.maximum.accumulate(last[::-1])[::-1] - np.minimum.accumulate(first[::-1])[::-1]
    rate = np.divide(left, span, out=np.zeros(n), where=span > 0)
    k = int(np.argmax(rate <= busy)) if (rate <= busy).any() else n - 1
    if k and (span[k] <= 0 or abs(rate[k - 1] - busy) <= abs(rate[k] - busy)):
        k -= 1
    if not k:
        return trace, 0
    kept = trace.select(place >= k)
    preceding = kept.column("preceding_job")
    missing = ~np.isin(preceding, kept.column("job"))
    return kept.with_columns(
        preceding_job=np.where(missing, UNKNOWN, preceding),
        think_time=np.where(missing, np.nan, kept.column("think_time")),
    ), k


def double_users(
    trace: Trace, work: NDArray[np.float64], lacking: float, rng: np.random.Generator
) -> tuple[Trace, int]:
    """Duplicate users, in random order and in rounds, until their work is closest to `lacking`.

    Parameters
    ----------
    work : ndarray of float, shape (n_jobs,)
        0 for jobs that did not run. [processor-seconds]
    lacking : float
        Work to add, 0 or more. [processor-seconds]

    Returns
    -------
    trace : Trace
    added : int
        Number of duplicates.
    """
    users, user = _known_users(trace), trace.column("user")
    which = np.minimum(np.searchsorted(users, user), users.size - 1)
    of_user = np.bincount(which, np.where(users[which] == user, work, 0), minlength=users.size)
    if not of_user.sum() > 0:
        raise WorkloadError(f"{trace.name}: all known users have no work")
    rounds = int(lacking // of_user.sum()) + 1
    if rounds * trace.n_jobs > MAX_JOBS_MADE:
        raise ParameterError(
            "load",
            f"is too high: users would be duplicated {rounds:,} times; the limit is "
            f"{MAX_JOBS_MADE:,} jobs",
        )
    order = np.concatenate([rng.permutation(users.size) for _ in range(rounds)])
    total = np.concatenate([[0.0], np.cumsum(of_user[order])])
    k = int(np.argmin(np.abs(total - lacking)))
    return (_with_doubles(trace, users[order[:k]], rng) if k else trace), k


def _known_users(trace: Trace) -> NDArray[np.int64]:
    user = trace.column("user")
    users = distinct(user[(user != UNKNOWN) & trace.ran])
    if not users.size:
        raise WorkloadError(
            f"{trace.name}: all users are unknown, so the load cannot be set by users"
        )
    return users


def _with_doubles(trace: Trace, users: NDArray[np.int64], rng: np.random.Generator) -> Trace:
    """Add a new user for each of `users`, with the same jobs at other times."""
    submit, user = trace.column("submit"), trace.column("user")
    begin = submit[trace.ran].min()
    span = float(submit[trace.ran].max() - begin)
    unit = WEEK if span >= 2 * WEEK else DAY
    units = int(span // unit)
    if units < 2:
        raise WorkloadError(
            f"{trace.name}: the log is shorter than two days, too short to duplicate users"
        )
    jobs_of = {u: np.flatnonzero(user == u) for u in distinct(users).tolist()}
    start = {u: int(rng.integers(units - 1)) for u in jobs_of}
    rows, times, numbers = [np.arange(trace.n_jobs)], [submit], [user]
    for number, u in enumerate(users.tolist(), start=int(user.max()) + 1):
        shift = 1 + start[u] % (units - 1)
        start[u] += 1
        rows.append(jobs_of[u])
        times.append(begin + (submit[jobs_of[u]] - begin + shift * unit) % (units * unit))
        numbers.append(np.full(jobs_of[u].size, number))
    at = np.concatenate(times)
    order = np.argsort(at, kind="stable")
    row = np.concatenate(rows)[order]
    preceding = _renumbered(trace, np.argsort(order)[: trace.n_jobs] + 1)
    preceding = np.where(order < trace.n_jobs, preceding[row], UNKNOWN)
    think_time = np.where(preceding == UNKNOWN, np.nan, trace.column("think_time")[row])
    doubled = trace.take(row, repeats=True).with_columns(
        job=np.arange(1, row.size + 1),
        submit=at[order],
        user=np.concatenate(numbers)[order],
        preceding_job=preceding,
        think_time=think_time,
    )
    return doubled.replaced(intake=None)


def _renumbered(trace: Trace, number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the preceding job of each job by new job number, -1 if there is none."""
    job, preceding = trace.column("job"), trace.column("preceding_job")
    by_job = np.argsort(job, kind="stable")
    place = np.minimum(np.searchsorted(job[by_job], preceding), job.size - 1)
    found = by_job[place]
    return np.where((job[found] == preceding) & (preceding != UNKNOWN), number[found], UNKNOWN)


By = Literal["arrivals", "users", "machine"]


def offered_load(trace: Trace, procs: int | None = None) -> float:
    """Return the offered load: work divided by the capacity during the submit span.

    Parameters
    ----------
    trace : Trace
        Jobs that ran count, with their requested, else used processors.
    procs : int, optional
        Processors of the machine; by default the header's.

    Raises
    ------
    ParameterError
        If the argument is not a log, or procs is invalid.
    WorkloadError
        If the size of the machine is unknown, or the submit span is 0.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 100], "run": [100, 50], "procs": [4, 2]})
    >>> offered_load(log, 4)
    1.25
    """
    work, span = _work_and_span(trace)
    return work / (machine_of(trace, procs) * span)


@takes_rng
def scale_load(
    trace: Trace,
    load: float,
    by: By = "arrivals",
    procs: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> Trace:
    """Set the offered load of a log.

    Parameters
    ----------
    trace : Trace
    load : float
        The load to set, see `offered_load`; at most 3.
    by : {"arrivals", "users", "machine"}
        What is changed:

        - "arrivals": all gaps between submissions, by the same factor. Days become longer or
          shorter, so the daily cycle is lost. In a log of whole seconds submit times are rounded,
          which changes the load by at most the share 1 / span; otherwise it is exact.
        - "users": whole users, in random order, are removed with all their jobs, or duplicated,
          until the load is closest to the requested one, which is within half of the last user's
          work. A duplicate is a new user with jobs moved by a whole number of weeks (days in a log
          of less than two weeks), by the log's clock, wrapping around its end. No user is
          duplicated twice before all are once, and duplicates of the same user are moved
          differently as long as there are enough weeks. Jobs of unknown user are not changed.
        - "machine": the number of processors in the header, rounded to a whole number, which
          changes the load by at most the share 1 / (2 × processors).
    procs : int, optional
        Processors of the machine; by default the header's. Not for "machine", which computes it.
    rng : Generator or int, optional
        Generator of random numbers, or seed, for the users.

    Returns
    -------
    trace : Trace
        With a header note on the operation. Waits and other fields are kept. If users are
        duplicated, all jobs are renumbered by submission, and bursts are left out.

    Raises
    ------
    ParameterError
        If the argument is not a log, or a parameter is invalid.
    WorkloadError
        If the load cannot be set: the size of the machine is unknown; no job ran, or span or work
        are 0; by users, all users are unknown, or the log is too short to duplicate them; by
        machine, a job is larger than the computed one.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 100], "run": [100, 50], "procs": [4, 2]})
    >>> scale_load(log, 0.5, procs=4).column("submit").tolist()
    [0.0, 250.0]
    >>> scale_load(log, 0.5, "machine").header.procs
    10
    """
    check_trace(trace)
    check_load("load", load)
    check_choice("by", by, By)
    if by == "machine":
        if procs is not None:
            raise ParameterError(
                "procs cannot be given for the change by machine, which computes it"
            )
        return _by_machine(trace, load)
    machine = machine_of(trace, procs)
    if procs is not None:
        trace = trace.with_procs(machine)
    return (
        _by_arrivals(trace, load, machine)
        if by == "arrivals"
        else _by_users(trace, load, machine, seed_of(rng))
    )


def _needed(trace: Trace) -> NDArray[np.float64]:
    """Return the processors of each job, as in a simulation."""
    requested = trace.column("requested_procs")
    return np.where(requested > 0, requested, trace.used_procs)


def _work_and_span(trace: Trace) -> tuple[float, float]:
    """Return the work of the jobs that ran, and their submit span."""
    check_trace(trace)
    ran = trace.ran
    work = float((trace.column("run")[ran] * _needed(trace)[ran]).sum())
    span = float(np.ptp(trace.column("submit")[ran])) if ran.any() else 0.0
    if not span > 0:
        raise WorkloadError(
            f"{trace.name}: the offered load is undefined, because the submit span is 0"
        )
    return work, span


def _by_arrivals(trace: Trace, load: float, machine: int) -> Trace:
    work, span = _work_and_span(trace)
    _check_work(trace, work)
    stretch = work / machine / load / span
    submit = trace.column("submit")
    if not stretch * float(np.ptp(submit)) <= MAX_TIME:
        raise ParameterError("load", f"is {load:g}; the log would be too long")
    first = submit.min()
    scaled = (submit - first) * stretch
    if (submit == np.rint(submit)).all():
        scaled = np.rint(scaled)
    made = trace.with_columns(submit=first + scaled)
    return _noted(made, trace, load=load, by="arrivals", factor=float(f"{stretch:.6g}"))


def _by_machine(trace: Trace, load: float) -> Trace:
    work, span = _work_and_span(trace)
    _check_work(trace, work)
    exact = work / span / load
    needed = np.where(trace.ran, _needed(trace), 0)
    largest = int(np.argmax(needed))
    machine = max(round(min(exact, 2.0 * MAX_PROCS)), 1)
    if machine > MAX_PROCS:
        raise ParameterError("load", f"is {load:g}; the machine would be too large")
    if machine < needed[largest]:
        raise WorkloadError(
            f"{trace.name}: a load of {load:g} requires a machine of "
            f"{plural(machine, 'processor')}, but job {trace.column('job')[largest]} needs "
            f"{needed[largest]:g}"
        )
    made = trace.with_procs(machine)
    return _noted(made, trace, load=load, by="machine")


def _by_users(trace: Trace, load: float, machine: int, seed: int) -> Trace:
    work, span = _work_and_span(trace)
    _check_work(trace, work)
    rng = np.random.default_rng(seed)
    work_of = np.where(trace.ran, trace.column("run") * _needed(trace), 0.0)
    if load < work / machine / span:
        made, n = remove_users(trace, work_of, load * machine, rng)
        how = {"removed": n}
    else:
        made, n = double_users(trace, work_of, load * machine * span - work, rng)
        how = {"added": n}
    met = float(f"{offered_load(made, machine):.6g}")
    return _noted(made, trace, load=load, by="users", **how, met=met, seed=seed)


def _check_work(trace: Trace, work: float) -> None:
    if not work > 0:
        raise WorkloadError(f"{trace.name}: the work is 0, so no load can be set")


def _noted(made: Trace, trace: Trace, **parameters: object) -> Trace:
    """Update the header, and record the operation in it."""
    header = made.header.with_jobs(made.n_jobs, made.n_bursts, EndTime=span(made)[1])
    return noted(made, header, "load set", as_note(provenance(trace, **parameters)))
