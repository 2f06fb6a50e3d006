"""Calls of native functions within kernels: by their addresses, and of the C library."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

from workloadkit._kernels.reference_type import Reference


@intrinsic
def _call(context, address, users, jobs, verb, place, item, now):
    """Call a native function by its address."""

    def generate(context, builder, signature, arguments):
        address, users, *others = arguments
        if not isinstance(signature.args[2], Reference):
            raise TypeError("jobs are passed by reference")
        convention, taken = context.call_conv, (types.voidptr, *signature.args[2:])
        kind = convention.get_function_type(types.none, taken)
        function = builder.inttoptr(address, kind.as_pointer())
        users = builder.inttoptr(users, context.get_value_type(types.voidptr))
        status, _ = convention.call_function(builder, function, types.none, taken, [users, *others])
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    number = types.int64
    return types.void(number, number, jobs, number, number, number, now), generate


call: Any = _call


@intrinsic
def _call_with(context, address, memory):
    """Call a native function of one tuple, which is given by its address."""

    def generate(context, builder, signature, arguments):
        address, memory = arguments
        convention, taken = context.call_conv, (types.voidptr,)
        function = builder.inttoptr(
            address, convention.get_function_type(types.none, taken).as_pointer()
        )
        memory = builder.inttoptr(memory, context.get_value_type(types.voidptr))
        status, _ = convention.call_function(builder, function, types.none, taken, [memory])
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


call_with: Any = _call_with


@intrinsic
def _power(context, x, y):
    """Call the function that Python calls; the compiler replaces it by no other one."""

    def generate(context, builder, signature, arguments):
        number = ir.DoubleType()
        kind = ir.FunctionType(number, (number, number))
        function = get_or_insert_function(builder.module, kind, "pow")
        function.attributes.add("nobuiltin")
        return builder.call(function, arguments)

    return types.float64(types.float64, types.float64), generate


power_of_floats: Any = _power
