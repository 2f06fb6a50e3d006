"""Scaling of a log's load: run times, sizes, machine."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import check_positive
from workloadkit.fields import MAX_PROCS, MAX_TIME
from workloadkit.settings import Simulate
from workloadkit.settings.simulation import Arriving, UtilityAt
from workloadkit.simulation.workload import USUAL, Workload, that_ran
from workloadkit.simulation.workload.from_log import are_whole, factor_for, make_workload
from workloadkit.trace import Trace
from workloadkit.units import amounts_of, described_amount


@dataclass(frozen=True)
class AsWorkload:
    """The rules that turn a log into a workload, as a callable.

    Parameters
    ----------
    machine : int
        Processors of the machine.
    settings : Arriving
        Its `overrun` is not "header".
    utility_at : {"turnaround", "start"}
    of_any_size : bool
        Whether jobs larger than the machine are kept.
    described : object, optional
        A machine that has a description: it admits the jobs that fit it.
    reacting : bool
        Whether users react, see `make_workload`.
    decimals : bool
        Whether times are decimals even if their values are whole.
    """

    machine: int
    settings: Arriving = USUAL
    utility_at: UtilityAt = "turnaround"
    of_any_size: bool = False
    described: Any = None
    reacting: bool = False
    decimals: bool = False

    @classmethod
    def by(cls, settings: Simulate, machine: int, **others: Any) -> "AsWorkload":
        """Return the rules of these settings; the number of processors may be scaled."""
        kept = settings.into(Arriving, procs=None, outages=None)
        return cls(machine, kept, settings.utility_at, **others)

    def scaled(self, trace: Trace) -> Trace:
        """Return the log with run times and sizes scaled, if requested."""
        asked = self.settings
        return scaled_log(trace, self.machine, runs=asked.scale_runs, sizes=asked.scale_sizes)

    def of(self, scaled: Trace) -> Workload:
        """Return the workload of a log that has been scaled."""
        workload = self._made(scaled, self.settings)
        if self.settings.offered_load is not None and self.settings.unit != scaled.unit:
            workload = self._made(scaled, self._by_amounts(scaled))
        if self.described is None:
            return workload
        drops = self.settings.oversize == "drop"
        return self.described.admit(scaled, workload, drops=drops)

    def _by_amounts(self, scaled: Trace) -> Arriving:
        """Return settings that give the offered load in a unit that is not that of the sizes."""
        asked = self.settings
        as_it_is = replace(asked, offered_load=None)
        jobs = self._made(scaled, as_it_is)
        machine = described_amount(self.described.description, asked.unit)
        ran, held = that_ran(jobs), amounts_of(scaled, asked.unit)[jobs.row]
        work = float(np.nansum((jobs.run * held)[ran]))
        factor = factor_for(jobs.submit, work, machine, asked.offered_load or np.nan)
        return replace(as_it_is, scale_arrivals=factor)

    def _made(self, scaled: Trace, settings: Arriving) -> Workload:
        """Return the workload of a log, before a machine admits its jobs."""
        return make_workload(
            scaled,
            self.machine,
            settings,
            utility_at=self.utility_at,
            of_any_size=self.of_any_size,
            reacting=self.reacting,
            decimals=self.decimals,
        )

    def __call__(self, trace: Trace) -> Workload:
        """Return the workload of a log."""
        return self.of(self.scaled(trace))


def scaled_log(trace: Trace, machine: int, *, runs: float = 1.0, sizes: float = 1.0) -> Trace:
    """Scale the run times and sizes of a log's jobs by common factors [1]_.

    Estimates, MaxRuntime in the header and what a run bounds, such as the CPU time, are scaled with
    the run times; no estimate becomes 0. Utility functions and recorded waits do not change.

    Parameters
    ----------
    trace : Trace
    machine : int
        Processors of the machine: jobs that fit do not grow larger than it.
    runs : float, default 1
        Factor of run times and estimates; rounded, half up, if the times of all jobs that ran are
        whole seconds.
    sizes : float, default 1
        Factor of requested and used processors, rounded, half up, to at least one.

    Returns
    -------
    Trace
        The same log if both factors are 1.

    Raises
    ------
    ParameterError
        If a factor is not positive.

    References
    ----------
    .. [1] E. Frachtenberg, D. G. Feitelson, "Pitfalls in parallel job scheduling evaluation",
       JSSPP 2005, pitfall 26: side effects of each of these changes.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 0, 0], "run": [10, 5, 9], "procs": [1, 3, 8]})
    >>> made = scaled_log(log, 10, runs=0.5, sizes=1.5)
    >>> made.column("run").tolist(), made.column("procs").tolist()
    ([5.0, 3.0, 5.0], [2.0, 5.0, 10.0])
    """
    check_positive(scale_runs=runs, scale_sizes=sizes)
    if runs == sizes == 1:
        return trace
    from workloadkit.following import executed_otherwise

    columns = {}
    header = trace.header
    if runs != 1:
        run, requested = trace.column("run"), trace.column("requested_time")
        ran, known = trace.ran, requested >= 0  # False for NaN
        whole = are_whole(trace.column("submit")[ran], run[ran], requested[ran & known])
        columns["run"] = _scaled_times(run, runs, whole)
        columns["requested_time"] = _scaled_requests(requested, runs, whole)
        if limit := header.number("MaxRuntime"):
            limit = _scaled_requests(np.array([float(limit)]), runs, whole=True)[0]
            header = header.replaced("MaxRuntime", f"{min(limit, MAX_TIME):.0f}")
    if sizes != 1:
        for name in ("procs", "requested_procs"):
            columns[name] = _scaled_sizes(trace.column(name), sizes, machine)
    return replace(executed_otherwise(trace, **columns), header=header)


def scaled_machine(machine: int, factor: float) -> int:
    """Scale the processors of a machine: rounded, half up, at least one.

    Examples
    --------
    >>> scaled_machine(96, 0.5), scaled_machine(3, 0.5), scaled_machine(1, 0.1)
    (48, 2, 1)
    """
    check_positive(scale_machine=factor)
    return int(min(max(np.floor(machine * factor + 0.5), 1), MAX_PROCS))


def _scaled_times(times: NDArray, factor: float, whole: bool) -> NDArray:
    """Scale times; unknown and other negative ones do not change."""
    known = times >= 0  # False for NaN
    with np.errstate(over="ignore"):  # infinite times are refused later
        scaled = times * factor
    if whole:
        scaled = np.floor(scaled + 0.5)
    return np.where(known, scaled, times)


def _scaled_requests(times: NDArray, factor: float, whole: bool) -> NDArray:
    """Scale requested times; whole ones stay at least one second."""
    scaled = _scaled_times(times, factor, whole)
    return np.where((scaled == 0) & (times > 0), 1.0, scaled) if whole else scaled


def _scaled_sizes(procs: NDArray, factor: float, machine: int) -> NDArray:
    """Scale numbers of processors; those that fit into the machine still do."""
    with np.errstate(over="ignore"):
        scaled = np.maximum(np.floor(procs * factor + 0.5), 1)
    scaled = np.where(procs <= machine, np.minimum(scaled, machine), scaled)
    return np.where(procs > 0, scaled, procs)  # False for NaN
