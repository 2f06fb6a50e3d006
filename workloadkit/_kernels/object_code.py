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
from workloadkit._kernels.memory import from_json, struct_of, text_of, unpack
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
    own : callable, optional
        Takes over an array that the code created; by default the compiler's.
    content : bytes
        The object file; empty if it is of no use to another process.
    about : dict
        The `name` of the function in it, and the functions that it `needs`.
    """

    def __init__(
        self,
        address: int,
        result: Any,
        owner: Any,
        content: bytes = b"",
        about: Mapping[str, Any] = MappingProxyType({}),
        own: Callable[[int], Any] | None = None,
    ) -> None:
        self.address, self.result, self._owner = address, result, owner
        self._own = own or _by_compiler
        self.content, self.about = content, about
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

    @property
    def head(self) -> bytes:
        """A line about it, for files; `tuple` is the only class in a result's layout."""
        about = {**self.about, "result": self.result}
        return json.dumps(about, default=lambda _: "tuple").encode() + b"\n"

    def _array(self, letter: str, n_dims: int, words: list[int]) -> np.ndarray:
        """Return an array that the code created."""
        meminfo, _, _, _, data, *sizes = words
        owner = self._own(meminfo)  # takes over the reference that the code returned
        dtype = np.dtype(letter)
        interface = {"version": 3, "typestr": dtype.str, "data": (data, False)}
        interface |= {"shape": tuple(sizes[:n_dims]), "strides": tuple(sizes[n_dims:])}
        return np.asarray(_Owned(owner, interface))


def _exception(where: ctypes.c_void_p) -> BaseException:
    """Return the exception that compiled code raised: its class, arguments and place, pickled."""
    if not where.value:
        return SystemError("unknown error in compiled code")
    address, size = ctypes.c_void_p.from_address(where.value), ctypes.c_int32
    length = size.from_address(where.value + ctypes.sizeof(address)).value
    kind, arguments, *_ = pickle.loads(ctypes.string_at(address.value or 0, length))
    error: BaseException = kind(*(arguments or ()))
    return error


class _Owned:
    """An array that compiled code created, until it is released."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self._owner, self.__array_interface__ = owner, interface


def _by_compiler(meminfo: int) -> Any:
    return _module(_MEMORY)._MemInfo(meminfo)


@cache
def _module(name: str) -> Any:
    """Return a module of the compiler that is written in C, without loading the compiler."""
    if name in sys.modules:
        return sys.modules[name]
    folder = _compiler().joinpath(*name.split(".")[1:-1])
    spec = PathFinder.find_spec(name, [str(folder)])
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
    """Directory of the compiled kernels, named by the digest of all on which they depend.

    These are the sources of all kernels without their comments, the versions of Python and the
    packages, the processor and the settings of the compiler.
    """
    base = os.environ.get("NUMBA_CACHE_DIR")
    if not base:
        import platformdirs

        base = platformdirs.user_cache_dir("workloadkit")
    digest = hashlib.sha256(f"{_platform()} {sources_digest()}".encode())
    return str(Path(base) / digest.hexdigest()[:16])


def _platform() -> str:
    """Return what determines compiled code, other than sources."""
    import llvmlite.binding as llvm

    settings = sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith("NUMBA_") and name != "NUMBA_CACHE_DIR"
    )
    version = (_compiler() / "_version.py").read_text()
    processor = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    packages = version, llvm.llvm_version_info, np.__version__
    return repr((sys.version, packages, llvm.get_process_triple(), processor, settings))


def cache_folder() -> Path:
    """Return the folder of the cache, examined again for each file, as it may have changed."""
    folder = Path(cache_directory())
    if not folder.is_absolute():
        raise UntrustedError(f"{folder} is relative to the working directory")
    return own_folder(folder.parent, folder.name)


def _warn(problem: str) -> None:
    """Warn of the cache, once in a process."""
    global _has_warned
    if not _has_warned:
        _has_warned = True
        warnings.warn(problem, WorkloadWarning, stacklevel=2)


def _warn_without(problem: Exception) -> None:
    """Warn that compiled code is not cached."""
    why: object = problem
    if isinstance(problem, OSError):
        why = f"{problem.filename} cannot be used: {problem.strerror}"
    _warn(f"compiled code is not cached, and each process compiles again: {why}")


def cached(function: Callable[..., Any], layout: Any, make: Callable[[], Code]) -> Code:
    """Return the code of a function that came with the package or is in the cache, or make it.

    Code of the cache is executed: it is taken only from where no other user can have written. Its
    digest guards against damage, not against attackers, who can compute it as well.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    digest = hashlib.sha256(text_of(layout).encode())
    if not name.startswith("workloadkit."):  # the directory is not of its source
        digest.update(Path(inspect.getfile(function)).read_bytes())
    name += f"-{digest.hexdigest()[:16]}"
    if found := prebuilt.find(prebuilt.symbol_of(name)):
        address, result, own = found
        return Code(address, result, prebuilt.library(), own=own)
    try:
        folder = cache_folder()
        _in_use(folder)
        path = folder / f"{name}{_SUFFIX}"
        code = _read(path)
    except ImportError:  # there is no compiler, of which the cache would be
        return make()
    except (OSError, UntrustedError) as problem:
        _warn_without(problem)
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
def _in_use(folder: Path) -> None:
    """Mark a folder as used, once in a process."""
    with suppress(OSError):
        os.utime(folder)


@cache
def _remove_unused(base: Path) -> None:
    """Remove the folders of other versions that were not used for long, once in a process."""
    for folder in base.iterdir():
        with suppress(OSError):
            found = folder.lstat()
            is_ours = re.fullmatch("[0-9a-f]{16}", folder.name) and stat.S_ISDIR(found.st_mode)
            if is_ours and time.time() - found.st_mtime > _UNUSED:
                shutil.rmtree(folder)


def _write(path: Path, code: Code) -> None:
    """Write a file of the cache, whole or not at all."""
    if not code.content:
        return
    with suppress(OSError):
        _remove_unused(path.parent.parent)
    rest = code.head + code.content
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
        _warn_without(OSError(error.errno, error.strerror, str(path)))


def digest_line(rest: bytes) -> bytes:
    """Return the first line of a file, the digest of the rest."""
    return hashlib.sha256(rest).hexdigest().encode() + b"\n"


def is_in_use(module: str = "") -> bool:
    """Whether code, of a module or any, was compiled by these versions before."""
    with suppress(OSError, UntrustedError):
        return any(cache_folder().glob(f"{module}*{_SUFFIX}"))
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


def load(content: bytes, name: str, needs: list[str], result: Any) -> Code | None:
    """Load object code; None if it needs functions that are absent here."""
    import llvmlite.binding as llvm

    target = _target()
    for symbol in needs:
        prefix, _, short = symbol.partition("_")
        name_of_module = _HELPERS.get(f"{prefix}_")
        helpers = _module(name_of_module).c_helpers if name_of_module else {}
        if short in helpers:
            llvm.add_symbol(symbol, helpers[short])
        elif not llvm.address_of_symbol(symbol):
            if (address := _of_process(symbol)) is None:
                return None
            llvm.add_symbol(symbol, address)
    # An engine for each: symbols of two processes that compiled may have equal names.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    address = engine.get_function_address(name)
    return Code(address, result, engine) if address else None
