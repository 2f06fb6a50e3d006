"""Queueing models with formulas; knows nothing of logs or simulators."""

from queueing.errors import QueueingError, QueueingWarning
from queueing.probability import exponential, hyperbolic, table
from queueing.product_form import closed, mixed
from queueing.reopening.model import reopen
from queueing.think_time import breaks

__all__ = [
    "QueueingError",
    "QueueingWarning",
    "breaks",
    "closed",
    "exponential",
    "hyperbolic",
    "mixed",
    "reopen",
    "table",
]
