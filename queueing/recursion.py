"""Mean value analysis by recursion over users: the readable form of the closed model."""

import numpy as np

from workloadkit.queueing.arguments import Floats


def mean_values(N: int, Z: float, S: float) -> tuple[float, float, float]:
    """Return throughput, response time and number at one exponential server, by recursion [1]_.

    A job of one of n users sees the server in its mean state with n − 1 users (arrival theorem),
    waits for the jobs there, and is served: R(n) = S (1 + Q(n − 1)). The interactive law gives
    X(n) = n / (R(n) + Z), and Little's law Q(n) = X(n) R(n). Nothing is subtracted, so no digits
    are lost for any N.

    `closed(N, Z, S, method="mva")` is the compiled form for arrays; `closed(N, Z, S)` needs no
    recursion. If open jobs take a share lam S of the server, replace S by S / (1 − lam S).

    Parameters
    ----------
    N : int
        Users; 1 or more.
    Z : float
        Mean think time.
    S : float
        Mean service time.

    Returns
    -------
    X, R, Q : float

    References
    ----------
    .. [1] M. Reiser, S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks",
       Journal of the ACM 27(2), 1980.

    Examples
    --------
    With two users and Z = S, the other user is met with probability 1/2:

    >>> mean_values(2, Z=1, S=1)
    (0.8, 1.5, 1.2000000000000002)
    """
    Q = 0.0
    for n in range(1, N + 1):
        R = S * (1 + Q)
        X = n / (R + Z)
        Q = X * R
    return X, R, Q


def numbers_at_server(n: Floats, a: Floats) -> Floats:
    """Return the mean number of n users (whole) at the server, by recursion; see above.

    `a` is mean think time / mean service time; see `truncated_poisson.number_at_server`.
    """
    from workloadkit.queueing._kernels import mean_values as kernels

    number = np.zeros(n.size)
    kernels.numbers_at_server(np.ravel(n), np.ravel(a), number)
    return number.reshape(n.shape)
