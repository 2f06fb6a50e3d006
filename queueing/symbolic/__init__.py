"""Symbolic models: measures as rational functions, exact for given numbers."""

from workloadkit.queueing.symbolic.expressions import Expressions
from workloadkit.queueing.symbolic.returning import reopen
from workloadkit.queueing.symbolic.servers import closed, mixed
from workloadkit.queueing.symbolic.stations import network

__all__ = ["Expressions", "closed", "mixed", "network", "reopen"]
