"""The workloads of the runs of an experiment."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.io.unfinished_files import remove_left_over, unfinished
from workloadkit.provenance import seed_of
from workloadkit.resample.drawing import rare_users
from workloadkit.resample.runs import Resampling, prepare
from workloadkit.simulation.populations import Resampled as ResampledPopulation
from workloadkit.simulation.populations import ResampledUsers
from workloadkit.simulation.workload.scaling import AsWorkload
from workloadkit.trace import Trace


@contextmanager
def mapping_folder(folder: Path) -> Iterator[Path]:
    """Create a hidden folder that only its owner can enter, and remove it at the end."""
    import shutil

    remove_left_over(folder)
    place = unfinished(folder / "mapped")
    place.mkdir(mode=0o700)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


# The workloads of the runs of an experiment.


def stream_of(seed: int, run: int) -> np.random.Generator:
    """Return the random numbers of a run: the stream with its index, spawned from the seed.

    Parameters
    ----------
    seed, run : int
        The run's index starts from 0.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,)))


class StretchedLogs(NamedTuple):
    """The log, or weeks of it in each run, at given offered loads (None: its own).

    Parameters
    ----------
    trace : Trace
    seed : int
    redrawn : bool
        Whether each run draws weeks.
    """

    trace: Trace
    seed: int
    redrawn: bool

    def log(self, load: float | None, run: int) -> tuple[Trace, dict[str, Any]]:
        """Return the log of a run, and the settings of its simulations."""
        stream, trace = stream_of(self.seed, run), self.trace
        if self.redrawn:
            trace = resample_weeks(trace, draw_weeks(trace, stream))
        return trace, {"offered_load": load, "rng": seed_of(stream)}

    def itself(self, load: float | None, run: int) -> tuple[Trace, dict[str, Any]] | None:
        """Return the log itself at a load, next to the first run if runs draw weeks of it."""
        whole = self._replace(redrawn=False)
        return whole.log(load, run) if self.redrawn and run == 0 else None


class ResampledLogs(NamedTuple):
    """Logs with more or fewer users."""

    by_load: Mapping[float, Resampling]
    seed: int

    @classmethod
    def make(
        cls, trace: Trace, loads: Sequence[Any], how: Mapping[str, Any], seed: int
    ) -> "ResampledLogs":
        """Build the pools once, and a plan for each load."""
        _check_resampling(how, refused=("load",))
        one = prepare(trace, load=loads[0], **how)
        return cls({load: one.at_load(load) for load in loads}, seed)

    def log(self, load: float, run: int) -> tuple[Trace, dict[str, Any]]:
        """Return the log of a run, and the settings of its simulations."""
        trace = self.by_load[load].run_of(run, self.seed)
        return trace, {"uncounted": rare_users(trace), "rng": seed_of(stream_of(self.seed, run))}

    def itself(self, load: float, run: int) -> None:
        """Return no log: the resampled ones have other loads."""


class DrawnPopulations(NamedTuple):
    """More or fewer users of a log, who react."""

    users: Any
    by_load: Mapping[float, ResampledUsers]
    seed: int

    @classmethod
    def make(
        cls,
        trace: Trace,
        users: Any,
        loads: Sequence[Any],
        how: Mapping[str, Any],
        as_workload: AsWorkload,
        seed: int,
    ) -> "DrawnPopulations":
        """Build the pools once, and a plan for each load."""
        _check_resampling(how, refused=("load", "rare", "rare_per_week"))
        one = ResampledPopulation(load=loads[0], **how).prepare(trace)
        one.source(as_workload)  # compute it once rather than in each worker
        return cls(users, {load: one.at_load(load) for load in loads}, seed)

    def log(self, load: float, run: int) -> tuple[None, dict[str, Any]]:
        """Return no log, since the users have their own, and the settings of the simulations."""
        rng = seed_of(stream_of(self.seed, run))
        return None, {"users": self.users, "population": self.by_load[load], "rng": rng}

    def itself(self, load: float, run: int) -> None:
        """Return no log: users who are drawn submit at other times."""


Source = StretchedLogs | ResampledLogs | DrawnPopulations


def _check_resampling(how: Mapping[str, Any], refused: Sequence[str]) -> None:
    for name in refused:
        if name in how:
            why = "it is set by the loads" if name == "load" else "all users who react count"
            raise ParameterError(f"resampling does not accept {name}: {why}")


def resample_weeks(trace: Trace, weeks: ArrayLike) -> Trace:
    """Concatenate weeks of a log, in any order and with repetition.

    Weeks are counted from the first submission in the log's window; jobs keep their times within
    the week. They are numbered 1, 2, … in order of submission; waits and other fields are kept,
    fields 17 and 18 are unknown. The side-car follows as in `Trace.with_columns`.

    Parameters
    ----------
    trace : Trace
    weeks : array_like of int, shape (n_weeks,)
        From 0.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 5, 604801], "user": [7, 8, 9]})
    >>> resample_weeks(trace, [1, 0]).jobs[["job", "submit", "user"]].to_numpy().tolist()
    [[1.0, 1.0, 9.0], [2.0, 604800.0, 7.0], [3.0, 604805.0, 8.0]]
    """
    trace = trace.within_window()
    submit = trace.column("submit")
    weeks = np.asarray(weeks, dtype=np.int64)
    if not trace.n_jobs or not weeks.size or (weeks < 0).any():
        raise ParameterError("weeks", "must be at least 0, and the log must have jobs")
    begins = submit[0] + WEEK * weeks
    low, high = np.searchsorted(submit, begins), np.searchsorted(submit, begins + WEEK)
    rows = np.concatenate([np.arange(*part) for part in zip(low, high, strict=True)])
    moved = np.repeat(WEEK * np.arange(weeks.size) - WEEK * weeks, high - low)
    if not rows.size:
        raise WorkloadError(f"{trace.name}: the selected weeks have no jobs")
    made = trace.take(rows, repeats=True).with_columns(
        submit=submit[rows] + moved,
        job=np.arange(1, rows.size + 1),
        preceding_job=np.full(rows.size, UNKNOWN),
        think_time=np.full(rows.size, np.nan),
    )
    return made.replaced(made_from="", changes=(), repairs=(), intake=None)


def draw_weeks(trace: Trace, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many weeks as the log has whole ones, with replacement."""
    submit = trace.within_window().column("submit")
    whole = int((submit[-1] - submit[0]) // WEEK) if submit.size else 0
    if whole < 2:
        raise WorkloadError(
            f"{trace.name}: several runs draw weeks of the log, which requires at least two whole "
            f"weeks; the log has {whole}"
        )
    return rng.integers(whole, size=whole)
