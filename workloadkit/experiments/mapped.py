"""Objects in memory-mapped files, so that the processes of a machine share their arrays."""

import mmap
import pickle
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from workloadkit.errors import WorkloadError
from workloadkit.io.unfinished_files import remove_left_over, unfinished

_SIZE = struct.Struct("<q")
_ALIGNED = 64  # alignment for compiled code [bytes]


@dataclass(frozen=True)
class Mapped:
    """An object in a file, passed to other processes by path.

    Parameters
    ----------
    path : Path
    digest : bytes
        SHA-256 of the pickle in the file, so that no other one is read.
    """

    path: Path
    digest: bytes

    @classmethod
    def write(cls, value: Any, path: Path) -> "Mapped":
        """Write an object that can be pickled.

        Parameters
        ----------
        value : object
        path : Path
        """
        arrays: list[pickle.PickleBuffer] = []
        data = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
        parts = [memoryview(data), *(array.raw() for array in arrays)]
        sizes = [len(parts), *(part.nbytes for part in parts)]
        with path.open("wb") as stream:
            stream.write(b"".join(map(_SIZE.pack, sizes)))
            for part in parts:
                stream.write(bytes(-stream.tell() % _ALIGNED))
                stream.write(part)
        return cls(path.resolve(), sha256(data).digest())

    def read(self) -> Any:
        """Return the object; the last few are cached.

        Raises
        ------
        WorkloadError
            If the file does not exist, such as on another machine, or has changed.
        """
        return _read(self)


@lru_cache(maxsize=2)
def _read(mapped: Mapped) -> Any:
    path = mapped.path
    try:
        with path.open("rb") as stream:
            # copy-on-write: pages are copied only when written to
            view = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
    except OSError as error:
        raise WorkloadError(
            f"{path}: {error.strerror}; all machines of an experiment must share its output folder"
        ) from error
    try:
        parts = list(_parts(view))
    except struct.error:
        parts = [view]
    data = bytes(parts[0])  # a copy, which cannot change any more
    if sha256(data).digest() != mapped.digest:
        raise WorkloadError(f"{path}: changed while the experiment runs")
    return pickle.loads(data, buffers=parts[1:])


def _parts(view: memoryview) -> Iterator[memoryview]:
    """Yield the pickle, and the arrays that it refers to."""
    n_parts = _SIZE.unpack_from(view)[0]
    place = _SIZE.size * (n_parts + 1)
    for i in range(n_parts):
        place += -place % _ALIGNED
        size = _SIZE.unpack_from(view, _SIZE.size * (i + 1))[0]
        yield view[place : place + size]
        place += size


@contextmanager
def mapping_folder(folder: Path) -> Iterator[Path]:
    """Create a hidden folder that only its owner can enter, and remove it at the end.

    Yields
    ------
    Path
    """
    import shutil

    remove_left_over(folder)
    place = unfinished(folder / "mapped")
    place.mkdir(mode=0o700)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
