"""How kernels are compiled, and where the compiled code is kept."""

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

#: Folders of the package with files in which something is compiled.
COMPILED = ("_kernels", "simulation")

#: Options of functions in which nothing is counted, see `bare`. Left unsaid, the last would be that
#: of the function by which one is first called.
BARE: Any = {"_nrt": False, "error_model": "numpy", "pipeline_class": PartCompiler}

#: Options of those that become part of the loop that calls them.
INLINE: Any = {**BARE, "pipeline_class": InlinePartCompiler}

#: Options of those that make arrays; left unsaid, they would be those of the caller.
COUNTING: Any = {"_nrt": True, "pipeline_class": PartCompiler}

config: Any = numba.core.config  # its settings are made at run time, unknown to type checkers


@cache
def cache_directory() -> str:
    """Directory of the compiled kernels, named by the digest of all kernel sources.

    The compiler notices an edit in the file of a kernel but not in the file of a helper that it
    calls, and would run the old code. With the digest in the name, no old code is ever found.
    """
    package = Path(__file__).parent.parent
    sources = [package / "fields.py"]  # limits of fields
    for folder in COMPILED:
        sources += sorted((package / folder).rglob("*.py"))
    base = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("workloadkit")
    return str(Path(base) / digest_of(sources))


@cache
def _kept_in() -> str:
    """Return the directory where compiled code is kept; none where that is not safe, or cannot be.

    What lies there is run: it must be this user's own, and its place no matter of where he stands.
    """
    directory = Path(cache_directory())
    problem = _problem(directory)
    if problem:
        _warn_of(f"{directory} {problem}")
    return "" if problem else str(directory)


def _problem(directory: Path) -> str:
    """Say why code cannot be kept in a directory; nothing if it can."""
    if not directory.is_absolute():
        return "is relative to the working directory"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        folders = [(folder, folder.stat()) for folder in (directory, *directory.parents)]
    except OSError as error:
        return f"cannot be made: {error.strerror}"
    if os.name != "posix":
        return ""
    if folders[0][1].st_uid != os.geteuid():
        return "is another user's"
    for folder, found in folders:
        if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
            return f"is not safe: others may write to {folder}"
    return ""


@cache
def _warn_of(problem: str) -> None:
    """Say that compiled code is not kept."""
    warnings.warn(
        f"compiled code is not kept, and each process compiles for itself: {problem}",
        WorkloadWarning,
        stacklevel=2,
    )


class _Implementation(numba.core.caching.CompileResultCacheImpl):
    """Keeps code in the directory that it is told, and nowhere else."""

    _locator_classes = [  # noqa: RUF012
        locator  # of a name that has changed from version to version
        for locator in numba.core.caching.CompileResultCacheImpl._locator_classes
        if "UserProvided" in locator.__name__
    ]


class _Cache(numba.core.caching.FunctionCache):
    """The code of a function; where it cannot be read or written, that is a matter of speed."""

    _impl_class = _Implementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the code for a signature; None if there is none."""
        try:
            return super().load_overload(sig, target_context)
        except OSError as error:
            _warn_of(f"{self.cache_path} cannot be read: {error.strerror}")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for a signature."""
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

    For what is made of parts that are not of this package: they may change without our knowing.
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
    """Let the code of something compiled be kept, where there is a directory for it."""
    if not _kept_in():
        return
    before = config.CACHE_DIR
    config.CACHE_DIR = _kept_in()
    try:
        compiled._cache = _Cache(function)
    except RuntimeError:  # the directory cannot be written to
        _warn_of(f"{_kept_in()} cannot be written")
    finally:
        config.CACHE_DIR = before


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels call; it is kept within their code."""
    return numba.njit(function, pipeline_class=PartCompiler)


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper that neither makes nor returns arrays, nor slices of them.

    The references to the arrays that it is given are then not counted. To count those of a tuple of
    dozens of arrays, which is handed on at every event, would take most of the time.
    """
    return numba.njit(function, **BARE)


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper as `bare` does, to be part of the code of its caller.

    What the event loop does at each event is made of dozens of functions of a few lines: to call
    them would take a third of the time.
    """
    return numba.njit(function, **INLINE)


def counting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a helper that makes arrays, or calls what does, for callers that `bare` compiles."""
    return numba.njit(function, **COUNTING)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function where kernels call it; for all others it stays plain Python.

    So the plain engine and the compiled one have one definition of what they both need.
    """
    return numba.extending.register_jitable(pipeline_class=PartCompiler)(function)


def in_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as it was before it was compiled, if it was."""
    return getattr(function, "py_func", function)
