"""Mean value analysis of one server and users who think."""

from queueing._kernels.compile import kernel


@kernel
def numbers_at_server(n, a, number):
    """Write into `number` how many of n[i] users are at the server, thinking a[i] services."""
    for i in range(n.size):
        q = 0.0
        for m in range(1, int(n[i]) + 1):
            q = m * (1.0 + q) / (1.0 + q + a[i])
        number[i] = q
