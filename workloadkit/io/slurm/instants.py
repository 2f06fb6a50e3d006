"""Instants of jobs: local times converted, and jobs that the window of an export clips."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.intake import Repair
from workloadkit.io.cells import Cells, Words
from workloadkit.io.records import LAST_PLACE, Records
from workloadkit.io.slurm.times import WallClock, read_times

_Numbers = NDArray[np.float64]

NAMES = ("submit", "eligible", "start", "end")

_TWICE = (
    "time occurs twice, as clocks are set back: the first is used, or the one that fits Elapsed"
)
_NEVER = "time does not exist, as clocks are set forward: taken as if they were not"


class Instants(NamedTuple):
    """Times of jobs in seconds since 1970 UTC, NaN if unknown, each of shape (n_jobs,)."""

    submit: _Numbers
    eligible: _Numbers
    start: _Numbers
    end: _Numbers

    def take(self, which: NDArray) -> "Instants":
        """Return the times of some jobs."""
        return Instants(*(column[which] for column in self))

    def submission(self) -> tuple[_Numbers, Words]:
        """Return when jobs were submitted, and by which other time if that is unknown."""
        columns = np.stack([self.submit, self.eligible, self.start])
        which = np.argmax(~np.isnan(columns), axis=0)  # 0 if all are unknown
        times = np.take_along_axis(columns, which[None], axis=0)[0]
        return times, Words(which, ["", "eligible", "start"])


class InstantReader:
    """Converts times of jobs in a time zone, and counts ambiguous ones.

    Parameters
    ----------
    name : str
        The zone of times without an offset.

    Attributes
    ----------
    day_first : list of bool
        Whether the day precedes the month in ``1/5/2024``; empty until it is known.
    known : set of str
        Columns with at least one time.
    unreadable : dict of str to (int, str)
        Place and text of the first time in an unknown form, by column.
    n_twice, n_never : int
        Number of jobs with an ambiguous time, and with a time that does not exist.
    offsets : dict of (float or None) to Repair
        The times with each UTC offset [s]; None stands for local times without one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock = WallClock(name)
        self.n_twice = self.n_never = 0
        self.day_first: list[bool] = []  # whether the day precedes the month, when it is known
        self.known: set[str] = set()  # columns with a time
        self.unreadable: dict[str, tuple[int, str]] = {}  # first place and text of each column
        self.offsets: dict[float | None, Repair] = {}

    def read(
        self,
        cells: Cells,
        lasted: _Numbers,
        places: NDArray[np.int64],
        records: Records,
        names: Sequence[str] = NAMES,
    ) -> Instants:
        """Convert the times of jobs.

        Parameters
        ----------
        cells : Cells
            By `NAMES`; missing columns are unknown.
        lasted : ndarray, shape (n_jobs,)
            Elapsed plus suspended time, NaN if unknown: it resolves ambiguous starts and ends.
            [s]
        places : ndarray of int, shape (n_jobs,)
            Line numbers, for counting.
        records : Records
        names : sequence of str, optional
            The others are taken as unknown.
        """
        unknown = np.full(places.size, np.nan)
        first: dict[str, _Numbers] = {}
        second: dict[str, _Numbers] = {}
        twice = np.zeros(places.size, bool)
        never = np.zeros(places.size, bool)
        for name in NAMES:
            if name not in names or name not in cells.begin:
                first[name] = second[name] = unknown
                continue
            times = read_times(cells, name, day_first=next(iter(self.day_first), None))
            seconds, absolute, offset = times
            odd = np.isinf(seconds)
            if np.isfinite(seconds).any():
                self.known.add(name)
            if odd.any() and name not in self.unreadable:
                first_odd = int(np.argmax(odd))
                self.unreadable[name] = int(places[first_odd]), str(cells.texts(name)[first_odd])
            self._count_offsets(offset, places, ~absolute & np.isfinite(seconds))
            records.note_where(f"invalid {name.title()}: taken as unknown", odd, places)
            seconds = np.where(odd, np.nan, seconds)
            early, late, missing = self.clock.utc(seconds)
            first[name] = np.where(absolute, seconds, early)
            second[name] = np.where(absolute, seconds, late)
            twice |= second[name] > first[name]
            never |= missing & ~absolute
        if twice.any():
            self.n_twice += int(twice.sum())
            records.note_where(_TWICE, twice, places)
            rows = np.flatnonzero(twice)
            chosen = _choose(
                Instants(*(first[name][rows] for name in NAMES)),
                Instants(*(second[name][rows] for name in NAMES)),
                lasted[rows],
            )
            for name, column in zip(NAMES, chosen, strict=True):
                first[name][rows] = column
        if never.any():
            self.n_never += int(never.sum())
            records.note_where(_NEVER, never, places)
        return Instants(*(first[name] for name in NAMES))

    def _count_offsets(
        self, offset: _Numbers, places: NDArray[np.int64], local: NDArray[np.bool_]
    ) -> None:
        """Count the times with each offset, and the local ones without."""
        groups: dict[float | None, NDArray[np.bool_]] = {None: local}
        groups |= {of: offset == of for of in distinct(offset[~np.isnan(offset)]).tolist()}
        for of, chosen in groups.items():
            if chosen.any():
                before = self.offsets.get(of, Repair("", 0, int(LAST_PLACE)))
                first = min(before.first_line, int(places[chosen].min()))
                self.offsets[of] = Repair("", before.count + int(chosen.sum()), first)


def _choose(first: Instants, second: Instants, lasted: _Numbers) -> Instants:
    """Choose between two instants by the length of the run, then by the order of events."""
    best_start, best_end = first.start.copy(), first.end.copy()
    least = np.abs(best_end - best_start - lasted)
    for start, end in ((second.start, second.end), (first.start, second.end)):
        off = np.abs(end - start - lasted)
        better = off < least
        best_start = np.where(better, start, best_start)
        best_end = np.where(better, end, best_end)
        least = np.where(better, off, least)
    submit = first.submit
    # the run has the same length in either hour, but the first precedes the submission
    later = (best_start < submit) & (np.abs(second.end - second.start - lasted) <= least)
    best_start = np.where(later, second.start, best_start)
    best_end = np.where(later, second.end, best_end)
    # a time before an event that precedes it is moved to the second hour
    eligible = np.where(first.eligible < submit, second.eligible, first.eligible)
    late = np.isnan(least) & (best_start < submit)
    best_start = np.where(late, second.start, best_start)
    late = np.isnan(least) & ((best_end < best_start) | (best_end < submit))
    best_end = np.where(late, second.end, best_end)
    return Instants(submit, eligible, best_start, best_end)


def run_times(
    start: _Numbers,
    end: _Numbers,
    lasted: _Numbers,
    suspended: _Numbers,
    places: NDArray[np.int64],
    records: Records,
) -> _Numbers:
    """Return run times: Elapsed, which excludes suspension, rather than End − Start."""
    more = end - start - lasted
    longer = "End − Start longer than Elapsed (suspension): Elapsed used"
    records.note_where(longer, more > 0.5, places)
    shorter = "End − Start shorter than Elapsed: Elapsed used"
    records.note_where(shorter, (more < -0.5) & (end >= start), places)
    run = np.where(np.isnan(lasted), end - start - np.nan_to_num(suspended), lasted)
    return np.where(np.isnan(start), np.nan, run)


# Find jobs that are clipped by the window of an export.

#: Number of jobs with times at the edge from which these count as clipped.
_AT_THE_EDGE = 3

_MINUTE = 60


def cut_by_window(table: pd.DataFrame, zone: tzinfo) -> tuple[NDArray[np.object_], float | None]:
    """Return which jobs are clipped at the begin or end of the export's window, and its begin.

    `sacct` reports jobs that were running in its window, so no job ended before the window opened.
    The opening is taken as a midnight: the last one before the first end. Jobs that started before
    it are clipped at the begin, because only the long ones of their kind are reported. With
    ``--truncate``, times outside the window are moved to its edges: if at least three jobs with
    different submissions start at the first start of all, on a full minute, they are clipped at
    the begin; if as many with different starts end at the last end of all, at the end.

    Parameters
    ----------
    table : DataFrame
        Records of jobs.
    zone : tzinfo
        Time zone of the midnights.

    Returns
    -------
    cut : ndarray of str, shape (n_jobs,)
        "begin", "end", "both" or "".
    opened : float or None
        Opening of the window, if a job is clipped at its begin. [s since 1970]
    """
    submit, start, end = (table[name].to_numpy() for name in ("submit", "start", "end"))
    ran = (end >= start) & (end > 0)
    if not ran.any():
        return np.full(len(table), "", object), None
    first = datetime.fromtimestamp(float(end[ran].min()), zone)
    opened = first.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    at_begin = (start < opened) & ran
    at_begin |= _piled_up(start, start[ran].min(), submit)
    at_end = _piled_up(end, end[ran].max(), start) & ran
    cut = np.where(at_begin, "begin", np.where(at_end, "end", "")).astype(object)
    cut[at_begin & at_end] = "both"
    return cut, max(opened, start[ran].min()) if at_begin.any() else None


def _piled_up(
    times: NDArray[np.float64], edge: float, others: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which times at an edge were moved there, given other times of these jobs."""
    there = times == edge
    moved = edge % _MINUTE == 0 and distinct(others[there]).size >= _AT_THE_EDGE
    return there & moved
