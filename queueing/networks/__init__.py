"""Networks of stations: exact and approximate solutions, bounds, and operational laws."""

from workloadkit.queueing.networks.approximate import bard_schweitzer, linearizer
from workloadkit.queueing.networks.bounding import Bounds, Interval, bounds
from workloadkit.queueing.networks.checking import CheckedLaw, CheckedLaws, check_operational
from workloadkit.queueing.networks.convolving import convolution
from workloadkit.queueing.networks.laws import (
    Bottleneck,
    bottleneck,
    forced_flow_law,
    interactive_response_time,
    littles_law,
    utilization_law,
)
from workloadkit.queueing.networks.mean_values import mva
from workloadkit.queueing.networks.mixing import mixed_mva
from workloadkit.queueing.networks.observing import Observation, observe
from workloadkit.queueing.networks.result import NetworkResult

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
