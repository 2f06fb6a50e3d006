"""Compilation of functions that only kernels call.

The compiler optimises every function together with all that it calls, generates machine code, and
wrappers for callers in Python and in C. For a function that is linked into kernels, in which it is
optimised again, none of this is used; and its callees would be optimised once more for each
function between them and the kernel. So its code is left unoptimised.
"""

import ctypes
import operator
from typing import Any

from numba.core import ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.typed_passes import NativeLowering
from numba.core.untyped_passes import IRProcessing

from workloadkit._kernels.floats import power


class _Method(ctypes.Structure):
    """A PyMethodDef of Python's C interface."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_VARARGS_KEYWORDS = 1 | 2
_BINARY, _POWERS = ("binop", "inplace_binop"), (operator.pow, operator.ipow)
_CALL = _Method(
    b"part_of_kernels",
    ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p),
    _VARARGS_KEYWORDS,
    None,
)
_new_builtin = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))


def _refusal(name: str) -> Any:
    """Return a built-in function, as the compiler requires, that raises an error."""

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError(f"{name} is compiled as a part of kernels; only they can call it")

    return _new_builtin(ctypes.byref(_CALL), refuse, None)


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
        # The compiler finds compiled code by the function that Python would call.
        lowered = state["cr"]._replace(cfunc=_refusal(state.func_id.func_name))
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
