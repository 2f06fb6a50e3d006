"""Mean value analysis of one class of jobs at several stations."""

import numpy as np

from workloadkit.queueing._kernels.compile import kernel


@kernel
def times_at_stations(N, Z, demand, waits, X, residence):
    """Write throughputs into `X` and residence times into `residence`, by point.

    `waits` is 1 for queueing stations and 0 for delay stations.
    """
    met = np.empty(demand.size)
    for i in range(N.size):
        met[:] = 0.0
        for n in range(1, int(N[i]) + 1):
            total = Z[i]
            for k in range(demand.size):
                residence[i, k] = demand[k] * (1.0 + waits[k] * met[k])
                total += residence[i, k]
            X[i] = n / total
            for k in range(demand.size):
                met[k] = X[i] * residence[i, k]
