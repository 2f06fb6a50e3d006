"""Orders of waiting jobs: the numbers that jobs are sorted by, smallest first.

Both engines call these functions, the plain one by `in_python`, so that they sort by the same bits.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workloadkit._kernels.compile import helper, kernel

# Orders that vary with time, for `order_by`.
WFP3, UNICEF = range(2)


@helper
def wfp3(now, submit, estimate, procs, user):
    """(wait / estimate)³ · processors, the largest first."""
    stretch = float(now - submit) / float(estimate)
    return -(stretch * stretch * stretch * procs)  # a power may round otherwise once compiled


@helper
def unicef(now, submit, estimate, procs, user):
    """Wait / (max(log2 processors, 1) · estimate), the largest first."""
    return -(float(now - submit) / (max(math.log2(procs), 1.0) * float(estimate)))


@helper
def order_by(order, now, submit, estimate, procs, user):
    """One of the orders that vary with time."""
    if order == WFP3:
        return wfp3(now, submit, estimate, procs, user)
    return unicef(now, submit, estimate, procs, user)


@helper
def f1(first, submit, estimate, procs):
    """log10(estimate) · processors + 870 · log10(max(submit - first, 1)), the smallest first."""
    return math.log10(estimate) * procs + 870.0 * math.log10(max(submit - first, 1))


@kernel
def f1_of_all(submit, estimate, procs):
    """F1 of each job of a log."""
    value = np.empty(submit.size)
    for job in range(submit.size):
        value[job] = f1(submit[0], submit[job], estimate[job], procs[job])
    return value


def in_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as it was before it was compiled, if it was."""
    return getattr(function, "py_func", function)
