"""Medians of samples in which users count several times, or not at all."""

import numpy as np

from workloadkit._kernels.compile import kernel


@kernel
def weighted_medians(value, user, n_users, weights):
    """Median for each row of `weights`, for ascending `value`; NaN where all weights are 0.

    `weights` has a column for each user 0..n_users-1: the number of times that each value of the
    user counts.
    """
    n_resamples = weights.shape[0]
    median = np.full(n_resamples, np.nan)
    n_values = np.zeros(n_users)
    for i in range(user.size):
        n_values[user[i]] += 1
    for r in range(n_resamples):
        weight = weights[r]
        total = 0.0
        for u in range(n_users):
            total += weight[u] * n_values[u]
        if not total > 0:  # written so that NaN is left out
            continue
        below = 0.0  # number of values up to here
        i = -1
        while 2 * below < total:
            i += 1
            below += weight[user[i]]
        median[r] = value[i]
        if 2 * below == total:  # the middle lies between two values
            i += 1
            while weight[user[i]] == 0:
                i += 1
            median[r] = (median[r] + value[i]) / 2
    return median
