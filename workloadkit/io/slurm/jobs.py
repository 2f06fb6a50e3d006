"""Convert rows of jobs to records."""

from collections import Counter
from collections.abc import Sequence
from itertools import compress, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.fields import CANCELLED, UNKNOWN
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.slurm import values
from workloadkit.io.slurm.attempts import OpenRow
from workloadkit.io.slurm.instants import NAMES, InstantReader, Instants
from workloadkit.io.slurm.rows import Rows
from workloadkit.io.slurm.steps import Steps
from workloadkit.io.slurm.values import ParsedTexts

_Numbers = NDArray[np.float64]

# States in which a job has not ended; a requeued one may have ended in a later attempt.
_WAITING = frozenset(values.NOT_ENDED) - {"REQUEUED"}

_WORDS = ("cluster", "partition", "qos", "account", "user", "group", "exit_code", "executable")


class JobReader:
    """Converts rows to records, block by block.

    Parameters
    ----------
    records : Records
        Receives the records, and counts rows that are not jobs.
    options : ImportOptions

    Attributes
    ----------
    zone : InstantReader
    steps : Steps
        Totals of the rows of steps.
    unknown_states : Counter of str
        States that are not known from any version of Slurm.
    open_rows : list of OpenRow
        Rows of jobs that have not ended.
    stand_ins : set of str
        Columns that replace a missing Submit.
    array_rows, array_tasks : int
        Number of rows for several tasks of an array, and of their tasks.
    """

    def __init__(self, records: Records, options: ImportOptions) -> None:
        self.records = records
        self.anonymize = options.anonymize
        self.zone = InstantReader(options.tz)
        self.steps = Steps()
        self.unknown_states: Counter[str] = Counter()
        self.open_rows: list[OpenRow] = []
        self.stand_ins: set[str] = set()
        self.array_tasks = self.array_rows = self.first_array_row = 0
        self._state = ParsedTexts(values.state)
        self._status = ParsedTexts(values.status)
        self._ended = ParsedTexts(lambda text: values.state(text) not in _WAITING)
        self._amount = ParsedTexts(lambda text: values.requested_memory(text).amount)
        self._per = ParsedTexts(lambda text: values.requested_memory(text).per)
        self._read = {
            "elapsed": ParsedTexts(values.duration),
            "suspended": ParsedTexts(values.duration),
            "requested_time": ParsedTexts(values.time_limit),
            **dict.fromkeys(
                ("procs", "requested_procs", "nodes", "n_tasks"), ParsedTexts(values.count)
            ),
            "memory": ParsedTexts(values.used_memory),
            "cpu": ParsedTexts(values.duration),
        }
        self._gpus = ParsedTexts(values.gpus)
        self._cpus_of = ParsedTexts(values.tres("cpu"))
        self._nodes_of = ParsedTexts(values.tres("node"))

    def read(self, rows: Rows) -> None:
        """Read rows: jobs become records, steps are added to their jobs."""
        ids = rows.cells["id"]
        of_step = np.fromiter(map(str.__contains__, ids, repeat(".")), bool, len(ids))
        jobs = rows.where(~of_step)
        record_of_job = self._read_jobs(jobs)
        if of_step.any():
            steps = rows.where(of_step)
            n_tasks = np.fmax(self._numbers(steps, "n_tasks", " of steps"), 1.0)
            self.steps.add(
                self.records,
                jobs.cells["id"],
                record_of_job,
                steps.cells["id"],
                np.cumsum(~of_step)[of_step] - 1,
                steps.places,
                self._numbers(steps, "memory", " of steps") * n_tasks,
                self._numbers(steps, "cpu", " of steps"),
            )
        if record_of_job.size:
            self.steps.end_of_rows(jobs.cells["id"][-1], int(record_of_job[-1]))

    def _read_jobs(self, rows: Rows) -> NDArray[np.int64]:
        """Convert the rows of jobs; return the record of each, -1 for those left out."""
        record_of_job = np.full(rows.places.size, -1)
        ended = self._have_ended(rows)
        kept = np.flatnonzero(ended)
        rows = rows.where(ended)
        lasted = self._numbers(rows, "elapsed")
        suspended = self._numbers(rows, "suspended")
        times = {name: rows.cells[name] for name in NAMES if name in rows.cells}
        instants = self.zone.read(
            times, lasted + np.nan_to_num(suspended), rows.places, self.records
        )
        states = self._state.column(rows.cells["state"])
        whole = self._can_be_jobs(states, instants, lasted, rows.places)
        if not whole.all():
            kept, rows, instants = kept[whole], rows.where(whole), instants.take(whole)
            states = list(compress(states, whole.tolist()))
            lasted, suspended = lasted[whole], suspended[whole]
        if kept.size:
            record_of_job[kept] = len(self.records) + np.arange(kept.size)
            self._extend(rows, states, instants, lasted, suspended)
        return record_of_job

    def _have_ended(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows are of ended jobs, and count the others."""
        n_rows = rows.places.size
        ids, texts = rows.cells["id"], rows.cells["state"]
        ended = self._ended.numbers(texts) > 0
        known = np.fromiter(map(str.isdecimal, ids), bool, n_rows)
        for i in np.flatnonzero(~known).tolist():
            known[i] = values.is_id(ids[i])
        self._leave_out("not a job id", ~known, rows.places)
        waiting = rows.where(known & ~ended)
        if waiting.places.size:
            self._keep_open(waiting)
        return known & ended

    def _keep_open(self, rows: Rows) -> None:
        """Count and keep rows of jobs that have not ended; they may be attempts of later jobs."""
        states = self._state.column(rows.cells["state"])
        for state, place in zip(states, rows.places.tolist(), strict=True):
            self.records.leave_out(f"not ended: {state}", place)
        times = {name: rows.cells[name] for name in ("submit", "start")}
        unknown = np.full(rows.places.size, np.nan)
        instants = InstantReader(self.zone.name).read(times, unknown, rows.places, Records())
        clusters = rows.cells.get("cluster", repeat(""))
        columns = (rows.cells["id"], instants.submit.tolist(), instants.start.tolist())
        self.open_rows += [
            OpenRow(cluster, *row)
            for cluster, row in zip(clusters, zip(*columns, strict=True), strict=False)
        ]

    def _can_be_jobs(
        self, states: Sequence[str], instants: Instants, lasted: _Numbers, lines: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which rows contain enough for a job, and count the others."""
        submitted = ~np.isnan(instants.submit)
        self._leave_out("without a submit time", ~submitted, lines)
        started = ~np.isnan(instants.start)
        ended = ~np.isnan(instants.end)
        ran = started & (ended | ~np.isnan(lasted))
        odd = self._status.numbers(states) == UNKNOWN
        requeued = np.zeros(len(states), bool)
        for i in np.flatnonzero(odd).tolist():
            requeued[i] = states[i] == "REQUEUED"
        unknown = odd & ~requeued
        for i in np.flatnonzero(unknown).tolist():
            self.unknown_states[states[i]] += 1
        not_ended = unknown & ~(ended | ran)
        self._leave_out("unknown state, without an end", submitted & not_ended, lines)
        self._leave_out("not ended: REQUEUED", submitted & requeued & ~ran, lines)
        kept = submitted & ~not_ended & ~(requeued & ~ran)
        self.records.note_where(
            "unknown state: job kept with unknown status", kept & unknown, lines
        )
        return kept

    def _leave_out(self, kind: str, which: NDArray[np.bool_], lines: NDArray[np.int64]) -> None:
        if which.any():
            self.records.leave_out(kind, int(lines[np.argmax(which)]), int(which.sum()))

    def _extend(
        self,
        rows: Rows,
        states: list[str],
        instants: Instants,
        lasted: _Numbers,
        suspended: _Numbers,
    ) -> None:
        """Add records of ended jobs."""
        cells, lines = rows.cells, rows.places
        n_jobs = lines.size
        status = self._status.numbers(states).astype(np.int64)
        procs = self._numbers(rows, "procs")
        if "allocated" in cells and np.isnan(procs).any():
            procs = np.where(np.isnan(procs), self._cpus_of.numbers(cells["allocated"]), procs)
        known_procs = np.where(procs > 0, procs, np.nan)
        start, end = self._start_and_end(instants, status, procs, lasted, suspended, lines)
        started = ~np.isnan(start)
        self.records.note_where(
            "started without processors: number taken as unknown", started & (procs == 0), lines
        )
        requested = self._requested(rows, known_procs, ~started)
        nodes = self._positive(rows, "nodes")
        requested_nodes = np.full(n_jobs, np.nan)
        if "requested" in cells:
            requested_nodes = self._nodes_of.numbers(cells["requested"])
        resources = cells.get("allocated") or cells.get("gres")
        if by := rows.submit_by:
            self.stand_ins.add(by)
            self.records.note(f"no Submit: {by} used instead", int(lines[0]), n_jobs)
        reasons = ["" if r in values.NO_VALUE else r for r in cells.get("reason", ())]
        self.records.extend(
            n_jobs,
            place=lines,
            id=np.array(cells["id"], object),
            **self._arrays(rows),
            submit=instants.submit,
            eligible=instants.eligible,
            start=start,
            end=end,
            run=self._run(start, end, lasted, suspended, lines),
            suspended=suspended,
            procs=np.where(started, known_procs, np.nan),
            nodes=np.where(started, nodes, np.nan),
            requested_procs=requested,
            requested_nodes=np.where(np.isnan(requested_nodes) & ~started, nodes, requested_nodes),
            cpu=self._numbers(rows, "cpu") / known_procs,
            memory=self._numbers(rows, "memory") / known_procs,
            requested_time=self._numbers(rows, "requested_time"),
            **self._requested_memory(
                rows, nodes, np.where(np.isnan(requested), known_procs, requested)
            ),
            status=status,
            state=states,
            **({"gpus": self._gpus.numbers(resources)} if resources else {}),
            **({"reason": reasons} if reasons else {}),
            **({"submit_by": [by.lower()] * n_jobs} if by else {}),
            **{word: cells[word] for word in _WORDS if word in cells},
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
        """Return starts and ends of jobs; jobs that never started have no start."""
        start, end = instants.start, instants.end
        end = np.where(np.isnan(end), start + lasted + np.nan_to_num(suspended), end)
        # some versions print the end as the start of a job that never started
        never = (status == CANCELLED) & (start == end) & ~(lasted > 0) & (procs == 0)
        self.records.note_where("cancelled without processors: never started", never, lines)
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
        """Return run times: Elapsed, which excludes suspension, rather than End − Start."""
        more = end - start - lasted
        self.records.note_where(
            "End − Start longer than Elapsed (suspension): Elapsed used", more > 0.5, lines
        )
        self.records.note_where(
            "End − Start shorter than Elapsed: Elapsed used", (more < -0.5) & (end >= start), lines
        )
        run = np.where(np.isnan(lasted), end - start - np.nan_to_num(suspended), lasted)
        return np.where(np.isnan(start), np.nan, run)

    def _requested(self, rows: Rows, procs: _Numbers, never: NDArray[np.bool_]) -> _Numbers:
        """Return the requested processors."""
        requested = self._positive(rows, "requested_procs")
        if "requested" in rows.cells:
            cpus = self._cpus_of.numbers(rows.cells["requested"])
            requested = np.where(requested > 0, requested, cpus)
        # NCPUS is the request of a job that never started
        return np.where(np.isnan(requested) & never, procs, requested)

    def _requested_memory(self, rows: Rows, nodes: _Numbers, procs: _Numbers) -> dict[str, Any]:
        """Return the requested memory per processor [KB], and the unit of the request."""
        texts = rows.cells.get("requested_memory")
        if not texts:
            return {}
        amount = self._known(self._amount.numbers(texts), "ReqMem", rows.places)
        per = self._per.column(texts)
        by = np.array(per, object)
        times = np.where(by == "cpu", 1.0, np.where(by == "node", nodes, 1.0) / procs)
        return {"requested_memory": amount * times, "requested_memory_per": per}

    def _arrays(self, rows: Rows) -> dict[str, Any]:
        """Return the array or het job of each job, and its index."""
        ids = rows.cells["id"]
        odd = [i for i, text in enumerate(ids) if not text.isdecimal()]
        if not odd:
            return {}
        parents = [""] * len(ids)
        tasks = np.full(len(ids), np.nan)
        for i in odd:
            known = values.job_id(ids[i])
            assert known is not None
            parents[i], tasks[i] = known.parent, known.task
            if "[" in ids[i]:
                self.first_array_row = self.first_array_row or int(rows.places[i])
                self.array_rows += 1
                self.array_tasks += known.n_tasks
        return {"array_job": parents, "array_task": tasks}

    def _numbers(self, rows: Rows, name: str, of: str = "") -> _Numbers:
        """Read a column of numbers; invalid ones are counted and become NaN."""
        if name not in rows.cells:
            return np.full(rows.places.size, np.nan)
        numbers = self._read[name].numbers(rows.cells[name])
        return self._known(numbers, _TITLES[name] + of, rows.places)

    def _positive(self, rows: Rows, name: str) -> _Numbers:
        """Read a column of numbers, where 0 is unknown, too."""
        numbers = self._numbers(rows, name)
        return np.where(numbers > 0, numbers, np.nan)

    def _known(self, numbers: _Numbers, title: str, lines: NDArray[np.int64]) -> _Numbers:
        unreadable = np.isinf(numbers)
        self.records.note_where(f"invalid {title}: taken as unknown", unreadable, lines)
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
