"""Shares of time by number of jobs, for closed users and open jobs; waits, which depend on them.

With n_c of N closed users and n_o open jobs at c servers, P(n_o, n_c) is proportional to
C(n_o + n_c, n_c) (lam S)^n_o S^n_c F(n_o + n_c) Z^(N - n_c) / (N - n_c)!; see `users_at_servers`,
also for the waits. Sums over n_o are those of `open_share`.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.open_share import log_sums
from workloadkit.queueing.truncated_poisson import at_most

#: Largest N + servers for which states are summed.
_MOST = 2_000_000


class _States(NamedTuple):
    """Logarithms by number of closed users at the servers, 0, ..., N, with the same factor."""

    without_open: Floats  # Z^(N - k) / (N - k)!, in units of S
    total: Floats
    full: Floats  # all servers busy


@lru_cache(maxsize=4)  # for several times or numbers at one point
def _states(lam: float, N: float, Z: float, S: float, servers: float) -> _States:
    from scipy.special import gammaln, xlogy

    if N != np.floor(N) or N + servers > _MOST:
        raise QueueingError(
            f"N is {N:g}; for distributions of numbers and waits it must be whole, and N + servers "
            f"at most {_MOST:,}"
        )
    k = np.arange(N + 1)
    thinking = xlogy(N - k, Z) - gammaln(N - k + 1) + xlogy(k, S)
    sums, full = log_sums(np.arange(1.0, servers + 1), lam * S, int(N))
    scale = (thinking + sums).max()
    return _States(thinking - scale, thinking + sums - scale, thinking + full - scale)


def number(n: Floats, lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats) -> Floats:
    """Return P(n jobs at the servers), arrays of one shape."""
    from scipy.special import gammaln, xlogy

    found = np.full(n.shape, np.nan)
    for place in _known(lam):
        states = _states(lam[place], N[place], Z[place], S[place], servers[place])
        m, c, load = n[place], servers[place], lam[place] * S[place]
        k = np.arange(min(m, N[place]) + 1)
        terms = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1) + xlogy(m - k, load)
        speed = gammaln(min(m, c) + 1) + max(m - c, 0) * np.log(c)
        weight = np.exp(states.without_open[: k.size] + terms - speed).sum()
        found[place] = weight / np.exp(states.total).sum()
    return found


def all_busy(lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats) -> Floats:
    """Return the share of time in which all servers are busy, arrays of one shape."""
    found = np.full(lam.shape, np.nan)
    for place in _known(lam):
        found[place] = _busy(lam[place], N[place], Z[place], S[place], servers[place])
    return found


@lru_cache(maxsize=64)
def _busy(lam: float, N: float, Z: float, S: float, servers: float) -> float:
    states = _states(lam, N, Z, S, servers)
    return float(np.exp(states.full).sum() / np.exp(states.total).sum())


def wait_survival(
    t: Floats, lam: Floats, met: Floats, Z: Floats, S: Floats, servers: Floats
) -> Floats:
    """Return P(wait > t) of jobs that arrive while `met` other closed users exist."""
    from scipy.special import gammaln, xlog1py, xlogy

    found = np.full(t.shape, np.nan)
    for place in _known(lam):
        c, n = servers[place], met[place]
        if S[place] == 0:
            found[place] = 0.0
            continue
        rho = lam[place] * S[place] / c
        stage = S[place] / (c * (1 - rho))
        j = np.arange(min(c, n) + 1)
        chosen = gammaln(c + 1) - gammaln(j + 1) - gammaln(c - j + 1)
        share = np.exp(chosen + xlogy(c - j, rho) + xlog1py(j, -rho))
        before = np.full(j.shape, Z[place] / stage)
        after = np.full(j.shape, (Z[place] + t[place]) / stage)
        least = share @ at_most(n - j, before)
        later = share @ at_most(n - j, after) if t[place] < np.inf else 0.0
        busy = _busy(lam[place], n, Z[place], S[place], c)
        found[place] = busy * later / least if least > 0 else 0.0
    return found


def _known(lam: Floats) -> list[tuple[int, ...]]:
    return [place for place in np.ndindex(lam.shape) if not np.isnan(lam[place])]
