"""Write many new logs into a folder, in parallel, completely or not at all."""

import re
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.executors import each_done
from workloadkit.io.files import text_chunks
from workloadkit.io.swf import write_swf
from workloadkit.io.unfinished_files import remove_left_over
from workloadkit.resample.runs import Resampling, own_seed
from workloadkit.trace import Trace

_UNFINISHED = ".unfinished"  # holds the logs until all are complete
_OF_SEED = re.compile(r", run \d+ of seed (\d+)")
_NAME = re.compile(r"\d{4,}\.swf\.gz")


def check_has_none(folder: Path) -> None:
    """Check that a folder contains no new logs, which could not be distinguished later.

    Raises
    ------
    WorkloadError
    """
    names = (file.name for file in (folder.iterdir() if folder.is_dir() else ()))
    if found := sorted(filter(_NAME.fullmatch, names)):
        raise WorkloadError(f"{folder}: already contains {found[0]}; use another folder")


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Fill a folder with new logs, completely or not at all.

    Parameters
    ----------
    folder : Path
        Created if necessary.

    Yields
    ------
    Path
        A hidden folder within it. Its files move to `folder` at the end. On any failure or
        interrupt they stay hidden, and the same command continues with them.

    Raises
    ------
    WorkloadError
        If the folder already contains new logs, or cannot be written to.
    """
    try:
        made = not folder.exists()
        folder.mkdir(exist_ok=True)
        check_has_none(folder)
        place = folder / _UNFINISHED
        place.mkdir(exist_ok=True)
        remove_left_over(place)
        try:
            yield place
            for file in sorted(place.iterdir()):
                file.replace(folder / file.name)
            place.rmdir()
        except BaseException:
            with suppress(OSError):
                whole = _unfinished(folder)
                for file in set(place.iterdir()).difference(whole):
                    file.unlink()
                place.rmdir()  # fails if it still contains a log
                if made:
                    folder.rmdir()
            raise
    except OSError as error:
        raise WorkloadError(f"{folder}: cannot be written: {error.strerror or error}") from error


def unfinished_seed(folder: Path) -> int | None:
    """Return the seed of the logs left by an interrupted command; None if there are none."""
    found = (_OF_SEED.search(_beginning(file)) for file in _unfinished(folder))
    return next((int(seed[1]) for seed in found if seed), None)


def runs_there(folder: Path, resampling: Resampling, seed: int, count: int) -> set[int]:
    """Return the runs with logs left by an interrupted command.

    Raises
    ------
    ParameterError
        If a log was made with other settings, or its run is not among the first `count`.
    """
    found = set()
    for file in _unfinished(folder):
        i = int(file.name.partition(".")[0]) - 1
        _, note = resampling.label(own_seed(seed, i), of=(i, seed))
        if i >= count or f"; Note: {note}\n" not in _beginning(file):
            raise ParameterError(
                f"{folder}: {file} was left by another, interrupted command; remove "
                f"{file.parent}, or use another folder"
            )
        found.add(i)
    return found


def _unfinished(folder: Path) -> list[Path]:
    """Return the logs left by an interrupted command."""
    place = folder / _UNFINISHED
    files = place.iterdir() if place.is_dir() else ()
    return sorted(file for file in files if _NAME.fullmatch(file.name))


def _beginning(file: Path) -> str:
    """Return the header of a log, and possibly more."""
    return next(text_chunks(file), b"").decode(errors="replace")


def write_runs(
    write: Callable[[int, str], None],
    count: int,
    folder: Path,
    *,
    there: Collection[int] = (),
    executor: Executor | None = None,
) -> Iterator[None]:
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
    None
        After each written log.
    """
    digits = max(4, len(str(count)))
    runs = (i for i in range(count) if i not in there)
    tasks = ((i, str(folder / f"{i + 1:0{digits}}.swf.gz")) for i in runs)
    for _ in each_done(partial(_call, write), tasks, executor):
        yield


def _call(write: Callable[[int, str], None], task: tuple[int, str]) -> None:
    write(*task)


def write_run(resampling: Resampling, seed: int, i: int, path: str) -> None:
    """Write the i-th new log of a seed."""
    write_swf(with_jobs(resampling.run_of(i, seed)), path)


def with_jobs(new: Trace) -> Trace:
    """Return a new log; one without jobs is an error, because it could not be read.

    Raises
    ------
    ParameterError
    """
    if not new.n_jobs:
        raise ParameterError(f"{new.name}: the log has no jobs; use more weeks or a larger load")
    return new
