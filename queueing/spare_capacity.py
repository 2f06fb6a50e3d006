"""Capacity left by open jobs, computed without loss of digits."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workloadkit.queueing.arguments import Condition, Flags, Floats

_SPLIT = 134217729.0  # 2^27 + 1


def idle_share(lam: Any, S: Any, servers: Floats | float = 1.0) -> Any:
    """Return 1 − lam S / servers with an exact product, so no digits are lost if lam S is near c.

    Either factor may be complex, for derivatives; then the real part is exact.

    Examples
    --------
    >>> S = np.array(1 / 3)
    >>> float(idle_share(np.array(3.0), S)), float(1 - 3.0 * S)
    (5.551115123125783e-17, 0.0)
    """
    if np.iscomplexobj(lam) or np.iscomplexobj(S):
        return idle_share(np.real(lam), np.real(S), servers) - 1j * np.imag(lam * S) / servers
    x, x_scale = np.frexp(lam)
    y, y_scale = np.frexp(S)
    product = x * y
    # T. J. Dekker, "A floating-point technique for extending the available precision", 1971:
    # halves of 26 bits, whose products are exact
    x_high, y_high = _high(x), _high(y)
    x_low, y_low = x - x_high, y - y_high
    rest = x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)
    scale = x_scale + y_scale
    return ((servers - np.ldexp(product, scale)) - np.ldexp(rest, scale)) / servers


def stable(condition: str = "be below servers / S, their capacity") -> Condition:
    """Return the condition that open jobs leave some of the servers' capacity."""

    def holds(p: Mapping[str, Floats]) -> Flags:
        with np.errstate(over="ignore", invalid="ignore"):
            return idle_share(p["lam"], p["S"], p.get("servers", 1.0)) > 0

    return Condition("lam", holds, condition)


def _high(x: Floats) -> Floats:
    shifted = _SPLIT * x
    return shifted - (shifted - x)
