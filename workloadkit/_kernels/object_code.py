"""The cache of compiled code: object files that are loaded without the compiler."""

import ctypes
import hashlib
import importlib.util
import inspect
import json
import os
import pickle
import re
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from workloadkit._kernels import prebuilt
from workloadkit._kernels.memory import Layout, from_json, struct_of, text_of, unpack
from workloadkit._kernels.sources import sources_digest
from workloadkit._kernels.trust import UntrustedError, own_folder, read_own
from workloadkit.errors import WorkloadWarning

_SUFFIX = ".kernel"
_UNUSED = 30 * 86400.0  # seconds after which a folder of another version is removed
_LONGEST = 1 << 26  # of a file [bytes], a hundred times the longest known
_has_warned = False
_SUCCESS = (0, -2)  # statuses of the compiler's calling convention
_MEMORY = "numba.core.runtime._nrt_python"
#: The compiler's modules with functions that compiled code calls, by the prefix of these.
_HELPERS = {"NRT_": _MEMORY, "numba_": "numba._helperlib"}


class Code:
    """Native code of a function, see `compiler` for how it is called.

    Parameters
    ----------
    address : int
    result : layout
    owner : object
        Keeps the code in memory.
    release : callable, optional
        Gives back an array that the code created, by its address; by default the compiler's.
    content : bytes
        The object file; empty if it is of no use to another process.
    about : dict
        The `name` of the function in it, and the functions that it `needs`.
    """

    def __init__(
        self,
        address: int,
        result: Layout,
        owner: object,
        release: Callable[[int], object] | None = None,
        content: bytes = b"",
        about: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self.address, self.result, self._owner, self._release = address, result, owner, release
        self.content = content
        #: A line about it, for files; `tuple` is the only class in a result's layout.
        self.head = json.dumps({**about, "result": result}, default=lambda _: "tuple").encode()
        # other threads of Python run meanwhile
        self._call = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
        )(address)

    def __call__(self, arguments: bytes) -> Any:
        """Call it with laid out arguments."""
        result = ctypes.create_string_buffer(struct_of(self.result).size)
        nothing, error = ctypes.c_void_p(), ctypes.c_void_p()
        status = self._call(ctypes.byref(nothing), ctypes.byref(error), arguments, result)
        if status not in _SUCCESS:
            raise _exception(error)
        return unpack(self.result, result.raw, self._array)

    def _array(self, letter: str, n_dims: int, words: list[int]) -> np.ndarray:
        """Return an array that the code created."""
        return np.asarray(_Created(letter, n_dims, words, self._release or _release()))


def _exception(where: ctypes.c_void_p) -> BaseException:
    """Return the exception that compiled code raised: its class, arguments and place, pickled."""
    if not where.value:
        return SystemError("unknown error in compiled code")
    address, size = ctypes.c_void_p.from_address(where.value), ctypes.c_int32
    length = size.from_address(where.value + ctypes.sizeof(address)).value
    kind, arguments, *_ = pickle.loads(ctypes.string_at(address.value or 0, length))
    error: BaseException = kind(*(arguments or ()))
    return error


class _Created:
    """An array that native code created; its memory is given back when nothing refers to it."""

    def __init__(
        self, letter: str, n_dims: int, words: list[int], release: Callable[[int], object]
    ) -> None:
        self._info, _, _, _, data, *sizes = words
        self._release = release
        self.__array_interface__ = {
            "version": 3,
            "typestr": np.dtype(letter).str,
            "data": (data, False),
            "shape": tuple(sizes[:n_dims]),
            "strides": tuple(sizes[n_dims:]),
        }

    def __del__(self) -> None:
        self._release(self._info)


@cache
def _release() -> Callable[[int], object]:
    """Return the compiler's function that gives back an array."""
    address: int = _module(_MEMORY).c_helpers["MemInfo_release"]
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)


@cache
def _module(name: str) -> Any:
    """Return a module of the compiler that is written in C, without loading the compiler."""
    if name in sys.modules:
        return sys.modules[name]
    spec = PathFinder.find_spec(name, [str(_compiler().joinpath(*name.split(".")[1:-1]))])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if name == _MEMORY:
        module.memsys_use_cpython_allocator()  # as the compiler does
    return module


def _compiler() -> Path:
    """Return the directory of the compiler."""
    spec = importlib.util.find_spec("numba")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("numba is not installed")
    return Path(spec.submodule_search_locations[0])


@cache
def cache_directory() -> str:
    """Return where the cache is, by the digest of all on which compiled code depends.

    These are the sources of all kernels without their comments, the versions of Python and the
    packages, the processor and the settings of the compiler.
    """
    import llvmlite.binding as llvm

    base = os.environ.get("NUMBA_CACHE_DIR")
    if not base:
        import platformdirs

        base = platformdirs.user_cache_dir("workloadkit")
    settings = sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith("NUMBA_") and name != "NUMBA_CACHE_DIR"
    )
    processor = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    versions = sys.version, (_compiler() / "_version.py").read_text(), llvm.llvm_version_info
    about = versions, np.__version__, llvm.get_process_triple(), processor, settings
    digest = hashlib.sha256(f"{about} {sources_digest()}".encode())
    return str(Path(base) / digest.hexdigest()[:16])


def cache_folder() -> Path:
    """Return the folder of the cache, examined again for each file, as it may have changed."""
    folder = Path(cache_directory())
    if not folder.is_absolute():
        raise UntrustedError(f"{folder} is relative to the working directory")
    return own_folder(folder.parent, folder.name)


def _warn(problem: str | Exception) -> None:
    """Warn of the cache, once in a process; what is not a text keeps code from it."""
    global _has_warned
    if isinstance(problem, OSError):
        problem = Exception(f"{problem.filename} cannot be used: {problem.strerror}")
    if isinstance(problem, Exception):
        problem = f"compiled code is not cached, and each process compiles again: {problem}"
    if not _has_warned:
        _has_warned = True
        warnings.warn(problem, WorkloadWarning, stacklevel=2)


def cached(function: Callable[..., Any], layout: Layout, make: Callable[[], Code]) -> Code:
    """Return the code of a function that came with the package or is in the cache, or make it.

    Code of the cache is executed: it is taken only from where no other user can have written. Its
    digest guards against damage, not against attackers, who can compute it as well.
    """
    digest = hashlib.sha256(text_of(layout).encode())
    name = f"{function.__module__}.{function.__qualname__}"
    if not name.startswith("workloadkit."):  # the directory is not of its source
        digest.update(Path(inspect.getfile(function)).read_bytes())
    name += f"-{digest.hexdigest()[: prebuilt.DIGITS]}"
    if found := prebuilt.find(name):
        return Code(*found)
    try:
        folder = cache_folder()
        _keep_tidy(folder)
        path = folder / f"{name}{_SUFFIX}"
        code = _read(path)
    except ImportError:  # there is no compiler, of which the cache would be
        return make()
    except (OSError, UntrustedError) as problem:
        _warn(problem)
        return make()
    if code is None:
        code = make()
        _write(path, code)
    return code


def _read(path: Path) -> Code | None:
    """Load a file of the cache; None if there is none that can be loaded."""
    try:
        first, end, rest = read_own(path, _LONGEST).partition(b"\n")
    except FileNotFoundError:
        return None
    if first + end == digest_line(rest):
        head, _, content = rest.partition(b"\n")
        with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
            about = json.loads(head)
            return load(content, about["name"], about["needs"], from_json(about["result"]))
    _warn(f"{path} is damaged: its code is compiled again")
    return None


@cache
def _keep_tidy(folder: Path) -> None:
    """Mark a folder as used, and remove those of other versions that were not used for long."""
    with suppress(OSError):
        os.utime(folder)
        for other in folder.parent.iterdir():
            found = other.lstat()
            is_ours = re.fullmatch("[0-9a-f]{16}", other.name) and stat.S_ISDIR(found.st_mode)
            if is_ours and time.time() - found.st_mtime > _UNUSED:
                shutil.rmtree(other, ignore_errors=True)


def _write(path: Path, code: Code) -> None:
    """Write a file of the cache, whole or not at all."""
    if not code.content:
        return
    rest = b"%b\n%b" % (code.head, code.content)
    try:
        number, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(digest_line(rest) + rest)
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        _warn(OSError(error.errno, error.strerror, str(path)))


def digest_line(rest: bytes) -> bytes:
    """Return the first line of a file, the digest of the rest."""
    return hashlib.sha256(rest).hexdigest().encode() + b"\n"


def is_there(function: Callable[..., Any]) -> bool:
    """Whether code of a function came with the package or is in the cache."""
    name = f"{function.__module__}.{function.__qualname__}"
    return prebuilt.has(name) or is_in_use(f"{name}-")


def is_in_use(beginning: str = "") -> bool:
    """Whether the cache has a file with this beginning, so that these versions compiled before."""
    with suppress(OSError, UntrustedError):
        return any(cache_folder().glob(f"{beginning}*{_SUFFIX}"))
    return False


def check_loader() -> None:
    """Raise an AttributeError if llvmlite has not what loading requires, or an ImportError."""
    import llvmlite.binding as llvm

    for name in ("create_mcjit_compiler", "parse_assembly", "ObjectFileRef", "add_symbol"):
        getattr(llvm, name)


@cache
def _target() -> Any:
    """Return the machine for which code is loaded."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def _of_process(symbol: str) -> int | None:
    """Return the address of a function of the C library, None if this process has not loaded it."""
    try:
        return ctypes.cast(getattr(ctypes.CDLL(None), symbol), ctypes.c_void_p).value
    except (AttributeError, OSError, TypeError):  # the last one on Windows
        return None


def load(content: bytes, name: str, needs: list[str], result: Layout) -> Code | None:
    """Load object code; None if it needs functions that are absent here."""
    import llvmlite.binding as llvm

    target = _target()
    for symbol in needs:
        prefix, _, short = symbol.partition("_")
        module = _HELPERS.get(f"{prefix}_")
        address = module and _module(module).c_helpers.get(short)
        address = address or llvm.address_of_symbol(symbol) or _of_process(symbol)
        if not address:
            return None
        llvm.add_symbol(symbol, address)
    # An engine for each: symbols of two processes that compiled may have equal names.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    address = engine.get_function_address(name)
    return Code(address, result, engine) if address else None
