"""Laws of response times that are mixtures of Erlang laws."""

from itertools import accumulate

import numpy as np

from queueing.arguments import Floats
from queueing.reopening.averages import TAIL


def phases(shares: Floats, servers: int = 1) -> Floats:
    """Return the mixture of Erlang laws that responses follow, by how many jobs others are met.

    Parameters
    ----------
    shares : ndarray, shape (n,)
        Share of jobs that find m others, or leave m behind; m = 0, 1, ...
    servers : int, default 1

    Returns
    -------
    ndarray
        Share of jobs whose response is Erlang(k + 1) with rate servers / S; k = 0, 1, ...

    Examples
    --------
    >>> phases(np.array([0.5, 0.5])).tolist()
    [0.5, 0.5]
    """
    if servers == 1:
        return shares
    ahead = np.zeros(max(shares.size - servers + 1, 1) + TAIL * servers)
    ahead[0] = shares[:servers].sum()
    ahead[1 : max(shares.size - servers + 1, 1)] = shares[servers:]
    # the service itself: geometrically many phases of all servers together
    stays = 1.0 - 1.0 / servers
    return np.array(list(accumulate((ahead / servers).tolist(), lambda y, x: x + stays * y)))


def survival(weights: Floats, rate: float, t: Floats) -> Floats:
    """Return the probability that a response takes longer than t.

    Parameters
    ----------
    weights : ndarray
        Of `phases`.
    rate : float
        Servers / S.
    t : ndarray
        0 or more.
    """
    from scipy.special import gammaln, xlogy

    x = np.minimum(np.ravel(t) * rate, 1e300)  # nothing is left then, nor at infinity
    k = np.arange(weights.size)
    # longer than t: by then k phases at most have ended, a number that is Poisson
    at_least = np.cumsum(weights[::-1])[::-1]
    longer = np.empty(x.size)
    step = max(1, 2_000_000 // weights.size)
    for begin in range(0, x.size, step):
        some = x[begin : begin + step, None]
        with np.errstate(under="ignore"):
            longer[begin : begin + step] = np.exp(xlogy(k, some) - some - gammaln(k + 1)) @ at_least
    return np.minimum(longer, 1.0).reshape(np.shape(t))


def moment(weights: Floats, rate: float, order: int) -> float:
    """Return the mean of the response to the power `order`; see `survival`."""
    k = np.arange(weights.size, dtype=np.float64)
    term = np.array(weights)
    for i in range(1, order + 1):
        term *= (k + i) / rate
    return float(term.sum())
