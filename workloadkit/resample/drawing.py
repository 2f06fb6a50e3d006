"""Draw a new log: collect the jobs of its population, and set their times."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK
from workloadkit.resample.planning import ResamplingPlan
from workloadkit.resample.pools import Pieces, Pools
from workloadkit.resample.population import Placements, populate


@dataclass(frozen=True, eq=False)
class Draw:
    """The jobs of a new log, in order.

    Parameters
    ----------
    job : ndarray of int, shape (n_jobs,)
        Index of each job in the pools.
    submit : ndarray of float, shape (n_jobs,)
        Ascending. [s]
    placement : ndarray of int, shape (n_jobs,)
        Index of each job's placement in `placements`.
    placements : Placements
    """

    job: NDArray[np.int64]
    submit: NDArray[np.float64]
    placement: NDArray[np.int64]
    placements: Placements


def draw(pools: Pools, plan: ResamplingPlan, rng: np.random.Generator) -> Draw:
    """Draw a new log.

    Parameters
    ----------
    pools : Pools
    plan : ResamplingPlan
    rng : Generator

    Returns
    -------
    Draw
    """
    placements = populate(pools, plan, rng)
    if pools.pieces is None:
        job, placement, week = _whole_users(pools, plan, placements)
    else:
        job, placement, week = _mixed_pieces(pools, pools.pieces, placements, rng)
    local = pools.time[job]
    local += plan.origin + week * float(WEEK)
    submit = plan.clock.seconds(local)
    np.maximum(submit, plan.begin, out=submit)  # the local time of the begin may be ambiguous
    if not pools.whole:
        submit = np.round(submit, 6)  # the precision of local times
    inside = np.flatnonzero((submit <= plan.end) & (local >= plan.origin))
    order = inside[_order(submit[inside])]
    return Draw(job[order], submit[order], placement[order], placements)


def _order(submit: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order by submit time, stable: ties keep the order of drawing.

    Packing whole seconds and indices into integers makes the sort faster.
    """
    bits = submit.size.bit_length()
    low, high = submit.min(initial=0), submit.max(initial=0)
    packed = submit.astype(np.int64)
    if high - low >= 2 ** (62 - bits) or not (packed == submit).all():
        return np.argsort(submit, kind="stable")
    packed -= int(low)
    packed <<= bits
    packed |= np.arange(submit.size)
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def _whole_users(
    pools: Pools, plan: ResamplingPlan, placements: Placements
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return job, placement and week offset of the jobs within the weeks of the new log."""
    member, week = placements.member, placements.week
    n_weeks = pools.members.n_weeks[member]
    line = member * pools.stride
    low = np.searchsorted(pools.line, line + np.clip(-week, 0, n_weeks))
    high = np.searchsorted(pools.line, line + np.clip(plan.last_week + 1 - week, 0, n_weeks))
    return _expand(low, high, week)


def _expand(
    low: NDArray[np.int64], high: NDArray[np.int64], value: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return low[i], ..., high[i] - 1 for all i, with i and value[i] for each of them."""
    size = high - low
    begins = np.cumsum(size) - size
    place = np.repeat(np.arange(size.size), size)
    return np.arange(place.size) + (low - begins)[place], place, value[place]


def _mixed_pieces(
    pools: Pools, pieces: Pieces, placements: Placements, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Move each piece of each placement to a uniformly drawn week of its user, cyclically."""
    member, week = placements.member, placements.week
    n_weeks = pools.members.n_weeks
    _, place, piece_member = _expand(pieces.first[member], pieces.first[member + 1], member)
    drawn = rng.integers(n_weeks[piece_member])
    first_drawn = np.searchsorted(place, np.arange(member.size))
    first = pools.members.first
    job, place, job_member = _expand(first[member], first[member + 1], member)
    of = pieces.of_job[job]
    to = drawn[first_drawn[place] + of - pieces.first[job_member]]
    was = pools.week[job]
    now = (was - pieces.week[of] + to) % n_weeks[job_member]
    return job, place, week[place] + now - was
