"""Queueing models with formulas; knows nothing of logs or simulators."""

from queueing.probability import exponential, hyperbolic, table
from queueing.think_time import breaks

__all__ = [
    "breaks",
    "exponential",
    "hyperbolic",
    "table",
]
