"""Waits for one of several servers: Erlang's formula, and approximations for general laws."""

from typing import Any

import numpy as np

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.truncated_poisson import all_think
from workloadkit.queueing.users_at_servers import idle_share


def erlang_c(load: Any, servers: Floats, idle: Any) -> Any:
    """Return the probability to wait from the loss probability without a queue (Erlang's B)."""
    shape = np.shape(load)
    n, a = np.ravel(servers), np.ravel(np.real(load))
    known = ~np.isnan(a)
    lost = np.full(n.shape, np.nan)
    lost[known] = all_think(n[known], a[known])
    if np.iscomplexobj(load):
        slope = np.full(n.shape, np.nan)
        slope[known] = n[known] * all_think(n[known], a[known], -1)
        slope += lost * (lost - 1)
        lost = lost + 1j * slope * np.ravel(np.imag(load))
    lost = lost.reshape(shape)
    return lost / (idle + (1 - idle) * lost)


def general_wait(
    lam: Floats, S: Floats, servers: Floats, scv_arrivals: Floats, scv: Floats
) -> Floats:
    """Return the approximate mean wait of GI/G/c, from two moments.

    That of M/M/c times (ca² + cs²)/2 (A. O. Allen 1978, with J. H. Cunneen); for one server and
    ca² < 1 also times the factor of W. Krämer and M. Langenbach-Belz, "Approximate formulae for the
    delay in the queueing system GI/G/1", 8th International Teletraffic Congress, 1976.
    """
    idle = idle_share(lam, S, servers)
    exponential = erlang_c(lam * S, servers, idle) * S / (servers * idle)
    both = scv_arrivals + scv
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = -2 * idle * (1 - scv_arrivals) ** 2 / (3 * (1 - idle) * both)
    regular = (servers == 1) & (scv_arrivals < 1)
    factor = np.where(regular & np.isfinite(exponent), np.exp(exponent), 1.0)
    return np.where(both == 0, 0.0, both / 2 * exponential * factor)
