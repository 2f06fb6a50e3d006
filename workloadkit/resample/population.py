"""Draw the population of a new log: who is present, and from which week of their activity."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.resample.planning import ResamplingPlan
from workloadkit.resample.pools import LONG_TERM_USER, RARE_USER, TEMPORARY_USER, Pools


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


def populate(pools: Pools, plan: ResamplingPlan, rng: np.random.Generator) -> Placements:
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
    pools: Pools, plan: ResamplingPlan, log: int, number: int, rng: np.random.Generator
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
    pools: Pools, pool: NDArray[np.int64], number: int
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return the guaranteed number of copies of each member, and the weights for the rest."""
    weights = _weights(pools, pool)
    if weights is None:
        return np.full(pool.size, number // max(pool.size, 1)), None
    expected = number * weights / weights.sum()
    times = np.floor(expected + 1e-9)  # tolerates rounding
    return times.astype(np.int64), np.maximum(expected - times, 0)


def _present_users(pools: Pools, log: int, expected: float, rng: np.random.Generator) -> Placements:
    """Draw temporary users within their activity at the begin of the new log."""
    pool = pools.members.drawable(log, TEMPORARY_USER)
    n_weeks = pools.members.n_weeks[pool]
    count = rng.binomial(pool.size, expected / max(pool.size, 1))
    weights = _weights(pools, pool)
    chosen = choose(pool.size, count, rng, n_weeks if weights is None else weights * n_weeks)
    return Placements(pool[chosen], np.arange(count), -rng.integers(n_weeks[chosen]))


def _arriving_users(
    pools: Pools, plan: ResamplingPlan, log: int, expected: float, rng: np.random.Generator
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


def _weights(pools: Pools, pool: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return the weights of a pool's members; None if all are equal."""
    weights = pools.members.weight[pool]
    return None if (weights == weights[:1]).all() else weights
