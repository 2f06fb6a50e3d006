"""Symbolic models: measures as rational functions, exact for given numbers."""

from queueing.symbolic.expressions import Expressions
from queueing.symbolic.returning import reopen
from queueing.symbolic.servers import closed, mixed
from queueing.symbolic.stations import network

__all__ = ["Expressions", "closed", "mixed", "network", "reopen"]
