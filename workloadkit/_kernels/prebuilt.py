"""Kernels that come with the package: one library for each kind of processor.

A wheel for a platform has them, see `scripts/make_kernels.py`; other installations have none. They
need no compiler.
"""

import ctypes
import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from workloadkit._kernels.memory import Layout, from_json
from workloadkit._kernels.sources import sources_digest

FOLDER = Path(__file__).with_name("native")
DIGITS = 16  # of what follows the name of a function, by the types of its arguments

#: What the processors of each library have, as Linux names it; the first that fits is loaded.
LIBRARIES = {
    "x86_64-v3": {"avx2", "bmi1", "bmi2", "fma", "f16c", "abm", "movbe", "xsave"},
    "x86_64-v2": {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    "aarch64": set[str](),
    "arm64-macos": set[str](),  # as macOS names the architecture
}
#: Loaded only if $WORKLOADKIT_UNTRIED names it: it was linked, but never run.
UNTRIED = {"arm64-macos": "Darwin"}


class Library(NamedTuple):
    """A loaded library, and the layouts of the results of its functions by their names."""

    code: ctypes.CDLL
    kernels: Mapping[str, Layout]


def symbol_of(name: str) -> str:
    """Return the name in the libraries of a function, by that of its file in the cache."""
    return re.sub("[.-]", "_", name)


def find(name: str) -> tuple[int, Layout, ctypes.CDLL, Callable[[int], object]] | None:
    """Return a function by the name of its file: address, layout of the result, owner, release."""
    found, symbol = library(), symbol_of(name)
    if found is None or symbol not in found.kernels:
        return None
    address = ctypes.cast(getattr(found.code, symbol), ctypes.c_void_p).value
    assert address is not None
    return address, from_json(found.kernels[symbol]), found.code, found.code.workloadkit_release


def has(function: str) -> bool:
    """Whether there is a function of this name, for some types."""
    found, symbol = library(), symbol_of(function)
    return found is not None and any(each[: -1 - DIGITS] == symbol for each in found.kernels)


@cache
def library() -> Library | None:
    """Return the best library for this processor; None if there is none of these sources."""
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
        index = json.loads((FOLDER / "index.json").read_bytes())
        if index["sources"] != sources_digest():
            return None
        digests = index["libraries"]
        for name in filter(_fits, (name for name in LIBRARIES if name in digests)):
            path = FOLDER / f"{name}.so"
            if hashlib.sha256(path.read_bytes()).hexdigest() != digests[name]:
                return None
            code = ctypes.CDLL(str(path))
            code.workloadkit_release.argtypes = [ctypes.c_void_p]
            code.workloadkit_release.restype = None
            return Library(code, index["kernels"])
    return None


def _fits(name: str) -> bool:
    system = UNTRIED.get(name, "Linux")
    if platform.system() != system or not name.startswith(platform.machine()):
        return False
    if name in UNTRIED:
        return os.environ.get("WORKLOADKIT_UNTRIED") == name
    return LIBRARIES[name] <= _features()


@cache
def _features() -> set[str]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((set(line.split()) for line in lines if line.startswith("flags")), set())
