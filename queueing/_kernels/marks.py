"""Sweeps over the states of a queue of marked and unmarked jobs."""

from workloadkit.queueing._kernels.compile import kernel


@kernel
def sweep(share, lam, theta, Z, S, servers, most_jobs, most_thinking):
    """Balance the flows into and out of every state, by ascending n.

    `share` has one row per queue: n jobs, with the i-th from the head marked if bit i of `line` is
    set, have row 2^n − 1 + line; columns are numbers of thinking users. Arrivals beyond `most_jobs`
    are lost; thinking users beyond the maximum leave.
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
                    # a user who continues immediately leaves the queue at i, unmarked, and joins it
                    # again
                    for i in range(serving):
                        before = (line & ((1 << i) - 1)) + ((line >> i) << (i + 1))
                        if before == line:
                            out -= 1.0 / S
                        else:
                            flow += share[(1 << n) - 1 + before, k] / S
                share[row, k] = flow / out
