"""Split the runs of jobs whose size changed into parts, as `workloadkit.io.attempts` takes them."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.io.attempts import RESIZING
from workloadkit.io.records import Records

#: Runs of resized jobs that are not split.
UNKNOWN_SIZES = "resized, but not all of its sizes are known: one size for the whole run"

_UNFIT = "changed sizes that are incomplete or do not fit the run of their job"
_REPEATED = "repeated records"
_SPREAD = "resized and suspended: the suspension is spread over all sizes"
_OF_THE_WHOLE = ("cpu", "memory", "energy", "suspended")  # recorded for the last part only


class RunPart(NamedTuple):
    """What a job had in a part of its run, between two changes of its size.

    Parameters
    ----------
    place : int
        Line of the record.
    id : str
    start : float
        Start of the run. [s since 1970]
    begins, ends : float
        Since the start of the run; `ends` is infinite for the size at the end of the run. [s]
    procs, nodes, gpus : float
    node_list : str
    """

    place: int
    id: str
    start: float
    begins: float
    ends: float
    procs: float
    nodes: float
    gpus: float
    node_list: str


def split_runs(
    table: pd.DataFrame, parts: Iterable[RunPart], records: Records, *, by: NDArray, alone: str
) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Replace the runs of resized jobs by their parts.

    Parameters
    ----------
    table : DataFrame
        Records of whole runs; the size is that at the end, unless a part contains it.
    parts : iterable of RunPart
    records : Records
        Counts the records of parts that are not used.
    by : ndarray, shape (n_records,)
        Lengths of the runs by the clock of the parts. [s]
    alone : str
        What parts without the end of their job are counted as.

    Returns
    -------
    table : DataFrame
    places : ndarray of int64
        Lines of the runs with a part.
    """
    of_run: dict[tuple[str, float], list[RunPart]] = {}
    known: set[tuple[object, ...]] = set()
    for part in parts:
        same = (*part[1:6], part.node_list)
        if part.ends != inf and same in known:
            records.leave_out(_REPEATED, part.place)
        else:
            known.add(same)
            of_run.setdefault((part.id, part.start), []).append(part)
    rows, repeated = _rows_of(table, of_run)
    places = table["place"].to_numpy()
    split: list[tuple[int, RunPart]] = []
    unknown = []
    for run, some in of_run.items():
        row = rows.get(run)
        fitting = None if row is None else _fitting(some, table.iloc[row], by[row])
        if row is not None and fitting is not None:
            split += [(row, part) for part in fitting]
            continue
        if row is not None:
            unknown.append(places[row])
        for part in some:
            if part.ends != inf:
                records.leave_out(alone if row is None else _UNFIT, part.place)
    records.note_where(UNKNOWN_SIZES, np.ones(len(unknown), bool), np.array(unknown, np.int64))
    records.leave_out_records(_REPEATED, places[repeated])
    at = distinct([row for row, _ in split]).astype(np.int64)
    records.note_where(_SPREAD, table["run"].to_numpy()[at] < by[at], places[at])
    whole = table.drop(index=table.index[np.append(at, repeated)])
    table = _joined(whole, _as_records(table, split, by)) if split else whole
    return table.reset_index(drop=True), places[[*rows.values()]]


def _rows_of(
    table: pd.DataFrame, runs: Iterable[tuple[str, float]]
) -> tuple[dict[tuple[str, float], int], NDArray[np.int64]]:
    """Return the rows of runs by id and start, and rows that repeat them."""
    wanted = set(runs)
    rows: dict[tuple[str, float], int] = {}
    repeated = []
    candidates = np.flatnonzero(table["id"].isin({name for name, _ in wanted}))
    ids, starts = (table[name].to_numpy()[candidates].tolist() for name in ("id", "start"))
    for row, run in zip(candidates.tolist(), zip(ids, starts, strict=True), strict=True):
        if run in wanted and rows.setdefault(run, row) != row:
            repeated.append(row)
    return rows, np.array(repeated, np.int64)


def _fitting(some: Sequence[RunPart], whole: pd.Series, lasted: float) -> list[RunPart] | None:
    """Return the parts of a run from its start to its end; None if some are missing or wrong."""
    last = max((part for part in some if part.ends == inf), default=None)
    changes = sorted((part for part in some if part.ends != inf), key=lambda part: part[3:5])
    if not changes:
        return None if last and last.procs != whole["procs"] else []
    bounds = [0.0, *(part.ends for part in changes)]
    follow = all(part.begins == bound for part, bound in zip(changes, bounds, strict=False))
    if not (follow and bounds == sorted(bounds) and bounds[-1] <= lasted):
        return None
    size: Any = whole if last is None else last
    if not all(part.procs > 0 for part in (*changes, size)):
        return None
    at_end = {name: getattr(size, name) for name in _SIZE}
    end = changes[-1]._replace(place=int(whole["place"]), begins=bounds[-1], ends=inf, **at_end)
    return [*changes, end]


_SIZE = ("procs", "nodes", "gpus", "node_list")


def _as_records(table: pd.DataFrame, split: list[tuple[int, RunPart]], by: NDArray) -> pd.DataFrame:
    """Return parts as records, the last of each run with what is recorded for the whole."""
    rows, parts = zip(*split, strict=True)
    part = pd.DataFrame(parts, columns=RunPart._fields)
    found = table.take(rows).reset_index(drop=True)
    last = np.isinf(part["ends"])
    run, end = found["run"], found["end"]
    lasted = by[list(rows)]
    ratio = (run / lasted).where(lasted > 0, 1.0)  # below 1 if parts include suspension
    begins = np.rint(part["begins"] * ratio)
    ends = np.rint(part["ends"] * ratio).where(~last, run)
    per_proc = {n: found[n] * found["procs"] / part["procs"] for n in ("cpu", "memory")}
    columns = {
        **per_proc,
        "place": part["place"],
        "start": found["start"] + part["begins"],
        "end": end.where(last, found["start"] + part["ends"]),
        "run": ends - begins,
        "state": found["state"].astype(object).where(last, RESIZING),
        **{name: part[name] for name in _SIZE},
    }
    found = found.assign(**columns)
    return found.assign(**{name: found[name].where(last) for name in _OF_THE_WHOLE})


def _joined(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return the records of both, with one set of words for each column of words."""
    words = one.columns[one.dtypes == "category"]
    both = pd.concat(
        [one.astype(dict.fromkeys(words, object)), other.astype(dict.fromkeys(words, object))]
    )
    for name in words:
        known = one[name].cat.categories
        new = pd.Index(both[name].unique()).difference(known, sort=False)
        both[name] = pd.Categorical(both[name], known.append(new))
    return both
