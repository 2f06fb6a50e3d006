"""What a simulation in chunks has settled, in a folder next to its output, so that it continues."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.sources import sources_digest
from workloadkit.columns import Columns
from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.io.files import write_text, writing
from workloadkit.io.strict_json import read_json_file
from workloadkit.io.unfinished_files import (
    check_continues,
    check_own,
    locked,
    remove_left_over,
    unfinished,
)
from workloadkit.io.wkt.opened import OpenLog
from workloadkit.provenance import provenance
from workloadkit.simulation.in_chunks import Played, Seam
from workloadkit.simulation.queue_state import memory_text, read_memory
from workloadkit.simulation.schedule_in_chunks import KEPT, Piece, ResultsOnDisk
from workloadkit.simulation.selection import SimulationParts
from workloadkit.trace import Trace, no_jobs

_LONGEST = 200  # characters of the output's name
_MADE_BY, _SEAM = "made_by.json", "seam.json"
_KINDS = {np.dtype(kind).str: np.dtype(kind) for kind in (np.int64, np.float64, np.bool_)}
_RESULTS = {"start", "run", "estimate", *KEPT}
_COUNTED = ("n_jobs", "first", "last", "last_end", "has_decimals", "looks_whole")


class Unfinished:
    """A folder next to an output, with what a simulation in chunks has settled.

    As a context manager, it is removed when all is done. After an interruption, a kill or a failure
    it stays, and the same simulation continues after the last chunk that it has settled.

    Parameters
    ----------
    output : Path
    say : callable
        Called with a line where the folder makes a difference.

    Raises
    ------
    ParameterError
        If another command, or something else, left the folder.
    WorkloadError
        If it cannot be written, another process writes to it, or others can.
    """

    def __init__(self, output: Path, say: Callable[[str], object]) -> None:
        self.folder = output.with_name(f"{output.name[:_LONGEST]}.unfinished")
        self._say, self._stack = say, ExitStack()
        self._is_ours, self._n_settled = False, 0
        self._made_by: dict[str, Any] = {}

    def __enter__(self) -> "Unfinished":
        try:
            with suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
            if self.folder.is_symlink() or not self.folder.is_dir():
                raise self._refusal()
            check_own(self.folder)
            self._stack.enter_context(locked(self.folder))
            remove_left_over(self.folder)
            if any(self.folder.glob("[!.]*")):  # others are of a process that was killed
                self._made_by = self._read_made_by()
        except OSError as error:
            raise WorkloadError(f"{self.folder}: cannot be written: {error.strerror}") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._stack:
            if not self._is_ours:
                with suppress(OSError):
                    self.folder.rmdir()  # if it is empty
            elif kind is None or not self._n_settled or issubclass(kind, ParameterError):
                gone = unfinished(self.folder)  # at once, whatever happens while it is removed
                self.folder.replace(gone)
                rmtree(gone, ignore_errors=True)
            else:
                self._say(f"{self.folder}: the same command continues")

    @property
    def seed(self) -> int | None:
        """The seed of the simulation that was interrupted."""
        return self._made_by.get("seed")

    def begin(
        self,
        log: OpenLog,
        parts: SimulationParts,
        read: Iterator[Piece],
        chunk: int,
        results: ResultsOnDisk,
    ) -> Played:
        """Return what has been played, and skip its pieces."""
        made_by = provenance(log.trace(no_jobs()), **parts.parameters)
        made_by |= made_by.pop("parameters") | {"chunk": chunk, "code": sources_digest()}
        seam = self.folder / _SEAM
        if self._made_by and seam.exists():
            there = json.loads(json.dumps(made_by))
            check_continues(self.folder, self._made_by, there, "name another output")
            digest, _, text = seam.read_bytes().partition(b"\n")
            is_whole = sha256(text).hexdigest().encode() == digest
            if is_whole and (found := self._continued(text, log, read, results)):
                self._is_ours = True
                return found
            self._say(f"{self.folder}: damaged, simulating from the beginning")
            seam.unlink()
        self._is_ours = True
        write_text(self.folder / _MADE_BY, json.dumps(made_by))
        return Played()

    def settle(self, found: Played, results: ResultsOnDisk) -> None:
        """Keep what has been played, after its results."""
        results.flush()
        self._n_settled += 1
        left = {name: getattr(found, name) for name in _COUNTED} | {"settled": self._n_settled}
        left["kinds"] = {name: kind.str for name, kind in results.kinds.items()}
        if (seam := found.seam) is not None:
            left["place"], left["start"] = seam.place.tolist(), seam.start.tolist()
            left |= {"time": seam.time, "memory": memory_text(seam.memory, seam.log)}
        text = json.dumps(left).encode()
        with writing(self.folder / _SEAM) as stream:
            stream.write(sha256(text).hexdigest().encode() + b"\n" + text)
            stream.flush()
            os.fsync(stream.fileno())

    def _read_made_by(self) -> dict[str, Any]:
        """Return what the results in the folder depend on."""
        with suppress(WorkloadError):
            found = read_json_file(self.folder / _MADE_BY)
            if isinstance(found, dict) and "chunk" in found:
                return found
        raise self._refusal()

    def _refusal(self) -> ParameterError:
        advice = "remove it, or name another output"
        return ParameterError(f"{self.folder}: not what an interrupted simulation left; {advice}")

    def _continued(
        self, text: bytes, log: OpenLog, read: Iterator[Piece], results: ResultsOnDisk
    ) -> Played | None:
        """Return what has been played, as `settle` wrote it; None if files of results are short."""
        try:
            left = json.loads(text)
            kinds = {name: _KINDS[kind] for name, kind in left["kinds"].items()}
            results.kinds |= kinds
            if not (kinds.keys() <= _RESULTS and results.are_whole()):
                return None
            found = Played(*(left[name] for name in _COUNTED))
            self._n_settled = left["settled"]
            place = np.array(left.get("place", ()), np.int64)
            skipped = _jobs_at(place, islice(read, self._n_settled), log)
            if "memory" in left:
                memory = read_memory(left["memory"], skipped, place.size)
                start = np.array(left["start"], kinds["start"])
                if memory is None or start.shape != place.shape:
                    raise ValueError
                found.seam = Seam(skipped, place, start, left["time"], memory)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
            raise self._refusal() from None
        counts = f"{found.n_jobs:,} of {plural(log.n_jobs, 'job')}"
        self._say(f"{self.folder}: continuing after chunk {self._n_settled:,} ({counts})")
        return found


def _jobs_at(place: NDArray[np.int64], pieces: Iterator[Piece], log: OpenLog) -> Trace:
    """Return the jobs of pieces at some places, in the order of these."""
    places, jobs = [], []
    for piece in pieces:
        its = np.isin(piece.place, place)
        places.append(piece.place[its])
        jobs.append(Columns.joined(piece.jobs).rows(its))
    row = np.searchsorted(np.concatenate(places), place)
    found = Columns.joined(jobs).rows(row)
    if not np.array_equal(np.concatenate(places)[row], place):
        raise ValueError
    return log.trace(found)
