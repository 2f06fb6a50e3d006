"""Symbolic models: measures as rational functions, exact for given numbers."""

from workloadkit.queueing.symbolic.expressions import Expressions, reopen
from workloadkit.queueing.symbolic.servers import closed, mixed, network

__all__ = ["Expressions", "closed", "mixed", "network", "reopen"]
