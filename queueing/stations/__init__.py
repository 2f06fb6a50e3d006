"""Open stations: jobs arrive in a Poisson process, independently of earlier jobs."""

from queueing.stations.any_service import md1, mg1
from queueing.stations.exponential_service import mm1, mmc, mminf
from queueing.stations.limited_room import mmck
from queueing.stations.model import Open

__all__ = ["Open", "md1", "mg1", "mm1", "mmc", "mmck", "mminf"]
