"""What open jobs leave of a station, as sums over their numbers.

W(n) = Σ_m C(n + m, m) u^m F(n + m), with F(i) = 1 / (s(1) ... s(i)) for the speed s(i) with i jobs,
weighs the states with n closed jobs and any number m of open ones, which need the time u per unit
of time. From the last speed on, F is geometric, and the sum a negative binomial tail.
"""

import numpy as np

from workloadkit.queueing.arguments import Floats


def log_sums(speeds: Floats, busy: float, most: int) -> tuple[Floats, Floats]:
    """Return ln W(n), and its part in which the last speed is reached, for n = 0, ..., most.

    Parameters
    ----------
    speeds : ndarray, shape (c,)
        Speeds with 1, 2, ... jobs; the last applies to more.
    busy : float
        u, below the last speed.
    most : int
    """
    from scipy.special import betainc, gammaln, logsumexp, xlogy

    count, last = speeds.size, speeds[-1]
    passed = np.concatenate(([0.0], np.cumsum(np.log(speeds))))  # -ln F
    share = busy / last
    n = np.arange(most + 1.0)
    full = (count - n) * np.log(last) - passed[count] - (n + 1) * np.log1p(-share)
    few = np.arange(min(count, most + 1))
    with np.errstate(divide="ignore"):
        full[few] += np.log(betainc(count - few, few + 1, share))
    total = full.copy()
    for k in few.tolist():
        m = np.arange(count - k)
        terms = gammaln(k + m + 1) - gammaln(k + 1) - gammaln(m + 1)
        total[k] = logsumexp([*(terms + xlogy(m, busy) - passed[k + m]), full[k]])
    return total, full
