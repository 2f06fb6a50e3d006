"""A log of jobs: its header and its job table."""

import hashlib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from importlib import import_module
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit import __version__
from workloadkit.checkpoints import unfold
from workloadkit.clock import enclosing, span
from workloadkit.columns import Columns, HoldsTables
from workloadkit.display import DAY, SINCE_BEGIN, Displayed, current_axes
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning, plural, quoted
from workloadkit.fields import FIELDS, NAMES, UNKNOWN, Field
from workloadkit.following import follow
from workloadkit.header import Header
from workloadkit.intake import Intake, Repair
from workloadkit.job_columns import column_of, names_of
from workloadkit.memory import rows_of
from workloadkit.window import Window, window_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from workloadkit.machine.description import MachineDescription
    from workloadkit.settings.common import JobUnit
    from workloadkit.units import Counting

_MOST_BINS = 500  # of a figure


@cache  # shared: a trace is never changed in place
def no_jobs() -> Any:
    """Return the columns of no jobs."""
    return Columns({f.name: np.empty(0, f.dtype) for f in FIELDS})


@cache
def _no_utility() -> Any:
    return Columns(row=np.empty(0, np.int64), time=np.empty(0), value=np.empty(0))


@dataclass(frozen=True, eq=False)
class Trace(HoldsTables, Displayed):
    """A log of jobs, the data type that all parts of the toolkit use. Never changed in place.

    Parameters
    ----------
    jobs : DataFrame
        One row per job, in order of (submit, position in the file), with the columns of
        `workloadkit.fields`. Times in seconds.
    header : Header
        The header comments.
    bursts : DataFrame
        The partial executions of checkpointed jobs, in file order, with the same columns.
    utility : DataFrame
        Points of the jobs' utility functions: `row` (of `jobs`), `time` [s] and `value`.
    name : str
        File name without folder, or the origin of the trace.
    digest : str
        SHA-256 of the text from which the log was read, if it is unchanged; else empty.
    made_from : str
        SHA-256 of the text from which a changed log was read; else empty.
    changes : tuple of str
        Changes made by `take` and `with_columns`.
    repairs : tuple of Repair
        Repairs made while reading.
    sidecar : DataFrame, optional
        Accounting data without a field in the standard, one row per job in the same order: the
        columns of `workloadkit.record_fields`.
    intake : Intake, optional
        How the rows of accounting data became these jobs.
    machine : MachineDescription, optional
        The machine on which the jobs ran: its nodes, partitions and pools.
    dropped : tuple of str
        Columns of the side-car, and ``machine``, that changes since reading made untrue: they are
        left out.
    counting : Counting, optional
        How sizes are counted in a log that is seen in another unit than processors, see
        `workloadkit.units.in_unit`.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 60], "run": [90, 30], "procs": [4, 1]})
    >>> trace.n_jobs
    2
    >>> trace.jobs[["job", "submit", "wait", "procs"]].to_numpy().tolist()
    [[1.0, 0.0, nan, 4.0], [2.0, 60.0, nan, 1.0]]
    """

    _TABLES = ("jobs", "bursts", "utility")

    jobs: "pd.DataFrame"
    header: Header = field(default_factory=Header)
    bursts: "pd.DataFrame" = field(default_factory=no_jobs)
    utility: "pd.DataFrame" = field(default_factory=_no_utility)
    name: str = "trace"
    digest: str = ""
    made_from: str = ""
    changes: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    sidecar: "pd.DataFrame | None" = None
    intake: Intake | None = None
    machine: "MachineDescription | None" = None
    dropped: tuple[str, ...] = ()
    counting: "Counting | None" = None
    _read: tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        # A trace with replaced jobs or header no longer equals the text that was read. Ids are
        # unique here, because the original trace keeps the replaced objects alive.
        held = self._held()
        if self.digest and self._read not in ((), held):
            object.__setattr__(self, "made_from", self.digest)
            object.__setattr__(self, "digest", "")
        object.__setattr__(self, "_read", held)

    def __getattr__(self, name: str) -> Any:
        """Make a DataFrame of the columns of a table."""
        table = super().__getattr__(name)
        object.__setattr__(self, "_read", self._held())
        return table

    def __getstate__(self) -> dict[str, Any]:
        names = {f.name for f in fields(self)} | {f"_{name}_columns" for name in self._TABLES}
        return {name: value for name, value in self.__dict__.items() if name in names - {"_read"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        object.__setattr__(self, "_read", self._held())  # ids differ in copies and other processes

    def _held(self) -> tuple[int, ...]:
        return *(id(self.table(name)) for name in self._TABLES), id(self.header)

    def table(self, name: str) -> "Columns | pd.DataFrame":
        """Return the columns of `jobs`, `bursts` or `utility`, as a DataFrame if there is one."""
        return self._columns_of(name)

    def replaced(self, **parts: Any) -> "Trace":
        """Return the log with other parts, by field; unlike `replace`, it makes no DataFrames."""
        tables: dict[str, Any] = {name: self.table(name) for name in self._TABLES}
        return replace(self, **tables | parts)

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, ArrayLike], *, header: Header | None = None, name: str = "trace"
    ) -> "Trace":
        """Make a trace from columns; missing columns are unknown.

        Parameters
        ----------
        columns : mapping of str to array_like, shape (n_jobs,)
            By the names of `workloadkit.fields`; `submit` is required. -1 is unknown, except as a
            submit time. Without `job`, jobs are numbered 1, 2, … in order of submission.
        header : Header, optional
        name : str, default "trace"

        Raises
        ------
        WorkloadError
            If a column is unknown, `submit` is missing, lengths differ, or an identifier is not a
            whole number.
        """
        unknown = set(columns) - set(NAMES)
        if unknown:
            raise WorkloadError(f"not a field of a job: {', '.join(sorted(unknown))}")
        if "submit" not in columns:
            raise WorkloadError("a trace requires the column submit")
        n_jobs = len(np.atleast_1d(np.asarray(columns["submit"])))
        given = {
            f.name: _as_column(f, columns[f.name], n_jobs) for f in FIELDS if f.name in columns
        }
        submit = given["submit"]
        in_order = bool((submit[1:] >= submit[:-1]).all())  # avoids a copy
        order = slice(None) if in_order else np.argsort(submit, kind="stable")
        table = {
            f.name: given[f.name][order]
            if f.name in given
            else np.full(n_jobs, np.nan if f.measured else UNKNOWN, f.dtype)
            for f in FIELDS
        }
        if "job" not in columns:
            table["job"] = np.arange(1, n_jobs + 1)
        return cls(Columns(table), header or Header(), name=name)

    @classmethod
    def from_frame(cls, frame: Any, mapping: Any, *, tz: str | None = None) -> "Trace":
        """Make a trace from a frame of pandas or Polars, or a table of Arrow, by a mapping.

        Requires DuckDB (``pip install 'workloadkit[tables]'``).

        Parameters
        ----------
        frame : DataFrame or Table
            Its index is no column. Columns that the mapping does not use may have any values.
        mapping : str, path or dict
            What the columns mean, see `workloadkit.io.tables.read_table`.
        tz : str, optional
            Time zone of the log, and of times without an offset; by default that of the mapping.

        Raises
        ------
        FormatError
            If a key of the mapping is wrong, two columns have one name, or values of a column
            cannot be read.
        ParameterError
            If it is no frame, or no mapping.
        WorkloadError
            If DuckDB is not installed.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"t": [0, 60], "s": [5.5, 30], "who": ["al", None]})
        >>> fields = {"submit": {"sql": "t", "unit": "s"}, "run": {"sql": "s", "unit": "s"}}
        >>> trace = Trace.from_frame(frame, {"fields": fields | {"start": fields["submit"]}})
        >>> trace.jobs[["submit", "wait", "run"]].to_numpy().tolist()
        [[0.0, 0.0, 5.5], [60.0, 0.0, 30.0]]
        """
        trace: Trace = import_module("workloadkit.io.tables").read_frame(frame, mapping, tz=tz)
        return trace

    @property
    def n_jobs(self) -> int:
        """Number of jobs."""
        return len(self.table("jobs"))

    @property
    def n_bursts(self) -> int:
        """Number of bursts of checkpointed jobs."""
        return len(self.table("bursts"))

    @property
    def no_bursts(self) -> Columns:
        """The columns of `bursts`, without rows."""
        bursts = self.table("bursts")
        return Columns({name: np.asarray(bursts[name])[:0] for name in bursts})

    @property
    def unit(self) -> "JobUnit":
        """The unit in which sizes of jobs and of the machine are counted: processors by default."""
        return "procs" if self.counting is None else self.counting.unit

    @cached_property
    def content_digest(self) -> str:
        """SHA-256 of the header, and of the columns of jobs, bursts and utility functions."""
        digest = hashlib.sha256("\n".join(self.header.lines).encode(errors="surrogatepass"))
        for table in map(self.table, self._TABLES):
            digest.update(f"\n{len(table)} rows".encode())
            for name in table:
                digest.update(f"\n{name} ".encode())
                digest.update(np.ascontiguousarray(table[name]).data)
        return digest.hexdigest()

    @property
    def identity(self) -> str:
        """Unique identity of the log: the digest of the text that was read, else of the content."""
        return f"sha256 {self.digest}" if self.digest else f"content sha256 {self.content_digest}"

    def column(self, name: str) -> NDArray[Any]:
        """Return one column as a read-only array, shape (n_jobs,).

        Parameters
        ----------
        name : str
            A field of the standard (`workloadkit.fields`); a column of the side-car, such as
            `account`, `qos`, `state`, `reason`, `eligible`, `gpus` or `energy`; or `start` and
            `end` of the execution, `hour`, the hour of the day of the submission, and `automatic`,
            whether its user looks so, see `automatic_users`. Unknown numbers are NaN, or -1 among
            integers, unknown words are empty. Times are seconds of the log.
            A name in both, such as `user`, is the number in the log; see `names`.

        Raises
        ------
        WorkloadError
            If there is no such field, or the log does not have it.

        Examples
        --------
        >>> import pandas as pd
        >>> trace = Trace.from_columns({"submit": [0, 60], "user": [1, 2]})
        >>> trace = replace(trace, sidecar=pd.DataFrame({"account": ["bio", ""]}))
        >>> trace.column("user").tolist(), trace.column("account").tolist()
        ([1, 2], ['bio', ''])
        """
        return _frozen(column_of(self, name))

    def names(self, field: str) -> "pd.Categorical":
        """Return the name of each job's user, account, state, …, shape (n_jobs,).

        Parameters
        ----------
        field : str
            A column of words in the side-car; or `user`, `group`, `executable`, `queue`,
            `partition` or `status`. Numbers without known names are named "user 3"; the header
            may name queues and partitions.

        Returns
        -------
        Categorical
            Its code -1 is unknown.

        Raises
        ------
        WorkloadError
            If there is no such field, the log does not have it, or it is unknown for all jobs.

        Examples
        --------
        >>> header = Header(("; Queue: 1 night", "; Queue: 2 day"))
        >>> columns = {"submit": [0, 60, 90], "queue": [2, -1, 1], "user": [3, 3, 5]}
        >>> trace = Trace.from_columns(columns, header=header)
        >>> trace.names("queue").tolist(), trace.names("user").tolist()
        (['day', nan, 'night'], ['user 3', 'user 3', 'user 5'])
        """
        return names_of(self, field)

    @cached_property
    def used_procs(self) -> NDArray[np.float64]:
        """Processors each job used, shape (n_jobs,): field 5; field 8 if field 5 is never known."""
        procs = self.column("procs")
        return procs if (procs > 0).any() else self.column("requested_procs")

    @cached_property
    def ran(self) -> NDArray[np.bool_]:
        """Whether a job ran, shape (n_jobs,): run time ≥ 0 and processors > 0."""
        return _frozen((self.column("run") >= 0) & (self.used_procs > 0))

    @cached_property
    def end(self) -> NDArray[np.float64]:
        """End of each job [s], shape (n_jobs,): an unknown wait counts as 0."""
        wait = np.nan_to_num(self.column("wait"))
        return _frozen(self.column("submit") + wait + self.column("run"))

    @cached_property
    def window(self) -> Window:
        """The period in which the log is complete, used for rates.

        As stated in the header, else estimated by `workloadkit.window.window_of`.
        """
        return window_of(self.column("submit"), self.end[self.ran], stated=self.header.window)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the jobs submitted per day.

        Parameters
        ----------
        ax : Axes, optional
            By default the current ones.
        """
        ax = current_axes(ax)
        day = self.column("submit") / DAY
        if day.size:
            width = max(1, int(np.ptp(day) / _MOST_BINS))  # days of a bin
            edges = enclosing(np.floor(day[0]), day[-1], width)
            ax.stairs(np.histogram(day, edges)[0] / width, edges)
        ax.set_xlabel(SINCE_BEGIN)
        ax.set_ylabel("jobs submitted per day")
        return ax

    def _summary(self) -> str:
        users = distinct(self.column("user"))
        known = int((users != UNKNOWN).sum())
        procs = f", {plural(self.header.procs, 'processor')}" if self.header.procs else ""
        return f"{self.name!r}, {plural(self.n_jobs, 'job')}, {plural(known, 'user')}{procs}"

    def _table(self) -> "pd.DataFrame":
        return self.jobs

    def within_window(self) -> "Trace":
        """Return the jobs submitted within the window; the trace itself if these are all.

        Examples
        --------
        >>> header = Header(("; Window: 50 200",))
        >>> Trace.from_columns({"submit": [0, 60, 90]}, header=header).within_window().n_jobs
        2
        """
        inside = self.window.contains(self.column("submit"))
        return self if inside.all() else self.select(inside)

    @cached_property
    def utilities(self) -> dict[int, list[tuple[float, float]]]:
        """Utility functions as (time, value) points, by row of `jobs`."""
        points: dict[int, list[tuple[float, float]]] = {}
        columns = (self.utility[name].tolist() for name in ("row", "time", "value"))
        for row, time, value in zip(*columns, strict=True):
            points.setdefault(row, []).append((time, value))
        return points

    def take(self, rows: ArrayLike, *, repeats: bool = False) -> "Trace":
        """Return the jobs at `rows`, in that order, with all that the log knows of them.

        Parameters
        ----------
        rows : array_like of int
        repeats : bool, default False
            Whether a row may be taken several times. Bursts, which have the number of their job,
            are then left out.

        Raises
        ------
        WorkloadError
            If a row is taken twice without `repeats`.
        """
        rows = np.asarray(rows, dtype=np.int64)
        ascend = (rows[1:] > rows[:-1]).all()  # as those of `select`, which so need no sort
        if not (repeats or ascend) and distinct(rows).size < rows.size:
            raise WorkloadError("a job cannot be taken twice")
        jobs = _rows_of(self.table("jobs"), rows)
        utility, bursts = self.table("utility"), self.table("bursts")
        if len(utility):
            utility = _points_of(utility, rows, self.n_jobs)
        if len(bursts):
            kept = np.isin(np.asarray(bursts["job"]), np.asarray(jobs["job"])) & (not repeats)
            bursts = _rows_of(bursts, np.flatnonzero(kept))
        sidecar = self.sidecar
        if sidecar is not None:
            sidecar = sidecar.take(rows).reset_index(drop=True)
        changes = (*self.changes, f"{rows.size:,} of {plural(self.n_jobs, 'job')}")
        tables = {"jobs": jobs, "bursts": bursts, "utility": utility}
        return replace(self, **tables, sidecar=sidecar, changes=changes)

    def select(self, keep: ArrayLike) -> "Trace":
        """Return the jobs for which `keep` is true, with their bursts and utility functions.

        Parameters
        ----------
        keep : array_like of bool, shape (n_jobs,)

        Raises
        ------
        WorkloadError
            If the number of values is not the number of jobs.
        """
        mask = np.asarray(keep, dtype=bool)
        if mask.shape != (self.n_jobs,):
            raise WorkloadError(
                f"{plural(mask.size, 'value')} of keep for {plural(self.n_jobs, 'job')}"
            )
        return self.take(np.flatnonzero(mask))

    def where(
        self, expression: str | None = None, *, since: object = None, until: object = None
    ) -> "Trace":
        """Return the jobs that an expression or a period chooses, as a log of its own.

        The header records what was chosen: it has a note, the number of jobs, and the window, which
        is that of this log, narrowed to the period. Jobs keep their numbers and submit times; their
        bursts, utility functions and rows of the side-car go with them.

        Parameters
        ----------
        expression : str, optional
            A condition on the columns of `column` and the names of `names`, see the reference page
            on choosing jobs. A comparison with an unknown value is neither true nor false.
        since, until : str or date, optional
            Jobs submitted at or after the one, and before the other: a date in the log's time zone
            such as 2024-03, 2024-03-01 or 2024-03-01T12:00, or a time since second 0 such as 2d.

        Raises
        ------
        ParameterError
            If the expression is invalid, with its position, or a date is.
        WorkloadError
            If no job is chosen, the log lacks a field, or a date requires an unknown local time.

        Warns
        -----
        WorkloadWarning
            If no job has a name in the expression; if chosen jobs name a job that is not chosen as
            their preceding job.

        Examples
        --------
        >>> columns = {"submit": [0, 60, 90], "user": [3, 3, 5], "run": [5, -1, 7]}
        >>> trace = Trace.from_columns(columns)
        >>> trace.where("user in (3, 4)").column("submit").tolist()
        [0.0, 60.0]
        >>> trace.where("run<1h", since="1min").column("submit").tolist()
        [90.0]
        """
        from workloadkit.select import choose

        choice = choose(self, expression, since, until)
        if not choice.keep.any():
            if choice.absent:
                raise WorkloadError(f"{choice.absent[0]}; no job of {self.name} is chosen")
            raise WorkloadError(f"{self.name}: no job is chosen: {choice.how}{choice.submitted}")
        for message in choice.absent:
            warnings.warn(message, WorkloadWarning, stacklevel=2)
        kept = self.select(choice.keep)
        if lost := lost_predecessors(self, choice.keep):
            name = plural(lost, "chosen job names", "chosen jobs name")
            message = f"{self.name}: {name} a job that is not chosen as preceding job"
            warnings.warn(message, WorkloadWarning, stacklevel=2)
        number = f"jobs {kept.n_jobs:,} of {self.n_jobs:,}"
        made = f"workloadkit {__version__}, log {self.name} ({self.identity})"
        header = kept.header.with_jobs(kept.n_jobs, kept.n_bursts, EndTime=span(kept)[1])
        begin = max(self.window.begin, choice.since)
        end = min(self.window.until, choice.until)
        if begin <= end:
            header = header.replaced("Window", header.window_text(begin, end))
        header = header.appended(("Note", f"chosen: {made}, {choice.how}, {number}"))
        return kept.replaced(header=header, changes=(*self.changes, f"{choice.how}: {number}"))

    def as_bursts(self) -> "Trace":
        """Return a trace in which each burst of a checkpointed job is a job.

        Use it for studies of the system; studies of the workload use the summary line of a job,
        which is the default everywhere. Each burst after the first is submitted when the previous
        one ended, see `workloadkit.checkpoints.unfold`; all bursts keep the number of their job.
        The header records it (Preemption: Yes). Utility functions of checkpointed jobs are left
        out, because they give the value of a whole job. The side-car follows as in `with_columns`.

        Raises
        ------
        WorkloadError
            If a burst has no job, or more than one job has its number.

        Examples
        --------
        >>> line = {"job": [7], "submit": [10], "wait": [5], "run": [60], "status": [1]}
        >>> parts = {"job": [7, 7], "submit": [10, 10], "wait": [5, 30], "run": [20, 40]}
        >>> bursts = Trace.from_columns({**parts, "status": [2, 3]}).jobs
        >>> trace = replace(Trace.from_columns(line), bursts=bursts).as_bursts()
        >>> trace.jobs[["job", "submit", "wait", "run", "status"]].to_numpy().tolist()
        [[7.0, 10.0, 5.0, 20.0, 2.0], [7.0, 35.0, 30.0, 40.0, 3.0]]
        """
        if not self.n_bursts:
            return self
        jobs, row, is_burst = unfold(self.jobs, self.bursts)
        new_row = np.full(self.n_jobs, -1)
        new_row[row[~is_burst]] = np.flatnonzero(~is_burst)
        utility = self.utility.assign(row=new_row[self.utility["row"].to_numpy()])
        utility = utility[utility["row"] >= 0].sort_values("row", kind="stable", ignore_index=True)
        header = self.header.replaced("Preemption", "Yes")
        if header.get("MaxRecords") is not None:
            header = header.replaced("MaxRecords", str(len(jobs)))
        of_jobs = self.take(row, repeats=True)
        given = ("submit", "wait", "run")
        sidecar, untrue = follow(of_jobs.sidecar, of_jobs.jobs, jobs, given)
        return replace(
            self,
            jobs=jobs,
            header=header,
            bursts=self.bursts.iloc[:0],
            utility=utility,
            sidecar=sidecar,
            dropped=(*self.dropped, *untrue),
            name=f"{self.name}, as bursts",
        )

    def with_columns(self, **columns: ArrayLike) -> "Trace":
        """Return a trace with some columns of its jobs replaced; what the log knows follows.

        With other submit times alone, the recorded execution moves with them: the instants in the
        side-car do too, and the list of nodes is left out. With other waits or run times, jobs are
        executed otherwise: all columns about the recorded execution are left out, and energy and
        CPU time in the side-car change in proportion to the run time. With other processors, so do
        nodes and GPUs. `RecordField.follows` states it for each column, and `dropped` names those
        left out. Bursts are submitted with their jobs; they are dropped if waits or run times are
        replaced.

        Raises
        ------
        WorkloadError
            As `from_columns`, and if submit times do not ascend.

        Examples
        --------
        >>> import pandas as pd
        >>> log = Trace.from_columns({"submit": [0, 60], "run": [30, 40]})
        >>> known = {"account": ["bio", "art"], "energy": [600.0, 900.0], "state": ["TIMEOUT"] * 2}
        >>> log = replace(log, sidecar=pd.DataFrame(known)).with_columns(run=[30, 20])
        >>> log.sidecar.to_dict("list"), log.dropped
        ({'account': ['bio', 'art'], 'energy': [600.0, 450.0]}, ('state',))
        """
        known = {f.name: f for f in FIELDS if f.name in columns}
        if unknown := set(columns) - set(known):
            raise WorkloadError(f"not a field of a job: {', '.join(sorted(unknown))}")
        new = {name: _as_column(f, columns[name], self.n_jobs) for name, f in known.items()}
        check_ascending(new.get("submit", np.empty(0)))
        before = self.table("jobs")
        tables: Any = {"jobs": _with(before, new), "bursts": self.table("bursts")}
        sidecar, untrue = follow(self.sidecar, before, tables["jobs"], new)
        without = f", without {', '.join(untrue)}" * bool(untrue)
        changes = (*self.changes, f"other values of {' and '.join(new)}{without}")
        if self.n_bursts and not new.keys().isdisjoint({"submit", "wait", "run"}):
            kept = new.keys().isdisjoint({"wait", "run"})
            tables["bursts"] = _submitted_with(tables) if kept else no_jobs()
        dropped = (*self.dropped, *untrue)
        return self.replaced(**tables, sidecar=sidecar, changes=changes, dropped=dropped)

    def with_procs(self, procs: int) -> "Trace":
        """Return the log of a machine of another size; a description of it is left out.

        Examples
        --------
        >>> Trace.from_columns({"submit": [0]}).with_procs(16).header.lines
        ('; MaxProcs: 16',)
        """
        header = self.header.with_procs(procs)
        if self.machine is None or self.machine.procs == procs:
            return self.replaced(header=header)
        return self.replaced(header=header, machine=None, dropped=(*self.dropped, "machine"))


def _rows_of(table: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a table, numbered from 0."""
    if isinstance(table, Columns):
        return Columns(rows_of(table, rows))
    return table.take(rows).reset_index(drop=True)


def _points_of(utility: Any, rows: NDArray[np.int64], n_jobs: int) -> Any:
    """Return the points of the utility functions of some rows, by new row."""
    of = np.asarray(utility["row"])
    order = np.argsort(of, kind="stable")
    n_points = np.bincount(of, minlength=n_jobs)
    begins, n_taken = np.cumsum(n_points) - n_points, n_points[rows]
    place = np.arange(n_taken.sum()) - np.repeat(np.cumsum(n_taken) - n_taken, n_taken)
    taken = _rows_of(utility, order[place + np.repeat(begins[rows], n_taken)])
    return _with(taken, {"row": np.repeat(np.arange(rows.size), n_taken)})


def _with(table: Any, columns: Mapping[str, NDArray]) -> Any:
    """Return a copy of the table with some columns replaced."""
    return Columns({**table, **columns}) if isinstance(table, Columns) else table.assign(**columns)


def _submitted_with(tables: Mapping[str, Any]) -> Any:
    """Return the bursts with the submit times of their jobs; only first bursts have one."""
    jobs, bursts = tables["jobs"], tables["bursts"]
    number, submit = np.asarray(bursts["job"]), np.asarray(bursts["submit"])
    order = np.argsort(jobs["job"], kind="stable")
    place = order[np.searchsorted(jobs["job"], number, sorter=order)]
    return _with(
        bursts, {"submit": np.where(submit < 0, submit, np.asarray(jobs["submit"])[place])}
    )


def lost_predecessors(trace: Trace, keep: NDArray[np.bool_]) -> int:
    """Return how many of the kept jobs have a preceding job of whose number none is kept."""
    job = trace.column("job")
    gone = np.setdiff1d(job[~keep], job[keep])
    return int(np.isin(trace.column("preceding_job")[keep], gone[gone >= 0]).sum())


def check_trace(trace: object, name: str = "trace") -> None:
    """Check that the argument is a Trace."""
    if isinstance(trace, str | PathLike):
        raise ParameterError(name, f"is {quoted(fspath(trace))}; read it first with wk.read_swf")
    if not isinstance(trace, Trace):
        what = "None" if trace is None else f"of type {type(trace).__name__}"
        raise ParameterError(
            name, f"is {what}; it must be a Trace, such as returned by wk.read_swf"
        )


def list_of_logs(traces: Trace | Iterable[Trace]) -> list[Trace]:
    """Return one or several logs as a list.

    Raises
    ------
    ParameterError
        If there is no log, or an item is not a Trace.
    """
    if isinstance(traces, Trace):
        return [traces]
    is_table = isinstance(traces, str | Mapping) or hasattr(traces, "columns")
    if is_table or not isinstance(traces, Iterable):
        check_trace(traces, "a log")  # raises
    logs = [*traces]
    if not logs:
        raise ParameterError("no log given; give at least one Trace")
    for log in logs:
        check_trace(log, "a log")
    return logs


def check_ascending(submit: NDArray) -> None:
    """Check that submit times ascend.

    Raises
    ------
    WorkloadError
        With the first row that is out of order.
    """
    early = np.flatnonzero(np.diff(submit) < 0)
    if early.size:
        row = early[0] + 1
        raise WorkloadError(
            f"submit times must ascend: row {row} at {submit[row]:g} s follows one at "
            f"{submit[row - 1]:g} s"
        )


def _as_column(f: Field, values: ArrayLike, n_jobs: int) -> NDArray:
    """Convert values to a column of the job table."""
    given = np.array(values, ndmin=1)
    if given.shape != (n_jobs,):
        raise WorkloadError(
            f"{plural(given.size, 'value')} of {f.name} for {plural(n_jobs, 'job')}"
        )
    try:
        kind = np.float64 if f.measured or given.dtype.kind in "fO" else np.int64
        column = given.astype(kind, copy=False)
    except (TypeError, ValueError):
        raise WorkloadError(f"{f.name} has values that are not numbers") from None
    if f.name == "submit":
        if np.isnan(column).any():
            row = int(np.argmax(np.isnan(column)))
            raise WorkloadError(f"submit of row {row} is NaN; the submit time must be known")
    elif f.measured:
        column[column == UNKNOWN] = np.nan
    elif column.dtype.kind == "f" and not (column == np.rint(column)).all():
        row = int(np.argmax(column != np.rint(column)))
        raise WorkloadError(f"{f.name} of row {row} is {column[row]:g}, not a whole number")
    return column.astype(f.dtype, copy=False)


def _frozen(values: NDArray) -> NDArray:
    """Return a read-only view: a Trace is never changed in place."""
    view = values.view()
    view.flags.writeable = False
    return view
