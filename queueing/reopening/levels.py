"""Markov chains with moves of one level up or down."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError

Ints = NDArray[np.intp]

#: Largest omitted share of time on each side.
BOUND = 1e-12
#: Largest number of multiplications in an elimination, and of stored values.
_WORK, _ROOM = 1.6e10, 3e7


class Move(NamedTuple):
    """A transition of the chain.

    Parameters
    ----------
    up : int
        1 to the next level, or -1 to the previous one.
    step : tuple of int
        Change of the state's coordinates within the level.
    rate : callable
        Rate as a function of levels, shape (n,), and coordinates, shape (n_coordinates, n).
    """

    up: int
    step: tuple[int, ...]
    rate: Callable[[Ints, Ints], Floats]


class Stationary(NamedTuple):
    """The stationary distribution of a chain.

    Parameters
    ----------
    level : ndarray of int, shape (n_states,)
    coordinates : ndarray of int, shape (n_coordinates, n_states)
    share : ndarray, shape (n_states,)
        Share of time.
    neglected : float
        Estimated share of time in omitted states.
    """

    level: Ints
    coordinates: Ints
    share: Floats
    neglected: float


def settle(
    low: Ints,
    high: Ints,
    moves: Callable[[int], Sequence[Move]],
    bound: float = BOUND,
    most: Callable[[Ints], Ints] | None = None,
) -> Stationary:
    """Return the stationary distribution, on windows widened until omitted states are negligible.

    Parameters
    ----------
    low, high : ndarray of int, shape (n_levels, n_coordinates)
        Corners (inclusive) of the initial windows at each level from 0.
    moves : callable
        Function from the number of levels to the moves; moves out of the windows are omitted.
    bound : float
        Largest omitted share of time on each side.
    most : callable, optional
        Function from levels to the largest coordinates, shape (n_levels, n_coordinates), which
        change by at most 1 per level; by default unbounded.

    Raises
    ------
    QueueingError
        If there are too many states.
    """
    while True:
        found = moves(low.shape[0])
        low, high = _funnel(low, high, found)
        if most is not None:
            limit = most(np.arange(high.shape[0]))
            low, high = np.minimum(low, limit), np.minimum(high, limit)
        states = _States(low, high)
        with np.errstate(all="ignore"):
            shares, scale = _eliminate(states, found)
            share = np.concatenate(shares) * np.repeat(scale, states.sizes)
        if not np.isfinite(share).all():
            raise QueueingError("the rates of the chain differ by too many orders of magnitude")
        top = beyond(scale)
        lower, upper = _at_edges(states, share, found)
        if max(top, *lower.sum(axis=0), *upper.sum(axis=0)) <= bound:
            neglected = top + float(lower.sum() + upper.sum())
            return Stationary(states.level, states.coordinates, share, neglected)
        low, high = _widened(states, share, scale, lower, upper, bound)


def spread(
    share: Floats,
    mean: Floats,
    variance: Floats | None = None,
    bound: float = BOUND,
    levels: int | None = None,
) -> tuple[Ints, Ints]:
    """Return windows around the mean coordinates of each level.

    Parameters
    ----------
    share : ndarray, shape (n_levels,)
        Approximate share of time at each level.
    mean, variance : ndarray, shape (n_coordinates, n_levels)
        Approximate mean and variance of coordinates; by default slightly above the Poisson
        variance.
    bound : float
        See `settle`.
    levels : int, optional
        Number of levels; by default all with a non-negligible share of time.

    Returns
    -------
    low, high : ndarray of int, shape (levels, n_coordinates)
    """
    above = np.append(np.cumsum(share[:0:-1])[::-1], 0.0)
    top = levels or int(np.argmax(above <= bound / 16)) + 1
    mean = mean[:, :top].T
    if variance is None:
        # wide margins avoid a second attempt, but are expensive in several dimensions
        spread_out = (2.0 if mean.shape[1] == 1 else 1.2) * mean
    else:
        spread_out = np.maximum(variance[:, :top].T, 0.0)
    deviation = np.sqrt(spread_out)
    # standard deviations exceeded with this probability; fewer at rare levels
    decades = np.log(np.maximum(share[:top, None] / bound, np.e))
    away = np.sqrt(2.0 * decades)
    # for small means, each further user is as improbable as the first
    skew = np.where(mean < 0.01, 1.0 - decades / np.log(np.clip(mean, 1e-300, 0.01)), away**2 / 6.0)
    low = np.floor(mean - away * deviation).astype(np.intp) - 1
    high = np.ceil(mean + away * deviation + skew).astype(np.intp) + 1
    return np.maximum(low, 0), high


def birth_death(up: Floats, down: Floats) -> Floats:
    """Return shares of time at levels 0, 1, ... from rates up, and rates down from level 1."""
    logarithm = np.concatenate([[0.0], np.cumsum(np.log(up[:-1]) - np.log(down))])
    share = np.exp(logarithm - logarithm.max())
    return share / share.sum()


def thinking_given(
    up: Floats, down: Floats, Z: float, joining: Floats, each: Floats | None = None
) -> Floats:
    """Return the approximate number of thinking users at each level, treated as Poisson.

    Parameters
    ----------
    up : ndarray, shape (n_levels,)
        Rates of moves up, with a part of 1 / Z per thinking user.
    down : ndarray, shape (n_levels - 1,)
        Rates of moves down, from level 1 on.
    joining : ndarray, shape (n_levels - 1,)
        Rates of the moves down that add a thinking user.
    each : ndarray, shape (n_levels - 1,), optional
        Decrease of these rates per thinking user.
    """
    from scipy.linalg import solve_banded

    # balance of the first moment, divided by the share of time of each level
    bands = np.zeros((3, up.size))
    bands[0, 1:] = -up[:-1]
    if each is not None:
        bands[0, 1:] += each * up[:-1] / down
    bands[1, :-1] = up[:-1]
    bands[1, 1:] += down
    bands[1] += 1.0 / Z
    bands[2, :-1] = -down
    joined = np.zeros(up.size)
    joined[:-1] = joining * up[:-1] / down
    return np.maximum(solve_banded((1, 1), bands, joined), 0.0)


def beyond(scale: Floats) -> float:
    """Return the share of time above the highest level, extrapolated from the last levels."""
    if scale.size < 2 or scale[-1] == 0:
        return 0.0
    ratio = scale[-1] / scale[-2]
    return float(scale[-1] * ratio / (1 - ratio)) if ratio < 1 else 1.0


class _States:
    """All states within windows, by level, with the last coordinate fastest."""

    def __init__(self, low: Ints, high: Ints) -> None:
        self.low, self.high = low, high
        widths = high - low + 1
        self.sizes = widths.prod(axis=1)
        work, room = (self.sizes.astype(float) ** 3).sum(), (self.sizes.astype(float) ** 2).sum()
        if work > _WORK or room > _ROOM:
            raise QueueingError(
                f"the chain needs {self.sizes.sum():,} states, up to {self.sizes.max():,} for one "
                "number of jobs at the servers; this is too large"
            )
        self.begin = np.concatenate([[0], np.cumsum(self.sizes)])
        self.level = np.repeat(np.arange(low.shape[0]), self.sizes)
        self.strides = np.ones_like(widths)
        for i in range(widths.shape[1] - 1, 0, -1):
            self.strides[:, i - 1] = self.strides[:, i] * widths[:, i]
        within = np.arange(self.begin[-1]) - self.begin[self.level]
        coordinates = []
        for i in range(widths.shape[1]):
            stride = self.strides[self.level, i]
            coordinates.append(within // stride + low[self.level, i])
            within = within % stride
        self.coordinates = np.array(coordinates)

    def places(self, level: Ints, coordinates: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Return indices of states within their levels (0 if absent), and whether they exist."""
        inside = (level >= 0) & (level < self.sizes.size)
        at = np.where(inside, level, 0)
        place = np.zeros(level.size, np.intp)
        for i, value in enumerate(coordinates):
            inside &= (value >= self.low[at, i]) & (value <= self.high[at, i])
            place += (value - self.low[at, i]) * self.strides[at, i]
        return np.where(inside, place, 0), inside


def _funnel(low: Ints, high: Ints, moves: Sequence[Move]) -> tuple[Ints, Ints]:
    """Widen windows so that every state has a move down within them, which avoids traps.

    Upwards, windows may only become narrower, except that the upper end of the first coordinate may
    decrease by one per level if a move down leads away from it.
    """
    level = np.arange(low.shape[0])
    aside = [0] * (low.shape[1] - 1)
    away = any(move.up < 0 and move.step == (-1, *aside) for move in moves)
    rise = level if away else 0 * level
    low = np.minimum.accumulate(low[::-1])[::-1]
    high = high.copy()
    high[:, 0] -= rise
    high = np.maximum.accumulate(high[::-1])[::-1]
    high[:, 0] += rise
    # states that cannot be reached from above are dropped, which keeps the lowest state
    low[0] = low[min(1, level[-1])]
    return low, high


def _eliminate(states: _States, moves: Sequence[Move]) -> tuple[list[Floats], Floats]:
    """Return shares within each level, and of the levels, by elimination from the top.

    After elimination of the levels above, a level has an M-matrix with a positive inverse, so that
    nothing cancels.
    """
    level, coordinates, begin = states.level, states.coordinates, states.begin
    down = np.zeros(level.size)
    ups, downs = [], []
    for up, step, rate in moves:
        delta = np.array(step)[:, None]
        place, inside = states.places(level + up, coordinates + delta)
        flow = np.where(inside, rate(level, coordinates), 0.0)
        if up > 0:
            ups.append((place, flow[:, None]))
        else:
            down += flow
            # for each state, the state above with this move into it, and its rate
            source, inside = states.places(level + 1, coordinates - delta)
            at = np.minimum(begin[np.minimum(level + 1, begin.size - 2)] + source, level.size - 1)
            downs.append((source, np.where(inside, flow[at], 0.0)))
    last = states.sizes.size - 1
    onwards: list[Floats] = [np.empty(0)] * last
    block = np.diag(down[begin[last] :])
    for n in range(last - 1, -1, -1):
        try:
            inverse = np.maximum(np.linalg.inv(block), 0.0)
        except np.linalg.LinAlgError:
            inverse = np.full_like(block, np.nan)
        some = slice(begin[n], begin[n + 1])
        onward = sum(flow[some] * inverse[place[some]] for place, flow in ups)
        block = -sum(onward[:, source[some]] * flow[some] for source, flow in downs)
        # rows sum to the rate of moves down. This gives the diagonal without a subtraction; the
        # error of a subtraction would grow from level to level if the chain drifts upwards
        diagonal = block.flat[:: block.shape[0] + 1]
        block.flat[:: block.shape[0] + 1] = down[some] - (block.sum(axis=1) - diagonal)
        onwards[n] = onward
    share = _stationary(block)
    shares, logarithms = [share], [0.0]
    for onward in onwards:
        share = share @ onward
        total = share.sum()
        share = share / total
        shares.append(share)
        logarithms.append(logarithms[-1] + np.log(total))
    scale = np.exp(np.array(logarithms) - max(logarithms))
    return shares, scale / scale.sum()


def _stationary(block: Floats) -> Floats:
    """Return x with x block = 0, for a negative generator, without subtractions.

    W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state
    distributions for Markov chains", Operations Research 33(5), 1985.
    """
    rates = -block
    size = rates.shape[0]
    for n in range(size - 1, 0, -1):
        down = rates[n, :n]
        total = down.sum()
        # a corner of the windows may be unreachable
        rates[:n, n] = rates[:n, n] / total if total else 0.0
        rates[:n, :n] += rates[:n, n, None] * down
    share = np.ones(size)
    for n in range(1, size):
        share[n] = share[:n] @ rates[:n, n]
        if share[n] > 1e100:  # the first states are almost never visited
            share[: n + 1] /= share[n]
    return share / share.sum()


def _at_edges(states: _States, share: Floats, moves: Sequence[Move]) -> tuple[Floats, Floats]:
    """Return the share of time, by level and coordinate, in states with moves out of the window."""
    level, coordinates = states.level, states.coordinates
    levels = states.sizes.size
    lower, upper = np.zeros_like(states.low, float), np.zeros_like(states.low, float)
    for up, step, rate in moves:
        to = np.clip(level + up, 0, levels - 1)
        flows = (rate(level, coordinates) > 0) & (to == level + up)
        for i, value in enumerate(coordinates + np.array(step)[:, None]):
            for side, outside in (
                (lower, value < states.low[to, i]),
                (upper, value > states.high[to, i]),
            ):
                lost = np.bincount(to, share * (flows & outside), levels)
                side[:, i] = np.maximum(side[:, i], lost)
    return lower, upper


def _widened(
    states: _States, share: Floats, scale: Floats, lower: Floats, upper: Floats, bound: float
) -> tuple[Ints, Ints]:
    """Return wider windows where the present ones omit too much."""
    levels = scale.size
    seen = np.maximum(scale, 1e-300)
    mean, square = (
        np.array([np.bincount(states.level, share * k**i, levels) for k in states.coordinates])
        / seen
        for i in (1, 2)
    )
    # 1.5 times the width of the present distribution, whose tails are cut by the windows
    low, high = spread(seen, mean, 2.25 * (square - mean**2), bound, levels)
    allowed = bound / (4 * levels)
    more = 2 + (states.high - states.low) // 4
    low = np.where(lower > allowed, np.minimum(low, states.low - more), states.low)
    high = np.where(upper > allowed, np.maximum(high, states.high + more), states.high)
    top = beyond(scale)
    if top > bound:
        ratio = min(scale[-1] / scale[-2], 0.999)
        further = 4 + int(min(np.log(bound / top) / np.log(ratio), levels))
        low = np.concatenate([low, np.repeat(low[-1:], further, axis=0)])
        high = np.concatenate([high, np.repeat(high[-1:], further, axis=0)])
    return np.maximum(low, 0), high
