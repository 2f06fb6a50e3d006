"""Kernels, and the functions of which they are made; nothing here loads the compiler.

A kernel is called through native code for the types of its arguments: code of this process, else
what came with the package or is cached, which is loaded without the compiler, else the compiler
makes it, see `compiler`.
"""

import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from workloadkit._kernels import object_code, patience, prebuilt
from workloadkit._kernels.lists import on_lists
from workloadkit._kernels.memory import LayoutError, lay_out, pack
from workloadkit._kernels.notices import COMPILING, notify
from workloadkit.errors import WorkloadWarning

# Whether kernels run as plain Python.

#: Whether everything stays plain Python, on request.
DISABLE_JIT = os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")


@cache
def lacks_compiler() -> bool:
    """Whether there is no compiler that is known here; one line says so."""
    if DISABLE_JIT:
        return False
    try:
        object_code.check_loader()
        if not object_code.is_in_use():
            from workloadkit._kernels import compiler

            compiler.check()
    except (ImportError, AttributeError) as problem:
        what = "kernels are not compiled, and all runs in slow plain Python"
        if prebuilt.library():
            what = f"{_sought[0]}: not among the kernels of the package, runs in slow plain Python"
        mend = ""
        if isinstance(problem, ImportError):
            mend = "; `pip install 'workloadkit[compiler]'` mends this"
        warnings.warn(f"{what}: {problem}{mend}", WorkloadWarning, stacklevel=2)
        return True
    return False


_sought = ["this"]  # the kernel that was last looked for and not found, in words
_PART = re.compile(r"workloadkit\.simulation\.(policies|users|predictors)\.(\w+)")


def _in_words(function: Callable[..., Any], arguments: Any) -> str:
    """Return the parts of the simulation that a kernel plays; else the name of its function.

    Examples
    --------
    >>> from workloadkit._kernels.statistics import shuffled_within
    >>> _in_words(in_python(shuffled_within), ())
    'statistics.shuffled_within'
    """
    found = [function.__module__, *_modules_of(arguments)]
    parts = [match.groups() for module in found if (match := _PART.match(module))]
    words = {"policies": "scheduler", "users": "users", "predictors": "predictor"}
    named = dict.fromkeys(f"{words[kind]} {part.replace('_', '-')}" for kind, part in parts)
    return ", ".join(named) or f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def _modules_of(value: Any) -> Iterator[str]:
    if isinstance(value, tuple):
        yield type(value).__module__
        for each in value:
            yield from _modules_of(each)


def interpreted() -> bool:
    """Whether all kernels are plain Python, on request or for lack of native code."""
    return DISABLE_JIT or (prebuilt.library() is None and lacks_compiler())


class NotLoadedError(Exception):
    """There is no native code of a kernel yet, or no compiler for it."""


#: Kernels of as many values are compiled at once, and signals are handled while they run.
MANY_VALUES = 200_000

_loads_only = ContextVar("_loads_only", default=False)


@contextmanager
def loaded_only() -> Iterator[None]:
    """Raise `NotLoadedError` where a kernel would have to be compiled."""
    token = _loads_only.set(True)
    try:
        yield
    finally:
        _loads_only.reset(token)


_waiting: list[Callable[[], object]] = []
_starting = threading.RLock()


def start_compiler() -> Any:
    """Load the compiler, once; return its module."""
    from workloadkit._kernels import compiler

    with _starting:
        while _waiting:
            _waiting.pop(0)()
    return compiler


def when_compiling(prepare: Callable[[], object]) -> None:
    """Do something before anything is compiled, if ever."""
    if not DISABLE_JIT:
        _waiting.append(prepare)


class KernelPart:
    """A function that is compiled as a part of kernels."""

    def __init__(self, function: Callable[..., Any], how: str) -> None:
        self.py_func, self.how = function, how
        self.__name__ = function.__name__

    @cached_property
    def compiled(self) -> Any:
        """The compiler's function."""
        return start_compiler().part(self.py_func, self.how)

    @property
    def _numba_type_(self) -> Any:
        """The type of the function, for the compiler."""
        return self.compiled._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        """Run as plain Python: native code is for kernels alone."""
        return self.py_func(*arguments)


class Kernel:
    """A compiled function that Python calls."""

    def __init__(self, function: Callable[..., Any], is_cached: bool = True) -> None:
        self.py_func, self.is_cached = function, is_cached
        self.__name__ = function.__name__
        self._plain = function
        self._codes: dict[Any, object_code.Code] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run native code for the types of the arguments."""
        return self.bind(arguments)()

    def bind(self, arguments: tuple[Any, ...]) -> Callable[[], Any]:
        """Return a call with these arguments, which the caller keeps."""
        try:
            if not _loads_only.get() and interpreted():
                raise NotLoadedError
            layout, words = lay_out(arguments)
            code = self._codes.get(layout) or self._code(layout, arguments)
        except LayoutError:
            return partial(self._ordinary, *arguments)
        except NotLoadedError:
            if _loads_only.get():
                raise
            return partial(self._plain, *arguments)
        call = partial(code, pack(layout, words))
        return partial(_in_thread, call, arguments) if _n_values(arguments) >= MANY_VALUES else call

    def _code(self, layout: Any, arguments: tuple[Any, ...]) -> object_code.Code:
        code = _code_of("entry", self.py_func, layout, arguments, is_cached=self.is_cached)
        self._codes[layout] = code
        return code

    @cached_property
    def _ordinary(self) -> Any:
        """The function as the compiler calls it, for other types of arguments."""
        if lacks_compiler():
            return self.py_func
        return _in_thread(lambda: start_compiler().ordinary(self.py_func))


class SmallKernel(Kernel):
    """A kernel that runs on lists as plain Python, see `lists`, if this is sooner."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._plain = on_lists(function)

    def bind(self, arguments: tuple[Any, ...]) -> Callable[[], Any]:
        """Return a call with these arguments."""
        with suppress(NotLoadedError), loaded_only():
            return super().bind(arguments)
        if _n_values(arguments) >= MANY_VALUES or patience.seconds_left() <= 0:
            return super().bind(arguments)
        return partial(patience.spending()(self._plain), *arguments)


def _code_of(
    how: str, function: Callable[..., Any], *types: Any, is_cached: bool
) -> object_code.Code:
    def make() -> object_code.Code:
        return _made(how, function, *types)

    return object_code.cached(function, types[0], make) if is_cached else make()


def _made(how: str, *what: Any) -> object_code.Code:
    _sought[:] = [_in_words(what[0], what[-1])]
    if _loads_only.get() or lacks_compiler():
        raise NotLoadedError
    notify(COMPILING)
    code: object_code.Code = _in_thread(lambda: getattr(start_compiler(), how)(*what))
    return code


def _n_values(arguments: tuple[Any, ...]) -> int:
    return sum(argument.size for argument in arguments if isinstance(argument, np.ndarray))


_working: set[threading.Thread] = set()
_STACK = 1 << 26  # bytes, as some systems give threads half a megabyte


def is_working() -> bool:
    """Whether the compiler or a kernel still runs for a call that was interrupted."""
    return bool(_working)


def _in_thread(make: Callable[[], Any], kept: Any = None) -> Any:
    """Return what a function makes in a thread; a signal interrupts the wait, not the function.

    What is to be `kept` while it runs has no other owner after an interrupt.
    """
    if threading.current_thread() is not threading.main_thread():  # which handles signals
        return make()
    made: Future[Any] = Future()

    def run(kept: Any) -> None:
        try:
            made.set_result(context.run(make))
        except BaseException as error:
            made.set_exception(error)
        finally:
            _working.discard(thread)

    context, before = copy_context(), threading.stack_size(_STACK)
    try:
        thread = threading.Thread(target=run, args=(kept,))
        _working.add(thread)
        thread.start()
    finally:
        threading.stack_size(before)
    return made.result()


def compiler_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the compiler about a function that it cannot compile.

    Raises
    ------
    NotLoadedError
        If there is no compiler.
    """
    if lacks_compiler():
        raise NotLoadedError
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    return NumbaError, UnsupportedBytecodeError


def native(function: Callable[..., Any], arguments: tuple[Any, ...], *, is_cached: bool) -> Any:
    """Return the native code of `function`, to be called by its `address` by kernels.

    It takes tuples by reference. The `arguments` are examples of its types.
    """
    return _code_of("native", function, lay_out(arguments)[0], arguments, is_cached=is_cached)


def bound(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Return a call of a kernel with these arguments, which the caller keeps: faster if repeated.

    They are laid out once; later calls see changes within their arrays only.
    """
    return (
        function.bind(arguments) if isinstance(function, Kernel) else partial(function, *arguments)
    )


# Decorators.


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` when it is first called; later processes load it from the cache."""
    return function if DISABLE_JIT else Kernel(function)


def small(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel of arrays and scalars, unless plain Python on lists is sooner."""
    return function if DISABLE_JIT else SmallKernel(function)


def uncached(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` as `kernel` does, again in each process.

    For code with parts outside this package, which may change unnoticed.
    """
    return function if DISABLE_JIT else Kernel(function, False)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels call; its code is cached within theirs."""
    return function if DISABLE_JIT else KernelPart(function, "helper")


def of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a custom function with the arithmetic of `floats`."""
    return function if DISABLE_JIT else KernelPart(function, "floats")


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper that neither creates nor returns arrays, nor slices of them.

    References to the arrays that it receives are then not counted. Counting those of a tuple of
    dozens of arrays, passed on at every event, would take most of the time.

    Examples
    --------
    >>> in_python(bare(lambda values, i: values[i] + 1.0))([1.0, 2.0], 1)
    3.0
    """
    return function if DISABLE_JIT else KernelPart(function, "bare")


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper as `bare` does, inlined into its caller.

    The event loop calls dozens of functions of a few lines at each event: the calls would take a
    third of the time.

    Examples
    --------
    >>> in_python(inline(lambda now, end: end <= now))(5, 4)
    True
    """
    return function if DISABLE_JIT else KernelPart(function, "inline")


def counting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper that creates arrays, or calls one that does, for callers of `bare`."""
    return function if DISABLE_JIT else KernelPart(function, "counting")


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function where kernels call it; elsewhere it stays plain Python.

    So both engines share one definition.
    """
    when_compiling(lambda: start_compiler().share(function))
    return function


def chosen_by_type(
    function: Callable[..., Any], how: str = "inline"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator: what it decorates chooses, by types, the function compiled instead."""

    def register(choose: Callable[..., Any]) -> Callable[..., Any]:
        when_compiling(lambda: start_compiler().choose(function, choose, how))
        return choose

    return register


def in_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of a compiled one; others unchanged."""
    return getattr(function, "py_func", function)
