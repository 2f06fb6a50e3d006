"""Response times as mixtures of Erlang distributions."""

from itertools import accumulate

import numpy as np

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.reopening.averages import TAIL


def phases(shares: Floats, servers: int = 1) -> Floats:
    """Return the Erlang mixture of response times, from the numbers of other jobs met.

    Parameters
    ----------
    shares : ndarray, shape (n,)
        Share of jobs that find, or leave behind, m other jobs; m = 0, 1, ...
    servers : int, default 1

    Returns
    -------
    ndarray
        Share of jobs with an Erlang(k + 1) response time of rate servers / S; k = 0, 1, ...

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
    # the service is a geometric number of phases at the rate of all servers
    stays = 1.0 - 1.0 / servers
    return np.array(list(accumulate((ahead / servers).tolist(), lambda y, x: x + stays * y)))


def survival(weights: Floats, rate: float, t: Floats) -> Floats:
    """Return P(response > t), for `weights` from `phases` and rate servers / S."""
    from scipy.special import gammaln, xlogy

    x = np.minimum(np.ravel(t) * rate, 1e300)  # the survival is 0 there and at infinity
    k = np.arange(weights.size)
    # response > t: at most k phases, a Poisson number, have ended by t
    at_least = np.cumsum(weights[::-1])[::-1]
    longer = np.empty(x.size)
    step = max(1, 2_000_000 // weights.size)
    for begin in range(0, x.size, step):
        some = x[begin : begin + step, None]
        with np.errstate(under="ignore"):
            longer[begin : begin + step] = np.exp(xlogy(k, some) - some - gammaln(k + 1)) @ at_least
    return np.minimum(longer, 1.0).reshape(np.shape(t))


def moment(weights: Floats, rate: float, order: int) -> float:
    """Return E[response^order]; see `survival`."""
    k = np.arange(weights.size, dtype=np.float64)
    term = np.array(weights)
    for i in range(1, order + 1):
        term *= (k + i) / rate
    return float(term.sum())
