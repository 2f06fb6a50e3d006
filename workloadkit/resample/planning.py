"""Plan a new log: its length, the numbers of users of each kind, and their weights."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workloadkit.clock import WEEK, Clock
from workloadkit.errors import MOST_LOAD, ParameterError, check_number, quoted
from workloadkit.fields import MAX_JOBS_MADE, MAX_TIME
from workloadkit.resample.pools import (
    LONG_TERM_USER,
    RARE_USER,
    TEMPORARY_USER,
    USER_CLASSES,
    ResamplingPools,
    user_table,
)
from workloadkit.settings.resampling import Resample, Start
from workloadkit.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


class Rates(NamedTuple):
    """Numbers of users drawn from one log.

    Parameters
    ----------
    long_term : int
        Number of incarnations of long-term users.
    present : float
        Expected number of temporary users in week 0.
    arrivals : float
        Expected number of temporary users that arrive in each later week.
    """

    long_term: int
    present: float
    arrivals: float


@dataclass(frozen=True, eq=False)
class ResamplingPlan:
    """Parameters of a new log.

    Parameters
    ----------
    clock : Clock
        Clock of the first log, valid to the end of the new one.
    begin, end : float
        First and last second of the new log. [s]
    origin : float
        Local time of the begin of week 0. [s]
    n_weeks : int
        Weeks in which users arrive.
    last_week : int
        Week of the last second, by local time.
    rates : tuple of Rates
        One per log.
    rare : float
        Probability that an arriving temporary user is a rare behaviour.
    start : {"activity", "period"}
        Where long-term users begin: within their activity, or anywhere from a first job to its
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


def make_plan(pools: ResamplingPools, settings: Resample) -> ResamplingPlan:
    """Plan a new log.

    Raises
    ------
    ParameterError
        If a number is invalid, or exceeds the number of users in a pool.
    """
    first, weeks = pools.logs[0], settings.weeks
    length = first.weeks if weeks is None else float(weeks)
    if not first.begin + length * WEEK <= MAX_TIME:
        raise ParameterError("weeks", f"is {weeks:g}; the end of the log would be out of range")
    rates = _rates(pools, settings)
    _check_number_of_jobs(pools, length, rates)
    clock = Clock.between(first.header, first.begin, first.begin + length * WEEK)
    end = first.end
    if weeks is not None:  # whole weeks by local time, without the second after them
        end = math.nextafter(float(clock.seconds(first.origin + length * WEEK)), -math.inf)
    return ResamplingPlan(
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


def _rates(pools: ResamplingPools, settings: Resample) -> tuple[Rates, ...]:
    """Return the numbers of users for each log; given totals are divided like the defaults."""
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
        raise ParameterError("long_term_users", f"is {long_term_users:g}; the pool is empty")
    n_long_term = _shared_out(long_term_users, [d[0] for d in defaults], load)
    for number, log in enumerate(pools.logs):
        if n_long_term[number] and not members.drawable(number, LONG_TERM_USER).size:
            raise ParameterError(f"all long-term users of log {log.name} have weight 0")
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
            target = f"load {load:g}" if given is None else f"{name} {given:g}"
            if value > n * (1 + 1e-12):
                is_percent = given is None and load > MOST_LOAD
                hint = "; it is a factor: write 0.9 for 90 %" if is_percent else ""
                raise ParameterError(
                    f"{target} requires more than the {n} temporary users in the pool{hint}"
                )
            expected.append(min(value, n))
        rates.append(Rates(n_long_term[number], *expected))
    return tuple(rates)


def _shared_out(total: int | None, pools: list[int], load: float) -> list[int]:
    """Return numbers of long-term users by log: from the load, or a total divided in proportion."""
    if total is None:
        return [math.floor(load * n + 0.5) for n in pools]
    shares = [total * n / max(sum(pools), 1) for n in pools]
    numbers = [math.floor(share) for share in shares]
    by_remainder = sorted(range(len(pools)), key=lambda i: numbers[i] - shares[i])
    for i in by_remainder[: int(total) - sum(numbers) if sum(pools) else 0]:
        numbers[i] += 1
    return numbers


def _share_of_rare(pools: ResamplingPools, per_week: float, arrivals: float) -> float:
    """Return the probability that an arriving temporary user is a rare behaviour."""
    if per_week > arrivals:
        raise ParameterError(
            "rare_per_week",
            f"is {per_week:g}, but only {arrivals:.3g} temporary users arrive per week",
        )
    if per_week and not (pools.members.kind == RARE_USER).any():
        raise ParameterError("rare_per_week", f"is {per_week:g}, but no rare behaviour is given")
    return per_week / arrivals if per_week else 0.0


def _check_number_of_jobs(pools: ResamplingPools, weeks: float, rates: tuple[Rates, ...]) -> None:
    """Check that the new log is not too large."""
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
                f"a new log of {weeks:g} weeks would have about {number:.1e} {what}; the limit is "
                f"{MAX_JOBS_MADE:,}"
            )


# Weights of users for drawing new logs.

#: Weights of users: by number, by name of a class, or as a function of the user's row.

Weights = Mapping[int, float] | Mapping[str, float] | Callable[["pd.Series"], float]


def weigh(pools: ResamplingPools, traces: Sequence[Trace], weights: Weights) -> ResamplingPools:
    """Set the weights with which users of the pools are drawn.

    Parameters
    ----------
    pools : ResamplingPools
    traces : sequence of Trace
        The logs of the pools.
    weights : mapping or callable
        See `weights_of`. Rare behaviours keep a weight of 1.

    Raises
    ------
    ParameterError
        As `weights_of`, and if users are specified by number for several logs.
    """
    if isinstance(weights, Mapping) and len(traces) > 1:
        for key in weights:
            if isinstance(key, Integral):
                raise ParameterError(
                    "weights", f"has user {key}, but there are several logs; use classes instead"
                )
    members = pools.members
    weight = members.weight.copy()
    for number, trace in enumerate(traces):
        mine = (members.log == number) & (members.kind != RARE_USER)
        weight[mine] = weights_of(trace, weights).loc[members.user[mine]].to_numpy()
    return replace(pools, members=members._replace(weight=weight))


def weights_of(trace: Trace, weights: Weights) -> "pd.Series":
    """Return the weight with which each user of a log is drawn.

    Parameters
    ----------
    trace : Trace
    weights : mapping or callable
        By user number, by name of a class, or a function of the user's row of `user_table`. Users
        not specified have weight 1; weights of several classes multiply.

    Returns
    -------
    Series of float
        By user.

    Raises
    ------
    ParameterError
        If a user or a class is unknown, or a weight is not a number, 0 or more.

    Examples
    --------
    >>> log = {"submit": [0, 5, 9], "run": [9, 9, 4000], "procs": [1, 1, 8], "user": [3, 3, 7]}
    >>> weights_of(Trace.from_columns(log), {"parallel": 4, "long": 2}).to_dict()
    {3: 1.0, 7: 8.0}
    """
    import pandas as pd

    table = user_table(trace)
    if callable(weights):
        given = {user: weights(row) for user, row in table.iterrows()}
        for user, weight in given.items():
            _check_weight(f"of user {user}", weight)
        return pd.Series(given, dtype=np.float64)
    if not isinstance(weights, Mapping):
        raise ParameterError(
            "weights",
            f"is of type {type(weights).__name__}; it must map users or classes to "
            "numbers, or be a function of a row of user_table",
        )
    chosen = pd.Series(1.0, index=table.index)
    column_of = {name: column for column, names in USER_CLASSES.items() for name in names}
    for key, weight in weights.items():
        _check_weight(f"of {key!r}", weight)
        if isinstance(key, Integral) and key in table.index:
            chosen[key] *= weight
        elif isinstance(key, str) and key in column_of:
            chosen[table[column_of[key]] == key] *= weight
        else:
            known = ", ".join(column_of)
            raise ParameterError(
                "weights",
                f"has {quoted(key)}, which is neither a user of {trace.name} nor a class; known "
                f"classes: {known}",
            )
    return chosen


def _check_weight(of: str, weight: float) -> None:
    check_number(f"the weight {of}", weight)
    if not 0 <= weight < np.inf:
        raise ParameterError(f"the weight {of} is {weight:g}; it must be 0 or more, and finite")
