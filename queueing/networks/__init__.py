"""Networks of stations: exact and approximate solutions, bounds, and operational laws."""

from workloadkit.queueing.networks.approximate import bard_schweitzer, linearizer
from workloadkit.queueing.networks.bounding import Bounds, Interval, bounds
from workloadkit.queueing.networks.checking import CheckedLaw, CheckedLaws, check_operational
from workloadkit.queueing.networks.convolving import convolution
from workloadkit.queueing.networks.in_states import jobs_at
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
from workloadkit.queueing.networks.mean_values import mva
from workloadkit.queueing.networks.model import NetworkResult
from workloadkit.queueing.networks.open_classes import mixed_mva, open_network
from workloadkit.queueing.networks.routing import jackson, qna, sojourn
from workloadkit.queueing.networks.switching import SwitchingResult, class_switching

__all__ = [
    "Bottleneck",
    "Bounds",
    "CheckedLaw",
    "CheckedLaws",
    "Interval",
    "NetworkResult",
    "Observation",
    "SwitchingResult",
    "bard_schweitzer",
    "bottleneck",
    "bounds",
    "check_operational",
    "class_switching",
    "convolution",
    "forced_flow_law",
    "interactive_response_time",
    "jackson",
    "jobs_at",
    "linearizer",
    "littles_law",
    "mixed_mva",
    "mva",
    "observe",
    "open_network",
    "qna",
    "sojourn",
    "utilization_law",
]
