"""Kernels, and the functions of which they are made; nothing here loads the compiler.

A kernel is called through native code for the types of its arguments: code of this process, else
what came with the package or is cached, which is loaded without the compiler, else the compiler
makes it, see `compiler`. Signals are handled while it runs, see `in_thread`.
"""

import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache, cached_property, partial
from queue import Empty, SimpleQueue
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from workloadkit._kernels import object_code, patience, prebuilt
from workloadkit._kernels.lists import on_lists
from workloadkit._kernels.memory import Layout, LayoutError, lay_out, pack
from workloadkit._kernels.notices import COMPILING, notify
from workloadkit.errors import WorkloadWarning

if TYPE_CHECKING:
    from multiprocessing.synchronize import Lock as SharedLock

Result = TypeVar("Result")

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
        if warned.acquire(False):
            warnings.warn(f"{what}: {problem}{mend}", WorkloadWarning, stacklevel=2)
        return True
    return False


#: Taken by the first process that warns, of all that work for one command.
warned: "threading.Lock | SharedLock" = threading.Lock()

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


#: Small kernels of as many values are compiled at once.
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


# Native code runs in a thread, while the main thread waits for signals, too.

_STACK = 1 << 26  # bytes, as some systems give threads half a megabyte
_LOOK = 0.1  # s: a signal just before the wait, and each on Windows, does not end it


class _Worker(threading.Thread):
    """Runs one call after another for the main thread, which waits for each."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.done: SimpleQueue[None] = SimpleQueue()
        self.callers: FrameType | None = None
        before = threading.stack_size(_STACK)
        try:
            self.start()
        finally:
            threading.stack_size(before)

    def run(self) -> None:
        while (call := self.calls.get()) is not None:
            self.done.put(call())
            del call
        self.callers = None
        _abandoned.discard(self)

    def end(self) -> None:
        """End the thread as soon as its call has returned."""
        self.calls.put(None)


_idle: list[_Worker] = []
_abandoned: set[_Worker] = set()


def _end_idle() -> None:
    """Leave no thread to a fork of this process, which would not run there."""
    while _idle:
        worker = _idle.pop()
        worker.end()
        worker.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_end_idle)


def is_working() -> bool:
    """Whether the compiler or a kernel still runs for a call that was interrupted."""
    return bool(_abandoned)


def in_thread(make: Callable[[], Result]) -> Result:
    """Return what a function makes in a thread; a signal interrupts the wait, not the function.

    The function then runs on in the background, to its end or that of its slice: a loop of a custom
    part that does not end runs until the process does. Meanwhile it may draw from a generator and
    write into arrays that it was given; all that its callers own stays.
    """
    if threading.current_thread() is not threading.main_thread():  # which handles signals
        return make()
    made: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            made.append(context.run(make))
        except BaseException as error:
            errors.append(error)

    context, worker = copy_context(), _idle.pop() if _idle else _Worker()
    try:
        worker.calls.put(run)
        while not made and not errors:
            with suppress(Empty):
                worker.done.get(timeout=_LOOK)
    except BaseException:
        worker.callers = sys._getframe()  # whose memory native code knows by its address
        _abandoned.add(worker)
        worker.end()
        raise
    _idle.append(worker)
    for error in errors:
        raise error
    return made[0]


_waiting: list[Callable[[], object]] = []
_starting = threading.RLock()


def start_compiler() -> ModuleType:
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
        self._codes: dict[Layout, object_code.Code] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run native code for the types of the arguments."""
        return self.bind(arguments)()

    def bind(self, arguments: tuple[Any, ...], is_short: bool = False) -> Callable[[], Any]:
        """Return a call with these arguments; a short one runs in the thread of its caller."""
        if not _loads_only.get() and interpreted():
            return partial(self._plain, *arguments)
        try:
            layout, words = lay_out(arguments)
            code = self._codes.get(layout)
            if code is None:
                code = _code_of("entry", self.py_func, layout, arguments, self.is_cached)
                self._codes[layout] = code
            call = partial(code, pack(layout, words))
        except LayoutError:
            if lacks_compiler():
                return partial(self._plain, *arguments)
            call = partial(self._ordinary, *arguments)
        except NotLoadedError:
            if _loads_only.get():
                raise
            return partial(self._plain, *arguments)
        return call if is_short else partial(in_thread, call)

    @cached_property
    def _ordinary(self) -> Callable[..., Any]:
        """The function as the compiler calls it, for other types of arguments."""
        function: Callable[..., Any] = start_compiler().ordinary(self.py_func)
        return function


def are_there(module: ModuleType) -> bool:
    """Whether code of all kernels of a module came with the package or is cached."""
    kernels = [each for each in vars(module).values() if isinstance(each, Kernel)]
    return all(object_code.is_there(each.py_func) for each in kernels)


class SmallKernel(Kernel):
    """A kernel that runs on lists as plain Python, see `lists`, if this is sooner."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._plain = on_lists(function)

    def bind(self, arguments: tuple[Any, ...], is_short: bool = False) -> Callable[[], Any]:
        """Return a call with these arguments."""
        with suppress(NotLoadedError), loaded_only():
            return super().bind(arguments, is_short)
        n_values = sum(each.size for each in arguments if isinstance(each, np.ndarray))
        if n_values >= MANY_VALUES or patience.seconds_left() <= 0:
            return super().bind(arguments, is_short)
        return partial(patience.spending()(self._plain), *arguments)


def _code_of(
    how: str, function: Callable[..., Any], layout: Layout, arguments: Any, is_cached: bool
) -> object_code.Code:
    make = partial(_made, how, function, layout, arguments)
    return in_thread(partial(object_code.cached, function, layout, make) if is_cached else make)


def _made(how: str, *what: Any) -> object_code.Code:
    """Compile a function, for a layout of arguments such as these."""
    _sought[:] = [_in_words(what[0], what[-1])]
    if _loads_only.get() or lacks_compiler():
        raise NotLoadedError
    notify(COMPILING)
    code: object_code.Code = getattr(start_compiler(), how)(*what)
    return code


def compiler_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the compiler about a function; raise `NotLoadedError` without one."""
    if lacks_compiler():
        raise NotLoadedError
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    return NumbaError, UnsupportedBytecodeError


def native(
    function: Callable[..., Any], arguments: tuple[Any, ...], *, is_cached: bool
) -> object_code.Code:
    """Return the native code of `function`, to be called by its `address` by kernels.

    It takes tuples by reference. The `arguments` are examples of its types.
    """
    return _code_of("native", function, lay_out(arguments)[0], arguments, is_cached)


def bound(
    function: Callable[..., Any], *arguments: Any, is_short: bool = False
) -> Callable[[], Any]:
    """Return a call of a kernel with these arguments, which the caller keeps: faster if repeated.

    They are laid out once; later calls see changes within their arrays only. A call that is short
    runs in the thread of its caller: some 20 μs less, but no signal interrupts it.
    """
    if isinstance(function, Kernel):
        return function.bind(arguments, is_short)
    return partial(function, *arguments)


# Decorators.


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` when it is first called; later processes load it from the cache."""
    return function if DISABLE_JIT else Kernel(function)


def small(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel of arrays and scalars, unless plain Python on lists is sooner."""
    return function if DISABLE_JIT else SmallKernel(function)


def uncached(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` as `kernel` does, again in each process.

    For code with parts outside this package, which may change unnoticed. An interrupted one runs on
    in the background, until its slice ends: see `in_thread`.
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
