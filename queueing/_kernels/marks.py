"""Sweeps over the states of a line of jobs, each marked or not."""

from queueing._kernels.compile import kernel


@kernel
def sweep(share, lam, theta, Z, S, servers, most_jobs, most_thinking):
    """Balance every state in turn, with n ascending: what flows out is what flows in.

    `share` has a row for each line: the n jobs of which the i-th from the head is marked if bit i
    of `line` is set have the row 2^n − 1 + line; and a column for each number of users who think.
    Arrivals that would make more than `most_jobs` are lost; users who would think as one too many
    are gone.
    """
    for n in range(most_jobs + 1):
        serving = min(n, servers)
        serving_longer = min(n + 1, servers)
        for line in range(1 << n):
            row = (1 << n) - 1 + line
            marked = 0
            for i in range(n):
                marked += (line >> i) & 1
            newest_unmarked = n > 0 and not (line >> (n - 1)) & 1
            for k in range(most_thinking + 1):
                out = serving / S + theta * (n - marked)
                if n < most_jobs:
                    out += lam
                    if Z > 0:
                        out += k / Z
                flow = 0.0
                if newest_unmarked:
                    flow += lam * share[row - (1 << (n - 1)), k]
                    if Z > 0 and k < most_thinking:
                        flow += (k + 1) / Z * share[row - (1 << (n - 1)), k + 1]
                for i in range(n):
                    if (line >> i) & 1:
                        flow += theta * share[row - (1 << i), k]
                if n < most_jobs:
                    for i in range(serving_longer):
                        low = line & ((1 << i) - 1)
                        before = (1 << (n + 1)) - 1 + low + ((line >> i) << (i + 1))
                        flow += share[before + (1 << i), k] / S
                        if Z > 0:
                            if k > 0:
                                flow += share[before, k - 1] / S
                            if k == most_thinking:
                                flow += share[before, k] / S
                if Z == 0 and newest_unmarked:
                    # who goes on at once leaves the line at i, unmarked, and joins it again
                    for i in range(serving):
                        before = (line & ((1 << i) - 1)) + ((line >> i) << (i + 1))
                        if before == line:
                            out -= 1.0 / S
                        else:
                            flow += share[(1 << n) - 1 + before, k] / S
                share[row, k] = flow / out
