"""Assignment of a given set of estimates to jobs."""

import numpy as np

from workloadkit._kernels.compile import kernel


@kernel
def assign_estimates(run, pool, rng):
    """Return estimates of jobs by descending `run`, drawn from those of `pool` not below it.

    `pool` descends, has as many estimates as there are jobs, and none is below the run time at
    its place.
    """
    left = pool.copy()  # from `job` on: estimates that are not assigned yet
    estimate = np.empty(run.size)
    enough = 0  # estimates before this place are not below the run time of the job
    for job in range(run.size):
        while enough < run.size and pool[enough] >= run[job]:
            enough += 1
        k = rng.integers(job, enough)
        estimate[job] = left[k]
        left[k] = left[job]
    return estimate
