"""Settle what a new log shall be: how long, and of how many users of each kind."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from workloadkit.clock import WEEK, Clock
from workloadkit.errors import ParameterError
from workloadkit.fields import MAX_JOBS_MADE, MAX_TIME
from workloadkit.resample.pools import LONG_TERM_USER, RARE_USER, TEMPORARY_USER, Pools
from workloadkit.settings.resampling import Resample, Start


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


def make_plan(pools: Pools, settings: Resample) -> Plan:
    """Settle what a new log shall be.

    Raises
    ------
    ParameterError
        If a number cannot be, or asks for more users than there are.
    """
    first, weeks = pools.logs[0], settings.weeks
    length = first.weeks if weeks is None else float(weeks)
    if not first.begin + length * WEEK <= MAX_TIME:
        raise ParameterError(f"weeks is {weeks:g}; the log would end out of range")
    rates = _rates(pools, settings)
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
        rare=_share_of_rare(pools, settings.rare_per_week, sum(rate.arrivals for rate in rates)),
        start=settings.start,
    )


def _rates(pools: Pools, settings: Resample) -> tuple[Rates, ...]:
    """Numbers of users that each log gives; those asked for are shared out as by default."""
    members, load = pools.members, settings.load
    long_term_users = settings.long_term_users
    defaults = []
    for number, log in enumerate(pools.logs):
        temporary = members.of(number, TEMPORARY_USER)
        long_term = members.of(number, LONG_TERM_USER).size
        drawable = members.drawable(number, TEMPORARY_USER).size
        present = float(members.n_weeks[temporary].sum()) / log.n_weeks
        defaults.append((long_term, present, temporary.size / log.weeks, drawable))
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
            ("temporary_users", settings.temporary_users, present, totals[0]),
            ("arrivals", settings.arrivals, arriving, totals[1]),
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
        if number > MAX_JOBS_MADE:
            raise ParameterError(
                f"a new log of {weeks:g} weeks would have some {number:.1e} {what}; more than "
                f"{MAX_JOBS_MADE:,} are not made at once"
            )
