"""Keep the results of tasks in a file, written periodically, until all tasks are done."""

import io
import json
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from workloadkit.errors import FormatError, WorkloadError
from workloadkit.executors import each_done
from workloadkit.experiments.results_file import NotDataError, decoded, encoded
from workloadkit.io.files import writing
from workloadkit.io.sidecar import reading_parquet, table_in
from workloadkit.io.strict_json import read_json
from workloadkit.io.unfinished_files import check_continues, check_own

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pyarrow as pa


# Write results periodically.

_SHARE_OF_TIME = 0.02  # maximum share for writing
_SELDOM = 2.0  # minimum time between two writes [s]


class Checkpoints:
    """Writes changes periodically, and at the end of a context even after a failure.

    Parameters
    ----------
    write : callable
    is_written : bool, default True
        Whether there is nothing to write so far.
    """

    def __init__(self, write: Callable[[], None], *, is_written: bool = True) -> None:
        self._write, self._is_written = write, is_written
        self._next = time.monotonic() + _SELDOM

    def changed(self) -> None:
        """Register a change, and write if enough time has passed."""
        self._is_written = False
        begin = time.monotonic()
        if begin >= self._next:
            self.write()
            end = time.monotonic()
            self._next = end + max(_SELDOM, (end - begin) / _SHARE_OF_TIME)

    def write(self) -> None:
        """Write if something has changed."""
        if not self._is_written:
            self._write()
            self._is_written = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.write()


_MADE_BY = b"workloadkit"  # key of the tasks' dependencies in the file's metadata


class Live(NamedTuple):
    """A result that cannot be written as data; it is not stored."""

    value: Any


#: A result: as text, see `results_file`, or as it is.
Kept = str | Live


class KeptTasks:
    """Tasks with stored results, so that an interrupted program does not repeat them.

    Equal tasks are done once.

    Parameters
    ----------
    file : Path or None
        None: nothing is stored.
    made_by : mapping of str to object
        Everything that results depend on: version, seed and so on, for JSON.
    results : dict of str to str
        The existing results, as text, by the digest of the task.
    done : dict of str to str or Live
        Such results of several programs, which share equal tasks; grows.
    """

    def __init__(
        self,
        file: Path | None,
        made_by: Mapping[str, Any],
        results: Mapping[str, str],
        done: dict[str, Kept],
    ) -> None:
        self._file, self._made_by, self._of_all = file, made_by, done
        self._results: dict[str, Kept] = dict(results)
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
        return [_value(self._results[key]) for key in keys]

    def _write(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._file is None:
            return
        metadata = {_MADE_BY: json.dumps(self._made_by).encode()}
        schema = _schema().with_metadata(metadata)
        stored = {key: kept for key, kept in self._results.items() if isinstance(kept, str)}
        columns = [list(stored), list(stored.values())]
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


def _done(call: _Call) -> Kept:
    value = call.function(*call.arguments)
    try:
        return encoded(value)
    except NotDataError:
        return Live(value)


def _value(kept: Kept) -> Any:
    return decoded(kept) if isinstance(kept, str) else kept.value


def kept_tasks(
    file: Path | None, made_by: Mapping[str, Any], done: dict[str, Kept] | None = None
) -> KeptTasks:
    """Return the tasks of a program, with the results of an interrupted one from a file.

    As a context manager, it removes the file when all is done.

    Parameters
    ----------
    file : Path or None
        None: nothing is stored.
    made_by : mapping of str to object
        Everything that results depend on, for JSON.
    done : dict of str to str or Live, optional
        Results of several programs, which share equal tasks; grows.

    Raises
    ------
    ParameterError
        If the results in the file have other dependencies.
    WorkloadError
        If the file cannot be read, is not one of unfinished tasks, or others can write to it.
    """
    done = {} if done is None else done
    there = None if file is None else read_kept(file)
    if file is None or there is None:
        return KeptTasks(file, made_by, {}, done)
    other, results = there
    check_continues(file, other, json.loads(json.dumps(made_by)))
    return KeptTasks(file, made_by, results, done)


def read_kept(file: Path) -> tuple[dict[str, Any], dict[str, str]] | None:
    """Return the dependencies of the results in a file, and the results; None without a file."""
    try:
        check_own(file)
    except OSError:
        return None
    name = str(file)
    try:
        table = table_in(reading_parquet(name, file.read_bytes), name)
        made_by = read_json((table.schema.metadata or {})[_MADE_BY], name)
        if not isinstance(made_by, dict) or table.schema != _schema():
            raise NotDataError("its columns are others")
        results = dict(zip(*table.to_pydict().values(), strict=True))
        for text in results.values():
            decoded(text)
    except (FormatError, KeyError, NotDataError):
        raise WorkloadError(f"{name}: not a file of unfinished tasks; remove it") from None
    return made_by, results


def _schema() -> "pa.Schema":
    """Return the columns of the file."""
    import pyarrow as pa

    return pa.schema([("task", pa.string()), ("result", pa.string())])
