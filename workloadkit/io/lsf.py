"""Read LSF's accounting: the JOB_FINISH records of lsb.acct, of LSF 6 to 10."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import FormatError
from workloadkit.fields import CANCELLED, COMPLETED
from workloadkit.io.assemble import assemble
from workloadkit.io.files import source_path
from workloadkit.io.lines import LONGEST_LINE, Block, Sources, line_blocks, list_of_sources
from workloadkit.io.lsf_record import Finish, MalformedError, fields_of, parse
from workloadkit.io.lsf_states import DONE, EXIT, REASONS, UNFINISHED
from workloadkit.io.records import ImportOptions, Records
from workloadkit.trace import Trace

KIND = "LSF accounting (lsb.acct)"

_STATES = ("DONE", "EXIT")

_JOB_FINISH = '"JOB_FINISH" '
_NEXT_RECORD = '"JOB_FINISH" "'  # which quotes within quotes never make
_RECORD = re.compile(r'"([A-Z][A-Z0-9_]*)" +"[\d.]*" +\d')
_OTHER_RECORDS = frozenset({"EVENT_ADRSV_FINISH", "JOB_RESIZE"})
_NO_LIMIT = 2**31 - 1
_ABSURD = 1e18  # unknown from here on

_REASONS = np.array([word for word, _ in REASONS], dtype=object)
_STATUSES = np.array([status for _, status in REASONS])


def read_lsf(
    source: Sources,
    *,
    tz: str = "UTC",
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    """Read LSF's accounting, lsb.acct [1]_.

    A job's processors are the slots on its hosts at its end (``16*host`` counts 16, a host named
    again counts again), and those it requested are numProcessors. Its run time is runTime where
    it is told, which leaves out what it was suspended, else it ends at the event. The requested
    time is the run limit (``bsub -W``, a queue's or an application's), of LSF 9 and later; the
    estimate (``-We``) is scaled by the host and no limit, and a ``#BSUB -W`` within the command
    may have been overruled: neither is taken. CPU time and memory (maxRMem) are those of the
    job over its processors. The account is the project, the executable the name of the job (of
    an array without its indices), else the program of its command, the quality of service the
    service class.

    A job was eligible after ineligiblePendTime, else at its begin time (``bsub -b``).

    ==========================================================================  ======
    state and exitInfo                                                          status
    ==========================================================================  ======
    DONE                                                                        1
    EXIT before it started                                                      5
    EXIT, stopped by a user, an administrator or a limit: TERM_ADMIN,           5
    BUCKET_KILL, CHKPNT, CPULIMIT, DEADLINE, FORCE_ADMIN, FORCE_OWNER,
    MEMLIMIT, OWNER, PROCESSLIMIT, REMOVE_HUNG_JOB, REQUEUE_ADMIN,
    REQUEUE_OWNER, RUNLIMIT, SWAP, THREADLIMIT, WINDOW
    EXIT for any other reason                                                   0
    no end yet (PEND, RUN, ...)                                                 no job
    ==========================================================================  ======

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        ``-`` is standard input; compressed files are known by their first bytes.
    tz : str, default "UTC"
        Time zone of the log; the file's times are seconds since 1970.
    procs : int, optional
        Processors of the machine, for the header.
    attempts : bool, default False
        Whether each attempt of a requeued job becomes a partial line of it.
    anonymize : bool, default False
        Whether all names and job ids are left out.
    key : bytes, optional
        What makes numbers of names, the same in every log.

    Returns
    -------
    Trace
        With `intake`: which records became no job, and why.

    Raises
    ------
    FormatError
        If a file cannot be read, holds no job, or is a stream file (lsb.stream).

    References
    ----------
    .. [1] IBM Spectrum LSF 10.1.0, configuration reference, "lsb.acct" and "Termination reasons".

    Examples
    --------
    >>> import io
    >>> record = (
    ...     '"JOB_FINISH" "10.1" 190 7 500 0 4 100 0 0 130 "ann" "night" "" "" "" "login" "/" ""'
    ...     ' "" "" "100.7" 0 2 "2*n1" "2*n2" 64 1.0 "wrf" "mpirun wrf"' + 19 * " 0"
    ...     + ' "" "climate" 0 4 "" "" 0 8000 0'
    ... )
    >>> trace = read_lsf(io.BytesIO(record.encode()))
    >>> trace.jobs[["wait", "run", "procs", "memory", "status"]].to_numpy().tolist()
    [[30.0, 60.0, 4.0, 2000.0, 1.0]]
    >>> trace.sidecar[["user", "account", "executable"]].to_numpy().tolist()
    [['ann', 'climate', 'wrf']]
    """
    options = ImportOptions(tz=tz, procs=procs, attempts=attempts, anonymize=anonymize, key=key)
    reader = _Reader()
    for block in line_blocks(source, reader.records.digest):
        reader.read(block)
    reader.end_file()
    path = source_path(list_of_sources(source)[0])
    return assemble(reader.records, kind=KIND, path=path, options=options, states=_STATES)


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first lines of a file are those of lsb.acct or its kin.

    Examples
    --------
    >>> looks_like(['"JOB_FINISH" "9.11" 1389683139 404717 22025'])
    True
    """
    lines = (line for line in first_lines if line.strip() and not line.startswith("#"))
    return _RECORD.match(next(lines, "")) is not None


class _Reader:
    """Records while lines are read: one may go over several, within a script in quotes."""

    def __init__(self) -> None:
        self.records = Records()
        self.held: list[str] = []  # lines of a record that is not yet ended
        self.held_length = 0
        self.held_place = 0
        # how many records of a version go how far
        self.extents: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def read(self, block: Block) -> None:
        """Read whole lines."""
        if block.first_line == 1:
            self.end_file()
        finished: list[Finish] = []
        places: list[int] = []
        for place, text in self.whole_records(block):
            if not text.startswith(_JOB_FINISH):
                self.count_other(text, place, block)
                continue
            if text.find(_NEXT_RECORD, 1) > 0:
                n_records = text.count(_NEXT_RECORD)
                self.records.rows += n_records - 1
                self.records.leave_out("no record: several on one line", place, n_records)
                continue
            try:
                finish = parse(fields_of(text))
            except MalformedError as error:
                self.records.leave_out(f"no record: {error}", place)
                continue
            if self.is_cut_short(finish):
                self.records.leave_out("no record: cut short", place)
                continue
            finished.append(finish)
            places.append(place)
        if finished:
            _extend(self.records, finished, np.array(places))

    def is_cut_short(self, finish: Finish) -> bool:
        """Whether a record goes less far than most of its version so far."""
        extents = self.extents[finish.version]
        extents[finish.extent] += 1
        return len(extents) > 1 and finish.extent < max(extents, key=extents.__getitem__)

    def whole_records(self, block: Block) -> Iterator[tuple[int, str]]:
        """Yield the records of a block and the lines at which they begin."""
        for place, line in enumerate(block.lines, block.place):
            open_quote = line.count('"') % 2 == 1
            if self.held:
                if line.startswith(_JOB_FINISH):  # no script's line: the one before is cut short
                    self.end_file()
                else:
                    self.hold(line, self.held_place)
                    if open_quote:
                        yield self.held_place, "\n".join(self.held)
                        self.held.clear()
                        self.held_length = 0
                    continue
            if not line or line.isspace() or line.startswith("#"):
                continue
            self.records.rows += 1
            if open_quote:
                self.hold(line, place)
            else:
                yield place, line

    def hold(self, line: str, place: int) -> None:
        """Hold a line of a record that goes on."""
        self.held.append(line)
        self.held_place = place
        self.held_length += len(line) + 1
        if self.held_length > LONGEST_LINE:
            self.end_file()

    def end_file(self) -> None:
        """Count the record that has no end."""
        if self.held:
            self.records.leave_out("no record: cut short", self.held_place)
            self.held.clear()
            self.held_length = 0

    def count_other(self, text: str, place: int, block: Block) -> None:
        """Count a record of another kind, or a line that is none."""
        match = _RECORD.match(text)
        kind = match[1] if match else ""
        if kind == "JOB_FINISH2" or (self.records.rows == 1 and text.startswith("{")):
            raise FormatError(
                block.path,
                "is a stream of LSF's events (lsb.stream), which is not read; give lsb.acct",
                line=place - block.place + block.first_line,
            )
        if kind in _OTHER_RECORDS:
            self.records.leave_out(f"records of {kind}", place)
        else:
            self.records.leave_out("other records" if kind else "no record", place)


def _extend(records: Records, finished: list[Finish], places: NDArray[np.int64]) -> None:
    """Add the jobs that have ended; count the others."""
    columns = dict(zip(Finish._fields, zip(*finished, strict=True), strict=True))
    number: dict[str, NDArray[np.float64]] = {}
    for name, kind in Finish.__annotations__.items():
        if kind is float:
            column = np.array(columns[name])
            number[name] = np.where(np.abs(column) < _ABSURD, column, np.nan)
    state = np.nan_to_num(number["state"]).astype(np.int64)
    done, left = (state & DONE) > 0, (state & EXIT) > 0
    left &= ~done
    for other in np.unique(state[~done & ~left]):
        where = np.flatnonzero(state == other)
        word = UNFINISHED.get(int(other))
        kind = f"not ended: {word}" if word else "in no known state"
        records.leave_out(kind, int(places[where[0]]), where.size)
    keep = done | left
    for name, kind in (("submit", "without a time of submission"), ("end", "without an end")):
        missing = keep & ~(number[name] > 0)
        if missing.any():
            records.leave_out(kind, int(places[np.argmax(missing)]), int(missing.sum()))
        keep &= ~missing
    rows = np.flatnonzero(keep)
    if not rows.size:
        return
    number = {name: column[keep] for name, column in number.items()}
    places, done = places[keep], done[keep]

    def taken(column: tuple[str, ...]) -> NDArray[np.object_]:
        array = np.empty(len(column), dtype=object)
        array[:] = column
        return array[rows]

    started = number["start"] > 0
    start = np.where(started, number["start"], np.nan)
    end = number["end"]
    elapsed = end - start
    records.note_where("ended before it started: run time unknown", elapsed < 0, places)
    elapsed = np.where(elapsed < 0, np.nan, elapsed)
    told = (number["run_time"] > 0) & (number["run_time"] <= elapsed)
    run = np.where(told, number["run_time"], elapsed)
    suspended = np.where(told, elapsed - run, np.nan)
    records.note_where("suspended: the run time is without it", suspended > 0, places)
    procs = np.where(started, _positive(number["slots"]), np.nan)
    requested = _positive(number["requested_procs"])
    records.note_where(
        "ran on fewer or more processors than requested", np.abs(procs - requested) > 0, places
    )
    records.note_where(
        "run limit not found: fields in another order",
        ~np.array(columns["known_order"])[rows],
        places,
    )
    cpu = number["user_time"] + number["system_time"]
    unused = (number["user_time"] < 0) | (number["system_time"] < 0)
    limit = number["run_limit"]
    of_array = number["array_index"] > 0
    ids = taken(columns["id"])
    exit_info = number["exit_info"]
    known = ~done & (exit_info >= 0) & (exit_info < len(REASONS))
    reason = np.where(known, exit_info, 0).astype(np.int64)
    submit = number["submit"]
    records.extend(
        rows.size,
        place=places,
        id=_with_indices(ids, number["array_index"]),
        array_job=np.where(of_array, ids, ""),
        array_task=np.where(of_array, number["array_index"], np.nan),
        submit=submit,
        eligible=_eligible(submit, start, number["begin"], number["ineligible"]),
        start=start,
        end=end,
        run=run,
        suspended=suspended,
        procs=procs,
        nodes=np.where(started, _positive(number["nodes"]), np.nan),
        requested_procs=requested,
        cpu=np.where(unused, np.nan, cpu) / procs,
        memory=_positive(number["max_memory"]) / procs,
        requested_time=np.where((limit > 0) & (limit < _NO_LIMIT), limit, np.nan),
        status=np.where(done, COMPLETED, np.where(started, _STATUSES[reason], CANCELLED)),
        state=np.where(done, *_STATES).astype(object),
        exit_code=taken(columns["exit_status"]),
        reason=_REASONS[reason],
        user=taken(columns["user"]),
        account=taken(columns["project"]),
        queue=taken(columns["queue"]),
        qos=taken(columns["service_class"]),
        executable=taken(tuple(map(_executable, columns["name"], columns["command"]))),
    )


def _positive(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take 0 and less for unknown, as LSF does of what it has no value of."""
    return np.where(column > 0, column, np.nan)


def _eligible(
    submit: NDArray[np.float64],
    start: NDArray[np.float64],
    begin: NDArray[np.float64],
    ineligible: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return when jobs could have started; no later than they did."""
    at_begin = np.where(begin > 0, np.maximum(begin, submit), np.nan)
    eligible = np.where(ineligible >= 0, submit + ineligible, at_begin)
    return np.where(eligible > start, start, eligible)


def _with_indices(ids: NDArray[np.object_], index: NDArray[np.float64]) -> NDArray[np.object_]:
    """Return the ids of jobs; behind those of an array stands the index."""
    ids = ids.copy()
    for i in np.flatnonzero(index > 0).tolist():
        ids[i] = f"{ids[i]}[{index[i]:.0f}]"
    return ids


def _executable(name: str, command: str) -> str:
    """Return the name of a job without the indices of an array, else its program.

    Examples
    --------
    >>> _executable("sweep[1-100]", "a.out"), _executable("", "wrf -n 4"), _executable("", "#!sh")
    ('sweep', 'wrf', '')
    """
    if name:
        return name.partition("[")[0] or name
    return "" if command.startswith("#") else next(iter(command.split(None, 1)), "")
