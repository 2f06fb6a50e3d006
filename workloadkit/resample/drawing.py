"""Draw a new population from the pools, and find out which of its jobs fall into the new log."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK, Clock
from workloadkit.errors import ParameterError, check_choice, check_number
from workloadkit.fields import MAX_TIME
from workloadkit.resample.pools import LONG_TERM_USER, RARE_USER, TEMPORARY_USER, Pieces, Pools

#: From where on a long-term user is there in week 0: see `resample`.
Start = Literal["activity", "period"]

#: New logs of more jobs, or of more users, are refused before they are drawn.
MAX_JOBS = 20_000_000


class Rates(NamedTuple):
    """How many users one log gives.

    Parameters
    ----------
    long_term : int
        Incarnations of long-term users.
    present : float
        Temporary users to expect in week 0.
    arrivals : float
        Temporary users to expect in each later week.
    """

    long_term: int
    present: float
    arrivals: float


@dataclass(frozen=True, eq=False)
class Plan:
    """What a new log shall be.

    Parameters
    ----------
    clock : Clock
        Of the first log, true to the end of the new one.
    begin, end : float
        Between which the new log lies, both included. [s]
    origin : float
        Local time at which its week 0 begins. [s]
    n_weeks : int
        Weeks in which users arrive.
    last_week : int
        The week of the last second, by local time.
    rates : tuple of Rates
        One for each log.
    rare : float
        Probability that an arriving temporary user is a rare one.
    start : {"activity", "period"}
        Where long-term users begin: amid their activity, or anywhere from a first job to its
        regeneration.
    """

    clock: Clock
    begin: float
    end: float
    origin: float
    n_weeks: int
    last_week: int
    rates: tuple[Rates, ...]
    rare: float
    start: Start


class Placements(NamedTuple):
    """Members set into a new log, in the order in which they were drawn.

    A long-term user who is regenerated is one incarnation with several placements.

    Parameters
    ----------
    member : ndarray of int, shape (n_placements,)
    incarnation : ndarray of int, shape (n_placements,)
        From 0.
    week : ndarray of int, shape (n_placements,)
        Week of the new log in which the first week of the member's activity lies, negative for
        one that began before the log.
    """

    member: NDArray[np.int64]
    incarnation: NDArray[np.int64]
    week: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Draw:
    """The jobs of a new log, in its order.

    Parameters
    ----------
    job : ndarray of int, shape (n_jobs,)
        Place of each job in the pools.
    submit : ndarray of float, shape (n_jobs,)
        Ascending. [s]
    placement : ndarray of int, shape (n_jobs,)
        Place in `placements`.
    placements : Placements
    """

    job: NDArray[np.int64]
    submit: NDArray[np.float64]
    placement: NDArray[np.int64]
    placements: Placements


def make_plan(
    pools: Pools,
    weeks: float | None = None,
    load: float = 1.0,
    *,
    long_term_users: int | None = None,
    temporary_users: float | None = None,
    arrivals: float | None = None,
    rare_per_week: float = 0.0,
    start: Start = "activity",
) -> Plan:
    """Settle what a new log shall be; parameters as of `resample`.

    Raises
    ------
    ParameterError
        If a number cannot be, or asks for more users than there are.
    """
    check_choice("start", start, Start)
    first = pools.logs[0]
    if weeks is not None:
        _check_positive("weeks", weeks)
    length = first.weeks if weeks is None else float(weeks)
    if not first.begin + length * WEEK <= MAX_TIME:
        raise ParameterError(f"weeks is {weeks:g}; the log would end beyond what is believed")
    _check_positive("load", load)
    rates = _rates(pools, load, long_term_users, temporary_users, arrivals)
    _check_number_of_jobs(pools, length, rates)
    clock = Clock.between(first.header, first.begin, first.begin + length * WEEK)
    end = first.end
    if weeks is not None:  # so many weeks on the wall clock; the second after them is not theirs
        end = math.nextafter(float(clock.seconds(first.origin + length * WEEK)), -math.inf)
    return Plan(
        clock,
        first.begin,
        end,
        first.origin,
        n_weeks=max(math.ceil(length), 1),
        last_week=int((clock.local(end) - first.origin) // WEEK),
        rates=rates,
        rare=_share_of_rare(pools, rare_per_week, sum(rate.arrivals for rate in rates)),
        start=start,
    )


def draw(pools: Pools, plan: Plan, rng: np.random.Generator) -> Draw:
    """Draw a new log.

    Parameters
    ----------
    pools : Pools
    plan : Plan
    rng : Generator

    Returns
    -------
    Draw
    """
    placements = _placements(pools, plan, rng)
    if pools.pieces is None:
        job, placement, week = _whole_users(pools, plan, placements)
    else:
        job, placement, week = _mixed_pieces(pools, pools.pieces, placements, rng)
    local = pools.time[job]
    local += plan.origin + week * float(WEEK)
    submit = plan.clock.seconds(local)
    np.maximum(submit, plan.begin, out=submit)  # a begin whose local time clocks strike twice
    if not pools.whole:
        submit = np.round(submit, 6)  # local time has no more digits to tell of
    inside = np.flatnonzero((submit <= plan.end) & (local >= plan.origin))
    order = inside[_order(submit[inside])]
    return Draw(job[order], submit[order], placement[order], placements)


def _order(submit: NDArray[np.float64]) -> NDArray[np.int64]:
    """Sort: of jobs at the same time, those of whoever was drawn first come first.

    It is the stable order. Whole seconds and places, packed into one number each, sort faster.
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
    pools: Pools, plan: Plan, placements: Placements
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Jobs of each placement in the weeks of the new log: job, placement, week to move by."""
    member, week = placements.member, placements.week
    n_weeks = pools.members.n_weeks[member]
    line = member * pools.stride
    low = np.searchsorted(pools.line, line + np.clip(-week, 0, n_weeks))
    high = np.searchsorted(pools.line, line + np.clip(plan.last_week + 1 - week, 0, n_weeks))
    return _expand(low, high, week)


def _expand(
    low: NDArray[np.int64], high: NDArray[np.int64], value: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return low[i], ..., high[i] - 1 for all i, i and value[i] for each of them."""
    size = high - low
    begins = np.cumsum(size) - size
    place = np.repeat(np.arange(size.size), size)
    return np.arange(place.size) + (low - begins)[place], place, value[place]


def _mixed_pieces(
    pools: Pools, pieces: Pieces, placements: Placements, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Move each piece of each placement to a week of its user drawn uniformly, cyclically."""
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


def _placements(pools: Pools, plan: Plan, rng: np.random.Generator) -> Placements:
    """Draw who is there, and from which week of his activity on."""
    parts: list[Placements] = []
    for log, rates in enumerate(plan.rates):
        parts += [
            _long_term_users(pools, plan, log, rates.long_term, rng),
            _present_users(pools, log, rates.present, rng),
            _arriving_users(pools, plan, log, rates.arrivals, rng),
        ]
    # incarnations were numbered within each part
    counts = [int(part.incarnation.max(initial=-1)) + 1 for part in parts]
    before = np.cumsum([0, *counts[:-1]])
    return Placements(
        np.concatenate([part.member for part in parts]),
        np.concatenate([part.incarnation + n for part, n in zip(parts, before, strict=True)]),
        np.concatenate([part.week for part in parts]),
    )


def _long_term_users(
    pools: Pools, plan: Plan, log: int, number: int, rng: np.random.Generator
) -> Placements:
    """Take each once before any twice; replicas begin far apart; all are regenerated."""
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
    """How often each member is there for certain, and the weights for the number that is left."""
    weights = _weights(pools, pool)
    if weights is None:
        return np.full(pool.size, number // max(pool.size, 1)), None
    expected = number * weights / weights.sum()
    times = np.floor(expected + 1e-9)  # what is whole but for rounding is whole
    return times.astype(np.int64), np.maximum(expected - times, 0)


def _present_users(pools: Pools, log: int, expected: float, rng: np.random.Generator) -> Placements:
    """Draw temporary users who are amid their activity as the new log begins."""
    pool = pools.members.drawable(log, TEMPORARY_USER)
    n_weeks = pools.members.n_weeks[pool]
    count = rng.binomial(pool.size, expected / max(pool.size, 1))
    weights = _weights(pools, pool)
    chosen = choose(pool.size, count, rng, n_weeks if weights is None else weights * n_weeks)
    return Placements(pool[chosen], np.arange(count), -rng.integers(n_weeks[chosen]))


def _arriving_users(
    pools: Pools, plan: Plan, log: int, expected: float, rng: np.random.Generator
) -> Placements:
    """Draw temporary users, and rare behaviours among them, for each week after the first."""
    pool = pools.members.drawable(log, TEMPORARY_USER)
    rare = np.flatnonzero(pools.members.kind == RARE_USER)
    counts = rng.binomial(pool.size, expected / max(pool.size, 1), size=plan.n_weeks - 1)
    n_rare = np.zeros_like(counts)
    if plan.rare:
        n_rare = np.minimum(rng.binomial(counts, plan.rare), rare.size)
    chosen = [
        rare[choose_each(rare.size, n_rare, rng)],
        pool[choose_each(pool.size, counts - n_rare, rng, _weights(pools, pool))],
    ]
    weeks = np.arange(1, plan.n_weeks)
    week = [np.repeat(weeks, n_rare), np.repeat(weeks, counts - n_rare)]
    return Placements(np.concatenate(chosen), np.arange(int(counts.sum())), np.concatenate(week))


def choose(
    n: int, count: int, rng: np.random.Generator, weights: NDArray | None = None
) -> NDArray[np.int64]:
    """Draw `count` of 0 to n - 1 one after the other, none twice.

    Parameters
    ----------
    n, count : int
    rng : Generator
    weights : array_like, shape (n,), optional
        Each draw is in proportion to them; by default uniform.

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
    """Do `choose` several times; what is drawn follows one after the other."""
    if weights is not None:
        # Of independent exponential times with these rates, the first ones are such a draw.
        chosen = []
        for count in counts.tolist():
            with np.errstate(divide="ignore"):
                times = rng.standard_exponential(n) / weights
            chosen.append(np.argsort(times, kind="stable")[:count])
        return np.concatenate([np.empty(0, np.int64), *chosen])
    # Fisher and Yates's shuffle, as far as it is needed, of a list of which only those places are
    # kept that do not hold their own number
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
    """Weights of the members of a pool; None where all are equal."""
    weights = pools.members.weight[pool]
    return None if (weights == weights[:1]).all() else weights


def _rates(
    pools: Pools,
    load: float,
    long_term_users: int | None,
    temporary_users: float | None,
    arrivals: float | None,
) -> tuple[Rates, ...]:
    """Numbers of users that each log gives; those asked for are shared out as by default."""
    members = pools.members
    defaults = []
    for number, log in enumerate(pools.logs):
        temporary = members.of(number, TEMPORARY_USER)
        long_term = members.of(number, LONG_TERM_USER).size
        drawable = members.drawable(number, TEMPORARY_USER).size
        present = float(members.n_weeks[temporary].sum()) / log.n_weeks
        defaults.append((long_term, present, temporary.size / log.weeks, drawable))
    for name, value in (
        ("long_term_users", long_term_users),
        ("temporary_users", temporary_users),
        ("arrivals", arrivals),
    ):
        if value is not None:
            _check_not_negative(name, value)
    if long_term_users is not None and long_term_users != math.floor(long_term_users):
        raise ParameterError(f"long_term_users is {long_term_users:g}; it is a whole number")
    pooled = sum(default[0] for default in defaults)
    if long_term_users and not pooled:
        raise ParameterError(f"long_term_users is {long_term_users:g}; that pool is empty")
    n_long_term = _shared_out(long_term_users, [d[0] for d in defaults], load)
    for number, log in enumerate(pools.logs):
        if n_long_term[number] and not members.drawable(number, LONG_TERM_USER).size:
            raise ParameterError(f"each of the long-term users of log {log.name} has weight 0")
    rates = []
    totals = [sum(default[i] for default in defaults) for i in (1, 2)]
    for number, (_, present, arriving, n) in enumerate(defaults):
        expected = []
        for name, given, default, total in (
            ("temporary_users", temporary_users, present, totals[0]),
            ("arrivals", arrivals, arriving, totals[1]),
        ):
            share = default / total if total else 1.0
            value = load * default if given is None else given * share
            asked = f"load {load:g}" if given is None else f"{name} {given:g}"
            if value > n * (1 + 1e-12):
                raise ParameterError(f"{asked} is beyond the pool of {n} temporary users")
            expected.append(min(value, n))
        rates.append(Rates(n_long_term[number], *expected))
    return tuple(rates)


def _shared_out(total: int | None, pools: list[int], load: float) -> list[int]:
    """Numbers of long-term users by log: half up of the load, or a total by largest remainders."""
    if total is None:
        return [math.floor(load * n + 0.5) for n in pools]
    shares = [total * n / max(sum(pools), 1) for n in pools]
    numbers = [math.floor(share) for share in shares]
    by_remainder = sorted(range(len(pools)), key=lambda i: numbers[i] - shares[i])
    for i in by_remainder[: int(total) - sum(numbers) if sum(pools) else 0]:
        numbers[i] += 1
    return numbers


def _share_of_rare(pools: Pools, per_week: float, arrivals: float) -> float:
    """Probability that an arriving temporary user is a rare one."""
    _check_not_negative("rare_per_week", per_week)
    if per_week > arrivals:
        raise ParameterError(
            f"rare_per_week is {per_week:g}, beyond the {arrivals:.3g} temporary users who arrive "
            "in a week"
        )
    if per_week and not (pools.members.kind == RARE_USER).any():
        raise ParameterError(f"rare_per_week is {per_week:g}, but no rare behaviour is given")
    return per_week / arrivals if per_week else 0.0


def _check_number_of_jobs(pools: Pools, weeks: float, rates: tuple[Rates, ...]) -> None:
    """Refuse what would never end or not fit into memory."""
    members = pools.members
    n_jobs = n_users = 0.0
    for log, rate in enumerate(rates):
        pool = members.of(log, LONG_TERM_USER)
        if pool.size:
            per_week = float((members.n_jobs[pool] / members.period[pool]).mean())
            n_jobs += rate.long_term * per_week * weeks
        pool = members.of(log, TEMPORARY_USER)
        temporary = rate.present + rate.arrivals * weeks
        if pool.size:
            n_jobs += temporary * float(members.n_jobs[pool].mean())
        n_users += rate.long_term + temporary
    for number, what in ((n_jobs, "jobs"), (n_users, "users")):
        if number > MAX_JOBS:
            raise ParameterError(
                f"a new log of {weeks:g} weeks would have some {number:.1e} {what}; more than "
                f"{MAX_JOBS:,} are not made at once"
            )


def _check_positive(name: str, value: float) -> None:
    check_number(name, value)
    if not 0 < value < np.inf:
        raise ParameterError(f"{name} is {value:g}; it must be positive")


def _check_not_negative(name: str, value: float) -> None:
    check_number(name, value)
    if not 0 <= value < np.inf:
        raise ParameterError(f"{name} is {value:g}; it must be 0 or more")
