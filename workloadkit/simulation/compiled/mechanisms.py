"""Users who react, compiled separately from the event loop.

A *mechanism* is a NamedTuple of arrays and scalars that describes the users, with four functions in
the module that `parts.register_functions` links to it:

- ``begin(users)`` plans the first action of all users;
- ``submit(users, jobs, place, item)`` fills in the job of an item of the agenda;
- ``job_ended(users, jobs, place, now)`` notifies the user of a job of its end;
- ``wake_up(users, jobs, who, now)`` wakes a user.

All plans of users are in the mechanism's `agenda`. The functions of a mechanism become one native
function, compiled once, which the loops of all policies call by its address. So each policy's loop
is compiled once for all users who react.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import (
    chosen_by_type,
    in_python,
    interpreted,
    kernel,
    native,
)
from workloadkit._kernels.memory import lay_out, pack
from workloadkit._kernels.record import by_reference
from workloadkit.simulation.compiled.agenda import Agenda
from workloadkit.simulation.compiled.parts import (
    functions_of,
    is_built_in,
    kind_of,
    register_functions,
)
from workloadkit.simulation.compiled.state import no_jobs

# Actions of users.
BEGIN, SUBMIT, JOB_ENDED, WAKE_UP = range(4)


class ReactingUsers(NamedTuple):
    """Users who react, as a part of the state.

    Parameters
    ----------
    agenda : Agenda
        Their plans.
    mechanism : int
        Address of the mechanism, in the compiler's layout.
    function : int
        Address of the native function of the mechanism.
    kept : ndarray of uint8
        The memory of the mechanism.
    """

    agenda: Agenda
    mechanism: Any
    function: int
    kept: NDArray[np.uint8]


def reacting(users: Any, dtype: np.dtype) -> ReactingUsers:
    """Return users as a part of the state, with times of a given type."""
    if interpreted():
        return ReactingUsers(users.agenda, users, 0, np.empty(0, np.uint8))
    memory = np.frombuffer(bytearray(pack(*lay_out(users))), np.uint8)
    function = _entry(users, dtype, is_cached=is_built_in(users))
    return ReactingUsers(users.agenda, memory.ctypes.data, function, memory)


def begin_all(users: Any, dtype: np.dtype) -> None:
    """Plan the first action of all users."""
    them = reacting(users, dtype)
    _begin_all(them, no_jobs(dtype), dtype.type(0))


@kernel
def _begin_all(users, jobs, now):
    perform_action(users, by_reference(jobs), BEGIN, 0, 0, now)


def _entry(users: Any, dtype: np.dtype, *, is_cached: bool) -> int:
    """Return the address of the native function of a mechanism."""
    layout, _ = lay_out(users)
    if (layout, dtype) not in _functions:
        examples = (users, no_jobs(dtype), 0, 0, 0, dtype.type(0))
        _functions[layout, dtype] = native(_act, examples, is_cached=is_cached)
    return int(_functions[layout, dtype].address)


_functions: dict[Any, Any] = {}


def _act(users, jobs, verb, place, item, now):
    if verb == SUBMIT:
        submit(users, jobs, place, item)
    elif verb == JOB_ENDED:
        job_ended(users, jobs, place, now)
    elif verb == WAKE_UP:
        wake_up(users, jobs, place, now)
    else:
        begin(users)


def begin(users):
    """Plan the first action of all users."""
    functions_of(type(users)).begin(users)


def submit(users, jobs, place, item):
    """Fill in the job of an item."""
    functions_of(type(users)).submit(users, jobs, place, item)


def job_ended(users, jobs, place, now):
    """Notify the user of a job of its end."""
    functions_of(type(users)).job_ended(users, jobs, place, now)


def wake_up(users, jobs, who, now):
    """Wake a user."""
    functions_of(type(users)).wake_up(users, jobs, who, now)


@chosen_by_type(begin, "bare")
def _begin(users):
    return in_python(functions_of(kind_of(users)).begin)


@chosen_by_type(submit, "bare")
def _submit(users, jobs, place, item):
    return in_python(functions_of(kind_of(users)).submit)


@chosen_by_type(job_ended, "bare")
def _job_ended(users, jobs, place, now):
    return in_python(functions_of(kind_of(users)).job_ended)


@chosen_by_type(wake_up, "bare")
def _wake_up(users, jobs, who, now):
    return in_python(functions_of(kind_of(users)).wake_up)


def perform_action(users, jobs, verb, place, item, now):
    """Perform an action of users."""
    _act(users.mechanism, jobs, verb, place, item, now)


@chosen_by_type(perform_action, "bare")
def _perform_action(users, jobs, verb, place, item, now):
    from workloadkit._kernels.native_calls import call

    return lambda users, jobs, verb, place, item, now: call(
        users.function, users.mechanism, jobs, verb, place, item, now
    )


register_functions(ReactingUsers, sys.modules[__name__])
