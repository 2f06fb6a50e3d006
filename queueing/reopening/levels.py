"""Markov chains in which every move goes one level up or one down."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queueing.arguments import Floats
from queueing.errors import QueueingError

Ints = NDArray[np.intp]

#: Largest share of time that is left out on each side.
BOUND = 1e-12
#: Most multiplications in one elimination, and most numbers kept of it.
_WORK, _ROOM = 1.6e10, 3e7


class Move(NamedTuple):
    """What can happen in a state.

    Parameters
    ----------
    up : int
        1, to the next level, or -1, to the one below.
    step : tuple of int
        Change of the state's coordinates within the level.
    rate : callable
        From levels, shape (n,), and coordinates, shape (n_coordinates, n), to how often it
        happens.
    """

    up: int
    step: tuple[int, ...]
    rate: Callable[[Ints, Ints], Floats]


class Law(NamedTuple):
    """The stationary law of a chain.

    Parameters
    ----------
    level : ndarray of int, shape (n_states,)
    coordinates : ndarray of int, shape (n_coordinates, n_states)
    share : ndarray, shape (n_states,)
        Of time.
    neglected : float
        Estimate of the share of time that is spent in states left out.
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
) -> Law:
    """Return the stationary law, on windows that are widened until they leave out next to nothing.

    Parameters
    ----------
    low, high : ndarray of int, shape (n_levels, n_coordinates)
        At each level from 0 on, the corners of the states to begin with, both kept.
    moves : callable
        From the number of levels to the moves; those out of the windows are left out.
    bound : float
        Largest share of time that may be left out on each side.
    most : callable, optional
        From levels to the largest coordinates that there are, shape (n_levels, n_coordinates),
        which move by one at most; by default there is no largest.

    Raises
    ------
    QueueingError
        If too many states are needed.
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
            raise QueueingError(
                "the rates of the chain differ by too many orders of magnitude to be solved"
            )
        top = beyond(scale)
        lower, upper = _at_edges(states, share, found)
        if max(top, *lower.sum(axis=0), *upper.sum(axis=0)) <= bound:
            neglected = top + float(lower.sum() + upper.sum())
            return Law(states.level, states.coordinates, share, neglected)
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
        About which share of time is spent at each level.
    mean, variance : ndarray, shape (n_coordinates, n_levels)
        About which coordinates; by default somewhat more than the variance of Poisson laws.
    bound : float
        As of `settle`.
    levels : int, optional
        How many levels are kept; by default those above which next to no time is spent.

    Returns
    -------
    low, high : ndarray of int, shape (levels, n_coordinates)
    """
    above = np.append(np.cumsum(share[:0:-1])[::-1], 0.0)
    top = levels or int(np.argmax(above <= bound / 16)) + 1
    mean = mean[:, :top].T
    if variance is None:
        # margins that spare a second attempt are dear where they multiply
        spread_out = (2.0 if mean.shape[1] == 1 else 1.2) * mean
    else:
        spread_out = np.maximum(variance[:, :top].T, 0.0)
    deviation = np.sqrt(spread_out)
    # standard deviations that a Poisson number leaves with that chance; fewer at seldom levels
    decades = np.log(np.maximum(share[:top, None] / bound, np.e))
    away = np.sqrt(2.0 * decades)
    # where hardly anybody is, each more is as much less likely as the first was
    skew = np.where(mean < 0.01, 1.0 - decades / np.log(np.clip(mean, 1e-300, 0.01)), away**2 / 6.0)
    low = np.floor(mean - away * deviation).astype(np.intp) - 1
    high = np.ceil(mean + away * deviation + skew).astype(np.intp) + 1
    return np.maximum(low, 0), high


def birth_death(up: Floats, down: Floats) -> Floats:
    """Return shares of time at levels 0, 1, ... from rates of moves up, and down from 1 on."""
    logarithm = np.concatenate([[0.0], np.cumsum(np.log(up[:-1]) - np.log(down))])
    share = np.exp(logarithm - logarithm.max())
    return share / share.sum()


def thinking_given(
    up: Floats, down: Floats, Z: float, joining: Floats, each: Floats | None = None
) -> Floats:
    """Return about how many users think at each level, as if their number was Poisson given it.

    Parameters
    ----------
    up : ndarray, shape (n_levels,)
        Rates of moves up, in which each user who thinks has a part of 1 / Z.
    down : ndarray, shape (n_levels - 1,)
        Rates of moves down, from level 1 on.
    Z : float
    joining : ndarray, shape (n_levels - 1,)
        Rates of those moves down that add a user who thinks.
    each : ndarray, shape (n_levels - 1,), optional
        By how much each user who thinks diminishes these.
    """
    from scipy.linalg import solve_banded

    # balance of the first moment, each level's divided by its share of time
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
    """Return the share of time above the highest level, if levels go on falling as at the end."""
    if scale.size < 2 or scale[-1] == 0:
        return 0.0
    ratio = scale[-1] / scale[-2]
    return float(scale[-1] * ratio / (1 - ratio)) if ratio < 1 else 1.0


class _States:
    """All states within windows, level by level, the last coordinate fastest."""

    def __init__(self, low: Ints, high: Ints) -> None:
        self.low, self.high = low, high
        widths = high - low + 1
        self.sizes = widths.prod(axis=1)
        work, room = (self.sizes.astype(float) ** 3).sum(), (self.sizes.astype(float) ** 2).sum()
        if work > _WORK or room > _ROOM:
            raise QueueingError(
                f"the chain needs {self.sizes.sum():,} states, up to {self.sizes.max():,} for one "
                "number of jobs at the servers; that is more than can be solved"
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
        """Places of states within their levels, 0 where they are not there; whether they are."""
        inside = (level >= 0) & (level < self.sizes.size)
        at = np.where(inside, level, 0)
        place = np.zeros(level.size, np.intp)
        for i, value in enumerate(coordinates):
            inside &= (value >= self.low[at, i]) & (value <= self.high[at, i])
            place += (value - self.low[at, i]) * self.strides[at, i]
        return np.where(inside, place, 0), inside


def _funnel(low: Ints, high: Ints, moves: Sequence[Move]) -> tuple[Ints, Ints]:
    """Widen windows so that from every state a move down stays within them: none is a trap.

    Going up, they may only grow narrower; but the upper end of the first coordinate may give way by
    one a level where a move down leads away from it.
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
    # what cannot be reached from above is left out, so that the lowest state is in the law
    low[0] = low[min(1, level[-1])]
    return low, high


def _eliminate(states: _States, moves: Sequence[Move]) -> tuple[list[Floats], Floats]:
    """Shares within each level, and of the levels, by elimination from the highest level down.

    With the levels above it eliminated, a level has an M-matrix, whose inverse is positive: nothing
    cancels.
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
            # for each state, the one above that this move leads from, and how often
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
        # rows sum to the rate of moves down: that says the diagonal without a difference, whose
        # error would grow from level to level where the chain drifts upwards
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
    """Shares x with x block = 0, of a block that is minus a generator, without subtractions.

    W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state
    distributions for Markov chains", Operations Research 33(5), 1985.
    """
    rates = -block
    size = rates.shape[0]
    for n in range(size - 1, 0, -1):
        down = rates[n, :n]
        total = down.sum()
        # a corner of the windows may be an island, where nobody gets to
        rates[:n, n] = rates[:n, n] / total if total else 0.0
        rates[:n, :n] += rates[:n, n, None] * down
    share = np.ones(size)
    for n in range(1, size):
        share[n] = share[:n] @ rates[:n, n]
        if share[n] > 1e100:  # the first states are next to never visited
            share[: n + 1] /= share[n]
    return share / share.sum()


def _at_edges(states: _States, share: Floats, moves: Sequence[Move]) -> tuple[Floats, Floats]:
    """Share of time, by level and coordinate, in states that a move would leave the window from."""
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
    """Windows for another attempt, wider where the present ones leave out too much."""
    levels = scale.size
    seen = np.maximum(scale, 1e-300)
    mean, square = (
        np.array([np.bincount(states.level, share * k**i, levels) for k in states.coordinates])
        / seen
        for i in (1, 2)
    )
    # half as wide again as the law seen so far would have it: the windows cut its tails
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
