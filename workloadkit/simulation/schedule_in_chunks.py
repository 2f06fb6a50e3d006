"""A schedule of a log that is read in chunks: its results are on disk, its jobs in the log."""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from workloadkit.columns import Columns
from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.fields import NAMES
from workloadkit.io.formats import written_format
from workloadkit.io.swf import writing as swf
from workloadkit.io.wkt import writing as wkt
from workloadkit.io.wkt.opened import OpenLog
from workloadkit.memory import reserve
from workloadkit.provenance import plain, provenance
from workloadkit.record_fields import PROMISED_START
from workloadkit.settings import Simulate
from workloadkit.simulation.machine.hardware import is_described
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedule.streams import Spill, Whole, measure_parts
from workloadkit.simulation.selection import SimulationParts
from workloadkit.trace import Trace, no_jobs
from workloadkit.window import Extent, Window

if TYPE_CHECKING:
    import pandas as pd

#: Further results of jobs that are kept with the starts, and their types; None: that of times.
KEPT = {PROMISED_START: np.float64, "interruptions": np.int64, "lost": np.bool_, "lost_work": None}

#: Fields that a simulation uses on one pool of processors.
_OF_POOLS = (
    *("job", "submit", "wait", "run", "procs", "requested_procs", "requested_time"),
    *("user", "group", "queue", "partition"),
)


#: What to do about a refusal.
ABOVE = "a log that is read in chunks cannot be simulated so; read the whole log"


class Piece(NamedTuple):
    """Consecutive jobs of a log that are simulated.

    Parameters
    ----------
    place : ndarray of int64
        Their places in the log.
    jobs : list of Columns
        Those of some of them after the other.
    until : float or None
        The first submission after them; None for none. [s]
    """

    place: NDArray[np.int64]
    jobs: list[Columns]
    until: float | None


class ResultsOnDisk:
    """Results of the jobs of a log, as columns in files.

    Parameters
    ----------
    n_jobs : int
    folder : Path, optional
        Of the files; by default a temporary one, which is removed with the object.
    """

    def __init__(self, n_jobs: int, folder: Path | None = None) -> None:
        self.folder, self._n_jobs = folder or Path(mkdtemp(prefix="workloadkit-")), n_jobs
        if folder is None:
            finalize(self, rmtree, self.folder, ignore_errors=True)
        self.kinds: dict[str, np.dtype] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.kinds

    def write(self, name: str, place: NDArray[np.int64], values: NDArray) -> None:
        """Write the results of the jobs at some places."""
        try:
            if name not in self:
                with (self.folder / name).open("wb") as file:
                    reserve(file, self._n_jobs * values.dtype.itemsize)
            self.kinds.setdefault(name, values.dtype)
            self._column(name, "r+")[place] = values
        except OSError as error:
            why = f"results cannot be written: {error.strerror or error}"
            raise WorkloadError(f"{self.folder}: {why}") from error

    def read(self, name: str, place: NDArray[np.int64]) -> NDArray:
        """Read the results of the jobs at some places."""
        return np.array(self._column(name, "r")[place])

    def flush(self) -> None:
        """Wait until all is on the disk."""
        for name in self.kinds:
            with (self.folder / name).open("rb+") as file:
                os.fsync(file.fileno())

    def are_whole(self) -> bool:
        """Whether the files of all columns have the lengths of these."""
        return all(
            (file := self.folder / name).is_file()
            and file.stat().st_size == self._n_jobs * kind.itemsize
            for name, kind in self.kinds.items()
        )

    def _column(self, name: str, mode: Any) -> Any:
        # mapped only while it is used: pages that are mapped count as memory of the process
        return np.memmap(self.folder / name, self.kinds[name], mode, shape=(self._n_jobs,))


def _ran(log: OpenLog, jobs: Columns) -> NDArray[np.bool_]:
    """Return which jobs of a log ran, see `Trace.ran`."""
    procs = jobs["procs" if log.knows_procs else "requested_procs"]
    return (jobs["run"] >= 0) & (procs > 0)


class Pieces:
    """Reads the jobs of a log that are simulated, cut between seconds.

    Parameters
    ----------
    log : OpenLog
    parts : SimulationParts
    settings : Simulate
    size : int
        Jobs that are read at once.
    """

    def __init__(self, log: OpenLog, parts: SimulationParts, settings: Simulate, size: int) -> None:
        self.log, self.size = log, size
        self.most = parts.rules.machine if settings.oversize == "drop" else None
        self.used: Collection[str] = _OF_POOLS if settings.machine is None else NAMES

    def read(self, names: Collection[str], extent: Extent | None = None) -> Iterator[Piece]:
        """Yield the pieces; report all submissions, and the ends of jobs that ran."""
        n_read, places, held = 0, np.empty(0, np.int64), list[Columns]()
        for jobs in self.log.columns(self.size, names):
            ran = _ran(self.log, jobs)
            if extent is not None:
                end = jobs["submit"] + np.nan_to_num(jobs["wait"]) + jobs["run"]
                extent.add(jobs["submit"], end[ran])
            which = np.flatnonzero(ran & self._fits(jobs))
            place, n_read = n_read + which, n_read + ran.size
            if which.size < ran.size:
                jobs = jobs.rows(which)
            if not which.size:
                continue
            submit = jobs["submit"]
            begin = int(np.searchsorted(submit, submit[-1]))  # of the last second, which may go on
            if begin or (held and held[-1]["submit"][-1] < submit[0]):
                first = [*held, jobs.rows(slice(begin))]
                yield Piece(np.append(places, place[:begin]), first, float(submit[begin]))
                places, held = places[:0], []
            places = np.append(places, place[begin:])
            held.append(jobs.rows(slice(begin, None)))
        if held:
            yield Piece(places, held, None)

    def _fits(self, jobs: Columns) -> NDArray[np.bool_] | bool:
        """Return which jobs fit the machine, if others are left out."""
        if self.most is None:
            return True
        requested = jobs["requested_procs"]
        used = jobs["procs" if self.log.knows_procs else "requested_procs"]
        fits: NDArray[np.bool_] = np.where(requested > 0, requested, used) <= self.most
        return fits


@dataclass(frozen=True, eq=False)
class ScheduleInChunks(Displayed):
    """A schedule of a log that is read in chunks; its starts are on disk.

    Parameters
    ----------
    source : OpenLog
    machine : int
        Processors of the machine.
    parameters : mapping of str to object
        The settings, as in `Schedule`.
    whole : Whole
        Numbers of jobs, and the last end.
    first, last : float
        First and last submission of the simulated jobs. [s]
    log_window : Window
        The period in which the log is complete.
    """

    source: OpenLog
    machine: int
    parameters: Mapping[str, Any]
    whole: Whole
    first: float
    last: float
    log_window: Window
    _pieces: Pieces = field(repr=False)
    _parts: SimulationParts = field(repr=False)
    _results: ResultsOnDisk = field(repr=False)

    def schedules(self) -> Iterator[Schedule]:
        """Yield the schedules of consecutive jobs, in the order of submission."""
        return self._schedules(NAMES)

    def _schedules(self, names: Collection[str]) -> Iterator[Schedule]:
        """Yield schedules of jobs with some of their fields."""
        for piece in self._pieces.read(names):
            trace = self.source.trace(Columns.joined(piece.jobs))
            workload = self._parts.as_workload.of(trace)
            place, found = piece.place[workload.row], self._results
            start = found.read("start", place)
            columns = {name: found.read(name, place) for name in KEPT if name in found}
            if "run" in found:
                run = found.read("run", place)
                killed = workload.killed & ~columns["lost"]
                workload = replace(workload, run=run, killed=killed)
            if "estimate" in found:
                estimate = found.read("estimate", place)
                workload = replace(workload, estimate=estimate, limit=workload.estimate)
            machine = self._parts.rules.hardware
            yield Schedule(
                trace,
                workload,
                start,
                self.machine,
                self.parameters,
                columns,
                described=machine if is_described(machine) else None,
            )

    @property
    def span(self) -> tuple[float, float]:
        """First submission and last end. [s]."""
        return self.first, self.whole.last_end

    @cached_property
    def window(self) -> tuple[float, float]:
        """Begin and end of the window of utilization and throughput, as in `Schedule`. [s]."""
        complete = self.log_window
        begin, until, end = self.first, self.last, self.whole.last_end
        if not complete.begin <= begin <= until <= complete.until:
            inside = np.array([[np.inf, -np.inf, -np.inf]])
            for part in self._schedules(self._pieces.used):
                submit = part.workload.submit
                if (its := complete.contains(submit)).any():
                    row = [submit[its].min(), submit[its].max(), part.end[its].max()]
                    inside = np.append(inside, [row], axis=0)
            if len(inside) > 1:
                begin, until, end = inside[:, 0].min(), inside[:, 1].max(), inside[:, 2].max()
        return float(begin), float(until if until > begin else end)

    @cached_property
    def _measures(self) -> dict[str, float]:
        return measure_parts(
            self._schedules(self._pieces.used),
            Spill(self._results.folder / "waits"),
            whole=self.whole,
            span=self.span,
            window=self.window,
        )

    @property
    def metrics(self) -> dict[str, float]:
        """Aggregates over all simulated jobs, equal to `Schedule.metrics` of the whole log.

        Without the accuracy of predictions. Sums over decimals that not all jobs have, such as
        promised starts, may differ in the last digits.
        """
        return {name: x for name, x in self._measures.items() if not name.startswith("tail")}

    def describe(self) -> dict[str, float]:
        """Return the metrics, and the `tail` and `tail_work` of `Schedule.describe`.

        Others, such as percentiles, need all jobs at once: the schedule that is written has them.
        """
        return self._measures

    @property
    def provenance(self) -> dict[str, Any]:
        """Version, settings, seed and inputs that made the schedule."""
        return provenance(self.source.trace(no_jobs()), **self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """Return what `describe` does and the provenance, ready for JSON."""
        measures: dict[str, Any] = plain(self.describe())
        return measures | {"provenance": self.provenance}

    def write(self, path: str | os.PathLike[str], note: str = "") -> tuple[Path, ...]:
        """Write the simulated jobs as a log, the same as that of a simulation in memory.

        Parameters
        ----------
        path : str or path
            ``.swf``, compressed by a second suffix, or ``.wkt.parquet``; ``-`` is standard output.
        note : str
            A further note in the header.

        Returns
        -------
        tuple of Path
            Paths of the files that were written next to the log.

        Raises
        ------
        ParameterError
            If the format is another one.
        WorkloadError
            If the log has a side-car, which is not read in chunks, or the file cannot be written.
        """
        kind = written_format(path)
        if kind not in ("swf", "wkt"):
            raise ParameterError(f"{path}: in chunks, logs are written as .swf or .wkt.parquet")
        kills = self.parameters["overrun"] == "kill" or "lost" in self._results
        if kills and not self.source.decimals.isdisjoint(("run", "cpu")):
            raise ParameterError(
                f"{self.source.name}: the CPU time of stopped jobs is rounded if that of all jobs "
                f"is whole; {ABOVE}"
            )
        if self.source.further:
            raise ParameterError(
                f"{self.source.name}: the simulated jobs would lack the side-car, "
                f"which is not read in chunks; {ABOVE}"
            )
        whole = next(self._traces())
        if note:
            whole = whole.replaced(header=whole.header.appended(("Note", note)))
        if kind == "swf" and whole.sidecar is not None:
            raise ParameterError(
                f"{path}: in chunks, promised starts are written to a .wkt.parquet file only"
            )
        if kind == "wkt":
            wkt.write_parts(path, whole, self._traces)
            return ()
        return swf.write_parts(path, whole, self._traces(), self.whole.n_jobs)

    def _traces(self) -> Iterator[Trace]:
        """Yield the logs of consecutive jobs, each with the header of the whole."""
        from workloadkit.simulation.schedule.tables import simulated_log  # loads pandas

        return (simulated_log(part, self.whole) for part in self.schedules())

    def _summary(self) -> str:
        machine = plural(self.machine, "processor")
        who = str(self.parameters.get("scheduler"))
        n_jobs = plural(self.whole.n_jobs, "job")
        return f"{self.source.name!r}, scheduler={who!r}, {n_jobs}, {machine}"

    def _table(self) -> "pd.DataFrame":
        import pandas as pd

        return pd.DataFrame([self.describe()])
