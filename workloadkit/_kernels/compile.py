"""Compilation of kernels, and the cache of compiled code."""

import hashlib
import os
import stat
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numba.core.caching
import numba.core.ccallback
import numba.core.config
import numba.extending
import platformdirs
from numba.core import sigutils

from workloadkit._kernels.unfinished import InlinePartCompiler, PartCompiler
from workloadkit.errors import WorkloadWarning

#: Folders of the package with compiled code.
COMPILED = ("_kernels", "simulation")

#: Options of functions without reference counting, see `bare`. By default, the last option would be
#: that of the first caller.
BARE: Any = {"_nrt": False, "error_model": "numpy", "pipeline_class": PartCompiler}

#: Options of functions that are inlined into the loop.
INLINE: Any = {**BARE, "pipeline_class": InlinePartCompiler}

#: Options of functions that allocate arrays; by default, they would be those of the caller.
COUNTING: Any = {"_nrt": True, "pipeline_class": PartCompiler}

config: Any = numba.core.config  # its settings are created at run time, unknown to type checkers


@cache
def cache_directory() -> str:
    """Directory of the compiled kernels, named by the digest of all kernel sources.

    The compiler notices an edit in the file of a kernel but not in the file of a helper that it
    calls, and would run the old code. With the digest in the name, old code is never found.
    """
    package = Path(__file__).parent.parent
    sources = [package / "fields.py"]  # limits of fields
    for folder in COMPILED:
        sources += sorted((package / folder).rglob("*.py"))
    base = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("workloadkit")
    return str(Path(base) / digest_of(sources))


@cache
def _kept_in() -> str:
    """Return the directory of the cache; empty if that is unsafe or impossible.

    Code in it is executed: it must belong to this user, independent of the working directory.
    """
    directory = Path(cache_directory())
    problem = _problem(directory)
    if problem:
        _warn_of(f"{directory} {problem}")
    return "" if problem else str(directory)


def _problem(directory: Path) -> str:
    """Return why a directory cannot hold compiled code; empty if it can."""
    if not directory.is_absolute():
        return "is relative to the working directory"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        folders = [(folder, folder.stat()) for folder in (directory, *directory.parents)]
    except OSError as error:
        return f"cannot be created: {error.strerror}"
    if os.name != "posix":
        return ""
    if folders[0][1].st_uid != os.geteuid():
        return "belongs to another user"
    for folder, found in folders:
        if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
            return f"is not safe: others may write to {folder}"
    return ""


@cache
def _warn_of(problem: str) -> None:
    """Warn that compiled code is not cached."""
    warnings.warn(
        f"compiled code is not cached, and each process compiles again: {problem}",
        WorkloadWarning,
        stacklevel=2,
    )


class _Implementation(numba.core.caching.CompileResultCacheImpl):
    """Caches code in the given directory only."""

    _locator_classes = [  # noqa: RUF012
        locator  # its name has changed between versions
        for locator in numba.core.caching.CompileResultCacheImpl._locator_classes
        if "UserProvided" in locator.__name__
    ]


class _Cache(numba.core.caching.FunctionCache):
    """The cached code of a function; failures to read or write cost only time."""

    _impl_class = _Implementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the code for a signature; None without one."""
        try:
            return super().load_overload(sig, target_context)
        except OSError as error:
            _warn_of(f"{self.cache_path} cannot be read: {error.strerror}")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Cache the code for a signature."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn_of(f"{self.cache_path} cannot be written: {error.strerror}")


def digest_of(sources: Iterable[Path]) -> str:
    """Digest of the compiler's version and the contents of files, 16 characters."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` when it is first called; later processes load it from the cache."""
    compiled = numba.njit(function)
    if not config.DISABLE_JIT:
        _keep(compiled, function)
    return compiled


def uncached(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` as `kernel` does, again in each process.

    For code with parts outside this package, which may change unnoticed.
    """
    return numba.njit(function)


def native(function: Callable[..., Any], signature: Any, *, keep: bool) -> Any:
    """Compile `function` for a signature, to be called by its `address`.

    With `keep`, later processes load it from the cache.
    """
    signature = sigutils.normalize_signature(signature)
    compiled = numba.core.ccallback.CFunc(function, signature, locals={}, options={})
    if keep:
        _keep(compiled, function)
    compiled.compile()
    return compiled


def _keep(compiled: Any, function: Callable[..., Any]) -> None:
    """Enable the cache for compiled code, if there is a directory for it."""
    if not _kept_in():
        return
    before = config.CACHE_DIR
    config.CACHE_DIR = _kept_in()
    try:
        compiled._cache = _Cache(function)
    except RuntimeError:  # the directory is not writable
        _warn_of(f"{_kept_in()} cannot be written")
    finally:
        config.CACHE_DIR = before


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels call; its code is cached within theirs."""
    return numba.njit(function, pipeline_class=PartCompiler)


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper that neither creates nor returns arrays, nor slices of them.

    References to the arrays that it receives are then not counted. Counting those of a tuple of
    dozens of arrays, passed on at every event, would take most of the time.
    """
    return numba.njit(function, **BARE)


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper as `bare` does, inlined into its caller.

    The event loop calls dozens of functions of a few lines at each event: the calls would take a
    third of the time.
    """
    return numba.njit(function, **INLINE)


def counting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper that creates arrays, or calls one that does, for callers of `bare`."""
    return numba.njit(function, **COUNTING)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function where kernels call it; elsewhere it stays plain Python.

    So both engines share one definition.
    """
    return numba.extending.register_jitable(pipeline_class=PartCompiler)(function)


def in_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of a compiled one; others unchanged."""
    return getattr(function, "py_func", function)
