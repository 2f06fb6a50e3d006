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

    Equal tasks are done once.

    Parameters
    ----------
    file : Path or None
        None: nothing is stored.
    made_by : mapping of str to object
        Everything that results depend on: version, seed and so on, for JSON.
    results : dict of str to bytes
        The existing results, pickled, by the digest of the task.
    done : dict of str to bytes
        Such results of several programs, which share equal tasks; grows.
    """

    def __init__(
        self,
        file: Path | None,
        made_by: Mapping[str, Any],
        results: dict[str, bytes],
        done: dict[str, bytes],
    ) -> None:
        self._file, self._made_by, self._results, self._of_all = file, made_by, results, done
        self._checkpoints = Checkpoints(self._write)
        self._total = 0
        self._done = 0

    def each(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        *,
        executor: "Executor | None" = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> list[Any]:
        """Call a function with the arguments of each task, unless its result exists.

        Parameters
        ----------
        function : callable
        tasks : sequence of tuple
        executor : Executor, optional
        progress : callable, optional
            Called with the numbers of finished tasks and of all tasks so far.

        Returns
        -------
        list
            The results in order of the tasks.
        """
        keys = [_digest(function, task) for task in tasks]
        calls = {key: _Call(key, function, task) for key, task in zip(keys, tasks, strict=True)}
        self._results |= {key: self._of_all[key] for key in calls if key in self._of_all}
        missing = [call for key, call in calls.items() if key not in self._results]
        self._total += len(calls)
        self._done += len(calls) - len(missing)
        for call, result in each_done(_done, missing, executor):
            self._results[call.key] = result
            self._checkpoints.changed()
            self._done += 1
            if progress is not None:
                progress(self._done, self._total)
        self._of_all |= {key: self._results[key] for key in calls}
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


def _digest(function: Callable[..., Any], task: tuple[Any, ...]) -> str:
    """Return the digest of a task: equal tasks have equal ones."""
    named = function.__module__, function.__qualname__, task
    return sha256(pickle.dumps(named)).hexdigest()


def _done(call: _Call) -> bytes:
    return pickle.dumps(call.function(*call.arguments))


def kept_tasks(
    file: Path | None, made_by: Mapping[str, Any], done: dict[str, bytes] | None = None
) -> KeptTasks:
    """Return the tasks of a program, with the results of an interrupted one from a file.

    As a context manager, it removes the file when all is done.

    Parameters
    ----------
    file : Path or None
        None: nothing is stored.
    made_by : mapping of str to object
        Everything that results depend on, for JSON.
    done : dict of str to bytes, optional
        Results of several programs, which share equal tasks; grows.

    Raises
    ------
    ParameterError
        If the results in the file have other dependencies.
    WorkloadError
        If the file cannot be read, or if others can write to it, because results are unpickled.
    """
    done = {} if done is None else done
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
