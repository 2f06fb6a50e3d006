"""The orders of waiting jobs, compiled."""

from collections import namedtuple
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import (
    bare,
    chosen_by_type,
    helper,
    in_python,
    inline,
    kernel,
)
from workloadkit._kernels.record import by_reference
from workloadkit.custom import Source
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled.parts import functions_of, kind_of, register_functions
from workloadkit.simulation.orders import (
    ARRIVAL,
    F1,
    LARGEST,
    LJF,
    SCORE,
    SCORED,
    SETTLED,
    SJF,
    SMALLEST,
    VARYING,
    WFP3,
    FixedOrder,
    VaryingOrder,
    VisibleJob,
)

# Sorting of numbers that are mostly whole and small.


_DIGIT = 16  # bits; numpy sorts such numbers by digits, several times as fast as others


def stable_order(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of numbers, smallest first, equal ones in their present order.

    Parameters
    ----------
    values : ndarray, shape (n,)

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    >>> stable_order(np.array([3600.0, 60.0, 3600.0, 70_000.0])).tolist()
    [1, 0, 2, 3]
    """
    digits = _whole(values)
    if digits is None:
        return np.argsort(values, kind="stable")
    order = np.argsort(digits.astype(np.uint16), kind="stable")
    if digits.max() >> _DIGIT:
        order = order[np.argsort((digits >> _DIGIT).astype(np.uint16)[order], kind="stable")]
    return order


def _whole(values: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return whole numbers, from 0 on; None for others, or if two digits are not enough."""
    if values.size == 0 or not float(values.max()) - float(values.min()) < 1 << 2 * _DIGIT:
        return None
    least = values.min()
    found = (values - least).astype(np.int64)
    return found if (least + found == values).all() else None


# The orders of waiting jobs, compiled.


(_arrival, _sjf, _ljf, _smallest, _largest, _f1, _urgency) = map(inline, SETTLED.values())
_wfp3, _unicef = map(inline, VARYING.values())


@inline
def settled_key(code, job, numbers):
    """Return the key of a job in a built-in settled order."""
    if code == ARRIVAL:
        return _arrival(job, numbers)
    if code == SJF:
        return _sjf(job, numbers)
    if code == LJF:
        return _ljf(job, numbers)
    if code == SMALLEST:
        return _smallest(job, numbers)
    if code == LARGEST:
        return _largest(job, numbers)
    if code == F1:
        return _f1(job, numbers)
    return _urgency(job, numbers)


@inline
def seen(state, job):
    """Return the attributes of a job that an order may use."""
    jobs = state.jobs
    return VisibleJob(
        jobs.submit[job],
        jobs.estimate[job],
        jobs.procs[job],
        jobs.user[job],
        jobs.queue[job],
        state.first[0],
    )


def tell_score(scoring, jobs, what, job, now):
    """Let a score compute its value, or follow what happens to a job."""
    scoring.function(scoring.memory, jobs, what, job, 0, now)


@chosen_by_type(tell_score)
def _tell_score(scoring, jobs, what, job, now):
    from workloadkit._kernels.native_calls import call

    return lambda scoring, jobs, what, job, now: call(
        scoring.function, scoring.memory, jobs, what, job, 0, now
    )


@inline
def _score(scoring, jobs, job, now):
    tell_score(scoring, jobs, SCORED, job, now)
    return scoring.value[0]


@kernel
def scores_of_all(scoring, jobs):
    """Return the scores of the jobs of a log as they arrive."""
    scores = np.empty(jobs.submit.size)
    _score_all(scoring, by_reference(jobs), scores)
    return scores


@bare
def _score_all(scoring, jobs, scores):
    for job in range(scores.size):
        scores[job] = _score(scoring, jobs, job, jobs.submit[job])


@inline
def _key(state, order, job):
    if order.code == SCORE:
        return _score(order.scoring, state.jobs, job, state.jobs.submit[job])
    return settled_key(order.code, seen(state, job), order.numbers)


@inline
def _no_key(state, order, job):
    return 0.0


def key_of(state, order, job):
    """Return the key of a job that has arrived, in a settled order; 0 without an order."""
    return _key_function(type(order))(state, order, job)


@chosen_by_type(key_of)
def _compiled_key(state, order, job):
    return in_python(_key_function(kind_of(order)))


def _key_function(kind):
    """Return the key function of an order: a built-in or a custom one."""
    if kind is type(None):
        return _no_key
    return _key if kind is FixedOrder else functions_of(kind).key


@inline
def varying_value(code, now, submit, estimate, procs):
    """Return the value of a built-in order that varies with time."""
    if code == WFP3:
        return _wfp3(now, submit, estimate, procs, -1)
    return _unicef(now, submit, estimate, procs, -1)


@inline
def _value(state, order, job, now):
    jobs = state.jobs
    if order.code == SCORE:
        return _score(order.scoring, jobs, job, now)
    return varying_value(order.code, now, jobs.submit[job], jobs.estimate[job], jobs.procs[job])


@inline
def _follows(state, order, what, job, now):
    if order.scoring.follows_users:
        tell_score(order.scoring, state.jobs, what, job, now)


@inline
def _follows_not(state, order, what, job, now):
    pass


def score_follows(state, order, what, job, now):
    """Let an order that is a score follow what happens to a job."""
    _follow_function(type(order))(state, order, what, job, now)


@chosen_by_type(score_follows)
def _score_follows(state, order, what, job, now):
    return in_python(_follow_function(kind_of(order)))


def _follow_function(kind):
    return _follows if kind is VaryingOrder else _follows_not


def value_of(state, order, job, now):
    """Return the value of a waiting job in an order that varies with time."""
    return _value_function(type(order))(state, order, job, now)


@chosen_by_type(value_of)
def _compiled_value(state, order, job, now):
    return in_python(_value_function(kind_of(order)))


def _value_function(kind):
    """Return the value function of an order that varies with time: the built-in or a custom one."""
    return _value if kind is VaryingOrder else functions_of(kind).value


@inline
def _settled_place(state, order, job, now):
    return key_of(state, order, job)


def place_of(state, order, job, now):
    """Return the number of a waiting job in an order of any kind."""
    return _place_function(type(order))(state, order, job, now)


@chosen_by_type(place_of)
def _compiled_place(state, order, job, now):
    return in_python(_place_function(kind_of(order)))


def _place_function(kind):
    return _value if kind is VaryingOrder else _settled_place


@kernel
def keys_of_all(jobs, first, code, numbers):
    """Return the keys of the jobs of a log in a settled order."""
    submit, estimate, procs = jobs.submit, jobs.estimate, jobs.procs
    user, queue = jobs.user, jobs.queue
    keys = np.empty(submit.size)
    for job in range(submit.size):
        it = VisibleJob(submit[job], estimate[job], procs[job], user[job], queue[job], first)
        keys[job] = settled_key(code, it, numbers)
    return keys


def by_arrival(*orders: Any) -> bool:
    """Whether all orders are the order of arrival, in which the places of jobs are known."""
    return all(isinstance(order, FixedOrder) and order.code == ARRIVAL for order in orders)


def ranks(state: Any, order: Any) -> NDArray[np.float64]:
    """Place of each job in a settled order, where all jobs are known."""
    jobs, n_jobs = state.jobs, state.jobs.submit.size
    first = state.first[0] if state.at.arrived else jobs.submit[0]
    if not isinstance(order, FixedOrder):
        keys = order.keys_of_all(jobs, first)
    elif order.code == ARRIVAL:
        return np.arange(float(n_jobs))
    elif order.code == SCORE:
        keys = scores_of_all(order.scoring, jobs)
    else:
        keys = keys_of_all(jobs, first, order.code, order.numbers)
    place = np.empty(n_jobs)
    place[stable_order(keys)] = np.arange(n_jobs)
    return place


def function_of_time(order: Callable[..., Any], known_by: NDArray[np.int64] | None) -> Any:
    """Return a function of (now, submit, estimate, procs, user) as an order that varies with time.

    `known_by` are the user numbers that the function receives, if users react.
    """
    kind = _kind_of_order(order, Source(order).digest)
    return kind(np.empty(0, np.int64) if known_by is None else known_by)


#: The compiler treats references to tuples with equal names as equal: each class has a number.
class_number = partial(next, count())


#: Functions that were compiled elsewhere, by id, with their sources at that time.
_frozen: dict[int, tuple[Any, str]] = {}


def check_frozen(order: Any) -> None:
    """Check that the values to which a compiled function refers have not changed since.

    The compiler freezes the values of globals when it compiles a function.
    """
    for function in Source(order).reached:
        if hasattr(function, "py_func"):
            digest = Source(function).digest
            _, before = _frozen.setdefault(id(function), (function, digest))
            if digest != before:
                raise ParameterError(
                    f"{function.__name__} refers to values that have changed since it was "
                    "compiled; define it again"
                )


@lru_cache
def _kind_of_order(order: Callable[..., Any], digest: str) -> type:
    """Make the class of a compiled order, once per process and source."""
    check_frozen(order)
    compiled = order if hasattr(order, "py_func") else helper(order)
    kind = namedtuple(f"CustomOrder{class_number()}", ["number"])  # type: ignore[misc]

    def value(state, order, job, now):
        jobs = state.jobs
        user = jobs.user[job] if order.number.size == 0 else order.number[jobs.user[job]]
        submit, estimate, procs = jobs.submit[job], jobs.estimate[job], jobs.procs[job]
        x = float(compiled(now, submit, estimate, procs, user))
        return x if x == x else np.inf  # NaN comes last

    register_functions(kind, SimpleNamespace(__name__="custom_order", value=value))
    return kind
