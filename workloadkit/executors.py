"""Run independent tasks in this process or in an executor, whose processes share arrays."""

import mmap
import pickle
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from workloadkit.errors import ParameterError, WorkloadError, quoted

Task = TypeVar("Task")
Result = TypeVar("Result")

_AT_ONCE = 64  # maximum number of submitted tasks


def each_done(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    executor: Executor | None = None,
) -> Iterator[tuple[Task, Result]]:
    """Call a function for each task and yield the results as they become available.

    Parameters
    ----------
    function : callable
    tasks : iterable
        Consumed lazily, as capacity becomes available.
    executor : Executor, optional
        By default the tasks run in this process, in order.

    Yields
    ------
    task, result

    Raises
    ------
    WorkloadError
        If a worker process ends before its task is done.

    Examples
    --------
    >>> list(each_done(abs, [-1, 2]))
    [(-1, 1), (2, 2)]
    """
    if executor is None:
        for task in tasks:
            yield task, function(task)
        return
    left = iter(tasks)
    running: dict[Future[Result], Task] = {}
    try:
        while True:
            for task in islice(left, _AT_ONCE - len(running)):
                running[executor.submit(function, task)] = task
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BrokenExecutor:
        raise WorkloadError(
            "a worker ended before its task was done; it may have run out of memory"
        ) from None


def check_reach_workers(executor: Executor | None, kind: str, things: Mapping[str, Any]) -> None:
    """Check that the processes of a pool can receive custom things.

    Parameters
    ----------
    executor : Executor or None
        Only processes of a `ProcessPoolExecutor` are checked.
    kind : str
        What the things are, for messages.
    things : mapping of str to object

    Raises
    ------
    ParameterError
        If one cannot be pickled, or a worker cannot import it.
    """
    if executor is None:
        return
    from concurrent.futures import ProcessPoolExecutor

    if not isinstance(executor, ProcessPoolExecutor):
        return
    for name, thing in things.items():
        try:
            ((_, why),) = each_done(_why_unreadable, [pickle.dumps(thing)], executor)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            why = str(error)
        if why:
            raise ParameterError(
                f"{kind} {quoted(name)} cannot be sent to worker processes: {why}; define it in "
                "a module"
            )


def _why_unreadable(pickled: bytes) -> str:
    """Return why this process cannot read something pickled; empty if it can."""
    try:
        pickle.loads(pickled)
    except Exception as error:  # importing a module may raise anything
        return f"{type(error).__name__}: {error}"
    return ""


# Objects in memory-mapped files, so that the processes of a machine share their arrays.

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
        """Write an object that can be pickled."""
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
            f"{path}: {error.strerror}; all machines must share this folder: that of an "
            "experiment's output, or of temporary files (TMPDIR)"
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
