"""Machines that can be reserved: a pool of processors, for both engines; nodes, in plain Python."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.io.reservations import ReservationRequests
from workloadkit.simulation.compiled.state import Jobs, State
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.machine.nodes_level import NodeSite
from workloadkit.simulation.machine.nodes_plain import NodeMachine
from workloadkit.simulation.machine.plain import Claim, Run
from workloadkit.simulation.machine.reservable_plain import (
    REFUSED,
    Answering,
    RequestTable,
    ReservableMachine,
    request_table,
)
from workloadkit.simulation.machine.shapes import UNLIMITED, Shape, joined
from workloadkit.simulation.plain.job import Job, JobView
from workloadkit.simulation.workload import Overrun, Workload

# Nodes that can be reserved, in plain Python.


class ReservableNodeMachine(Answering, NodeMachine):
    """Nodes that can be reserved: an accepted request is a claim on certain nodes.

    Parameters
    ----------
    site : NodeSite
        Its shapes are those of the jobs and of the requests, see `with_requests`.
    numbers : sequence of int
        As in `NodeMachine`.
    table : RequestTable

    Attributes
    ----------
    held : list of (int, Run)
        Runs inside reservations, with their requests.
    """

    def __init__(self, site: NodeSite, numbers: Sequence[int], table: RequestTable) -> None:
        super().__init__(site, numbers)
        self.held: list[tuple[int, Run]] = []
        self.let_reserve(table)

    def offer(self, view: JobView, earliest: float, latest: float) -> Claim | None:
        """Return the first claim that suits, by running jobs and accepted requests; else None."""
        waiting, self._claims = self._claims, {}
        claim = self.first_claim(view, earliest, self._simulation.now)
        self._claims = waiting
        return claim if claim is not None and claim.begin <= latest else None

    def end(self, job: JobView, now: float, interrupted: bool) -> None:
        """Release the place of a job, or of a reservation."""
        super().end(job, now, interrupted)
        if (row := job._record.row) < 0:
            self.held.append((-1 - row, self.runs.pop()[1]))


def with_requests(site: NodeSite, table: RequestTable) -> NodeSite:
    """Return nodes with the needs of requests behind those of the jobs, from the last one on.

    A request for a job needs what the job needs; one for none needs processors only.
    """
    shapes = site.shapes
    more, pools = [], []
    kinds = int(np.bitwise_or.reduce([1 << kind for kind in site.kinds]))
    for job, procs in zip(table.job[::-1].tolist(), table.procs[::-1].tolist(), strict=True):
        shape = Shape(procs, UNLIMITED, 1, UNLIMITED, 0, kinds)
        its_pools = np.zeros(shapes.pools.shape[1], np.int64)
        if job >= 0:
            shape = shapes.shape(int(shapes.of_job[job]))._replace(procs=procs)
            its_pools = shapes.pools[shapes.of_job[job]]
        more.append(shape)
        pools.append(its_pools)
    return site._replace(shapes=joined(shapes, more, pools))


@dataclass(frozen=True, eq=False)
class Reservable(Hardware):
    """Base of machines that can be reserved.

    Parameters
    ----------
    procs : int
    requests : ReservationRequests
    table : RequestTable, optional
        The same for the jobs of a workload.
    """

    requests: ReservationRequests
    table: RequestTable | None = None

    is_reservable = True

    def answering(self, workload: Workload, overrun: Overrun) -> "Reservable":
        """Return the machine for the jobs of a workload."""
        return replace(self, table=request_table(self.requests, workload, self.procs, overrun))

    @property
    def _table(self) -> RequestTable:
        assert self.table is not None  # the machine answers for some workload
        return self.table

    @property
    def dtype(self) -> np.dtype:
        """Type of the times."""
        return self._table.asked.dtype

    def served(self, workload: Workload, outcome: Any) -> Workload:
        """Return a workload with the runs of the jobs inside reservations."""
        table = self._table
        inside = outcome.columns["reservation"] >= 0
        accepted = np.flatnonzero((table.job >= 0) & inside[table.job])
        job, run, killed = table.job[accepted], workload.run.copy(), workload.killed.copy()
        killed[job] |= table.run[accepted] < run[job]
        run[job] = table.run[accepted]
        return replace(workload, run=run, killed=killed)

    def whole(
        self, outcome: Any, places: NDArray[np.int64], submit: NDArray, answer: NDArray
    ) -> Any:
        """Return the outcome of all jobs: of those at `places`, which arrived, and those inside."""
        table, n_jobs = self._table, submit.size
        accepted = np.flatnonzero((table.job >= 0) & (answer != REFUSED))
        start = np.zeros(n_jobs, self.dtype)
        start[places], start[table.job[accepted]] = outcome.start, answer[accepted]
        reservation = np.full(n_jobs, -1)
        reservation[table.job[accepted]] = table.number[accepted]
        columns = {name: _spread(x, places, n_jobs) for name, x in outcome.columns.items()}
        promised = columns.setdefault("promised_start", np.full(n_jobs, np.nan))
        promised[table.job[accepted]] = answer[accepted]
        queued = reservation < 0
        answers = {
            "mean_wait_in_queue": float((start - submit)[queued].mean()) if queued.any() else 0.0,
            "number": table.number.tolist(),
            "start": answer.tolist(),
        }
        return outcome._replace(
            start=start,
            columns={**columns, "reservation": reservation},
            history={**outcome.history, "reservations": self._report(answer) | answers},
        )

    def _report(self, answer: NDArray) -> dict[str, Any]:
        """Return how many requests were accepted, for when."""
        table, accepted = self._table, answer != REFUSED
        delay = (answer - table.earliest)[accepted]
        return {
            "requests": int(table.number.size),
            "accepted": int((delay == 0).sum()),
            "offered_later": int((delay > 0).sum()),
            "refused": int((~accepted).sum()),
            "mean_delay": float(delay.mean()) if delay.size else 0.0,
        }


@dataclass(frozen=True, eq=False)
class ReservablePool(Reservable):
    """Identical processors that can be reserved; parameters are those of `Reservable`."""

    def plain(self) -> ReservableMachine:
        """Return the machine for one simulation in the plain-Python engine."""
        return ReservableMachine(self.procs, self._table)

    def submissions(self, jobs: Jobs) -> tuple[Jobs, Any]:
        """Return tables with rows for the requests, and the source of submissions."""
        from workloadkit.simulation.machine.reservable_stream import RequestStream, RequestStreamAt

        table, n_jobs = self._table, jobs.submit.size
        unknown = np.full(table.number.size, -1)
        rows = {
            "submit": table.asked,
            "run": table.run,
            "estimate": table.duration,
            "procs": table.procs,
            "user": unknown,
            "queue": unknown,
        }
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(jobs, name), row]) for name, row in rows.items()
        }
        request, inside = np.full(n_jobs, -1), np.flatnonzero(table.job >= 0)
        request[table.job[inside]] = inside
        answer = np.full(table.number.size, REFUSED, jobs.submit.dtype)
        times = table.asked, table.earliest, table.latest
        source = np.zeros(n_jobs, np.int64)
        stream = RequestStream(*times, request, source, answer, RequestStreamAt())
        return jobs._replace(**joined), stream

    def compiled(self, jobs: Any, n_planned: int) -> Any:
        """Return the machine's part of the compiled state, with `n_planned` rows for a profile."""
        from workloadkit.simulation.machine.reservable_ledger import new_reservable

        return new_reservable(self.procs, jobs, self._table.number.size, n_planned)

    def arrived(self, state: State) -> NDArray[np.int64]:
        """Return the places in the workload of the jobs that arrived, in their order."""
        places: NDArray[np.int64] = state.users.source[: state.at.arrived]
        return places


@dataclass(frozen=True, eq=False)
class ReservableNodes(Reservable):
    """Nodes that can be reserved, in plain Python.

    Parameters
    ----------
    procs, requests, table
        As in `Reservable`.
    nodes : Nodes
    """

    nodes: Any = None

    def plain(self) -> ReservableNodeMachine:
        """Return the machine for one simulation in the plain-Python engine."""
        site = with_requests(self.nodes.site, self._table)
        return ReservableNodeMachine(site, self.nodes.numbers, self._table)

    def runs_inside(self, held: Sequence[tuple[int, Run]], jobs: Sequence[Job]) -> list[Run]:
        """Return the runs of the jobs inside reservations, of those that were held."""
        place, runs = {job.row: i for i, job in enumerate(jobs)}, []
        for request, run in held:
            if (row := int(self._table.job[request])) >= 0:
                runs.append(run._replace(row=place[row], job=jobs[place[row]].number))
        return runs


def _spread(values: Any, places: NDArray[np.int64], n_jobs: int) -> NDArray:
    """Return values of the jobs at places among those of all; others are unknown."""
    values = np.asarray(values)
    unknown = {"b": False, "f": np.nan}.get(values.dtype.kind, -1)
    every = np.full(n_jobs, unknown, values.dtype)
    every[places] = values[: places.size]
    return every
