"""Rows of jobs as records: what each column tells, and what is odd about it."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from workloadkit.fields import CANCELLED
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.slurm import values
from workloadkit.io.slurm.instants import NAMES, Instants, Zone
from workloadkit.io.slurm.rows import Rows
from workloadkit.io.slurm.steps import Steps

_Numbers = NDArray[np.float64]
_Row = list[str]
_Table = dict[str, tuple[str, ...]]

_WORDS = ("cluster", "partition", "qos", "account", "user", "group", "exit_code", "executable")


class JobReader:
    """Makes records of rows, some at a time.

    Parameters
    ----------
    records : Records
        Where they go, and where rows that are no job are counted.
    options : ImportOptions

    Attributes
    ----------
    zone : Zone
    steps : Steps
        What rows of steps told.
    unknown_states : Counter of str
        States of jobs that no version of Slurm is known to print.
    array_rows, array_tasks : int
        Jobs that stand for several tasks of an array, and the tasks.
    """

    def __init__(self, records: Records, options: ImportOptions) -> None:
        self.records = records
        self.anonymize = options.anonymize
        self.zone = Zone(options.tz)
        self.steps = Steps()
        self.unknown_states: Counter[str] = Counter()
        self.array_tasks = self.array_rows = self.first_array_row = 0
        self._state = lru_cache(maxsize=1 << 12)(values.state)
        self._requested_memory = lru_cache(maxsize=1 << 12)(values.requested_memory)
        self._read = {
            **dict.fromkeys(("elapsed", "suspended"), values.Column(values.duration)),
            "requested_time": values.Column(values.time_limit),
            **dict.fromkeys(
                ("procs", "requested_procs", "nodes", "n_tasks"), values.Column(values.count)
            ),
            "memory": values.Column(values.used_memory),
            "cpu": values.Column(values.duration),
        }
        self._gpus = values.Column(values.gpus)
        self._cpus_of = values.Column(values.tres("cpu"))
        self._nodes_of = values.Column(values.tres("node"))

    def read(self, rows: Rows) -> None:
        """Take rows: those of jobs become records, those of steps go to their jobs."""
        at = rows.columns.place["id"]
        jobs, places = rows.fields, rows.places
        steps: list[_Row] = []
        owners: list[int] = []
        step_places: list[int] = []
        if any("." in row[at] for row in rows.fields):
            jobs, places = [], []
            for row, place in zip(rows.fields, rows.places, strict=True):
                if "." in row[at]:
                    steps.append(row)
                    owners.append(len(jobs) - 1)
                    step_places.append(place)
                else:
                    jobs.append(row)
                    places.append(place)
        record_of_job = self._read_jobs(rows, jobs, np.array(places, np.int64))
        names = [row[at] for row in jobs]
        if steps:
            table = _table(rows, steps, ("id", "memory", "n_tasks", "cpu"))
            where = np.array(step_places)
            self.steps.add(
                self.records,
                names,
                record_of_job,
                table["id"],
                owners,
                where,
                self._numbers(table, "memory", where, " of steps")
                * np.fmax(self._numbers(table, "n_tasks", where, " of steps"), 1.0),
                self._numbers(table, "cpu", where, " of steps"),
            )
        if names:
            self.steps.end_of_rows(names[-1], int(record_of_job[-1]))

    def _read_jobs(
        self, rows: Rows, jobs: list[_Row], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Make records of the rows of jobs; give the number of each, -1 for those left out."""
        kept = np.arange(len(jobs))
        record_of_job = np.full(len(jobs), -1)
        kept = kept[self._ended(rows, jobs, places)] if jobs else kept
        if not kept.size:
            return record_of_job
        rest = jobs if kept.size == len(jobs) else [jobs[i] for i in kept.tolist()]
        table, lines = _table(rows, rest), places[kept]
        lasted = self._numbers(table, "elapsed", lines)
        suspended = self._numbers(table, "suspended", lines)
        times = {name: table[name] for name in NAMES if name in table}
        instants = self.zone.read(times, lasted + np.nan_to_num(suspended), lines, self.records)
        states = [self._state(text) for text in table["state"]]
        whole = self._can_be_jobs(states, instants, lasted, lines)
        if not whole.all():
            kept, lines, which = kept[whole], lines[whole], np.flatnonzero(whole)
            if not kept.size:
                return record_of_job
            table = _table(rows, [rest[i] for i in which.tolist()])
            instants = instants.take(which)
            states = [states[i] for i in which.tolist()]
            lasted, suspended = lasted[which], suspended[which]
        record_of_job[kept] = len(self.records) + np.arange(kept.size)
        self._extend(table, states, instants, lasted, suspended, lines)
        return record_of_job

    def _ended(self, rows: Rows, jobs: list[_Row], places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which rows are of jobs that have ended, and count the others."""
        at, state_at = rows.columns.place["id"], rows.columns.place["state"]
        ended = np.ones(len(jobs), bool)
        for i, row in enumerate(jobs):
            if not row[at].isdecimal() and not values.is_id(row[at]):
                ended[i] = False
                self.records.leave_out("no id of a job", int(places[i]))
            elif (state := self._state(row[state_at])) in values.NOT_ENDED and state != "REQUEUED":
                ended[i] = False
                self.records.leave_out(f"not ended: {state}", int(places[i]))
        return ended

    def _can_be_jobs(
        self, states: Sequence[str], instants: Instants, lasted: _Numbers, lines: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Tell which rows know enough to be a job, and count the others."""
        submitted = ~np.isnan(instants.submit)
        self._leave_out("no time of submission", ~submitted, lines)
        started = ~np.isnan(instants.start)
        ran = started & ~(np.isnan(instants.end) & np.isnan(lasted))
        odd = np.fromiter((s not in values.ENDED for s in states), bool, len(states))
        requeued = np.fromiter((s == "REQUEUED" for s in states), bool, len(states))
        unknown = odd & ~requeued
        for i in np.flatnonzero(unknown).tolist():
            self.unknown_states[states[i]] += 1
        self._leave_out("state not known, never ran", submitted & unknown & ~ran, lines)
        self._leave_out("not ended: REQUEUED", submitted & requeued & ~ran, lines)
        kept = submitted & ~(odd & ~ran)
        self.records.note_where("state not known: status unknown, job kept", kept & unknown, lines)
        return kept

    def _leave_out(self, kind: str, which: NDArray[np.bool_], lines: NDArray[np.int64]) -> None:
        if which.any():
            self.records.leave_out(kind, int(lines[np.argmax(which)]), int(which.sum()))

    def _extend(
        self,
        table: _Table,
        states: list[str],
        instants: Instants,
        lasted: _Numbers,
        suspended: _Numbers,
        lines: NDArray[np.int64],
    ) -> None:
        """Add records of jobs that have ended."""
        n_jobs = lines.size
        status = np.fromiter((values.status(s) for s in states), np.int64, n_jobs)
        procs = self._numbers(table, "procs", lines)
        if "procs" not in table and "allocated" in table:
            procs = self._cpus_of(table["allocated"])
        start, end = self._start_and_end(instants, status, procs, lasted, suspended, lines)
        started = ~np.isnan(start)
        run = self._run(start, end, lasted, suspended, lines)
        asked = self._asked(table, procs, ~started, lines)
        nodes = self._numbers(table, "nodes", lines)
        asked_nodes = (
            self._nodes_of(table["requested"]) if "requested" in table else np.full(n_jobs, np.nan)
        )
        known_procs = np.where(procs > 0, procs, np.nan)
        amount, per = self._memory_asked(
            table, nodes, np.where(asked > 0, asked, known_procs), lines
        )
        resources = table.get("allocated") or table.get("gres")
        gpus = self._gpus(resources) if resources else np.full(n_jobs, np.nan)
        parents, tasks = self._arrays(table["id"], lines)
        reasons = ["" if r in values.NO_VALUE else r for r in table.get("reason", ())]
        self.records.extend(
            n_jobs,
            place=lines,
            id=np.array(table["id"], object),
            array_job=parents,
            array_task=tasks,
            submit=instants.submit,
            eligible=instants.eligible,
            start=start,
            end=end,
            run=run,
            suspended=suspended,
            procs=np.where(started, procs, np.nan),
            nodes=np.where(started, nodes, np.nan),
            gpus=gpus,
            requested_procs=asked,
            requested_nodes=np.where(np.isnan(asked_nodes) & ~started, nodes, asked_nodes),
            cpu=self._numbers(table, "cpu", lines) / known_procs,
            memory=self._numbers(table, "memory", lines) / known_procs,
            requested_time=self._numbers(table, "requested_time", lines),
            requested_memory=amount,
            requested_memory_per=per,
            status=status,
            state=states,
            **({"reason": reasons} if reasons else {}),
            **{word: table[word] for word in _WORDS if word in table},
        )

    def _start_and_end(
        self,
        instants: Instants,
        status: NDArray[np.int64],
        procs: _Numbers,
        lasted: _Numbers,
        suspended: _Numbers,
        lines: NDArray[np.int64],
    ) -> tuple[_Numbers, _Numbers]:
        """Return when jobs started and ended; those that never started have no start."""
        start, end = instants.start, instants.end
        end = np.where(np.isnan(end), start + lasted + np.nan_to_num(suspended), end)
        # some versions print the end for the start that never was
        never = (status == CANCELLED) & (start == end) & ~(lasted > 0) & (procs == 0)
        self.records.note_where("cancelled without a processor: never started", never, lines)
        start = np.where(never, np.nan, start)
        self.records.note_where("End before Start", end < start, lines)
        return start, end

    def _run(
        self,
        start: _Numbers,
        end: _Numbers,
        lasted: _Numbers,
        suspended: _Numbers,
        lines: NDArray[np.int64],
    ) -> _Numbers:
        """Return run times: Elapsed, which leaves out time suspended, rather than End − Start."""
        more = end - start - lasted
        self.records.note_where(
            "End − Start longer than Elapsed, as if suspended: Elapsed taken", more > 0.5, lines
        )
        self.records.note_where(
            "End − Start shorter than Elapsed: Elapsed taken", (more < -0.5) & (end >= start), lines
        )
        return np.where(np.isnan(lasted), end - start - np.nan_to_num(suspended), lasted)

    def _asked(
        self, table: _Table, procs: _Numbers, never: NDArray[np.bool_], lines: NDArray[np.int64]
    ) -> _Numbers:
        """Return the processors that were requested."""
        asked = self._numbers(table, "requested_procs", lines)
        if "requested" in table:
            asked = np.where(asked > 0, asked, self._cpus_of(table["requested"]))
        asked = np.where(np.isnan(asked) & never, procs, asked)  # NCPUS of what never started
        return np.where(asked > 0, asked, np.nan)

    def _memory_asked(
        self, table: _Table, nodes: _Numbers, procs: _Numbers, lines: NDArray[np.int64]
    ) -> tuple[_Numbers, list[str]]:
        """Return the memory requested per processor [KB], and what it was requested by."""
        requests = [self._requested_memory(text) for text in table.get("requested_memory", ())]
        if not requests:
            return np.full(lines.size, np.nan), [""] * lines.size
        amounts, per = zip(*requests, strict=True)
        amount = self._known(np.array(amounts), "ReqMem", lines)
        by = np.array(per, object)
        times = np.where(by == "cpu", 1.0, np.where(by == "node", nodes, 1.0) / procs)
        return amount * times, list(per)

    def _arrays(self, ids: Sequence[str], lines: NDArray[np.int64]) -> tuple[list[str], _Numbers]:
        """Return the array or het job that each job is of, and its place in it."""
        parents = [""] * len(ids)
        tasks = np.full(len(ids), np.nan)
        for i, text in enumerate(ids):
            if not text.isdecimal() and (known := values.job_id(text)) is not None:
                parents[i], tasks[i] = known.parent, known.task
                if "[" in text:
                    self.first_array_row = self.first_array_row or int(lines[i])
                    self.array_rows += 1
                    self.array_tasks += known.n_tasks
        return parents, tasks

    def _numbers(
        self, table: _Table, name: str, lines: NDArray[np.int64], of: str = ""
    ) -> _Numbers:
        """Read a column of numbers; what cannot be read is noted and unknown."""
        if name not in table:
            return np.full(lines.size, np.nan)
        return self._known(self._read[name](table[name]), _TITLES[name] + of, lines)

    def _known(self, numbers: _Numbers, title: str, lines: NDArray[np.int64]) -> _Numbers:
        unreadable = np.isinf(numbers)
        self.records.note_where(f"{title} that cannot be read: unknown", unreadable, lines)
        return np.where(unreadable, np.nan, numbers)


_TITLES = {
    "elapsed": "Elapsed",
    "suspended": "Suspended",
    "requested_time": "Timelimit",
    "procs": "AllocCPUS",
    "requested_procs": "ReqCPUS",
    "nodes": "NNodes",
    "n_tasks": "NTasks",
    "memory": "MaxRSS",
    "cpu": "TotalCPU",
}


def _table(rows: Rows, some: list[_Row], names: Sequence[str] = ()) -> _Table:
    """Return columns of some rows by their names, all if none are named."""
    places = {n: p for n, p in rows.columns.place.items() if not names or n in names}
    if len(places) == 1:
        (name, place), *_ = places.items()
        return {name: tuple(row[place] for row in some)}
    return dict(
        zip(places, zip(*map(itemgetter(*places.values()), some), strict=True), strict=True)
    )
