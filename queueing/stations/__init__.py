"""Open stations: jobs arrive in a Poisson process, independently of earlier jobs."""

from workloadkit.queueing.stations.any_service import batches, md1, mg1, vacations
from workloadkit.queueing.stations.approximate import ggc, mgc
from workloadkit.queueing.stations.breaking import breakdowns
from workloadkit.queueing.stations.bulk import bulk_service, fork_join
from workloadkit.queueing.stations.exponential_service import Open, mm1, mmc, mminf
from workloadkit.queueing.stations.finite_sources import closed_priorities
from workloadkit.queueing.stations.impatient import impatient
from workloadkit.queueing.stations.limited_room import mmck
from workloadkit.queueing.stations.priorities import ClassesResult, priorities
from workloadkit.queueing.stations.size_based import SizeBased, dps, fb, ps, sjf, srpt

__all__ = [
    "ClassesResult",
    "Open",
    "SizeBased",
    "batches",
    "breakdowns",
    "bulk_service",
    "closed_priorities",
    "dps",
    "fb",
    "fork_join",
    "ggc",
    "impatient",
    "md1",
    "mg1",
    "mgc",
    "mm1",
    "mmc",
    "mmck",
    "mminf",
    "priorities",
    "ps",
    "sjf",
    "srpt",
    "vacations",
]
