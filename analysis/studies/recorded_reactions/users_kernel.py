"""Users who go on with a session by the response time of the work before, compiled."""

import sys
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit.simulation.parts import register_functions

_DAY = 86400


class Continuing(NamedTuple):
    """Parameters and state of the users; see `users.ByResponse`.

    Parameters
    ----------
    b : float
        [1/min]
    arrival : ndarray, shape (n_batches,)
        Recorded times. [s]
    recorded : ndarray of float64, shape (n_batches,)
        Response time of the last submitted job of each batch. [s]
    response : ndarray of float64, shape (n_users,)
        Response time of the last submitted job of the previous batch in the simulation. [s]
    """

    b: float
    arrival: NDArray
    recorded: NDArray[np.float64]
    response: NDArray[np.float64]


@bare
def job_ended(users: Any, place: Any, response: Any) -> None:
    """Store the response time of the last submitted job."""
    activities, tables = users.activities, users.tables
    who, at = tables.user[place], tables.at[place]
    batch = activities.batch[at]
    if batch == users.progress.next_batch[who] - 1 and at + 1 == activities.first_job[batch + 1]:
        users.behaviour.response[who] = response


@bare
def arrival(users: Any, released: Any, now: Any) -> Any:
    """Return the arrival time of a batch that is released now."""
    who, batch, _ = released
    activities, behaviour = users.activities, users.behaviour
    recorded = behaviour.arrival[batch]
    late = max(now - recorded, 0)
    if activities.session[batch] != activities.session[batch - 1]:
        return float(recorded + ceil(late / _DAY) * _DAY)
    before, response = behaviour.recorded[batch - 1], behaviour.response[who]
    go_on = (behaviour.b * before / 60 + 1) / (behaviour.b * response / 60 + 1)
    if users.rng.random() < go_on:
        return float(now + activities.think_time[batch])
    return float(recorded + (floor(late / _DAY) + 1) * _DAY)


register_functions(Continuing, sys.modules[__name__])
