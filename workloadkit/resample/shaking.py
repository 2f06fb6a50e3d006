"""Shake a log: move jobs, batches, sessions or users by small random times."""

import warnings

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import span
from workloadkit.errors import (
    ParameterError,
    WorkloadWarning,
    check_choice,
    check_number,
    takes_rng,
)
from workloadkit.fields import MAX_TIME, UNKNOWN
from workloadkit.provenance import as_note, noted, provenance, seed_of
from workloadkit.sessions import label_jobs
from workloadkit.settings.resampling import Moved
from workloadkit.trace import Trace, check_trace


@takes_rng
def shake(
    trace: Trace,
    move: Moved = "job",
    by: float = 60.0,
    rng: np.random.Generator | int | None = None,
) -> Trace:
    """Move each job, batch, session or user by a small random time.

    The result of a simulation can depend on the exact second of one job. Shaking the log many
    times gives a distribution of results, the mean of which is more representative than a single
    result [1]_. Jobs that are shaken individually may overtake earlier jobs that their user waited
    for; batches, sessions and users move as a whole, so their jobs keep order and distances [2]_.

    Parameters
    ----------
    trace : Trace
    move : {"job", "batch", "session", "user"}, default "job"
        What moves as a whole; sessions are those by arrival (60 min), with their batches.
    by : float, default 60
        Each moves by an independent time, uniform from -`by` to `by`; whole seconds in a log
        of whole seconds. [s]
    rng : Generator or int, optional

    Returns
    -------
    Trace
        The same jobs, with their numbers, sorted by the new submit times; a note in the header
        records the operation. None moves before second 0, or before the log's first submission
        if that is earlier; it is moved there at most. Jobs that belong to none (of unknown user;
        for batches and sessions also those that never ran) move individually. Bursts of
        checkpointed jobs are left out; the side-car follows as in `Trace.with_columns`.

    Raises
    ------
    ParameterError
        If `move` is unknown, or `by` is negative, too large or not a number.

    Warns
    -----
    WorkloadWarning
        If users, batches or sessions are to be moved, and all users are unknown.

    References
    ----------
    .. [1] D. Tsafrir, K. Ouaknine, D. G. Feitelson, "Reducing performance evaluation sensitivity
       and variability by input shaking", MASCOTS 2007.
    .. [2] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014,
       section 6.5.3.

    Examples
    --------
    >>> log = {"submit": [0, 50, 9000, 9020], "run": [9] * 4, "procs": [1] * 4, "user": [5] * 4}
    >>> shake(Trace.from_columns(log), "session", rng=2).column("submit").tolist()
    [41.0, 91.0, 8971.0, 8991.0]
    """
    check_trace(trace)
    check_choice("move", move, Moved)
    check_number("by", by)
    if not 0 <= by <= MAX_TIME:  # rejects NaN, too
        raise ParameterError("by", f"must be from 0 to {MAX_TIME:g} s, not {by:g}")
    seed = seed_of(rng)
    submit = trace.column("submit")
    if move != "job" and trace.n_jobs and (trace.column("user") == UNKNOWN).all():
        warnings.warn(
            f"{trace.name}: all users are unknown, so jobs move individually, not by {move}",
            WorkloadWarning,
            stacklevel=3,
        )
    moved = submit + _shifts(submit, _moved_together(trace, move), by, seed)
    order = np.argsort(moved, kind="stable")
    made = provenance(trace, move=move, by=f"{by:.15g}", seed=seed)
    shaken = trace.take(order).with_columns(submit=moved[order])
    header = trace.header
    if shaken.n_jobs:
        header = header.with_jobs(shaken.n_jobs, EndTime=span(shaken)[1])
    shaken = shaken.replaced(bursts=trace.no_bursts)
    return noted(shaken, header, "shaken", as_note(made))


def _moved_together(trace: Trace, move: Moved) -> NDArray[np.int64]:
    """Return the number of what each job moves with, from 0 in order of first jobs."""
    label = -1 - np.arange(trace.n_jobs)  # negative: a single job
    known = trace.column("user") != UNKNOWN
    if move == "user":
        label[known] = np.unique(trace.column("user")[known], return_inverse=True)[1]
    elif move != "job":
        found = known & trace.ran
        label[found] = label_jobs(trace.select(found))[1][move]
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _shifts(submit: NDArray, unit: NDArray, by: float, seed: int) -> NDArray[np.float64]:
    """Draw the shift of each job, limited by the begin of the log."""
    generator = np.random.default_rng(seed)
    n_units = int(unit.max(initial=-1)) + 1
    if (submit == np.rint(submit)).all():
        most = int(by)
        shift = generator.integers(-most, most, n_units, endpoint=True).astype(np.float64)
    else:
        shift = generator.uniform(-by, by, n_units)
    begin = np.full(n_units, np.inf)
    np.minimum.at(begin, unit, submit)
    floor = min(0.0, float(submit.min(initial=0.0)))
    return np.maximum(shift, floor - begin)[unit]
