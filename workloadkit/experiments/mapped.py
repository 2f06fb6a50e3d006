"""Objects in memory-mapped files, so that the processes of a machine share their arrays."""

import mmap
import pickle
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
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
    """

    path: Path

    @classmethod
    def write(cls, value: Any, path: Path) -> "Mapped":
        """Write an object that can be pickled.

        Parameters
        ----------
        value : object
        path : Path
            In a folder that only its owner can write to, because objects are unpickled from it.
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
        return cls(path.resolve())

    def read(self) -> Any:
        """Return the object; the last few are cached.

        Raises
        ------
        WorkloadError
            If the file does not exist, such as on another machine.
        """
        return _read(self.path)


@lru_cache(maxsize=2)
def _read(path: Path) -> Any:
    try:
        with path.open("rb") as stream:
            # copy-on-write: pages are copied only when written to
            view = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
    except OSError as error:
        raise WorkloadError(
            f"{path}: {error.strerror}; all machines of an experiment must share its output folder"
        ) from error
    n_parts = _SIZE.unpack_from(view)[0]
    place, parts = _SIZE.size * (n_parts + 1), []
    for i in range(n_parts):
        place += -place % _ALIGNED
        size = _SIZE.unpack_from(view, _SIZE.size * (i + 1))[0]
        parts.append(view[place : place + size])
        place += size
    return pickle.loads(parts[0], buffers=parts[1:])


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
