"""Orders by a method ``key(self, job)`` of a subclass of a policy, in the compiled engine."""

from collections import namedtuple
from functools import lru_cache
from itertools import repeat
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import compiler_errors, counting, interpreted
from workloadkit.custom import Source
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled.orders import check_frozen, class_number
from workloadkit.simulation.compiled.parts import functions_of, register_functions
from workloadkit.simulation.compiled.state import Jobs
from workloadkit.simulation.orders import VisibleJob
from workloadkit.simulation.workload import Workload


class KeyInPython(NamedTuple):
    """The order of a policy with a custom key, where all jobs are known in advance.

    Parameters
    ----------
    policy : SettledOrder
    known_by : ndarray of int64 or None
        As of `Workload`.
    """

    policy: Any
    known_by: NDArray[np.int64] | None

    def keys_of_all(self, jobs: Jobs, first: Any) -> NDArray[np.float64]:
        """Return the keys of all jobs."""
        users = jobs.user if self.known_by is None else self.known_by[jobs.user]
        columns = (jobs.submit, jobs.estimate, jobs.procs, users, jobs.queue)
        submit, estimate, procs, user, queue = (column.tolist() for column in columns)
        first, place = first.item(), self.policy.place
        each = map(VisibleJob, submit, estimate, procs, user, queue, repeat(first))
        return np.fromiter(map(place, each), np.float64, jobs.submit.size)


def custom_key(policy: Any, workload: Workload, *, known: bool) -> Any:
    """Return the order of a policy with a custom key.

    If all jobs are known in advance, the key is called for each, in Python. Otherwise it is
    compiled, and may use those attributes of the policy that are numbers.

    Raises
    ------
    ParameterError
        If it must be compiled and cannot be.
    """
    if known:
        return KeyInPython(policy, workload.known_by)
    key, numbers, known_by = type(policy).key, _numbers(policy), workload.known_by
    if not isinstance(key, FunctionType):
        raise _cannot(policy)
    kind, given = _kinds(key, Source(key).digest, tuple(numbers))
    order = kind(np.empty(0, np.int64) if known_by is None else known_by, given(**numbers))
    if not interpreted():
        _check_compiles(policy, order, workload.submit.dtype)
    return order


def _numbers(policy: Any) -> dict[str, Any]:
    """Return the attributes of a policy that are numbers."""
    attributes: dict[str, Any] = {}
    for kind in reversed(type(policy).__mro__):
        attributes |= vars(kind)
    attributes |= vars(policy)
    return {
        name: value
        for name, value in attributes.items()
        if isinstance(value, int | float | np.number) and not name.startswith("_")
    }


@lru_cache
def _kinds(key: FunctionType, digest: str, names: tuple[str, ...]) -> tuple[type, type]:
    """Make the classes of a compiled order and of its numbers, once per process and source."""
    check_frozen(key)
    number = class_number()
    kind = namedtuple(f"CustomKey{number}", ["number", "given"])  # type: ignore[misc]
    given = namedtuple(f"Given{number}", names)  # type: ignore[misc]
    compiled = counting(key)

    def key_of_one(state, order, job):
        jobs = state.jobs
        user = jobs.user[job] if order.number.size == 0 else order.number[jobs.user[job]]
        submit, estimate, procs = jobs.submit[job], jobs.estimate[job], jobs.procs[job]
        it = VisibleJob(submit, estimate, procs, user, jobs.queue[job], state.first[0])
        x = float(compiled(order.given, it))
        return x if x == x else np.inf

    register_functions(
        kind, SimpleNamespace(__name__="custom_key", key=key_of_one, compiled=compiled)
    )
    return kind, given


def _check_compiles(policy: Any, order: Any, dtype: np.dtype) -> None:
    """Compile a key with the types that the loop uses."""
    errors = compiler_errors()
    from numba import typeof
    from numba.core import types

    from workloadkit._kernels.native_calls import Reference

    time, whole = dtype.type(1), np.int64(1)
    compiled = functions_of(type(order)).compiled.compiled
    try:
        given = (
            Reference(typeof(order.given)),
            typeof(VisibleJob(time, time, whole, whole, whole, time)),
        )
        compiled.compile(given)
        result = compiled.overloads[given].signature.return_type
    except errors as error:
        raise _cannot(policy) from error
    if not isinstance(result, types.Integer | types.Float | types.Boolean):
        raise _cannot(policy)


def _cannot(policy: Any) -> ParameterError:
    return ParameterError(
        f"scheduler {policy.name}: the key of {type(policy).__name__} cannot be compiled, which is "
        "necessary where not all jobs are known from the start; take engine='python'"
    )
