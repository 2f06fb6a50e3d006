"""Choices of users after a job: leave, or continue after a think time; when the queue is stable."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from workloadkit.queueing.arguments import Condition, Flags, Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.one_server import idle_share
from workloadkit.queueing.probability import Probability, TableProbability
from workloadkit.queueing.reopening.averages import TAIL, averages, by_number, erlang_averages
from workloadkit.queueing.response_function import Form
from workloadkit.queueing.think_time import Breaks

#: Mean think time in service times below which it does not affect the solution.
AT_ONCE = 1e-15


class ThinkTimes(NamedTuple):
    """Think times with two means.

    Parameters
    ----------
    short, long : float
    share_long : callable or None
        Share of users with long think times by response time; None if both means are equal.
    edges : tuple of float
        Known jumps or corners of the share.
    """

    short: float
    long: float
    share_long: Callable[[Floats], Floats] | None = None
    edges: tuple[float, ...] = ()


class Kind(NamedTuple):
    """Users with equal mean think time.

    Parameters
    ----------
    Z : float
        Mean think time, above 0.
    follows : ndarray
        Probability of this think time and another job, after a job that leaves m others behind.
    """

    Z: float
    follows: Floats


class Choices(NamedTuple):
    """Choices of users after a job that leaves m other jobs behind.

    Parameters
    ----------
    kinds : tuple of Kind
    at_once : ndarray
        Probability of another job without think time.
    behind : ndarray
        Probability of another job.
    """

    kinds: tuple[Kind, ...]
    at_once: Floats
    behind: Floats


def thoughts(Z: float | Form, longest: float) -> ThinkTimes:
    """Return think times with two means.

    Parameters
    ----------
    Z : float or Form
        A function with more than two values is represented by its minimum and maximum, with the
        share of users that preserves its mean.
    longest : float
        Longest response time at which a function is evaluated.

    Examples
    --------
    >>> from workloadkit.queueing.think_time import breaks
    >>> thoughts(breaks(1, 20, 3), 10.0)[:2]
    (1.0, 20.0)
    """
    if not isinstance(Z, Form):
        return ThinkTimes(float(Z), float(Z))
    if isinstance(Z, Breaks):
        short, long, limit = float(Z.short), float(Z.long), float(Z.limit)
        if short == long:
            return ThinkTimes(short, long)
        return ThinkTimes(short, long, lambda r: (r > limit).astype(np.float64), (limit,))
    values = Z.at_times(np.linspace(0.0, longest, 2001))
    short, long = float(values.min()), float(values.max())
    if short == long:
        return ThinkTimes(short, long)
    form = Z
    return ThinkTimes(
        short, long, lambda r: np.clip((form.at_times(r) - short) / (long - short), 0.0, 1.0)
    )


def choices(p: Probability, thought: ThinkTimes, S: float, count: int, servers: int) -> Choices:
    """Return the choices for m = 0, ..., count - 1.

    p and the think time are averaged together, since both depend on the response time.
    """
    behind = averages(p, S, count, servers)
    long = np.zeros(count)
    if thought.share_long is not None:
        share = thought.share_long
        edges = (*thought.edges, *(p.times if isinstance(p, TableProbability) else ()))
        phases = count if servers == 1 else max(count - servers + 1, 1) + TAIL * servers
        of_phases = erlang_averages(lambda r: p.at_times(r) * share(r), servers / S, phases, edges)
        long = np.minimum(by_number(of_phases, count, servers), behind)
    kinds, at_once = [], np.zeros(count)
    for Z, follows in ((thought.short, behind - long), (thought.long, long)):
        if Z < AT_ONCE * S:
            at_once = at_once + follows
        elif follows.any():
            kinds.append(Kind(Z, follows))
    return Choices(tuple(kinds), at_once, behind)


# Stability of the re-open model.
#
# Users leave after long response times, so p at long response times decides: the model is stable if
# and only if lam < c (1 - p(∞)) / S, for any think time.


def stability_rules(p: Probability, S: Any, servers: Any) -> list[Condition]:
    """Return the conditions of stability; an error if p has no parameters and tends to 1."""
    if not p.names and float(p.limit) == 1:
        raise QueueingError(f"p is a {p} that tends to 1 for long responses, so users never leave")

    def leave_at_once(at: Mapping[str, Floats]) -> Flags:
        return (at["S"] > 0) | (p.with_values(at).first < 1)

    def leave(at: Mapping[str, Floats]) -> Flags:
        return (at["S"] == 0) | (p.with_values(at).limit < 1)

    def stable(at: Mapping[str, Floats]) -> Flags:
        leaving = np.maximum(1.0 - p.with_values(at).limit, 1e-300)
        return (at["S"] == 0) | (idle_share(at["lam"], at["S"], at["servers"] * leaving) > 0)

    rules = [Condition("S", leave_at_once, "be above 0 if p(0) is 1, or users never leave")]
    if p.names:
        condition = "be such that p is below 1 for long response times, or users never leave"
        rules.append(Condition(p.names[-1], leave, condition))
    try:
        most = f" = {float(servers) * (1.0 - float(p.limit)) / float(S):g}"
    except (TypeError, ValueError, ArithmeticError):  # arrays, or not numbers
        most = ""
    condition = f"be below servers (1 - p after long response times) / S{most}"
    return [*rules, Condition("lam", stable, condition)]


def most_load(p: Probability, S: Floats, servers: Floats) -> Floats:
    """Return the smallest unstable lam; infinite if S is 0."""
    most = servers * (1.0 - p.limit)
    return np.divide(most, S, out=np.full(S.shape, np.inf), where=S > 0)
