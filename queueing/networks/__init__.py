"""Networks of stations: exact and approximate solutions, bounds, and operational laws."""

from workloadkit.queueing.networks.approximate import bard_schweitzer, linearizer
from workloadkit.queueing.networks.bounding import Bounds, Interval, bounds
from workloadkit.queueing.networks.checking import CheckedLaw, CheckedLaws, check_operational
from workloadkit.queueing.networks.convolving import convolution
from workloadkit.queueing.networks.laws import (
    Bottleneck,
    Observation,
    bottleneck,
    forced_flow_law,
    interactive_response_time,
    littles_law,
    observe,
    utilization_law,
)
from workloadkit.queueing.networks.mean_values import mixed_mva, mva
from workloadkit.queueing.networks.model import NetworkResult

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
