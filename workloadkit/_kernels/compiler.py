"""Compilation of kernels by numba.

Native code is called by numba's convention: where the result goes, where an exception goes, then
the arguments; the status is returned. The entry of a kernel has two arguments: the address of the
arguments as laid out by `memory`, and where it stores the result.
"""

from collections.abc import Callable
from typing import Any

import numba
import numba.core.compiler
import numba.core.config
import numpy as np
from numba.core import types
from numba.core.ccallback import _CFuncCompiler  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import intrinsic, overload, register_jitable
from numba.np.numpy_support import as_dtype

from workloadkit._kernels.memory import (
    FIELDS_OF_ARRAY,
    FIELDS_OF_BITS,
    FIELDS_OF_GENERATOR,
    LayoutError,
    struct_of,
)
from workloadkit._kernels.object_code import Code
from workloadkit._kernels.reference_type import Reference
from workloadkit._kernels.unfinished import FloatsCompiler, InlinePartCompiler, PartCompiler

# Without reference counting in bare and inlined functions. By default, this option would be that of
# the first caller.
_OPTIONS: dict[str, Any] = {
    "helper": {"pipeline_class": PartCompiler},
    "bare": {"_nrt": False, "error_model": "numpy", "pipeline_class": PartCompiler},
    "inline": {"_nrt": False, "error_model": "numpy", "pipeline_class": InlinePartCompiler},
    "counting": {"_nrt": True, "pipeline_class": PartCompiler},
    "floats": {"error_model": "numpy", "pipeline_class": FloatsCompiler},
}


def check() -> None:
    """Raise an AttributeError if the compiler lacks a private part, or has another layout."""
    for name in ("_get_compiled_object", "_optimize_final_module", "_finalize_final_module"):
        getattr(JITCodeLibrary, name)
    context = cpu_target.target_context
    context.refresh()
    known = (
        (types.int64[::1], FIELDS_OF_ARRAY),
        (types.NumPyRandomGeneratorType("rng"), FIELDS_OF_GENERATOR),
        (types.NumPyRandomBitGeneratorType("bits"), FIELDS_OF_BITS),
    )
    for kind, fields in known:
        if tuple(context.data_model_manager[kind]._fields) != fields:
            raise AttributeError(f"numba {numba.__version__} lays out {kind} otherwise")


def part(function: Callable[..., Any], how: str) -> Any:
    """Compile a function as a part of kernels."""
    return numba.njit(function, **_OPTIONS[how])


def share(function: Callable[..., Any]) -> None:
    """Compile a plain function where kernels call it."""
    register_jitable(pipeline_class=PartCompiler)(function)


def choose(function: Callable[..., Any], chosen: Callable[..., Any], how: str) -> None:
    """Compile, in place of a function, the one that is chosen by types."""
    overload(function, jit_options=_OPTIONS[how], strict=False)(chosen)


def ordinary(function: Callable[..., Any]) -> Any:
    """Compile a function as numba does."""
    return numba.njit(function)


class _NativeCompiler(_CFuncCompiler):
    """Compiles a function without wrappers for Python and C."""

    def _customize_flags(self, flags: Any) -> Any:
        flags = super()._customize_flags(flags)
        flags.no_cfunc_wrapper = True
        return flags


def entry(function: Callable[..., Any], layout: Any, arguments: tuple[Any, ...]) -> Code:
    """Compile a kernel and its entry for the types of arguments."""
    kind = numba.typeof(arguments)
    _check_layout(kind, layout)
    kernel = part(function, "counting")
    models = cpu_target.target_context.data_model_manager
    found: list[Any] = []

    @intrinsic
    def take(_, address):
        def generate(context, builder, signature, values):
            model = models[kind]
            pointer = model.get_data_type().as_pointer()
            return model.load_from_data_pointer(builder, builder.inttoptr(values[0], pointer))

        return kind(types.int64), generate

    @intrinsic
    def put(_, value, address):
        def generate(context, builder, signature, values):
            value, address = values
            context.nrt.incref(builder, signature.args[0], value)  # the caller's
            data = models[signature.args[0]].as_data(builder, value)
            builder.store(data, builder.inttoptr(address, data.type.as_pointer()))
            return context.get_dummy_value()

        found.append(value)
        return types.void(value, types.int64), generate

    def run(address, result):
        put(kernel(*take(address)), result)  # type: ignore[call-arg]

    return _compiled(run, types.void(types.int64, types.int64), lambda: _layout_of(found[-1]))


def native(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Code:
    """Compile a function that takes tuples by reference and returns nothing."""
    kinds = [numba.typeof(argument) for argument in arguments]
    taken = [Reference(kind) if isinstance(kind, types.BaseTuple) else kind for kind in kinds]
    return _compiled(function, types.void(*taken), lambda: "x")


@global_compiler_lock
def _compiled(function: Callable[..., Any], signature: Any, result: Callable[[], Any]) -> Code:
    compiler = _NativeCompiler(function, cpu_target, {}, {}, numba.core.compiler.Compiler)
    done = compiler.compile(signature.args, signature.return_type)
    library, name = done.library, done.fndesc.llvm_func_name
    library.enable_object_caching()
    address = library.get_pointer_to_function(name)
    if library.has_dynamic_globals:  # addresses of this process
        return Code(address, result(), done)
    module = library._final_module
    known = [thing for of in (module.functions, module.global_variables) for thing in of]
    needs = [thing.name for thing in known if thing.is_declaration]
    about = {"name": name, "needs": [need for need in needs if not need.startswith("llvm.")]}
    return Code(address, result(), done, library._get_compiled_object(), about)


def _layout_of(kind: Any) -> Any:
    """Return the layout of a result."""
    if isinstance(kind, types.NoneType):
        return "x"
    if isinstance(kind, types.Number | types.Boolean):
        return _letter(kind)
    if isinstance(kind, types.Array):
        return _letter(kind.dtype), kind.ndim
    if isinstance(kind, types.Tuple | types.UniTuple):
        return tuple, *map(_layout_of, kind)
    raise LayoutError


def _letter(kind: Any) -> str:
    letter = np.dtype(as_dtype(kind)).char
    return "q" if letter == "l" else letter


def _check_layout(kind: Any, layout: Any) -> None:
    """Check that arguments are laid out as the compiler does."""
    context = cpu_target.target_context
    context.refresh()
    data = context.data_model_manager[kind].get_data_type()
    if context.get_abi_sizeof(data) != struct_of(layout).size:
        raise LayoutError
