"""Write many new logs into a folder: by any number of processes, all of them or none."""

import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.executors import each_done
from workloadkit.io.swf import write_swf
from workloadkit.io.unfinished_files import remove_left_over, unfinished
from workloadkit.resample.runs import Resampling
from workloadkit.trace import Trace

_NAME = re.compile(r"\d{4,}\.swf\.gz")


def check_has_none(folder: Path) -> None:
    """Refuse a folder that has new logs already: there would be no telling them apart.

    Raises
    ------
    WorkloadError
    """
    names = (file.name for file in (folder.iterdir() if folder.is_dir() else ()))
    if found := sorted(filter(_NAME.fullmatch, names)):
        raise WorkloadError(f"{folder}: has {found[0]} already; name another folder")


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Fill a folder with new logs: with all of them in the end, or with none.

    Parameters
    ----------
    folder : Path
        Made if it is not there.

    Yields
    ------
    Path
        A hidden folder within it. Its files move to `folder` at the end; on any failure, an
        interrupt too, they vanish.

    Raises
    ------
    WorkloadError
        If the folder has new logs already, or cannot be written to.
    """
    try:
        made = not folder.exists()
        folder.mkdir(exist_ok=True)
        check_has_none(folder)
        remove_left_over(folder)
        place = unfinished(folder / "logs")
        place.mkdir()
        try:
            yield place
            for file in sorted(place.iterdir()):
                file.replace(folder / file.name)
            place.rmdir()
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            if made:
                with suppress(OSError):
                    folder.rmdir()
            raise
    except OSError as error:
        raise WorkloadError(f"{folder}: cannot be written: {error.strerror or error}") from error


def write_runs(
    write: Callable[[int, str], None],
    count: int,
    folder: Path,
    *,
    executor: Executor | None = None,
) -> Iterator[None]:
    """Write so many new logs as ``0001.swf.gz``, ``0002.swf.gz``, … into a folder.

    Parameters
    ----------
    write : callable
        Writes run i, from 0, to a path; see `write_run`.
    count : int
    folder : Path
    executor : Executor, optional
        Who does the work; by default this process.

    Yields
    ------
    None
        Whenever a log is written.
    """
    digits = max(4, len(str(count)))
    tasks = ((i, str(folder / f"{i + 1:0{digits}}.swf.gz")) for i in range(count))
    for _ in each_done(partial(_call, write), tasks, executor):
        yield


def _call(write: Callable[[int, str], None], task: tuple[int, str]) -> None:
    write(*task)


def write_run(resampling: Resampling, seed: int, i: int, path: str) -> None:
    """Write the i-th new log of a seed."""
    write_new(resampling.run_of(i, seed), path)


def write_new(new: Trace, path: str) -> None:
    """Write a new log, unless it has no job: nothing reads a file without jobs.

    Raises
    ------
    ParameterError
    """
    if not new.n_jobs:
        raise ParameterError(
            f"{new.name}: no job is in it; more weeks or a greater load bring some"
        )
    write_swf(new, path)
