"""Nodes that can be reserved, in plain Python."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.simulation.machine.nodes_plain import NodeClaim, NodeMachine, NodeSite
from workloadkit.simulation.machine.requested import RequestTable
from workloadkit.simulation.machine.reservable_plain import Answering
from workloadkit.simulation.machine.shapes import UNLIMITED, Shape, Shapes
from workloadkit.simulation.plain.job import JobView

if TYPE_CHECKING:
    from workloadkit.simulation.machine.plain import Run


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

    def offer(self, view: JobView, earliest: Any, latest: Any) -> NodeClaim | None:
        """Return the first claim that suits, by running jobs and accepted requests; else None."""
        waiting, self._claims = self._claims, {}
        claim = self.first_claim(view, earliest, self._simulation.now)
        self._claims = waiting
        return claim if claim is not None and claim.begin <= latest else None

    def end(self, job: JobView, now: Any, interrupted: bool) -> None:
        """Release the place of a job, or of a reservation."""
        super().end(job, now, interrupted)
        if (row := job._record.row) < 0:
            self.held.append((-1 - row, self.runs.pop()[1]))


def with_requests(site: NodeSite, table: RequestTable) -> NodeSite:
    """Return nodes with the needs of requests behind those of the jobs, from the last one on.

    A request for a job needs what the job needs; one for none needs processors only.
    """
    shapes = site.shapes
    of_job, rows, pools = list(shapes.of_job), list(shapes.table), list(shapes.pools)
    kinds = int(np.bitwise_or.reduce([1 << kind for kind in site.kinds]))
    for job, procs in zip(table.job[::-1].tolist(), table.procs[::-1].tolist(), strict=True):
        shape, its_pools = Shape(procs, UNLIMITED, 1, UNLIMITED, 0, 0, 0, 0, kinds), 0
        if job >= 0:
            shape = shapes.shape(int(shapes.of_job[job]))._replace(procs=procs)
            its_pools = shapes.pools[shapes.of_job[job]]
        of_job.append(len(rows))
        rows.append(np.array(shape))
        pools.append(np.zeros(shapes.pools.shape[1], np.int64) + its_pools)
    every = Shapes(np.array(rows, np.int64), np.array(pools, np.int64), np.array(of_job, np.int64))
    return site._replace(shapes=every)
