"""Convert rows of jobs to records."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.cells import CLOCK
from workloadkit.fields import UNKNOWN
from workloadkit.io.cells import Cells, Words
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.slurm import values
from workloadkit.io.slurm.attempts import TO_BE_CONTINUED, OpenRow, StepsOfJobs
from workloadkit.io.slurm.instants import InstantReader, Instants, run_times
from workloadkit.io.slurm.rows import Rows

_Numbers = NDArray[np.float64]

# States in which a job has not ended; a requeued or resized one may have ended in a later row.
_WAITING = frozenset(values.NOT_ENDED) - {*TO_BE_CONTINUED}

# States of jobs that may end before they start.
_CANCELLED = ("CANCELLED", "DEADLINE", "REVOKED")

_WORDS = ("cluster", "partition", "qos", "account", "user", "group", "exit_code", "executable")
_OR_NONE = ("reason", "node_list", "features")


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
    steps : StepsOfJobs
        Totals of the rows of steps.
    unknown_states : Counter of str
        States that are not known from any version of Slurm.
    open_rows : list of OpenRow
        Rows of jobs that have not ended.
    undecided, nameless : list of ndarray of int
        Records of jobs that ended in no time, on unknown nodes: cancelled ones, and others.
    names_nodes : bool
        Whether some row names nodes, so that a blank list of nodes is an empty one.
    stand_ins : set of str
        Columns that replace a missing Submit.
    missing : dict of str to str
        Other columns without which a log is poorer, and what becomes of it.
    """

    def __init__(self, records: Records, options: ImportOptions) -> None:
        self.records = records
        self.anonymize = options.anonymize
        self.zone = InstantReader(options.zone)
        self.steps = StepsOfJobs()
        self.unknown_states: Counter[str] = Counter()
        self.open_rows: list[OpenRow] = []
        self.undecided: list[NDArray[np.int64]] = []
        self.nameless: list[NDArray[np.int64]] = []
        self.names_nodes = False
        self.stand_ins: set[str] = set()
        self.missing: dict[str, str] = {}

    def read(self, rows: Rows) -> None:
        """Read rows: jobs become records, steps are added to their jobs."""
        if not rows.places.size:
            return
        of_step = _where(rows.cells, lambda text: "." in text)
        jobs = rows.where(~of_step)
        record_of_job = self._read_jobs(jobs)
        if of_step.any():
            steps = rows.where(of_step)
            step_ids = steps.cells.texts("id").tolist()
            n_tasks = self._numbers(steps, "n_tasks", " of steps")
            cpu, memory, energy = self._used(steps, np.fmax(n_tasks, 1.0), " of steps")
            is_extern = np.array([step.endswith(".extern") for step in step_ids])
            self.steps.add(
                self.records,
                jobs.cells.texts("id").tolist(),
                record_of_job,
                step_ids,
                np.cumsum(~of_step)[of_step] - 1,
                steps.places,
                np.stack([memory, cpu, energy * ~is_extern, energy * is_extern]),
            )
        if record_of_job.size:
            last = jobs.cells.only("id").take(np.array([record_of_job.size - 1])).texts("id")[0]
            self.steps.end_of_rows(last, int(record_of_job[-1]))

    def _read_jobs(self, rows: Rows) -> NDArray[np.int64]:
        """Convert the rows of jobs; return the record of each, -1 for those left out."""
        record_of_job = np.full(rows.places.size, -1)
        ended = self._have_ended(rows)
        kept = np.flatnonzero(ended)
        rows = rows.where(ended)
        lasted = self._numbers(rows, "elapsed")
        suspended = self._numbers(rows, "suspended")
        instants = self.zone.read(
            rows.cells, lasted + np.nan_to_num(suspended), rows.places, self.records
        )
        states = rows.cells.combined(("state",), values.state)
        whole = self._can_be_jobs(states, instants, lasted, rows.places)
        if not whole.all():
            kept, rows, instants = kept[whole], rows.where(whole), instants.take(whole)
            states = Words(states.codes[whole], states.words)
            lasted, suspended = lasted[whole], suspended[whole]
        if kept.size:
            record_of_job[kept] = len(self.records) + np.arange(kept.size)
            self._extend(rows, states, instants, lasted, suspended)
        return record_of_job

    def _have_ended(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows are of ended jobs, and count the others."""
        ended = rows.cells.words("state").of(lambda text: values.state(text) not in _WAITING) > 0
        known = ~_where(rows.cells, lambda text: not (text.isdecimal() or values.is_id(text)))
        self.records.leave_out_where("not a job id", ~known, rows.places)
        waiting = rows.where(known & ~ended)
        if waiting.places.size:
            self._keep_open(waiting)
        return known & ended

    def _keep_open(self, rows: Rows) -> None:
        """Count and keep rows of jobs that have not ended; they may be attempts of later jobs."""
        states = rows.cells.combined(("state",), values.state).column(object).tolist()
        for state, place in zip(states, rows.places.tolist(), strict=True):
            self.records.leave_out(f"not ended: {state}", place)
        unknown = np.full(rows.places.size, np.nan)
        reader = InstantReader(self.zone.name)
        reader.day_first = self.zone.day_first
        names = ("submit", "eligible", "start")
        instants = reader.read(rows.cells, unknown, rows.places, Records(), names)
        clusters = rows.cells.words("cluster").column(object).tolist()
        submit, _ = instants.submission()
        columns = (rows.cells.texts("id"), submit.tolist(), instants.start.tolist())
        self.open_rows += [
            OpenRow(cluster, *row)
            for cluster, row in zip(clusters, zip(*columns, strict=True), strict=False)
        ]

    def _can_be_jobs(
        self, states: Words, instants: Instants, lasted: _Numbers, lines: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which rows contain enough for a job, and count the others."""
        submitted = ~np.isnan(instants.submission()[0])
        self.records.leave_out_where("without a submit time", ~submitted, lines)
        started = ~np.isnan(instants.start)
        ended = ~np.isnan(instants.end)
        ran = started & (ended | ~np.isnan(lasted))
        continued = states.of(TO_BE_CONTINUED.__contains__) > 0
        unknown = (states.of(values.status) == UNKNOWN) & ~continued
        words = (states.words[code] for code in states.codes[unknown].tolist())
        self.unknown_states.update(word for word in words if word)
        not_ended = unknown & ~(ended | ran)
        self.records.leave_out_where("unknown state, without an end", submitted & not_ended, lines)
        for state in TO_BE_CONTINUED:
            going_on = (states.of(state.__eq__) > 0) & ~ran
            self.records.leave_out_where(f"not ended: {state}", submitted & going_on, lines)
        kept = submitted & ~not_ended & ~(continued & ~ran)
        empty = states.of("".__eq__) > 0
        for kind, some in (("unknown state: job kept with", ~empty), ("no State:", empty)):
            self.records.note_where(f"{kind} unknown status", kept & unknown & some, lines)
        return kept

    def _extend(
        self,
        rows: Rows,
        states: Words,
        instants: Instants,
        lasted: _Numbers,
        suspended: _Numbers,
    ) -> None:
        """Add records of ended jobs."""
        cells, lines = rows.cells, rows.places
        n_jobs = lines.size
        status = states.of(values.status).astype(np.int64)
        procs = self._numbers(rows, "procs")
        if "allocated" in cells.begin and np.isnan(procs).any():
            procs = np.where(np.isnan(procs), cells.words("allocated").of(_CPUS), procs)
            procs = self._known(procs, "cpu of AllocTRES", lines)
        known_procs = np.where(procs > 0, procs, np.nan)
        start, end = self._start_and_end(rows, instants, states, procs, lasted, suspended)
        started = ~np.isnan(start)
        self.records.note_where(
            "started without processors: number taken as unknown", started & (procs == 0), lines
        )
        requested = self._requested(rows, known_procs, ~started)
        nodes = self._positive(rows, "nodes")
        requested_nodes = np.full(n_jobs, np.nan)
        asked: dict[str, Any] = {}
        if "requested" in cells.begin:
            lists = cells.words("requested")
            requested_nodes = self._known(lists.of(_NODES), "node of ReqTRES", lines)
            asked["requested_gpus"] = lists.of(values.gpus)
            asked["pools"] = Words(lists.codes, [*map(values.pools, lists.words)])
        cpu, memory, energy = self._used(rows, np.ones(n_jobs))
        resources = next((name for name in ("allocated", "gres") if name in cells.begin), "")
        submit, submit_by = instants.submission()
        self._note_missing(rows, submit_by)
        self.records.extend(
            n_jobs,
            place=lines,
            id=cells.strings("id"),
            **self._arrays(rows),
            submit=submit,
            submit_by=submit_by,
            eligible=instants.eligible,
            start=start,
            end=end,
            run=run_times(start, end, lasted, suspended, lines, self.records),
            suspended=suspended,
            procs=np.where(started, known_procs, np.nan),
            nodes=np.where(started, nodes, np.nan),
            requested_procs=requested,
            requested_nodes=np.where(np.isnan(requested_nodes) & ~started, nodes, requested_nodes),
            cpu=cpu / known_procs,
            memory=memory / known_procs,
            energy=energy,
            requested_time=self._numbers(rows, "requested_time"),
            **self._requested_memory(
                rows, nodes, np.where(np.isnan(requested), known_procs, requested)
            ),
            status=status,
            state=states,
            **({"gpus": cells.words(resources).of(values.gpus)} if resources else {}),
            **asked,
            **{name: cells.combined((name,), _known_word) for name in _OR_NONE},
            **{word: cells.words(word) for word in _WORDS if word in cells.begin},
        )

    def _note_missing(self, rows: Rows, submit_by: Words) -> None:
        """Count the jobs without a submit time, and those without some column."""
        for code, word in enumerate(submit_by.words[1:], 1):
            used = submit_by.codes == code
            self.records.note_where(f"no Submit: {word.title()} used instead", used, rows.places)
            if "submit" not in rows.cells.begin and used.any():
                self.stand_ins.add(word.title())
        for title, so in rows.missing:
            if title != "State":  # counted by row
                self.records.note(f"no {title}: {so}", int(rows.places[0]), rows.places.size)
        self.missing.update(rows.missing)

    def _start_and_end(
        self,
        rows: Rows,
        instants: Instants,
        states: Words,
        procs: _Numbers,
        lasted: _Numbers,
        suspended: _Numbers,
    ) -> tuple[_Numbers, _Numbers]:
        """Return starts and ends of jobs; jobs that never started have no start."""
        cells, lines = rows.cells, rows.places
        start, end = instants.start, instants.end
        end = np.where(np.isnan(end), start + lasted + np.nan_to_num(suspended), end)
        # some versions print a start for jobs that never started: their end, or the planned start
        in_no_time = (start >= end) & ~(lasted > 0) & (states.of("COMPLETED".__eq__) == 0)
        nodes = np.zeros(lines.size)
        if "node_list" in cells.begin:
            nodes = cells.words("node_list").of(values.names_nodes)
        never = in_no_time & ((nodes < 0) | (nodes == 0) & (procs == 0))
        self.records.note_where("without nodes and run time: never started", never, lines)
        undecided = in_no_time & ~never & (nodes == 0)
        cancelled = states.of(_CANCELLED.__contains__) > 0
        self.undecided.append(len(self.records) + np.flatnonzero(undecided & cancelled))
        self.nameless.append(len(self.records) + np.flatnonzero(undecided & ~cancelled))
        self.names_nodes |= bool((nodes > 0).any())
        start = np.where(never, np.nan, start)
        self.records.note_where("End before Start", end < start, lines)
        return start, end

    def _used(
        self, rows: Rows, n_tasks: _Numbers, of: str = ""
    ) -> tuple[_Numbers, _Numbers, _Numbers]:
        """Return the CPU time, memory and energy of rows.

        TotalCPU may be 0 where TRESUsageInTot has the CPU time, as in Slurm 25.05. MaxRSS and
        TRESUsageInMax are those of one task.
        """
        cells = rows.cells
        cpu, memory, energy = (self._numbers(rows, n, of) for n in ("cpu", "memory", "energy"))
        parts = self._numbers(rows, "user_cpu", of) + self._numbers(rows, "system_cpu", of)
        memory = memory * n_tasks

        def listed(column: str, read: Callable[[str], float], title: str) -> _Numbers:
            numbers = cells.words(column).of(read)
            return self._known(numbers, f"{title}{of}", rows.places)

        for more in (listed("usage", values.cpu_of, "TRESUsageInTot"), parts):
            cpu = np.where((cpu > 0) | np.isnan(more), cpu, more)
        in_all = listed("usage", values.memory_of, "TRESUsageInTot")
        of_task = listed("usage_of_task", values.memory_of, "TRESUsageInMax")
        for more in (in_all, of_task * n_tasks):
            memory = np.where((memory > 0) | np.isnan(more), memory, more)
        for column in ("allocated", "usage"):
            more = listed(column, values.energy_of, "energy")
            energy = np.where(np.isnan(energy), more, energy)
        return cpu, memory, energy

    def _requested(self, rows: Rows, procs: _Numbers, never: NDArray[np.bool_]) -> _Numbers:
        """Return the requested processors."""
        requested = self._positive(rows, "requested_procs")
        if "requested" in rows.cells.begin:
            cpus = rows.cells.words("requested").of(_CPUS)
            requested = np.where(requested > 0, requested, cpus)
            requested = self._known(requested, "cpu of ReqTRES", rows.places)
        # NCPUS is the request of a job that never started
        return np.where(np.isnan(requested) & never, procs, requested)

    def _requested_memory(self, rows: Rows, nodes: _Numbers, procs: _Numbers) -> dict[str, Any]:
        """Return the requested memory per processor [KB], and the unit of the request."""
        if "requested_memory" not in rows.cells.begin:
            return {}
        requests = rows.cells.combined(("requested_memory",), values.requested_memory)
        amount = self._known(requests.of(lambda r: r.amount), "ReqMem", rows.places)
        per = Words(requests.codes, [request.per for request in requests.words])
        by = per.column(object)
        times = np.where(by == "cpu", 1.0, np.where(by == "node", nodes, 1.0) / procs)
        return {"requested_memory": amount * times, "requested_memory_per": per}

    def _arrays(self, rows: Rows) -> dict[str, Any]:
        """Return the array or het job of each job, and its index."""
        odd = np.flatnonzero(_where(rows.cells, lambda text: not text.isdecimal())).tolist()
        if not odd:
            return {}
        ids = rows.cells.texts("id")
        parents = [""] * len(ids)
        tasks = np.full(len(ids), np.nan)
        for i in odd:
            known = values.job_id(ids[i])
            assert known is not None
            parents[i], tasks[i] = known.parent, known.task
            if "[" in ids[i]:
                self.records.note_array(int(rows.places[i]), known.n_tasks)
        return {"array_job": parents, "array_task": tasks}

    def _numbers(self, rows: Rows, name: str, of: str = "") -> _Numbers:
        """Read a column of numbers; invalid ones are counted and become NaN."""
        cells, (title, read) = rows.cells, _NUMBERS[name]
        if name not in cells.begin or not cells.n_records:
            return np.full(rows.places.size, np.nan)
        if name == "elapsed" and cells.digits(name).mean() < 0.5:
            numbers = cells.numbers(name, read, CLOCK, longest=_MOST_HOURS)
        elif name == "elapsed":
            numbers = cells.numbers(name, read, longest=_MOST_DIGITS)
        else:
            numbers = cells.words(name).of(read)
        return self._known(numbers, title + of, rows.places)

    def _positive(self, rows: Rows, name: str) -> _Numbers:
        """Read a column of numbers, where 0 is unknown, too."""
        numbers = self._numbers(rows, name)
        return np.where(numbers > 0, numbers, np.nan)

    def _known(self, numbers: _Numbers, title: str, lines: NDArray[np.int64]) -> _Numbers:
        unreadable = np.isinf(numbers)
        self.records.note_where(f"invalid {title}: taken as unknown", unreadable, lines)
        return np.where(unreadable, np.nan, numbers)


def _where(cells: Cells, is_odd: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Return which ids are not digits alone, and satisfy a condition."""
    odd = ~cells.digits("id")
    if odd.any():
        odd[odd] = [*map(is_odd, cells.only("id").take(odd).texts("id"))]
    return odd


def _known_word(text: str) -> str:
    return "" if text in values.NO_VALUE else text


# Digits of seconds or minutes, and of hours, up to which `values` takes numbers.
_MOST_DIGITS, _MOST_HOURS = 12, 9

# Columns of numbers: their titles, and what reads them.
_NUMBERS: dict[str, tuple[str, Callable[[str], float]]] = {
    "elapsed": ("Elapsed", values.duration),
    "suspended": ("Suspended", values.duration),
    "requested_time": ("Timelimit", values.time_limit),
    "procs": ("AllocCPUS", values.count),
    "requested_procs": ("ReqCPUS", values.count),
    "nodes": ("NNodes", values.count),
    "n_tasks": ("NTasks", values.count),
    "memory": ("MaxRSS", values.used_memory),
    "cpu": ("TotalCPU", values.duration),
    "user_cpu": ("UserCPU", values.duration),
    "system_cpu": ("SystemCPU", values.duration),
    "energy": ("ConsumedEnergy", values.energy),
}
_CPUS, _NODES = values.tres("cpu"), values.tres("node")
