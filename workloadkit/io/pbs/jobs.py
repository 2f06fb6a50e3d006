"""Collect the records of PBS, and decide what each line contributes."""

from datetime import datetime
from math import isnan, nan
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from workloadkit.io.cells import Cells
from workloadkit.io.lines import Block, Lines
from workloadkit.io.pbs.lexer import N_DATE, Layouts, LexedLines, Lexer, Values
from workloadkit.io.pbs.rows import (
    ENDED,
    KEYS,
    LAST,
    NEXT,
    Phase,
    cancelled,
    check_zone,
    columns,
    end_of,
    ends,
    has_ctime,
    local_seconds,
    parts_of,
    seconds_of_dates,
    submission,
    submissions,
)
from workloadkit.io.records import Records
from workloadkit.io.resizing import split_runs

#: Records that do not contain the end of a job, by their letter.
OTHER_RECORDS = {
    "Q": "queue records (Q)",
    "S": "start records (S)",
    "D": "delete records (D)",
    "A": "abort records (A)",
    "M": "records of jobs moved to another server (M)",
    "C": "checkpoint records (C)",
    "T": "restart records (T)",
    "s": "records of pruned starts (s)",
    NEXT: "next phase records (c)",
    LAST: "last phase records (e)",
    "a": "alteration records (a)",
    "z": "suspension records (z)",
    "r": "resumption records (r)",
    "L": "licence records (L)",
    "P": "provisioning records (P)",
    "p": "provisioning records (p)",
    "U": "reservation records (U)",
    "Y": "reservation records (Y)",
    "B": "reservation records (B)",
    "F": "reservation records (F)",
    "K": "reservation records (K)",
    "k": "reservation records (k)",
}


_UNDATED = "without a submit time (ctime, qtime, etime)"
_WHOLE_ARRAY = "records of whole arrays, the tasks of which are the jobs (E)"
_DATED_RERUN = "rerun record without times (R): ran from its start record to the date of the line"
_NOT_ENDED = "phases of jobs that did not end (u)"
_NO_CTIME = "no ctime: submitted at qtime or etime"


class _Unended:
    """A job that has not ended yet: its lines, by position."""

    __slots__ = ("deleted", "queued", "reruns", "start_text", "started", "submit")

    def __init__(self) -> None:
        self.submit = nan  # from a record; more reliable than the date of a line
        self.queued: tuple[int, str, str] | None = None  # place, date, text
        self.started: int | None = None  # place
        self.start_text = ""
        self.deleted: tuple[int, str, str] | None = None  # place, date, letter
        self.reruns: list[tuple[int, str]] = []  # place, text


class _Row(NamedTuple):
    """A record of the end of a job or of an attempt, read on its own."""

    line: int  # in its block, where it becomes a row
    place: int
    letter: str
    submit: float
    values: Values  # of the id and of `KEYS`


class PbsReader:
    """Records of ended jobs, and jobs that may still end."""

    def __init__(self, tz: str) -> None:
        self.records = Records()
        self.zone = ZoneInfo(tz)
        self.values = Layouts(KEYS).values
        self.lexer = Lexer(KEYS)
        self.unended: dict[str, _Unended] = {}
        self.rows: list[_Row] = []
        self.line = 0  # in its block
        self.dated: list[tuple[str, float, int]] = []  # dates, ends and places of E records
        self.moments: list[NDArray[np.float64]] = []  # places, ends and dates, as rows of numbers
        self.phases: list[Phase] = []

    def read(self, block: Block) -> None:
        """Read one block of lines, each a record of a job."""
        lines = Lines(block.text, block.n_lines)
        lexed = self.lexer.lex(lines)
        submit = submissions(lexed.cells)
        ended = lexed.letters == ord("E")
        self.records.rows += lexed.lines.size
        if self.unended or not ended.all() or lexed.lines.size < lines.n_lines:
            self.visit(block.place, lines, lexed, submit)
        keep = ended & ~np.isnan(submit)
        if lexed.cells.contain("id", b"[]"):
            ids = lexed.cells.texts("id")
            for row in np.flatnonzero(keep).tolist():
                if "[]" in ids[row] and " exec_" not in lines.text(lexed.lines[row]):
                    keep[row] = False
        places = block.place + lexed.lines
        array = ended & ~keep & ~np.isnan(submit)
        for kind, left in ((_UNDATED, ended & np.isnan(submit)), (_WHOLE_ARRAY, array)):
            self.records.leave_out_where(kind, left, places)
        lexed = lexed.take(keep)
        places = block.place + lexed.lines
        self.records.note_where(_NO_CTIME, lexed.cells.missing("ctime"), places)
        date = lines.chars[lines.begin[lexed.lines] + np.arange(N_DATE)[:, None]]
        self.moments.append(np.stack([places, ends(lexed.cells), seconds_of_dates(date)]))
        self.flush(lexed.cells, lexed.lines, places, submit[keep])

    def visit(
        self, place: int, lines: Lines, lexed: LexedLines, submit: NDArray[np.float64]
    ) -> None:
        """Read the lines of another form, and keep account of the jobs, line by line."""
        ids, submits = lexed.cells.texts("id"), submit.tolist()
        letters = [*map(chr, lexed.letters)]
        no_records: list[int] = []  # counted together, as there may be many
        for line, row in enumerate(lexed.row_of_line.tolist()):
            self.line = line
            if row >= 0 and letters[row] == "E":
                if self.unended:
                    self.close(ids[row], submits[row])
                continue
            text = lines.text(line)
            parts = text.split(";", 3)
            if len(parts) < 3 or len(parts[1]) != 1:
                if text.strip():
                    no_records.append(place + line)
                continue
            self.records.rows += row < 0
            date, letter, job_id = parts[:3]
            text = parts[3] if len(parts) == 4 else ""
            if letter == "E":
                self.ended(place + line, date, job_id, text)
                continue
            if letter in "QSRDAM":
                told = submits[row] if row >= 0 else self.submission(text)
                self.not_ended(place + line, date, letter, job_id, text, told)
                continue
            if letter in (ENDED, NEXT, LAST):
                second = self.second(date)
                self.phases.append(Phase(second, place + line, letter, job_id, self.values(text)))
            if letter != ENDED:
                kind = OTHER_RECORDS.get(letter, "records with an unknown letter")
                self.records.leave_out(kind, place + line)
        if no_records:
            self.records.rows += len(no_records)
            kind = "not accounting records (date;letter;id;…)"
            self.records.leave_out(kind, no_records[0], len(no_records))

    def ended(self, place: int, date: str, job_id: str, text: str) -> None:
        """Read an E record, the end of a job or of an attempt."""
        values = self.values(text)
        submit = submission(values)
        self.close(job_id, submit)
        if isnan(submit):
            self.records.leave_out(_UNDATED, place)
        elif "[]" in job_id and " exec_" not in text:
            self.records.leave_out(_WHOLE_ARRAY, place)
        else:
            self.add(place, job_id, "E", values, submit)
            self.dated.append((date, end_of(values), place))
            if not has_ctime(values):
                self.records.note(_NO_CTIME, place)

    def close(self, job_id: str, submit: float) -> None:
        """Settle the records before the end of a job."""
        if (job := self.unended.pop(job_id, None)) is not None:
            if _differ(job.submit, submit):  # the id was reused for another job
                self.give_up(job_id, job)
            else:
                self.settle(job_id, job)

    def add(self, place: int, job_id: str, letter: str, values: Values, submit: float) -> None:
        """Add a row."""
        self.rows.append(_Row(self.line, place, letter, submit, (job_id, *values)))

    def submission(self, text: str) -> float:
        """Return the submission of a job from any of its records; NaN if it is not recorded."""
        return submission(self.values(text)) if "time=" in text else nan

    def not_ended(
        self, place: int, date: str, letter: str, job_id: str, text: str, submit: float
    ) -> None:
        """Read a record of a job before its end."""
        job = self.unended.get(job_id)
        if job is not None and _differ(job.submit, submit):
            self.give_up(job_id, job)
            job = None
        if job is None:
            job = self.unended[job_id] = _Unended()
        if not isnan(submit):
            job.submit = submit
        if letter == "Q":
            if job.queued:  # repeated: the job was routed or requeued
                self.other("Q", place)
            else:
                job.queued = place, date, text
        elif letter == "S":
            if job.started is not None:
                self.other("S", job.started)
            job.started, job.start_text = place, text
        elif letter == "R":
            if job.started is not None:
                self.other("S", job.started)
                job.started = None
            begun, job.start_text = job.start_text, ""
            if "start=" in text and "end=" in text and not isnan(submit):
                job.reruns.append((place, text))
            elif "start=" in begun and not isnan(end := self.second(date)):  # as Torque writes it
                job.reruns.append((place, f"{begun} end={end:.0f}"))
                self.records.note(_DATED_RERUN, place)
            else:
                self.records.leave_out("rerun records without times (R)", place)
        elif letter == "M":
            del self.unended[job_id]
            self.settle(job_id, job)
            self.other("M", place)
        else:
            if job.deleted:
                self.other(job.deleted[2], job.deleted[0])
            job.deleted = place, date, letter

    def other(self, letter: str, place: int) -> None:
        """Count a record that adds no information."""
        self.records.leave_out(OTHER_RECORDS[letter], place)

    def settle(self, job_id: str, job: _Unended, *, in_log: bool = True) -> None:
        """Count the records of a job that ended in another record; reruns are attempts."""
        if job.queued:
            self.other("Q", job.queued[0])
        if job.started is not None:
            self.other("S", job.started)
        if job.deleted:
            self.other(job.deleted[2], job.deleted[0])
        for place, text in job.reruns:
            if in_log:
                self.add(place, job_id, "R", self.values(text), job.submit)
            else:
                self.records.leave_out("attempts of jobs that did not end (R)", place)

    def give_up(self, job_id: str, job: _Unended) -> None:
        """Decide what becomes of a job without further records."""
        queued, deleted = job.queued, job.deleted
        if deleted and job.started is None and (queued or not isnan(job.submit)):
            place, date, letter = deleted
            submit, text = job.submit, queued[2] if queued else ""
            if isnan(submit) and queued:
                submit = self.second(queued[1])
            if not text and job.reruns:
                text = job.reruns[-1][1]
            if not isnan(submit):
                values = cancelled(self.values(text), self.second(date))
                job.submit, job.deleted = submit, None
                self.add(place, job_id, letter, values, submit)
                if "[]" in job_id:
                    self.records.note("arrays cancelled while queued, one job each", place)
                self.settle(job_id, job)
                return
        if job.started is not None:
            kind = (
                "started and deleted or aborted, end unknown" if deleted else "not ended: running"
            )
            self.records.leave_out(f"{kind} (S without E)", job.started)
            job.started = None
        elif deleted:
            self.records.leave_out("deleted before their start, submission unknown", deleted[0])
            job.deleted = None
        elif queued:
            self.records.leave_out("not ended: queued (Q without S or E)", queued[0])
            job.queued = None
        self.settle(job_id, job, in_log=False)

    def second(self, date: str) -> float:
        """Return the second of a local date; the first one if clocks are set back."""
        try:
            local = datetime.strptime(date, "%m/%d/%Y %H:%M:%S")
            return local.replace(tzinfo=self.zone).timestamp()
        except (ValueError, OverflowError):
            return nan

    def flush(
        self,
        cells: Cells,
        lines: NDArray[np.int64],
        places: NDArray[np.int64],
        submit: NDArray[np.float64],
    ) -> None:
        """Pass on rows read together, and those read on their own, in order of their lines."""
        if self.rows:
            at, more_places, letters, more_submit, texts = zip(*self.rows, strict=True)
            own = np.arange(lines.size + len(at)) < lines.size
            order = np.lexsort((own, np.append(lines, at)))
            cells = cells.with_texts(texts, ("id", *KEYS), order)
            places = np.append(places, more_places)[order]
            submit = np.append(submit, more_submit)[order]
            letter = np.append(np.full(lines.size, "E"), letters)[order]
            self.rows = []
        else:
            letter = np.full(lines.size, "E")
        if places.size:
            self.records.extend(places.size, **columns(cells, places, letter, submit, self.records))
        if self.dated:
            dates, ended, dated = zip(*self.dated, strict=True)
            self.moments.append(np.stack([dated, ended, local_seconds(list(dates))]))
            self.dated = []

    def finish(self) -> None:
        """Decide about all jobs without an end, and check the time zone."""
        for job_id, job in self.unended.items():
            self.give_up(job_id, job)
        self.unended = {}
        self.flush(Cells.none(), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        if self.phases:
            table = self.records.frame()
            by, parts = table["run"].to_numpy(), parts_of(self.phases)
            table, _ = split_runs(table, parts, self.records, by=by, alone=_NOT_ENDED)
            self.records.restore(table)
        if self.moments:
            moments = np.concatenate(self.moments, axis=1)
            places, ended, local = moments[:, np.argsort(moments[0])]
            check_zone(self.zone.key, places.astype(np.int64), ended, local, self.records)


def _differ(one: float, other: float) -> bool:
    return one != other and not isnan(one) and not isnan(other)
