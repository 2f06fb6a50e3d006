"""Queueing models with formulas, independent of logs and simulators."""

from workloadkit.queueing import networks, symbolic
from workloadkit.queueing.errors import QueueingError, QueueingWarning
from workloadkit.queueing.inverse import (
    kind_of_users,
    most_jobs,
    most_users,
    service_of_jobs,
    times_of_users,
    users_for_response,
)
from workloadkit.queueing.mixed_reopen import mixed
from workloadkit.queueing.probability import breaks, exponential, hyperbolic, table
from workloadkit.queueing.product_form import closed, operational_phases
from workloadkit.queueing.reopening.model import reopen
from workloadkit.queueing.stations import md1, mg1, mm1, mmc, mmck, mminf
from workloadkit.queueing.transient import Transient, time_to_steady, transient

__all__ = [
    "QueueingError",
    "QueueingWarning",
    "Transient",
    "breaks",
    "closed",
    "exponential",
    "hyperbolic",
    "kind_of_users",
    "md1",
    "mg1",
    "mixed",
    "mm1",
    "mmc",
    "mmck",
    "mminf",
    "most_jobs",
    "most_users",
    "networks",
    "operational_phases",
    "reopen",
    "service_of_jobs",
    "symbolic",
    "table",
    "time_to_steady",
    "times_of_users",
    "transient",
    "users_for_response",
]
