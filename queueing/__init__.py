"""Queueing models with formulas, independent of logs and simulators."""

from queueing import networks, symbolic
from queueing.errors import QueueingError, QueueingWarning
from queueing.inverse import (
    kind_of_users,
    most_jobs,
    most_users,
    service_of_jobs,
    times_of_users,
    users_for_response,
)
from queueing.phases import operational_phases
from queueing.probability import exponential, hyperbolic, table
from queueing.product_form import closed, mixed
from queueing.reopening.model import reopen
from queueing.stations import md1, mg1, mm1, mmc, mmck, mminf
from queueing.think_time import breaks

__all__ = [
    "QueueingError",
    "QueueingWarning",
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
    "times_of_users",
    "users_for_response",
]
