"""Write many new logs into a folder, in parallel, completely or not at all."""

import json
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from workloadkit import __version__
from workloadkit.distinct import distinct
from workloadkit.errors import FormatError, ParameterError, WorkloadError
from workloadkit.executors import each_done
from workloadkit.fields import UNKNOWN
from workloadkit.io.files import is_folder, text_chunks, write_text
from workloadkit.io.machine import machine_path
from workloadkit.io.sidecar import sidecar_path
from workloadkit.io.strict_json import read_json_file
from workloadkit.io.swf import write_swf
from workloadkit.io.unfinished_files import check_continues, locked, remove_left_over
from workloadkit.resample.runs import Resampling, own_seed
from workloadkit.trace import Trace

Made = TypeVar("Made")

_UNFINISHED = ".unfinished"  # holds the logs until all are complete
_MADE_BY = "made_by.json"  # in it: what the command that began depends on
_OF_SEED = re.compile(r", run \d+ of seed (\d+)")
_NAME = re.compile(r"\d{4,}\.swf\.gz")


def check_has_none(folder: Path) -> None:
    """Check that a folder contains no new logs, unless an interrupted command was moving them."""
    if not is_folder(folder / _UNFINISHED) and (found := _logs(folder)):
        raise WorkloadError(f"{folder}: already contains {found[0].name}; use another folder")


def made_by(resampling: Resampling, seed: int, count: int) -> dict[str, Any]:
    """Return everything that the new logs of a command depend on, for JSON."""
    settings = {name: str(value) for name, value in resampling.parameters.items()}
    logs = {log.name: log.identity for log in resampling.pools.logs}
    command = {"workloadkit": __version__, "seed": seed, "count": count, "logs": logs}
    return command | {"settings": settings}


def unfinished_seed(folder: Path) -> int | None:
    """Return the seed of the logs left by an interrupted command; None if there are none."""
    logs = _logs_there(folder)
    left = _left_by(folder)
    if left is not None and logs:
        return int(left["seed"])
    found = (_OF_SEED.search(_beginning(file)) for file in logs)
    return next((int(seed[1]) for seed in found if seed), None)


def runs_there(folder: Path, resampling: Resampling, seed: int, count: int) -> set[int]:
    """Return the runs with logs left by the same command, which was interrupted.

    Raises
    ------
    ParameterError
        If another command left the logs.
    """
    place = folder / _UNFINISHED
    logs = _logs_there(folder)
    command = made_by(resampling, seed, count)
    left = _left_by(folder)
    if left is None and not _logs(place):  # the last step was interrupted: all logs are in place
        left = command | {"count": len(logs)}
    if logs and left is not None:
        check_continues(place, left, command)
    found = set()
    for file in logs:
        i = int(file.name.partition(".")[0]) - 1
        is_ours = left is not None and 0 <= i < count and file.name == _name(i, count)
        if not is_ours or not _is_of(file, resampling, seed, i):
            raise ParameterError(
                f"{folder}: {file} was left by another, interrupted command; remove {place}, or "
                "use another folder"
            )
        found.add(i)
    return found


def _is_of(file: Path, resampling: Resampling, seed: int, i: int) -> bool:
    """Whether a file is the i-th new log of a seed."""
    _, note = resampling.label(own_seed(seed, i), of=(i, seed))
    return f"; Note: resampled: {note}\n" in _beginning(file)


@contextmanager
def whole_folder(folder: Path, command: Mapping[str, Any]) -> Iterator[Path]:
    """Fill a folder with new logs, completely or not at all.

    Parameters
    ----------
    folder : Path
        Created if necessary.
    command : mapping of str to object
        What the logs depend on, see `made_by`.

    Yields
    ------
    Path
        A hidden folder within it. Its logs, and the files next to them, move to `folder` at the
        end. On any failure or interrupt they stay, and the same command continues with them, also
        after a kill at any time.

    Raises
    ------
    WorkloadError
        If the folder already contains new logs, cannot be written to, or is being written to.
    """
    try:
        made = not folder.exists()
        folder.mkdir(exist_ok=True)
        with locked(folder):
            check_has_none(folder)
            place = folder / _UNFINISHED
            place.mkdir(exist_ok=True)
            remove_left_over(place)
            write_text(place / _MADE_BY, json.dumps(command))
            try:
                yield place
                for file in _logs(place):
                    for one in (*_next_to(file), file):
                        one.replace(folder / one.name)
                shutil.rmtree(place)  # the last step: until then the same command continues
            except BaseException:
                with suppress(OSError):
                    whole = _logs(place)
                    next_to = [one for file in whole for one in _next_to(file)]
                    for file in {*place.iterdir()}.difference(whole, next_to, [place / _MADE_BY]):
                        file.unlink()
                    if not whole and not _logs(folder):
                        shutil.rmtree(place)
                        if made:
                            folder.rmdir()
                raise
    except OSError as error:
        raise WorkloadError(f"{folder}: cannot be written: {error.strerror or error}") from error


def _left_by(folder: Path) -> dict[str, Any] | None:
    """Return what the logs of an interrupted command depend on; None if there are none."""
    file = folder / _UNFINISHED / _MADE_BY
    with suppress(FormatError):
        found = read_json_file(file)
        if isinstance(found, dict) and type(found.get("seed")) is int and found["seed"] >= 0:
            return found
    return None


def _logs_there(folder: Path) -> list[Path]:
    """Return the logs of an interrupted command, hidden or already moved."""
    place = folder / _UNFINISHED
    return [*_logs(place), *_logs(folder)] if is_folder(place) else []


def _logs(folder: Path) -> list[Path]:
    """Return the new logs in a folder."""
    files = folder.iterdir() if is_folder(folder) else ()
    return sorted(file for file in files if _NAME.fullmatch(file.name))


def _next_to(log: Path) -> list[Path]:
    """Return the side-car and the machine that were written with a log."""
    return [path for path in (sidecar_path(log), machine_path(log)) if path.exists()]


def _name(i: int, count: int) -> str:
    return f"{i + 1:0{max(4, len(str(count)))}}.swf.gz"


def _beginning(file: Path) -> str:
    """Return the header of a log, and possibly more; nothing of a file that cannot be read."""
    with suppress(FormatError):
        return next(text_chunks(file), b"").decode(errors="replace")
    return ""


def write_runs(
    write: Callable[[int, str], Made],
    count: int,
    folder: Path,
    *,
    there: Collection[int] = (),
    executor: Executor | None = None,
) -> Iterator[Made]:
    """Write new logs as ``0001.swf.gz``, ``0002.swf.gz``, … into a folder.

    Parameters
    ----------
    write : callable
        Writes run i, from 0, to a path; see `write_run`.
    count : int
    folder : Path
    there : collection of int
        Runs that already exist.
    executor : Executor, optional
        Runs the tasks; by default this process.

    Yields
    ------
    object
        What `write` returns, after each written log.
    """
    runs = (i for i in range(count) if i not in there)
    tasks = ((i, str(folder / _name(i, count))) for i in runs)
    for _, made in each_done(partial(_call, write), tasks, executor):
        yield made


def _call(write: Callable[[int, str], Made], task: tuple[int, str]) -> Made:
    return write(*task)


def write_run(resampling: Resampling, seed: int, i: int, path: str) -> dict[str, float]:
    """Write the i-th new log of a seed; return its size and load."""
    new = with_jobs(resampling.run_of(i, seed))
    write_swf(new, path)
    return measure_size(new)


def measure_size(log: Trace) -> dict[str, float]:
    """Return jobs and users of the jobs that can be resampled, and their load, NaN if unknown."""
    keep = log.ran & (log.column("user") != UNKNOWN)
    work = (log.column("run") * log.used_procs)[keep & log.window.contains(log.column("submit"))]
    room = (log.header.procs or np.nan) * log.window.length
    return {
        "jobs": int(keep.sum()),
        "users": distinct(log.column("user")[keep]).size,
        "offered load": float(work.sum() / room) if room else np.nan,
    }


def with_jobs(new: Trace) -> Trace:
    """Return a new log; one without jobs is an error, because it could not be read."""
    if not new.n_jobs:
        raise ParameterError(f"{new.name}: the log has no jobs; use more weeks or a larger load")
    return new
