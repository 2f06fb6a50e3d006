"""Processors with numbers that go down and come up: their state in the compiled engine.

Sets of processors are bits of words. The processors of a job are a list of *parts*, each of one
word, written at its start and kept, so that the history of all runs costs nothing more. An
announced outage and a promised start are *claims* on processors. See `numbered_ledger`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.state import Jobs, never
from workloadkit.simulation.machine.ledger import FREE, PLANNED
from workloadkit.simulation.machine.shutdowns import Shutdown
from workloadkit.simulation.machine.words import WORD, WORD_BITS, n_words

# Changes of the machine, in their order at one second.
DOWN, UP, ANNOUNCED = range(3)


class ClaimsAt(Record):
    """What is known of claims."""

    n_stakes: int  # claims made or removed
    n_claims: int  # existing claims


class ChangesAt(ClaimsAt):
    """The same of claims of a machine that changes."""

    n_changes: int  # changes of the machine so far


class _At(ChangesAt):
    """What is known of numbered processors.

    The numbers of stakes, changes, parts and runs show whether something has changed.
    """

    n_parts: int  # written
    n_runs: int  # written
    n_ending: int  # existing claims of outages with an end
    lowest: int  # a word before which no processor is free
    since: int  # the sum of those four when `Scratch.n_left` was begun
    n_known: int  # its known length
    given: bool  # whether jobs start where their parts say


class History(NamedTuple):
    """Runs of jobs on their processors, in the order in which these were released.

    Parameters
    ----------
    word, mask : ndarray of int64, shape (room,)
        The parts.
    job, first, last : ndarray of int64, shape (room,)
        By run: its job, and its parts, word[first:last].
    start, end : ndarray, shape (room,)
        [s]
    stopped : ndarray of bool, shape (room,)
        Whether an outage stopped the run.
    """

    word: NDArray[np.int64]
    mask: NDArray[np.int64]
    job: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    start: NDArray
    end: NDArray
    stopped: NDArray[np.bool_]


class Claims(NamedTuple):
    """Claims on processors: of jobs with a promised start, then, from n_jobs on, of outages.

    Parameters
    ----------
    begin, end : ndarray, shape (n_jobs + n_outages,)
        [s]
    first, last : ndarray of int64, shape (n_jobs + n_outages,)
        The parts of each, word[first:last].
    word, mask : ndarray of int64, shape (n_parts,)
    by_begin, by_end : ndarray of int64, shape (n_jobs + n_outages,)
        Existing claims, ascending.
    """

    begin: NDArray
    end: NDArray
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    word: NDArray[np.int64]
    mask: NDArray[np.int64]
    by_begin: NDArray[np.int64]
    by_end: NDArray[np.int64]


class Timetable(NamedTuple):
    """The times of all changes.

    Parameters
    ----------
    time : ndarray, shape (n_changes,)
        Ascending. [s]
    kind, outage : ndarray of int64, shape (n_changes,)
    surprise : ndarray of bool, shape (n_outages,)
        Whether an outage is not announced.
    latest : ndarray, shape (1,)
        Begin of the last announced outage that never ends. [s]
    """

    time: NDArray
    kind: NDArray[np.int64]
    outage: NDArray[np.int64]
    surprise: NDArray[np.bool_]
    latest: NDArray


class Scratch(NamedTuple):
    """Work arrays.

    Parameters
    ----------
    left, claimed, group, among, taken, first_claimed : ndarray of int64, shape (n_words,)
    digits : ndarray of int64, shape (n_digits × n_words,)
        Number of claims on each processor, in binary: the set of those whose number has the last
        digit, then the last but one, ….
    n_left : ndarray of int64, shape (n_jobs + n_outages,)
        Number of free processors outside the first claims by their begins, up to each.
    """

    left: NDArray[np.int64]
    claimed: NDArray[np.int64]
    group: NDArray[np.int64]
    among: NDArray[np.int64]
    taken: NDArray[np.int64]
    first_claimed: NDArray[np.int64]
    digits: NDArray[np.int64]
    n_left: NDArray[np.int64]


class Numbered(NamedTuple):
    """Processors with numbers.

    Parameters
    ----------
    level, shadow : ndarray
        As in `pool.PoolState`.
    free : ndarray of int64, shape (n_words,)
        Processors that work and run nothing.
    away : ndarray of int64, shape (n_words,)
        Processors that are down, without those down only for announced outages.
    n_down, n_surprises : ndarray of int64, shape (procs,)
        Outages of each processor; those of them that were not announced.
    first, last : ndarray of int64, shape (n_jobs,)
        The parts of each job's processors, in the history.
    interruptions : ndarray of int64, shape (n_jobs,)
    lost : ndarray of bool, shape (n_jobs,)
    lost_work : ndarray, shape (n_jobs,)
        Processors × seconds lost.
    hit : ndarray of int64, shape (procs,)
        Work array: jobs.
    requeues : bool
        Whether interrupted jobs return to the queue.
    history : History
    claims : Claims
    timetable : Timetable
    scratch : Scratch
    at : record
    """

    level: NDArray[np.int64]
    shadow: NDArray
    free: NDArray[np.int64]
    away: NDArray[np.int64]
    n_down: NDArray[np.int64]
    n_surprises: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    interruptions: NDArray[np.int64]
    lost: NDArray[np.bool_]
    lost_work: NDArray
    hit: NDArray[np.int64]
    requeues: bool
    history: History
    claims: Claims
    timetable: Timetable
    scratch: Scratch
    at: _At


def new_numbered(
    jobs: Jobs, procs: int, shutdowns: Sequence[Shutdown], *, requeues: bool, n_planned: int = 0
) -> Numbered:
    """Return the processors, all free, with `n_planned` rows for a profile."""
    n_jobs, dtype, width = jobs.submit.size, jobs.submit.dtype, n_words(procs)
    level = np.empty(PLANNED + n_planned, np.int64)
    level[FREE] = procs
    return Numbered(
        level=level,
        shadow=np.empty(1, dtype),
        free=as_words(np.arange(procs), width),
        away=np.zeros(width, np.int64),
        n_down=np.zeros(procs, np.int64),
        n_surprises=np.zeros(procs, np.int64),
        first=np.empty(n_jobs, np.int64),
        last=np.empty(n_jobs, np.int64),
        interruptions=np.zeros(n_jobs, np.int64),
        lost=np.zeros(n_jobs, np.bool_),
        lost_work=np.zeros(n_jobs, dtype),
        hit=np.empty(procs, np.int64),
        requeues=requeues,
        history=_new_history(2 * n_jobs + procs, n_jobs + procs, dtype),
        claims=_new_claims(jobs, shutdowns, width),
        timetable=new_timetable(shutdowns, dtype),
        scratch=_new_scratch(width, n_jobs + len(shutdowns)),
        at=_At(),
    )


def _new_scratch(width: int, n_claims: int) -> Scratch:
    """Return work arrays for up to `n_claims` claims."""
    left, claimed, group, among, taken, first = (np.zeros(width, np.int64) for _ in range(6))
    digits = np.zeros(n_claims.bit_length() * width, np.int64)
    return Scratch(left, claimed, group, among, taken, first, digits, np.zeros(n_claims, np.int64))


def _new_history(n_parts: int, n_runs: int, dtype: np.dtype) -> History:
    """Return an empty history of this size."""
    word, mask = (np.empty(n_parts, np.int64) for _ in range(2))
    job, first, last = (np.empty(n_runs, np.int64) for _ in range(3))
    start, end = (np.empty(n_runs, dtype) for _ in range(2))
    return History(word, mask, job, first, last, start, end, np.zeros(n_runs, np.bool_))


def _new_claims(jobs: Jobs, shutdowns: Sequence[Shutdown], width: int) -> Claims:
    """Return no claims, with room for those of all jobs and outages."""
    n_claims, dtype = jobs.submit.size + len(shutdowns), jobs.submit.dtype
    masks = [as_words(shutdown.processors, width) for shutdown in shutdowns]
    parts = [np.flatnonzero(mask) for mask in masks]
    most = np.concatenate([np.minimum(jobs.procs, width), [part.size for part in parts]])
    last = np.cumsum(most, dtype=np.int64)
    word, mask = (np.empty(int(last[-1]), np.int64) for _ in range(2))
    begin, end = (np.empty(n_claims, dtype) for _ in range(2))
    first = last - most.astype(np.int64)
    for claim, shutdown in enumerate(shutdowns, jobs.submit.size):
        mine, part = slice(first[claim], last[claim]), parts[claim - jobs.submit.size]
        word[mine], mask[mine] = part, masks[claim - jobs.submit.size][part]
        begin[claim], end[claim] = shutdown.start, _time(shutdown.end, dtype)
    by_begin, by_end = (np.empty(n_claims, np.int64) for _ in range(2))
    return Claims(begin, end, first, last, word, mask, by_begin, by_end)


def new_timetable(shutdowns: Sequence[Shutdown], dtype: np.dtype) -> Timetable:
    """Return the times of all changes: at one second by kind, then in the order of the outages."""
    changes = []
    for outage, shutdown in enumerate(shutdowns):
        if shutdown.announced is not None:
            changes.append((shutdown.announced, ANNOUNCED, outage))
        changes.append((shutdown.start, DOWN, outage))
        if shutdown.end < np.inf:
            changes.append((shutdown.end, UP, outage))
    changes.sort()
    return Timetable(
        time=np.array([time for time, _, _ in changes], dtype),
        kind=np.array([kind for _, kind, _ in changes], np.int64),
        outage=np.array([outage for _, _, outage in changes], np.int64),
        surprise=np.array([shutdown.announced is None for shutdown in shutdowns], np.bool_),
        latest=np.full(1, -never(dtype)),
    )


def _time(time: float, dtype: np.dtype) -> Any:
    return never(dtype) if time == np.inf else time


def as_words(processors: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return a set of processors."""
    words = np.zeros(width, np.int64)
    np.bitwise_or.at(words, processors >> WORD_BITS, 1 << (processors & (WORD - 1)))
    return words
