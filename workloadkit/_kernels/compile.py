"""How kernels are compiled, and where the compiled code is kept."""

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numba.core.config
import numba.extending
import platformdirs

from workloadkit._kernels.unfinished import InlinePart, Part

#: Folders of the package with files in which something is compiled.
COMPILED = ("_kernels", "simulation")

#: Options of functions in which nothing is counted, see `bare`. Left unsaid, the last would be that
#: of the function by which one is first called.
BARE: Any = {"_nrt": False, "error_model": "numpy", "pipeline_class": Part}

#: Options of those that become part of the loop that calls them.
INLINE: Any = {**BARE, "pipeline_class": InlinePart}

#: Options of those that make arrays; left unsaid, they would be those of the caller.
COUNTING: Any = {"_nrt": True, "pipeline_class": Part}

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


def digest_of(sources: Iterable[Path]) -> str:
    """Digest of the compiler's version and the contents of files, 16 characters."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` when it is first called; later processes load it from the cache."""
    return _kept(lambda keep: numba.njit(cache=keep)(function))


def uncached(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` as `kernel` does, again in each process.

    For what is made of parts that are not of this package: they may change without our knowing.
    """
    return numba.njit(function)


def native(function: Callable[..., Any], signature: Any, *, keep: bool) -> Any:
    """Compile `function` for a signature, to be called by its `address`.

    With `keep`, later processes load it from the cache.
    """
    return _kept(lambda cache: numba.cfunc(signature, cache=cache and keep)(function))


def _kept(compile_: Callable[[bool], Any]) -> Any:
    """Compile something that is kept in the cache, where there is a directory for it."""
    before = config.CACHE_DIR
    config.CACHE_DIR = cache_directory()
    try:
        return compile_(True)
    except RuntimeError:  # no directory can be written to: each process compiles for itself
        return compile_(False)
    finally:
        config.CACHE_DIR = before


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels call; it is kept within their code."""
    return numba.njit(function, pipeline_class=Part)


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
    return numba.extending.register_jitable(pipeline_class=Part)(function)


def in_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as it was before it was compiled, if it was."""
    return getattr(function, "py_func", function)
