"""Numbered processors that go down and come up, for both engines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.machine.hardware import Hardware, enlarged
from workloadkit.simulation.machine.places import (
    Pair,
    list_claims,
    parts_of,
    set_claim,
    set_parts,
)
from workloadkit.simulation.machine.plain import Run
from workloadkit.simulation.machine.pools import OnePool
from workloadkit.simulation.machine.processors import NumberedMachine
from workloadkit.simulation.machine.shutdowns import Shutdown, what_stays_down
from workloadkit.simulation.supports import Memory


@dataclass(frozen=True)
class NumberedProcessors(Hardware):
    """Numbered processors that go down and come up.

    Parameters
    ----------
    procs : int
    shutdowns : sequence of Shutdown
    requeues : bool
        Whether interrupted jobs return to the queue; otherwise they are lost.
    """

    shutdowns: Sequence[Shutdown] = ()
    requeues: bool = True

    has_outages = True
    memory_of_places: ClassVar = Memory(
        "the processors of the running jobs",
        "processors for the running jobs in the order of their starts",
    )

    @property
    def numbering(self) -> str:  # type: ignore[override]
        """The number of processors."""
        return f"{self.procs} processors"

    def in_order(self, state: State) -> NDArray[np.int64]:
        """Return the running jobs in the order of their starts."""
        running = state.end_jobs[: state.at.n_running]
        order: NDArray[np.int64] = running[np.argsort(state.machine.first[running])]
        return order

    def places(self, state: State, jobs: NDArray[np.int64]) -> Mapping[str, Any]:
        """Return the processors of running jobs, by number."""
        machine, runs = state.machine, np.isin(jobs, state.end_jobs[: state.at.n_running])
        pair = machine.history.word, machine.history.mask
        found = iter(parts_of(machine, pair, jobs[runs]))
        return {"place": [numbers_in(next(found)) if its else None for its in runs]}

    def put(self, state: State, jobs: NDArray[np.int64], places: Sequence[Any]) -> None:
        """Set the processors of jobs that are about to run."""
        machine, parts = state.machine, [*map(self._parts, places)]
        pair = machine.history.word, machine.history.mask
        machine.at.n_parts = set_parts(machine, pair, jobs, parts)
        machine.at.given = True

    def settle(self, state: State, jobs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return none of the jobs that run: all have found processors."""
        state.machine.at.given = False
        return jobs[:0]

    def claims(self, state: State, jobs: NDArray[np.int64]) -> Mapping[str, Any]:
        """Return begins, ends and processors of what jobs are promised."""
        claims = state.machine.claims
        held = np.isin(jobs, claims.by_begin[: state.machine.at.n_claims])
        times = zip(claims.begin[jobs].tolist(), claims.end[jobs].tolist(), strict=True)
        parts = parts_of(claims, (claims.word, claims.mask), jobs)
        found = zip(held, times, parts, strict=True)
        column = [[*when, numbers_in(on)] if is_ else None for is_, when, on in found]
        return {"claim": column} if held.any() else {}

    def claim_again(self, state: State, jobs: NDArray[np.int64], claims: Sequence[Any]) -> None:
        """Promise jobs their processors again."""
        known = [i for i, claim in enumerate(claims) if claim is not None]
        made = state.machine.claims
        for i in known:
            begin, end, place = claims[i]
            set_claim(made, (made.word, made.mask), jobs[i], (begin, end), self._parts(place))
        list_claims(state.machine, jobs[known])

    def _parts(self, place: Sequence[int]) -> Pair:
        from workloadkit.simulation.machine.numbered import as_words
        from workloadkit.simulation.machine.words import n_words

        words = as_words(np.array(place, np.int64) - 1, n_words(self.procs))
        which = np.flatnonzero(words)
        return which, words[which]

    @property
    def cuts_runs(self) -> bool:  # type: ignore[override]
        """Whether jobs may run for less than their run time."""
        return not self.requeues

    @property
    def without_outages(self) -> Hardware:
        """The same processors without numbers and outages."""
        return OnePool(self.procs)

    def plain(self) -> NumberedMachine:
        """Return the machine for one simulation in the plain-Python engine."""
        return NumberedMachine(self.procs, self.shutdowns, requeues=self.requeues)

    def compiled(self, jobs: Any, n_planned: int) -> Any:
        """Return the machine's part of the compiled state, with `n_planned` rows for a profile."""
        from workloadkit.simulation.machine import numbered_ledger  # noqa: F401 acts for it
        from workloadkit.simulation.machine.numbered import new_numbered

        return new_numbered(
            jobs, self.procs, self.shutdowns, requeues=self.requeues, n_planned=n_planned
        )

    def go_on(self, state: State) -> State:
        """Return the state with room for what the next instant may record."""
        from workloadkit._kernels.compile import in_python
        from workloadkit.simulation.machine.numbered_ledger import must_return

        machine = state.machine
        if in_python(must_return)(state, 0, 0):
            machine = machine._replace(history=enlarged(machine.history))
        return state._replace(machine=machine)

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return interruptions, losses and lost work of each job."""
        return outage_columns(state.machine)

    def what_stays_down(self) -> str:
        """Describe the outages that never end, if there are any."""
        return what_stays_down(self.shutdowns, self.procs)

    def runs(self, state: State) -> "Runs":
        """Return the runs of jobs, with the jobs as places."""
        return Runs(state.machine.history, int(state.machine.at.n_runs))


def numbers_in(parts: Pair) -> list[int]:
    """Return the numbers of the processors in some words."""
    from workloadkit.simulation.machine.words import WORD

    pairs = zip(*(numbers.tolist() for numbers in parts), strict=True)
    return [WORD * word + bit + 1 for word, mask in pairs for bit in range(WORD) if mask >> bit & 1]


def outage_columns(machine: Any) -> dict[str, NDArray]:
    """Return interruptions, losses and lost work of each job, of a compiled machine."""
    return {name: getattr(machine, name) for name in ("interruptions", "lost", "lost_work")}


@dataclass(frozen=True, eq=False)
class Runs(Sequence[Run]):
    """Runs in the order in which the processors were released; each is made on access.

    Parameters
    ----------
    history : History
    size : int
    numbers : ndarray of int64, optional
        Job numbers by place; by default the places themselves.
    rows : ndarray of int64, optional
        Rows of the jobs in the schedule, by place; by default the places.
    """

    history: Any
    size: int
    numbers: NDArray[np.int64] | None = None
    rows: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, which: int) -> Run: ...

    @overload
    def __getitem__(self, which: slice) -> list[Run]: ...

    def __getitem__(self, which: int | slice) -> Run | list[Run]:
        place = range(self.size)[which]
        return self._run(place) if isinstance(place, int) else [self._run(i) for i in place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def _run(self, place: int) -> Run:
        history = self.history
        parts = slice(history.first[place], history.last[place])
        job = history.job[place]
        return Run(
            job=int(job if self.numbers is None else self.numbers[job]),
            start=history.start[place].item(),
            end=history.end[place].item(),
            processors=tuple(numbers_in((history.word[parts], history.mask[parts]))),
            interrupted=bool(history.stopped[place]),
            row=int(job if self.rows is None else self.rows[job]),
        )


@dataclass(frozen=True, eq=False)
class JoinedRuns(Sequence[Run]):
    """Runs on several machines, in the order of their ends.

    Parameters
    ----------
    runs : sequence of Run
        Of all machines, one after the other; each is made on access.
    order : ndarray of int64
    """

    runs: Sequence[tuple[Sequence[Run], NDArray[np.int64]]]
    order: NDArray[np.int64]

    @classmethod
    def of(cls, runs: Sequence[tuple[Sequence[Run], NDArray[np.int64]]]) -> Sequence[Run]:
        """Return the runs of several machines, each with the rows of its jobs in the schedule."""
        ends = [_ends(some) for some, _ in runs]
        return cls(runs, np.argsort(np.concatenate(ends), kind="stable"))

    def __len__(self) -> int:
        return self.order.size

    @overload
    def __getitem__(self, which: int) -> Run: ...

    @overload
    def __getitem__(self, which: slice) -> list[Run]: ...

    def __getitem__(self, which: int | slice) -> Run | list[Run]:
        if isinstance(which, int):
            return self._run(int(self.order[which]))
        return [self._run(place) for place in self.order[which].tolist()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def _run(self, place: int) -> Run:
        for runs, rows in self.runs:
            if place < len(runs):
                run = runs[place]
                return run._replace(row=int(rows[run.row]))
            place -= len(runs)
        raise IndexError(place)


def _ends(runs: Sequence[Run]) -> NDArray:
    """Return the ends of runs."""
    if isinstance(runs, Runs):
        ends: NDArray = runs.history.end[: len(runs)]
        return ends
    return np.array([run.end for run in runs])
