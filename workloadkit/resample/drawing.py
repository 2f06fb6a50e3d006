"""Draw a new log: its population, the jobs of these users, and their times."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK
from workloadkit.distinct import distinct
from workloadkit.fields import UNKNOWN
from workloadkit.header import Header
from workloadkit.provenance import noted
from workloadkit.resample.planning import ResamplingPlan
from workloadkit.resample.pools import (
    LONG_TERM_USER,
    RARE_USER,
    TEMPORARY_USER,
    Pieces,
    ResamplingPools,
)
from workloadkit.trace import Trace, check_trace


class Placements(NamedTuple):
    """Members placed in a new log, in the order of drawing.

    A regenerated long-term user is one incarnation with several placements.

    Parameters
    ----------
    member : ndarray of int, shape (n_placements,)
    incarnation : ndarray of int, shape (n_placements,)
        From 0.
    week : ndarray of int, shape (n_placements,)
        Week of the new log in which the member's activity begins, negative if it began before the
        log.
    """

    member: NDArray[np.int64]
    incarnation: NDArray[np.int64]
    week: NDArray[np.int64]


def populate(pools: ResamplingPools, plan: ResamplingPlan, rng: np.random.Generator) -> Placements:
    """Draw the users that are present, and the weeks of their activity from which they begin."""
    parts: list[Placements] = []
    for log, rates in enumerate(plan.rates):
        parts += [
            _long_term_users(pools, plan, log, rates.long_term, rng),
            _present_users(pools, log, rates.present, rng),
            _arriving_users(pools, plan, log, rates.arrivals, rng),
        ]
    # incarnations are numbered within each part
    counts = [int(part.incarnation.max(initial=-1)) + 1 for part in parts]
    before = np.cumsum([0, *counts[:-1]])
    return Placements(
        np.concatenate([part.member for part in parts]),
        np.concatenate([part.incarnation + n for part, n in zip(parts, before, strict=True)]),
        np.concatenate([part.week for part in parts]),
    )


def _long_term_users(
    pools: ResamplingPools, plan: ResamplingPlan, log: int, number: int, rng: np.random.Generator
) -> Placements:
    """Draw long-term users: all once before any twice; replicas are spread; all regenerate."""
    pool = pools.members.drawable(log, LONG_TERM_USER)
    times, remainder = _times(pools, pool, number)
    once_more = choose(pool.size, number - int(times.sum()), rng, remainder)
    again = np.repeat(np.arange(pool.size), times)
    replica = np.arange(again.size) - np.repeat(np.cumsum(times) - times, times)
    by_round = np.argsort(replica, kind="stable")
    place = np.concatenate([again[by_round], once_more])
    replica = np.concatenate([replica[by_round], times[once_more]])
    replicas = np.bincount(place, minlength=pool.size)
    period = pools.members.period[pool]
    weeks = pools.members.n_weeks[pool] if plan.start == "activity" else period
    first = rng.integers(weeks)
    n, k, period = weeks[place], replicas[place], period[place]
    start = (first[place] + replica * n // np.maximum(k, 1)) % n
    cycles = -(-(plan.last_week + 1 + start) // period)
    incarnation = np.repeat(np.arange(place.size), cycles)
    cycle = np.arange(incarnation.size) - np.repeat(np.cumsum(cycles) - cycles, cycles)
    week = cycle * period[incarnation] - start[incarnation]
    return Placements(pool[place][incarnation], incarnation, week)


def _times(
    pools: ResamplingPools, pool: NDArray[np.int64], number: int
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return the guaranteed number of copies of each member, and the weights for the rest."""
    weights = _weights(pools, pool)
    if weights is None:
        return np.full(pool.size, number // max(pool.size, 1)), None
    expected = number * weights / weights.sum()
    times = np.floor(expected + 1e-9)  # tolerates rounding
    return times.astype(np.int64), np.maximum(expected - times, 0)


def _present_users(
    pools: ResamplingPools, log: int, expected: float, rng: np.random.Generator
) -> Placements:
    """Draw temporary users within their activity at the begin of the new log."""
    pool = pools.members.drawable(log, TEMPORARY_USER)
    n_weeks = pools.members.n_weeks[pool]
    count = rng.binomial(pool.size, expected / max(pool.size, 1))
    weights = _weights(pools, pool)
    chosen = choose(pool.size, count, rng, n_weeks if weights is None else weights * n_weeks)
    return Placements(pool[chosen], np.arange(count), -rng.integers(n_weeks[chosen]))


def _arriving_users(
    pools: ResamplingPools,
    plan: ResamplingPlan,
    log: int,
    expected: float,
    rng: np.random.Generator,
) -> Placements:
    """Draw temporary users, and rare behaviours among them, for each week after the first.

    No user is drawn twice in a week; a rare behaviour may be, because often there is only one.
    """
    pool = pools.members.drawable(log, TEMPORARY_USER)
    rare = np.flatnonzero(pools.members.kind == RARE_USER)
    counts = rng.binomial(pool.size, expected / max(pool.size, 1), size=plan.n_weeks - 1)
    n_rare = np.zeros_like(counts)
    if plan.rare:
        n_rare = rng.binomial(counts, plan.rare)
    chosen = [
        rare[rng.integers(0, max(rare.size, 1), n_rare.sum())],
        pool[choose_each(pool.size, counts - n_rare, rng, _weights(pools, pool))],
    ]
    weeks = np.arange(1, plan.n_weeks)
    week = [np.repeat(weeks, n_rare), np.repeat(weeks, counts - n_rare)]
    return Placements(np.concatenate(chosen), np.arange(int(counts.sum())), np.concatenate(week))


def choose(
    n: int, count: int, rng: np.random.Generator, weights: NDArray | None = None
) -> NDArray[np.int64]:
    """Draw `count` of the numbers 0 to n - 1 without replacement, in order of drawing.

    Parameters
    ----------
    n, count : int
    rng : Generator
    weights : array_like, shape (n,), optional
        Relative probabilities; by default uniform.

    Examples
    --------
    >>> sorted(choose(3, 3, np.random.default_rng(1)).tolist())
    [0, 1, 2]
    >>> choose(3, 1, np.random.default_rng(1), np.array([0, 5, 0])).tolist()
    [1]
    """
    return choose_each(n, np.array([count]), rng, weights)


def choose_each(
    n: int, counts: NDArray[np.int64], rng: np.random.Generator, weights: NDArray | None = None
) -> NDArray[np.int64]:
    """Repeat `choose` for each count, and concatenate the results."""
    if weights is not None:
        # The first of independent exponential times with these rates are such a draw.
        chosen = []
        for count in counts.tolist():
            with np.errstate(divide="ignore"):
                times = rng.standard_exponential(n) / weights
            chosen.append(np.argsort(times, kind="stable")[:count])
        return np.concatenate([np.empty(0, np.int64), *chosen])
    # Partial Fisher-Yates shuffle that stores only elements out of their original position
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    drawn: list[int] = []
    moved: dict[int, int] = {}
    for to, other in zip(place.tolist(), rng.integers(place, n).tolist(), strict=True):
        if to == 0:
            moved = {}
        drawn.append(moved.get(other, other))
        moved[other] = moved.get(to, to)
    return np.array(drawn, dtype=np.int64)


def _weights(pools: ResamplingPools, pool: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return the weights of a pool's members; None if all are equal."""
    weights = pools.members.weight[pool]
    return None if (weights == weights[:1]).all() else weights


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


def draw(pools: ResamplingPools, plan: ResamplingPlan, rng: np.random.Generator) -> Draw:
    """Draw a new log."""
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
    pools: ResamplingPools, plan: ResamplingPlan, placements: Placements
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
    pools: ResamplingPools, pieces: Pieces, placements: Placements, rng: np.random.Generator
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


# Build the log of a draw.

_RARE_LABEL = "RareUsers"


def assemble(
    pools: ResamplingPools,
    drawn: Draw,
    *,
    user: NDArray[np.int64] | None = None,
    name: str = "resampled",
    note: str = "",
) -> Trace:
    """Build the log of a draw.

    Parameters
    ----------
    pools : ResamplingPools
    drawn : Draw
    user : ndarray of int, shape (n_jobs,), optional
        Users of the jobs. By default incarnations are numbered 1, 2, … in order of first jobs.
    name : str, default "resampled"
        Name of the log.
    note : str, optional
        Origin of the log, for the header: its provenance.
    """
    user = _users(drawn) if user is None else user
    new = {"job": np.arange(1, drawn.job.size + 1), "submit": drawn.submit, "user": user}
    new |= _preceding(pools, drawn)
    made = pools.trace.take(drawn.job, repeats=True).with_columns(**new)
    jobs = made.table("jobs")
    rare = np.empty(0, np.int64)
    if (pools.members.kind == RARE_USER).any():
        kind = pools.members.kind[drawn.placements.member[drawn.placement]]
        rare = distinct(jobs["user"][kind == RARE_USER])
    end = drawn.submit + np.nan_to_num(jobs["wait"]) + jobs["run"]
    last = float(end.max(initial=-np.inf))
    header = _header(pools.logs[0].header, drawn.job.size, last, rare)
    made = made.replaced(name=name, changes=())
    return noted(made, header, "resampled", note) if note else made.replaced(header=header)


def rare_users(trace: Trace) -> NDArray[np.int64]:
    """Return the users of a resampled log that are rare behaviours, according to its header.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    ndarray of int
        Their numbers, ascending; empty if the header names none.

    Examples
    --------
    >>> rare_users(Trace.from_columns({"submit": [0]}, header=Header(("; RareUsers: 12 15",))))
    array([12, 15])
    """
    check_trace(trace)
    numbers = " ".join(trace.header.get_all(_RARE_LABEL)).split()
    users = [int(number) for number in numbers if number.isdecimal() and len(number) < 19]
    return distinct(np.array(users, dtype=np.int64))


def _users(drawn: Draw) -> NDArray[np.int64]:
    """Return users 1, 2, … for the incarnations, in order of their first jobs."""
    incarnation = drawn.placements.incarnation[drawn.placement]
    first = np.full(int(drawn.placements.incarnation.max(initial=-1)) + 1, incarnation.size)
    first[incarnation[::-1]] = np.arange(incarnation.size)[::-1]  # the last assignment wins
    number = np.empty(first.size, np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(1, first.size + 1)
    return number[incarnation]


def _preceding(pools: ResamplingPools, drawn: Draw) -> dict[str, NDArray]:
    """Return fields 17 and 18: unknown unless the preceding job is in the same placement."""
    n_jobs = drawn.job.size
    preceding, think_time = np.full(n_jobs, UNKNOWN), np.full(n_jobs, np.nan)
    if pools.before is not None:
        dependent = np.flatnonzero(pools.before[drawn.job] >= 0)
        key = drawn.placement * pools.row.size + drawn.job
        order = np.argsort(key)
        targets = drawn.placement[dependent] * pools.row.size + pools.before[drawn.job[dependent]]
        found = order[np.minimum(np.searchsorted(key, targets, sorter=order), n_jobs - 1)]
        present = (key[found] == targets) & (found < dependent)
        dependent, found = dependent[present], found[present]
        preceding[dependent] = found + 1
        think_time[dependent] = pools.trace.column("think_time")[drawn.job[dependent]]
    return {"preceding_job": preceding, "think_time": think_time}


def _header(header: Header, n_jobs: int, end: float, rare: NDArray) -> Header:
    """Update the header of the first log to the new log, which has the same begin."""
    header = header.with_jobs(n_jobs, EndTime=end)
    if rare.size:
        header = header.appended((_RARE_LABEL, " ".join(map(str, rare.tolist()))))
    return header
