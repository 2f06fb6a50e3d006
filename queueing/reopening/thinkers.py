"""What users do after a job: leave, or go on after a thought that is short or long."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from queueing.arguments import Floats
from queueing.probability import Probability, Table
from queueing.reopening.averages import TAIL, averages, by_number, erlang_averages
from queueing.response_function import Form
from queueing.think_time import Breaks

#: Mean think time, in service times, below which no floating-point number of the answer shows it.
AT_ONCE = 1e-15


class Thoughts(NamedTuple):
    """Think times of two means.

    Parameters
    ----------
    short, long : float
    share_long : callable or None
        From response times to the share of users who think long; None where both are the same.
    edges : tuple of float
        Responses at which the share has jumps or corners, as far as known.
    """

    short: float
    long: float
    share_long: Callable[[Floats], Floats] | None = None
    edges: tuple[float, ...] = ()


class Kind(NamedTuple):
    """Users who think for the same mean time.

    Parameters
    ----------
    Z : float
        Mean think time, above 0.
    follows : ndarray
        Probability of such a thought, and another job, after a job that leaves m others behind.
    """

    Z: float
    follows: Floats


class Choices(NamedTuple):
    """What users do after a job that leaves m others behind.

    Parameters
    ----------
    kinds : tuple of Kind
    at_once : ndarray
        Probability of another job without a thought.
    behind : ndarray
        Probability of another job.
    """

    kinds: tuple[Kind, ...]
    at_once: Floats
    behind: Floats


def thoughts(Z: float | Form, longest: float) -> Thoughts:
    """Return think times as those of two means.

    Parameters
    ----------
    Z : float or Form
        A function that has more than two values is put on its least and its greatest value, each
        with the share of users that keeps its mean.
    longest : float
        Longest response at which such a function is looked at.

    Examples
    --------
    >>> from queueing.think_time import breaks
    >>> thoughts(breaks(1, 20, 3), 10.0)[:2]
    (1.0, 20.0)
    """
    if not isinstance(Z, Form):
        return Thoughts(float(Z), float(Z))
    if isinstance(Z, Breaks):
        short, long, limit = float(Z.short), float(Z.long), float(Z.limit)
        if short == long:
            return Thoughts(short, long)
        return Thoughts(short, long, lambda r: (r > limit).astype(np.float64), (limit,))
    values = Z.at_times(np.linspace(0.0, longest, 2001))
    short, long = float(values.min()), float(values.max())
    if short == long:
        return Thoughts(short, long)
    form = Z
    return Thoughts(
        short, long, lambda r: np.clip((form.at_times(r) - short) / (long - short), 0.0, 1.0)
    )


def choices(p: Probability, thought: Thoughts, S: float, count: int, servers: int) -> Choices:
    """Return what users do, for m = 0, ..., count - 1.

    p and the length of the thought are averaged together: both depend on the same response.
    """
    behind = averages(p, S, count, servers)
    long = np.zeros(count)
    if thought.share_long is not None:
        share = thought.share_long
        edges = (*thought.edges, *(p.times if isinstance(p, Table) else ()))
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
