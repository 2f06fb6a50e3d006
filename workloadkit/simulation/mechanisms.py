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
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype
from numpy.typing import NDArray

from workloadkit._kernels.compile import BARE, config, in_python, kernel, native
from workloadkit._kernels.reference import Reference, by_reference
from workloadkit.simulation.agenda import Agenda
from workloadkit.simulation.parts import functions_of, is_built_in, kind_of, register_functions
from workloadkit.simulation.state import Jobs

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
    if config.DISABLE_JIT:
        return ReactingUsers(users.agenda, users, 0, np.empty(0, np.uint8))
    kind = numba.typeof(users)
    memory = _laid_out(kind, users)
    function = _entry(kind, dtype, built_in=is_built_in(users))
    return ReactingUsers(users.agenda, memory.ctypes.data, function, memory)


def begin_all(users: Any, dtype: np.dtype) -> None:
    """Plan the first action of all users."""
    them = reacting(users, dtype)
    _begin_all(them, _no_jobs(dtype), dtype.type(0))


@kernel
def _begin_all(users, jobs, now):
    perform_action(users, by_reference(jobs), BEGIN, 0, 0, now)


@cache
def _entry(users: Any, dtype: np.dtype, *, built_in: bool) -> int:
    """Return the address of the native function of a mechanism."""
    jobs = numba.typeof(_no_jobs(dtype))
    time = numba.from_dtype(dtype)
    signature = types.void(
        Reference(users), Reference(jobs), types.int64, types.int64, types.int64, time
    )
    compiled = native(_act, signature, keep=built_in)
    _kept.append(compiled)
    return int(compiled.address)


def _no_jobs(dtype: np.dtype) -> Jobs:
    nothing, none = np.empty(0, dtype), np.empty(0, np.int64)
    return Jobs(nothing, nothing, nothing, none, none, none, nothing)


_kept: list[Any] = []  # keeps the native functions alive


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


@overload(begin, jit_options=BARE, strict=False)
def _begin(users):
    return in_python(functions_of(kind_of(users)).begin)


@overload(submit, jit_options=BARE, strict=False)
def _submit(users, jobs, place, item):
    return in_python(functions_of(kind_of(users)).submit)


@overload(job_ended, jit_options=BARE, strict=False)
def _job_ended(users, jobs, place, now):
    return in_python(functions_of(kind_of(users)).job_ended)


@overload(wake_up, jit_options=BARE, strict=False)
def _wake_up(users, jobs, who, now):
    return in_python(functions_of(kind_of(users)).wake_up)


def perform_action(users, jobs, verb, place, item, now):
    """Perform an action of users."""
    _act(users.mechanism, jobs, verb, place, item, now)


@overload(perform_action, jit_options=BARE)
def _perform_action(users, jobs, verb, place, item, now):
    return lambda users, jobs, verb, place, item, now: _call(  # type: ignore[call-arg]
        users.function, users.mechanism, jobs, verb, place, item, now
    )


@intrinsic
def _call(context, address, users, jobs, verb, place, item, now):
    """Call a native function by its address."""

    def generate(context, builder, signature, arguments):
        address, users, jobs, *others = arguments
        if not isinstance(signature.args[2], Reference):
            raise TypeError("jobs are passed by reference")
        pointer = ir.IntType(8).as_pointer()
        users = builder.inttoptr(users, pointer)
        values = [users, jobs, *others]
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
        builder.call(builder.inttoptr(address, kind.as_pointer()), values)
        return context.get_dummy_value()

    number = types.int64
    return types.void(number, number, jobs, number, number, number, now), generate


def _laid_out(kind: Any, thing: Any) -> NDArray[np.uint8]:
    """Return a tuple in the memory layout of compiled code.

    Written in Python, as the compiler takes a second to unpack dozens of arrays.
    """
    layout, content = _layout_of(kind, thing)
    return np.array([content], layout).view(np.uint8)


def _layout_of(kind: Any, thing: Any) -> tuple[Any, Any]:
    if isinstance(kind, types.BaseTuple):
        kinds: Any = kind
        parts = [_layout_of(kinds[i], part) for i, part in enumerate(thing)]
        fields = [(f"f{i}", layout) for i, (layout, _) in enumerate(parts)]
        return np.dtype(fields, align=True), tuple(content for _, content in parts)
    if isinstance(kind, types.Array):
        nobodys = 0, 0  # the arrays outlive the simulation, and are not counted
        where = thing.size, thing.itemsize, thing.ctypes.data
        words = (*nobodys, *where, *thing.shape, *thing.strides)
    elif isinstance(kind, types.Number | types.Boolean):
        return as_dtype(kind), thing
    else:
        memory = np.zeros(_size_of(thing) // 8, np.int64)
        _store(thing, memory.ctypes.data)
        words = tuple(memory)
    return (np.int64, (len(words),)), words


@intrinsic
def _size(context, thing):
    def generate(context, builder, signature, arguments):
        size = context.get_abi_sizeof(context.get_data_type(signature.args[0]))
        return context.get_constant(types.int64, size)

    return types.int64(thing), generate


@intrinsic
def _put(context, thing, address):
    def generate(context, builder, signature, arguments):
        thing, address = arguments
        kind = signature.args[0]
        data = context.data_model_manager[kind].as_data(builder, thing)
        builder.store(data, builder.inttoptr(address, data.type.as_pointer()))
        return context.get_dummy_value()

    return types.void(thing, types.int64), generate


@kernel
def _size_of(thing):
    return _size(thing)  # type: ignore[call-arg]


@kernel
def _store(thing, address):
    _put(thing, address)  # type: ignore[call-arg]


register_functions(ReactingUsers, sys.modules[__name__])
