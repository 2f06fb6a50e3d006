"""Jobs that a meta-scheduler sends to sites of one processor: the same as one queue for all."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workloadkit.metasystem import JobSource, MetaScheduler, Metasystem, Site
from workloadkit.metasystem.jobs import prepare
from workloadkit.metasystem.policies import LeastWork
from workloadkit.metasystem.simulate import play
from workloadkit.simulation.schedule import Schedule
from workloadkit.trace import Trace


def starts_on_sites(schedule: Schedule, n_sites: int) -> NDArray[np.float64]:
    """Return the starts of jobs of one processor on sites, by the least remaining work.

    If sites publish at each submission, and run times are known, each job goes to the site that is
    free first, so that the sites serve them as one queue, first come, first served [1]_.

    References
    ----------
    .. [1] J. Kiefer, J. Wolfowitz, "On the theory of queues with many servers", Transactions of the
       American Mathematical Society 78(1), 1955.
    """
    w = schedule.workload
    log = Trace.from_columns({"submit": w.submit, "run": w.run, "procs": w.procs})
    system = Metasystem(
        sites=[Site(f"site {m + 1}", procs=1, scheduler="fcfs") for m in range(n_sites)],
        meta_schedulers=[MetaScheduler("all", "least-work", [JobSource(log=log)])],
        estimates="exact",
    )
    prepared = prepare(system)
    jobs = replace(prepared.jobs, estimate=prepared.jobs.run)  # also below one second
    return play(replace(prepared, jobs=jobs), [LeastWork()]).served.start.astype(np.float64)
