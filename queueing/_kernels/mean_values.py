"""Mean value analysis of one server and thinking users."""

from workloadkit.queueing._kernels import kernel


@kernel
def numbers_at_server(n, a, number):
    """Write into `number` the mean number of n[i] users at the server, with think time a[i]."""
    for i in range(n.size):
        q = 0.0
        for m in range(1, int(n[i]) + 1):
            q = m * (1.0 + q) / (1.0 + q + a[i])
        number[i] = q
