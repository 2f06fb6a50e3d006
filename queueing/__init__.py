"""Queueing models with formulas, independent of logs and simulators."""

from workloadkit.queueing import networks, parallel, symbolic
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
from workloadkit.queueing.stations import (
    batches,
    breakdowns,
    dps,
    fb,
    ggc,
    impatient,
    md1,
    mg1,
    mgc,
    mm1,
    mmc,
    mmck,
    mminf,
    priorities,
    ps,
    sjf,
    srpt,
    vacations,
)
from workloadkit.queueing.transient import Transient, time_to_steady, transient

__all__ = [
    "QueueingError",
    "QueueingWarning",
    "Transient",
    "batches",
    "breakdowns",
    "breaks",
    "closed",
    "dps",
    "exponential",
    "fb",
    "ggc",
    "hyperbolic",
    "impatient",
    "kind_of_users",
    "md1",
    "mg1",
    "mgc",
    "mixed",
    "mm1",
    "mmc",
    "mmck",
    "mminf",
    "most_jobs",
    "most_users",
    "networks",
    "operational_phases",
    "parallel",
    "priorities",
    "ps",
    "reopen",
    "service_of_jobs",
    "sjf",
    "srpt",
    "symbolic",
    "table",
    "time_to_steady",
    "times_of_users",
    "transient",
    "users_for_response",
    "vacations",
]
