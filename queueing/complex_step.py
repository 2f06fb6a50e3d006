"""Derivatives by the complex-step method.

For an analytic function, the imaginary part that results from an imaginary step of a real parameter
is the derivative times the step, exact up to rounding: the square of a step of 1e-20 vanishes
(W. Squire, G. Trapp, "Using complex variables to estimate derivatives of real functions", SIAM
Review 40(1), 1998).
"""

import numpy as np

from workloadkit.queueing.arguments import Floats


def steps(value: Floats) -> Floats:
    """Return steps for a non-negative parameter: far below it, but not denormal.

    Examples
    --------
    >>> x = np.array([2.0, 0.0])
    >>> h = steps(x)
    >>> (np.imag((x + 1j * h) ** 2) / h).tolist()
    [4.0, 0.0]
    """
    return np.where(value == 0, 1e-30, np.maximum(1e-20 * value, 1e-305))
