"""Open stations: jobs arrive in a Poisson process, independently of earlier jobs."""

from workloadkit.queueing.stations.any_service import md1, mg1
from workloadkit.queueing.stations.exponential_service import Open, mm1, mmc, mminf
from workloadkit.queueing.stations.limited_room import mmck

__all__ = ["Open", "md1", "mg1", "mm1", "mmc", "mmck", "mminf"]
