"""Compilation of kernels by numba.

Native code is called by numba's convention: where the result goes, where an exception goes, then
the arguments; the status is returned. The entry of a kernel has two arguments: the address of the
arguments as laid out by `memory`, and where it stores the result.
"""

import operator
from collections.abc import Callable
from contextvars import Context
from typing import Any

import numba
import numba.core.compiler
import numba.core.config
import numpy as np
from numba.core import ir, types
from numba.core.ccallback import _CFuncCompiler  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.registry import cpu_target
from numba.core.typed_passes import NativeLowering
from numba.core.untyped_passes import IRProcessing
from numba.extending import intrinsic, overload, register_jitable
from numba.np.numpy_support import as_dtype

from workloadkit._kernels.floats import compiled_power, power, quotient
from workloadkit._kernels.memory import (
    FIELDS_OF_ARRAY,
    FIELDS_OF_BITS,
    FIELDS_OF_GENERATOR,
    LayoutError,
    struct_of,
)
from workloadkit._kernels.native_calls import Reference
from workloadkit._kernels.object_code import Code

# Compilation of functions that only kernels call.
#
# The compiler optimises every function together with all that it calls, and generates machine code
# and wrappers for callers in Python and in C. A function that is linked into kernels, where it is
# optimised again, needs none of this: its code is left unoptimised.


_BINARY, _POWERS = ("binop", "inplace_binop"), (operator.pow, operator.ipow)


class _Unfinished(JITCodeLibrary):
    """Code to be linked into a kernel's."""

    def _optimize_final_module(self) -> None:
        """Leave the optimisation to the kernel."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Generate such code for a function, without wrappers."""

    _name = "unfinished_lowering"
    _inline = False

    def run_pass(self, state: Any) -> bool:
        flags, context = state.flags, state.targetctx
        flags.forceinline = self._inline
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        state.library = _Unfinished(context.codegen(), state.func_id.func_qualname)
        done: bool = super().run_pass(state)
        # The compiler finds compiled code by the built-in method that Python would call: one of an
        # object of its own, which is never called, as parts are plain Python to Python.
        lowered = state["cr"]._replace(cfunc=Context().run)
        context.insert_user_function(lowered.cfunc, lowered.fndesc, [state.library])
        state["cr"] = lowered
        return done


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlineLowering(_Lowering):
    _name = "unfinished_inline_lowering"
    _inline = True


class _Flags(Flags):
    """Flags as keys: the compiler looks up each function by them, and compares all options."""

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, _Flags) else super().__eq__(other)


class PartCompiler(CompilerBase):
    """Compiles a function as a part of kernels."""

    _lowering: type[NativeLowering] = _Lowering

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = _Flags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        """Return the usual passes, with one replaced."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        usual.passes = [
            (self._lowering if which is NativeLowering else which, why)
            for which, why in usual.passes
        ]
        return [usual]


class InlinePartCompiler(PartCompiler):
    """Compiles a function as a part of kernels, inlined into its callers."""

    _lowering = _InlineLowering


@register_pass(mutates_CFG=False, analysis_only=False)
class _Powers(FunctionPass):
    """Let `power` compute each `**`: the compiler itself takes products for whole exponents."""

    _name = "powers"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        for block in state.func_ir.blocks.values():
            for place in list(block.find_insts(ir.Assign)):
                what = place.value
                if isinstance(what, ir.Expr) and what.op in _BINARY and what.fn in _POWERS:
                    function = block.scope.redefine("$power", place.loc)
                    found = ir.Global("power", power, place.loc)
                    block.body.insert(
                        block.body.index(place), ir.Assign(found, function, place.loc)
                    )
                    place.value = ir.Expr.call(function, (what.lhs, what.rhs), (), place.loc)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


class FloatsCompiler(PartCompiler):
    """Compiles a custom function, with the arithmetic of `floats`."""

    def define_pipelines(self) -> list[Any]:
        """Return the usual passes, and that for powers."""
        (usual,) = super().define_pipelines()
        usual.add_pass_after(_Powers, IRProcessing)
        usual.finalize()
        return [usual]


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


def native(function: Callable[..., Any], _: Any, arguments: tuple[Any, ...]) -> Code:
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
    return Code(address, result(), done, None, library._get_compiled_object(), about)


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


choose(power, compiled_power, "inline")
share(quotient)
