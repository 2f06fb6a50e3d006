"""Metrics of a schedule that comes in parts, equal to those of the whole schedule."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.simulation.schedule.measures import OF_PROMISES, QUANTITIES

if TYPE_CHECKING:
    from workloadkit.simulation.schedule import Schedule

_BLOCK = 1 << 16  # values that are added at once; any number from 128 on gives the same sums
_DIGIT = 16  # bits of a value by which the median is sought at a time
_READ = 1 << 20  # values that are read at once

_MEANS = ("wait", "response", "slowdown", "bounded_slowdown")
_INTERRUPTIONS = {"interrupted": "interruptions", "lost": "lost", "lost_work": "lost_work"}


class Whole(NamedTuple):
    """What is known of all jobs of a schedule that comes in parts.

    Parameters
    ----------
    n_jobs, left_out : int
        Simulated jobs, and those of the log that were left out.
    last_end : float
        [s]
    """

    n_jobs: int
    left_out: int
    last_end: float


class Sums:
    """Sums of columns that come in parts, as numpy adds whole arrays.

    numpy adds the sums of two halves, each made likewise, so that errors of rounding stay small.

    Parameters
    ----------
    parts : iterable of ndarray, shape (n_columns, n_values)
        With `n` values of each column in all.
    """

    def __init__(self, parts: Iterable[NDArray[np.float64]]) -> None:
        self._parts = iter(parts)
        self._part: NDArray[np.float64] | None = None

    def of(self, n: int) -> NDArray[np.float64]:
        """Return the sums of the next `n` values of each column.

        Examples
        --------
        >>> values = np.array([[0.1, 0.2, 0.3, 0.4]])
        >>> Sums([values[:, :3], values[:, 3:]]).of(4).tolist() == [values.sum()]
        True
        """
        if n <= _BLOCK:
            return np.array([column.sum() for column in self._next(n)])
        half = n // 2 - n // 2 % 8
        first = self.of(half)
        return first + self.of(n - half)

    def _next(self, n: int) -> NDArray[np.float64]:
        """Return the next values, each column in one piece."""
        taken = []
        while n:
            if self._part is None or not self._part.shape[1]:
                self._part = next(self._parts)
            taken.append(self._part[:, :n])
            self._part = self._part[:, n:]
            n -= taken[-1].shape[1]
        return np.ascontiguousarray(np.concatenate(taken, axis=1))


class Spill:
    """Numbers from 0 on in a file, of which some by rank are found in little memory.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._counts = np.zeros(1 << _DIGIT, np.int64)  # by the first bits
        path.write_bytes(b"")

    def add(self, values: NDArray[np.float64]) -> None:
        """Add numbers."""
        bits = (values + 0.0).view(np.uint64)  # 0, never -0
        self._counts += _counted(bits, 64 - _DIGIT)
        try:
            with self._path.open("ab") as stream:
                stream.write(bits.data)
        except OSError as error:
            why = f"results cannot be written: {error.strerror or error}"
            raise WorkloadError(f"{self._path.parent}: {why}") from error

    @property
    def median(self) -> float:
        """The median, NaN without numbers."""
        n = int(self._counts.sum())
        middles = {n - 1 - n // 2, n // 2}
        return sum(map(self.of_rank, middles)) / len(middles) if n else np.nan

    def of_rank(self, rank: int) -> float:
        """Return the number of a rank, from 0: numbers from 0 on are in the order of their bits."""
        counts, found = self._counts, np.uint64(0)
        for shift in range(64 - _DIGIT, -1, -_DIGIT):
            if shift < 64 - _DIGIT:
                counts = np.zeros(1 << _DIGIT, np.int64)
                for bits in self._bits():
                    counts += _counted(bits[bits >> np.uint64(shift + _DIGIT) == found], shift)
            below = np.cumsum(counts)
            place = int(np.searchsorted(below, rank, side="right"))
            rank -= int(below[place] - counts[place])
            found = (found << np.uint64(_DIGIT)) | np.uint64(place)
        return float(found.view(np.float64))

    def _bits(self) -> Iterator[NDArray[np.uint64]]:
        with self._path.open("rb") as stream:
            while (bits := np.fromfile(stream, np.uint64, _READ)).size:
                yield bits


def _counted(bits: NDArray[np.uint64], shift: int) -> NDArray[np.int64]:
    """Count values by some of their bits."""
    digit = (bits >> np.uint64(shift)).astype(np.uint16)
    return np.bincount(digit, minlength=1 << _DIGIT)


def measure_parts(
    parts: Iterable["Schedule"],
    spill: Spill,
    *,
    whole: Whole,
    span: tuple[float, float],
    window: tuple[float, float],
) -> dict[str, float]:
    """Return aggregates of a schedule from its parts, by the names of `Schedule.describe`.

    The accuracy of predictions is missing. Means of promises, of which not all jobs have one, are
    exact if times are whole.

    Parameters
    ----------
    parts : iterable of Schedule
        Of consecutive jobs, all of which count.
    spill : Spill
        For the median.
    whole : Whole
    span, window : (float, float)
        Of the whole, see `Schedule`. [s]
    """
    count: dict[str, Any] = {"killed": 0, "ended": 0}
    promises: dict[str, list[float]] = {}  # sums, and numbers of jobs
    machine = 0

    def columns() -> Iterator[NDArray[np.float64]]:
        nonlocal machine
        for part in parts:
            jobs, end, machine = part.served, part.end, part.machine
            spill.add(np.asarray(jobs.wait, np.float64))
            count["killed"] += int(part.workload.killed.sum())
            count["ended"] += int(((end >= window[0]) & (end <= window[1])).sum())
            for name, column in _INTERRUPTIONS.items():
                if column in part.columns:
                    total = np.asarray(part.columns[column]).sum().item()
                    count[name] = count.get(name, 0) + total
            if part.promised is not None:
                for name, of in OF_PROMISES.items():
                    values = of(jobs)
                    known = values[~np.isnan(values)]
                    total, n = promises.get(name, [0.0, 0])
                    promises[name] = [total + float(known.sum()), n + known.size]
            inside = np.minimum(end, window[1]) - np.maximum(part.start, window[0])
            behind = end - np.maximum(part.start, window[1])
            work = [np.maximum(time, 0) * part.held for time in (inside, behind)]
            yield np.array([*(QUANTITIES[name](jobs) for name in _MEANS), *work], np.float64)

    totals = dict(
        zip((*_MEANS, "inside", "behind"), Sums(columns()).of(whole.n_jobs).tolist(), strict=True)
    )
    means = {f"mean_{name}": totals[name] / whole.n_jobs for name in _MEANS}
    length = window[1] - window[0]
    return {
        "jobs": whole.n_jobs,
        "left_out": whole.left_out,
        "killed": count["killed"],
        "makespan": span[1] - span[0],
        "utilization": totals["inside"] / (machine * length) if length > 0 else np.nan,
        "throughput_per_hour": 3600 * count["ended"] / length if length > 0 else np.nan,
        "mean_wait": means.pop("mean_wait"),
        "median_wait": spill.median,
        **means,
        **{name: count[name] for name in _INTERRUPTIONS if name in count},
        "tail": max(span[1] - window[1], 0.0),
        "tail_work": totals["behind"],
        **{name: total / n if n else np.nan for name, (total, n) in promises.items()},
    }
