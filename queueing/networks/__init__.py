"""Networks of stations: exact and approximate solutions, bounds, and operational laws."""

from queueing.networks.approximate import bard_schweitzer, linearizer
from queueing.networks.bounding import Bounds, Interval, bounds
from queueing.networks.checking import CheckedLaw, CheckedLaws, check_operational
from queueing.networks.convolving import convolution
from queueing.networks.laws import (
    Bottleneck,
    bottleneck,
    forced_flow_law,
    interactive_response_time,
    littles_law,
    utilization_law,
)
from queueing.networks.mean_values import mva
from queueing.networks.mixing import mixed_mva
from queueing.networks.observing import Observation, observe
from queueing.networks.result import NetworkResult

__all__ = [
    "Bottleneck",
    "Bounds",
    "CheckedLaw",
    "CheckedLaws",
    "Interval",
    "NetworkResult",
    "Observation",
    "bard_schweitzer",
    "bottleneck",
    "bounds",
    "check_operational",
    "convolution",
    "forced_flow_law",
    "interactive_response_time",
    "linearizer",
    "littles_law",
    "mixed_mva",
    "mva",
    "observe",
    "utilization_law",
]
