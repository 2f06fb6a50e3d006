"""Orders of waiting jobs: the numbers that jobs are sorted by, smallest first, ties by arrival.

Each order is one function, which both engines call. Those in `SETTLED` give a job its place when it
arrives, for good; those in `VARYING` change as time passes. An order may look at a `VisibleJob`
and at numbers that are parameters of its policy.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import shared
from workloadkit.errors import ParameterError

#: Comes after all queues; exact as a float.
LAST_QUEUE = 2**62


class VisibleJob(NamedTuple):
    """The attributes of a job that an order may use.

    Parameters
    ----------
    submit, estimate : int or float
        [s]
    procs, user, queue : int
    first : int or float
        The first submission of the simulation. [s]
    """

    submit: Any
    estimate: Any
    procs: Any
    user: Any
    queue: Any
    first: Any


class Scoring(NamedTuple):
    """A score as the loops call it: a native function, see `policies.order.kernel`.

    Parameters
    ----------
    follows_users : bool
        Whether it is notified of arrivals, starts and ends of jobs.
    memory, function : int
        Addresses of the score, in the compiler's layout, and of its native function.
    value : ndarray of float64, shape (1,)
        The result.
    kept : ndarray of uint8
        The memory of the score; whoever makes it keeps its arrays.
    """

    follows_users: bool
    memory: Any
    function: Any
    value: NDArray[np.float64]
    kept: NDArray[np.uint8]


NO_SCORING = Scoring(False, 0, 0, np.empty(0), np.empty(0, np.uint8))

#: The index of an order that is a score.
SCORE = 99

# What a score does: compute its value, or follow what happens to a job.
SCORED, ARRIVED, STARTED, ENDED, RETURNED, RENEWED, LEFT = range(7)


class FixedOrder(NamedTuple):
    """A settled order: its index in `SETTLED` and its parameters, or a score."""

    code: int
    numbers: NDArray[np.int64]
    scoring: Scoring = NO_SCORING


class VaryingOrder(NamedTuple):
    """An order that varies with time: its index in `VARYING`, or a score."""

    code: int
    scoring: Scoring = NO_SCORING


def arrival(job, numbers):
    """First come, first served."""
    return 0.0


def sjf(job, numbers):
    """Shortest job first."""
    return float(job.estimate)


def ljf(job, numbers):
    """Longest job first."""
    return -float(job.estimate)


def smallest(job, numbers):
    """Smallest job first."""
    return float(job.procs)


def largest(job, numbers):
    """Largest job first."""
    return -float(job.procs)


def f1(job, numbers):
    """log10(estimate) · processors + 870 · log10(max(submit, 1)), the smallest first.

    With `numbers`, the submit time counts from the first submission.
    """
    since = max(job.submit - job.first if len(numbers) > 0 else job.submit, 1)
    length = math.log10(job.estimate) if job.estimate > 0 else -math.inf
    return length * job.procs + 870.0 * math.log10(since)


def urgency(job, numbers):
    """Place of a job's queue among `numbers`, after all of them if it is not there.

    Without `numbers`, it is the queue's number; unknown queues come last.
    """
    if len(numbers) == 0:
        return float(job.queue if job.queue >= 0 else LAST_QUEUE)
    place = 0
    while place < len(numbers) and numbers[place] != job.queue:
        place += 1
    return float(place)


@shared
def ratio(x, y):
    """Return x / y; by 0, as the estimate of a job may be, it is infinite, or 0 if x is 0."""
    if y > 0:
        return float(x) / float(y)
    return math.inf if x > 0 else -math.inf if x < 0 else 0.0


def wfp3(now, submit, estimate, procs, user):
    """(wait / estimate)³ · processors, the largest first."""
    stretch = ratio(now - submit, estimate)
    return -(stretch * stretch * stretch * procs)  # a power may round differently once compiled


def unicef(now, submit, estimate, procs, user):
    """Wait / (max(log2 processors, 1) · estimate), the largest first."""
    return -ratio(now - submit, max(math.log2(procs), 1.0) * float(estimate))


SETTLED: dict[str, Callable[..., float]] = {
    "arrival": arrival,
    "sjf": sjf,
    "ljf": ljf,
    "smallest": smallest,
    "largest": largest,
    "f1": f1,
    "urgency": urgency,
}

ARRIVAL, SJF, LJF, SMALLEST, LARGEST, F1, URGENCY = range(len(SETTLED))

VARYING: dict[str, Callable[..., float]] = {"wfp3": wfp3, "unicef": unicef}

#: Orders that depend on the sizes of jobs.
BY_SIZE = frozenset(("smallest", "largest", "f1", "wfp3", "unicef"))

WFP3, UNICEF = range(len(VARYING))


def as_number(value: Any, label: str = "a job") -> float:
    """Return the value of a custom order for a job as a float; NaN comes last."""
    if not isinstance(value, Real | np.bool_):
        raise ParameterError(
            f"the order returns {value!r:.60} for {label}; it must return a number"
        )
    return float(value) if value == value else math.inf


@contextmanager
def refused_errors(order: Any, job: Any) -> Iterator[None]:
    """Turn errors of arithmetic in a custom order into one that names it and the job."""
    try:
        yield
    except (ArithmeticError, ValueError) as error:
        name, kind = getattr(order, "__name__", "the order"), type(error).__name__
        raise ParameterError(f"{name} raises {kind} for job {job.number}: {error}") from error


def check_order(scheduler: str, name: str, known: Iterable[str]) -> None:
    """Check that an order is known."""
    if name not in known:
        raise ParameterError(
            f"scheduler {scheduler}: the order is {name!r:.60}; known: {', '.join(known)}"
        )


def settled(name: str, numbers: Any = ()) -> FixedOrder:
    """Return a settled order by its name."""
    return FixedOrder(list(SETTLED).index(name), np.array(numbers, np.int64))


def varying(name: str) -> VaryingOrder:
    """Return an order that varies with time by its name."""
    return VaryingOrder(list(VARYING).index(name))
