"""The local jobs of a site as they would be served without meta jobs."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.metasystem.prepared import PreparedSite
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.engines import play_log_compiled, play_plain, play_users_plain
from workloadkit.simulation.users.behaviour import OpenUsers
from workloadkit.simulation.workload import Workload


def served_alone(each: PreparedSite) -> tuple[Workload, NDArray]:
    """Return the local jobs of a site, and their starts, without meta jobs."""
    policy, name = each.policy, each.policy.name
    if each.users is not None:
        played = play_users_plain(policy, name, each.rules, each.users)
        _, workload, _ = each.users.result(played.workload, played.notes, each.rules.machine)
        return workload, played.outcome.start
    workload = each.workload
    if not workload.job.size:
        return workload, workload.submit
    if isinstance(policy, Scheduler) or each.machine is not None:
        users = OpenUsers().plain(workload)
        return workload, play_plain(policy, name, each.rules, users)[1].start
    return workload, play_log_compiled(policy, name, workload, each.rules).outcome.start


def wait_alone(each: PreparedSite, workload: Workload, start: NDArray) -> NDArray:
    """Return the wait of each local job without meta jobs; NaN where it is unknown."""
    wait, row = start - workload.submit, each.workload.row
    if np.array_equal(row, workload.row) and each.trace is not None:
        return wait
    found = np.full(row.size, np.nan)
    if each.trace is not None:
        _, here, there = np.intersect1d(row, workload.row, return_indices=True)
        found[here] = wait[there]
    return found
