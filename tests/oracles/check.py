"""What every schedule must hold, whoever made it."""

import numpy as np


def check_schedule(submit, start, end, procs, machine):
    """Assert that every job starts, none too early, and that the machine is large enough."""
    submit, start, end, procs = (
        np.asarray(values, dtype=float) for values in (submit, start, end, procs)
    )
    assert submit.shape == start.shape == end.shape == procs.shape
    never = np.flatnonzero(~(np.isfinite(start) & np.isfinite(end)))
    assert not never.size, f"rows {never[:5]} never start or never end"
    early = np.flatnonzero(start < submit)
    assert not early.size, f"rows {early[:5]} start before their submission"
    backwards = np.flatnonzero(end < start)
    assert not backwards.size, f"rows {backwards[:5]} end before they start"

    # Processors in use just after each event: at equal times, what ends gives way to what starts.
    lasting = end > start
    times = np.concatenate([start[lasting], end[lasting]])
    changes = np.concatenate([procs[lasting], -procs[lasting]])
    order = np.lexsort((changes, times))
    times, in_use = times[order], np.cumsum(changes[order])
    crowded = np.flatnonzero(in_use > machine)
    assert not crowded.size, (
        f"{in_use[crowded[0]]:g} of {machine} processors in use at {times[crowded[0]]:g} s"
    )

    # A job of run time 0 needs its processors beside the jobs that run right through its instant.
    for row in np.flatnonzero(~lasting):
        through = procs[(start < start[row]) & (end > start[row])].sum()
        assert through + procs[row] <= machine, f"row {row} finds no room at {start[row]:g} s"


def check_arrival_order(submit, start, job_numbers):
    """Assert that jobs start in the order of (submit, job number), as under FCFS."""
    order = np.lexsort((job_numbers, submit))
    overtaken = np.flatnonzero(np.diff(np.asarray(start)[order]) < 0)
    assert not overtaken.size, f"row {order[overtaken[0]]} is overtaken by the job after it"
