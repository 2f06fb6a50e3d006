"""The settled orders, compiled."""

from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from workloadkit._kernels.compile import INLINE, in_python, inline, kernel
from workloadkit.simulation.orders import (
    ARRIVAL,
    F1,
    LARGEST,
    LJF,
    SETTLED,
    SJF,
    SMALLEST,
    Order,
    Seen,
)
from workloadkit.simulation.parts import acting, acts_for, kind_of
from workloadkit.simulation.state import ARRIVED

(_arrival, _sjf, _ljf, _smallest, _largest, _f1, _urgency) = map(inline, SETTLED.values())


@inline
def _settled_key(code, job, numbers):
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
    """Return what an order may look at of a job."""
    jobs = state.jobs
    return Seen(
        jobs.submit[job],
        jobs.estimate[job],
        jobs.procs[job],
        jobs.user[job],
        jobs.queue[job],
        state.first[0],
    )


@inline
def _key(state, order, job):
    return _settled_key(order.code, seen(state, job), order.numbers)


@inline
def _no_key(state, order, job):
    return 0.0


def key_of(state, order, job):
    """Return what a settled order ranks a job by that has arrived; 0 without an order."""
    return _key_function(type(order))(state, order, job)


@overload(key_of, jit_options=INLINE, strict=False)
def _compiled_key(state, order, job):
    return in_python(_key_function(kind_of(order)))


def _key_function(kind):
    """Return what ranks jobs by an order: one of these, or a custom one."""
    if kind is type(None):
        return _no_key
    return _key if kind is Order else acting(kind).key


@kernel
def keys_of_all(jobs, first, code, numbers):
    """Return what a settled order ranks the jobs of a log by."""
    submit, _, estimate, procs, user, queue = jobs
    keys = np.empty(submit.size)
    for job in range(submit.size):
        it = Seen(submit[job], estimate[job], procs[job], user[job], queue[job], first)
        keys[job] = _settled_key(code, it, numbers)
    return keys


def ranks(state: Any, order: Any) -> NDArray[np.float64]:
    """Place of each job in a settled order, where all jobs are known."""
    jobs, n_jobs = state.jobs, state.jobs.submit.size
    first = state.first[0] if state.at[ARRIVED] else jobs.submit[0]
    if not isinstance(order, Order):
        keys = acting(type(order)).keys_of_all(jobs, first)
    elif order.code == ARRIVAL:
        return np.arange(float(n_jobs))
    else:
        keys = keys_of_all(jobs, first, order.code, order.numbers)
    place = np.empty(n_jobs)
    place[np.argsort(keys, kind="stable")] = np.arange(n_jobs)
    return place


def custom_order(policy: Any) -> Any:
    """Return the order of a policy with a method ``key(self, job)`` of its own.

    Where all jobs are known it is called for each, in Python; else it is compiled: it may use the
    policy's parameters that are numbers then.
    """
    numbers = {
        name: value for name, value in vars(policy).items() if isinstance(value, int | float)
    }
    name, key = type(policy).__name__, type(policy).key
    kind = namedtuple(name, numbers)  # type: ignore[misc]

    def keys_of_all(jobs: Any, first: Any) -> NDArray[np.float64]:
        submit, _, estimate, procs, user, queue = (column.tolist() for column in jobs)
        each = zip(submit, estimate, procs, user, queue, strict=True)
        return np.array([policy.key(Seen(*job, first)) for job in each], float)

    compiled = numba.njit(key)

    def key_of_one(state, order, job):
        return float(compiled(order, seen(state, job)))

    acts_for(kind, SimpleNamespace(__name__=name, key=key_of_one, keys_of_all=keys_of_all))
    return kind(**numbers)
