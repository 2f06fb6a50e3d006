"""Metasystems in the compiled engine: states of sites, and the kernels that advance them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.notices import report_progress
from workloadkit._kernels.slices import run_in_slices
from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.metasystem.kernels import sending
from workloadkit.metasystem.kernels.slots import Line
from workloadkit.metasystem.kernels.streams import ArrivingJobs, Streams, StreamsAt
from workloadkit.metasystem.policies import MetaPolicy
from workloadkit.metasystem.prepared import MetaJobs, MetaOutcome, Prepared, PreparedSite
from workloadkit.simulation.compiled.state import State, never
from workloadkit.simulation.orders import ARRIVAL, FixedOrder, settled
from workloadkit.simulation.policies.policy import compiled_form
from workloadkit.simulation.workload import Workload


def play_compiled(prepared: Prepared, policies: Sequence[MetaPolicy]) -> MetaOutcome:
    """Simulate a metasystem in the compiled engine.

    Raises
    ------
    ParameterError
        If a job that is sent home has no home that admits it.
    """
    _check_homes(prepared.jobs, policies)
    metasystem = CompiledMetasystem(prepared, policies)
    metasystem.play()
    return metasystem.served()


def _check_homes(jobs: MetaJobs, policies: Sequence[MetaPolicy]) -> None:
    """Check that jobs that are sent home have a home that admits them."""
    go_home = np.array([policy.code == sending.HOME for policy in policies], np.bool_)
    own = np.flatnonzero(go_home[jobs.scheduler])
    lost = own[(jobs.home[own] < 0) | ~jobs.admitted[jobs.home[own], own]]
    if lost.size:
        number = jobs.number[lost[0]]
        raise ParameterError(f"meta-scheduler home: job {number} has no home that admits it")


class CompiledMetasystem:
    """The simulation of a metasystem, once."""

    def __init__(self, prepared: Prepared, policies: Sequence[MetaPolicy]) -> None:
        self.prepared = prepared
        self.jobs, self.grid = prepared.jobs, _new_grid(prepared, policies)
        self.sites = [
            _CompiledSite(m, each, prepared.jobs, self.grid)
            for m, each in enumerate(prepared.sites)
        ]

    def play(self) -> None:
        """Send all jobs, and run to the last event."""
        first, size = 0, self.jobs.number.size

        def play(count: int) -> bool:
            nonlocal first
            self.grid.at.left = count
            if first == size:
                self.grid.at.until = never(self.grid.submit.dtype)
                sending.finish(self.grid)
                return self._go_on()
            first = sending.send_all(self.grid, first, min(first + count, size))
            report_progress(first, size)
            self._go_on()
            return True

        run_in_slices(play)

    def _go_on(self) -> bool:
        """Continue the sites that have returned; return whether any has."""
        return sum(site.go_on() for site in self.sites) > 0

    def served(self) -> MetaOutcome:
        """Return where and when the jobs started.

        Raises
        ------
        WorkloadError
            If a job never starts.
        """
        n_jobs, dtype = self.jobs.number.size, self.grid.submit.dtype
        where, start = np.full(n_jobs, -1, np.int64), np.zeros(n_jobs, dtype)
        local_starts = []
        for site in self.sites:
            origin, starts = site.rows()
            n_stuck = int((starts == never(dtype)).sum())
            if n_stuck:
                raise WorkloadError(
                    f"site {site.name}: {site.policy} never starts {plural(n_stuck, 'job')}"
                )
            local, meta = origin >= 0, -1 - origin[origin < 0]
            local_starts.append(np.empty(site.n_local, dtype))
            local_starts[-1][origin[local]] = starts[local]
            where[meta], start[meta] = site.place, starts[~local]
        nothing = np.zeros(n_jobs, np.int64)
        held = nothing.astype(dtype)
        return MetaOutcome(self.prepared, where, start, local_starts, nothing, held)


def _new_grid(prepared: Prepared, policies: Sequence[MetaPolicy]) -> sending.MetaState:
    """Return the tables of all sites, before their states exist."""
    jobs, sites = prepared.jobs, prepared.sites
    n_sites, n_jobs, dtype = len(sites), jobs.number.size, jobs.submit.dtype
    codes = np.array([policy.code for policy in policies], np.int64)
    plans = bool((codes == sending.SHORTEST_WAIT).any())
    room = 2 * (n_jobs + max(each.workload.job.size for each in sites)) + 2 if plans else 0
    orders = [_order(each) for each in sites]
    in_line = room if any(order.code != ARRIVAL for order in orders) else 0
    by_scheduler = len(policies), n_sites
    return sending.MetaState(
        functions=np.zeros(n_sites, np.int64),
        memories=np.zeros(n_sites, np.int64),
        at=np.zeros(n_sites, StreamsAt(dtype).memory.dtype).view(np.recarray),
        inbox_time=np.empty((n_sites, n_jobs), dtype),
        inbox_job=np.empty((n_sites, n_jobs), np.int64),
        plan_time=np.empty((n_sites, room), dtype),
        plan_level=np.empty((n_sites, room), np.int64),
        plan_count=np.zeros((n_sites, 1), np.int64),
        line_key=np.empty((n_sites, in_line)),
        line_procs=np.empty((n_sites, in_line), np.int64),
        line_estimate=np.empty((n_sites, in_line), dtype),
        order=np.array([order.code for order in orders]),
        numbers=np.array([[*order.numbers, 0][:1] for order in orders], np.int64),
        n_numbers=np.array([order.numbers.size for order in orders]),
        overtakes=np.array([each.overtakes for each in sites]),
        published=np.zeros(n_sites, dtype),
        never_published=np.ones(n_sites, np.bool_),
        every=np.array([each.site.publishes.every for each in sites], dtype),
        size=np.array([each.rules.machine for each in sites], np.int64),
        price=np.array([each.site.price for each in sites], np.float64),
        scheduler=jobs.scheduler,
        home=jobs.home,
        number=jobs.number,
        user=jobs.user,
        procs=jobs.procs,
        submit=jobs.submit,
        estimate=jobs.estimate,
        delay=jobs.delay,
        admitted=jobs.admitted,
        draw=_drawn(jobs, policies),
        policy=codes,
        sent=np.zeros(by_scheduler, dtype),
        own_time=np.empty((*by_scheduler, room), dtype),
        own_level=np.empty((*by_scheduler, room), np.int64),
        own_count=np.zeros((*by_scheduler, 1), np.int64),
        own_last=np.zeros(by_scheduler, dtype),
        own_seen=np.full(by_scheduler, -1),
        line=_empty_line(in_line + 1, dtype),
    )


def _drawn(jobs: MetaJobs, policies: Sequence[MetaPolicy]) -> NDArray[np.float64]:
    """Return the draw of each job whose meta-scheduler sends at random; 0 for the others."""
    draw = np.zeros(jobs.number.size)
    for g, policy in enumerate(policies):
        if policy.code == sending.RANDOM:
            own = jobs.scheduler == g
            draw[own] = policy.rng.random(int(own.sum()))
    return draw


def _empty_line(room: int, dtype: np.dtype) -> Line:
    """Return a line of waiting jobs to be filled in."""
    return Line(
        key=np.empty(room),
        arrival=np.empty(room, dtype),
        procs=np.empty(room, np.int64),
        estimate=np.empty(room, dtype),
        placed=np.empty(room, np.bool_),
    )


class _CompiledSite:
    """A site: a state with an inbox.

    Parameters
    ----------
    place : int
    prepared : PreparedSite
    jobs : MetaJobs
    grid : sending.MetaState
        Its rows are shared with the state.
    """

    def __init__(
        self, place: int, prepared: PreparedSite, jobs: MetaJobs, grid: sending.MetaState
    ) -> None:
        self.place, self.grid, self.name = place, grid, prepared.site.name
        self.n_local, self.policy = prepared.workload.job.size, prepared.policy.name
        n_rows = max(self.n_local + jobs.number.size, 1)
        streams = _streams(place, prepared, jobs, grid, n_rows)
        tables = _tables(n_rows, grid.submit.dtype, prepared.rules.machine)
        known = replace(tables, users=streams)
        self.how: Any = compiled_form(prepared.policy, known, prepared.rules)
        self.how.workload = tables
        state = self.how.new_state()
        self.how.workload = known  # the tables are filled in as the jobs arrive
        self.state: State = self.how.begin(state._replace(users=streams))
        self._enter()

    def _enter(self) -> None:
        """Let the kernels know the state."""
        self._entry = sending.NativeSite(self.state)
        self.grid.functions[self.place] = self._entry.function
        self.grid.memories[self.place] = self._entry.memory

    def go_on(self) -> bool:
        """Continue where the site has returned, as its policy requested or passes ended."""
        at = self.state.users.at
        asks: bool = at.asks
        if asks and at.left:
            self.state = self.how.go_on(self.state)
            self._enter()
        self.state.users.at.asks = False
        return asks

    def rows(self) -> tuple[NDArray[np.int64], NDArray]:
        """Return the jobs that have arrived, as in `Streams.origin`, and their starts."""
        arrived = int(self.state.at.arrived)
        return self.state.users.origin[:arrived], self.state.start[:arrived]


def _streams(
    place: int, prepared: PreparedSite, jobs: MetaJobs, grid: sending.MetaState, n_rows: int
) -> Streams:
    """Return the two streams of a site."""
    w, dtype = prepared.workload, grid.submit.dtype
    unknown = np.full(jobs.number.size, -1, np.int64)
    run, estimate = jobs.run[place], jobs.estimate[place]
    return Streams(
        ArrivingJobs(w.submit, w.run, w.estimate, w.procs, w.user, w.queue, w.job),
        ArrivingJobs(jobs.submit, run, estimate, jobs.procs, jobs.user, unknown, jobs.number),
        grid.inbox_time[place],
        grid.inbox_job[place],
        np.empty(n_rows, np.int64),
        StreamsAt(dtype).over(grid.at[place, ...]),
        grid.plan_time[place],
        grid.plan_level[place],
        grid.plan_count[place],
        grid.line_key[place],
        grid.line_procs[place],
        grid.line_estimate[place],
        _order(prepared),
        prepared.overtakes,
    )


def _order(prepared: PreparedSite) -> FixedOrder:
    """Return the order of the queue of a site."""
    policy = prepared.policy
    return settled("arrival") if prepared.key is None else settled(policy.order, policy.numbers)


def _tables(n_rows: int, dtype: np.dtype, machine: int) -> Workload:
    """Return tables for the jobs of a site, which are filled in as they arrive."""
    times: dict[str, Any] = {
        name: np.empty(n_rows, dtype) for name in ("submit", "run", "estimate", "wait")
    }
    numbers: dict[str, Any] = {
        name: np.full(n_rows, -1, np.int64) for name in ("row", "job", "user", "queue")
    }
    return Workload(
        **times,
        **numbers,
        procs=np.full(n_rows, machine, np.int64),  # upper limit until the jobs arrive
        killed=np.zeros(n_rows, np.bool_),
        left_out=0,
    )
