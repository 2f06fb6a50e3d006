"""Keep the results of tasks in a file until all tasks are done."""

import io
import json
import os
import pickle
import stat
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.executors import each_done
from workloadkit.experiments.checkpoints import Checkpoints
from workloadkit.io.files import writing

if TYPE_CHECKING:
    from concurrent.futures import Executor

_MADE_BY = b"workloadkit"  # key of the tasks' dependencies in the file's metadata


class KeptTasks:
    """Tasks with stored results, so that an interrupted program does not repeat them.

    Parameters
    ----------
    file : Path or None
        None: nothing is stored.
    made_by : mapping of str to object
        Everything that results depend on: version, seed and so on, for JSON.
    results : dict of str to bytes
        The existing results, pickled.
    done : dict of bytes to bytes, optional
        Results of several programs by the digest of the task; grows.
    """

    def __init__(
        self,
        file: Path | None,
        made_by: Mapping[str, Any],
        results: dict[str, bytes],
        done: dict[bytes, bytes] | None = None,
    ) -> None:
        self._file, self._made_by, self._results = file, made_by, results
        self._of_all = {} if done is None else done
        self._checkpoints = Checkpoints(self._write)
        self._total = 0
        self._done = 0

    def each(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        *,
        name: str,
        executor: "Executor | None" = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> list[Any]:
        """Call a function with the arguments of each task, unless its result exists.

        Parameters
        ----------
        function : callable
        tasks : sequence of tuple
        name : str
            Name of these tasks; it must be unique.
        executor : Executor, optional
        progress : callable, optional
            Called with the numbers of finished tasks and of all tasks so far.

        Returns
        -------
        list
            The results in order of the tasks.
        """
        keys = [f"{name} {i}" for i in range(len(tasks))]
        digest_of = _digests(function, tasks, keys)
        for key, digest in digest_of.items():
            if digest in self._of_all:
                self._results[key] = self._of_all[digest]
        missing = (
            _Call(key, function, task)
            for key, task in zip(keys, tasks, strict=True)
            if key not in self._results
        )
        self._total += len(tasks)
        self._done += sum(key in self._results for key in keys)
        for call, result in each_done(_done, missing, executor):
            self._results[call.key] = result
            self._checkpoints.changed()
            self._done += 1
            if progress is not None:
                progress(self._done, self._total)
        for key, digest in digest_of.items():
            self._of_all[digest] = self._results[key]
        return [pickle.loads(self._results[key]) for key in keys]

    def _write(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._file is None:
            return
        metadata = {_MADE_BY: json.dumps(self._made_by).encode()}
        schema = pa.schema([("task", pa.string()), ("result", pa.binary())], metadata=metadata)
        columns = [list(self._results), list(self._results.values())]
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns, schema=schema), buffer)
        with writing(self._file) as stream:
            stream.write(buffer.getvalue())
        self._file.chmod(0o600)

    def __enter__(self) -> "KeptTasks":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._checkpoints.write()
        elif self._file is not None:
            self._file.unlink(missing_ok=True)


class _Call(NamedTuple):
    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def _digests(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], keys: Sequence[str]
) -> dict[str, bytes]:
    """Return the digest of each task, by its key: equal tasks have equal ones."""
    name = function.__module__, function.__qualname__
    return {
        key: sha256(pickle.dumps((*name, task))).digest()
        for key, task in zip(keys, tasks, strict=True)
    }


def _done(call: _Call) -> bytes:
    return pickle.dumps(call.function(*call.arguments))


def kept_tasks(
    file: Path | None, made_by: Mapping[str, Any], done: dict[bytes, bytes] | None = None
) -> KeptTasks:
    """Return the tasks of a program, with the results of an interrupted one from a file.

    As a context manager, it removes the file when all is done.

    Parameters
    ----------
    file : Path or None
        None: nothing is stored.
    made_by : mapping of str to object
        Everything that results depend on, for JSON.
    done : dict of bytes to bytes, optional
        Results of tasks, shared by several programs: equal tasks are done once.

    Raises
    ------
    ParameterError
        If the results in the file have other dependencies.
    WorkloadError
        If the file cannot be read, or if others can write to it, because results are unpickled.
    """
    there = read_kept(file) if file is not None else None
    if there is None:
        return KeptTasks(file, made_by, {}, done)
    other, results = there
    for name, value in made_by.items():
        if other.get(name) != value:
            raise ParameterError(
                f"{file}: left by a command with {name} {other.get(name)}, not {value}; remove it, "
                "or use another folder"
            )
    return KeptTasks(file, made_by, results, done)


def read_kept(file: Path) -> tuple[dict[str, Any], dict[str, bytes]] | None:
    """Return the dependencies of the results in a file, and the results; None without a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = file.stat()
    except OSError:
        return None
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise WorkloadError(f"{file}: others can write to it; remove it")
    try:
        table = pq.read_table(io.BytesIO(file.read_bytes()))
        made_by = json.loads((table.schema.metadata or {})[_MADE_BY])
        keys, results = (table.column(name).to_pylist() for name in ("task", "result"))
        return made_by, dict(zip(keys, results, strict=True))
    except OSError as error:
        raise WorkloadError(f"{file}: cannot be read: {error.strerror}") from error
    except (pa.ArrowInvalid, KeyError, ValueError):
        raise WorkloadError(f"{file}: not a file of unfinished tasks; remove it") from None
