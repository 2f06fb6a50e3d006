"""The models in symbols: measures as rational functions, exact for numbers as given."""

from queueing.symbolic.expressions import Expressions
from queueing.symbolic.returning import reopen
from queueing.symbolic.servers import closed, mixed
from queueing.symbolic.stations import network

__all__ = ["Expressions", "closed", "mixed", "network", "reopen"]
