"""Backfilling in any order: the routine that EASY and all its relatives share.

What differs between them is the order of the queue, the order of backfilling, and the number of
reservations.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError
from workloadkit.simulation.workload import Workload

#: Orders that are settled when a job arrives: what is small comes first, ties by arrival. They are
#: functions of a Job, or of a Workload for all its jobs at once.
ORDERS: dict[str, Callable[[Any], Any]] = {
    "arrival": lambda jobs: jobs.submit,
    "sjf": lambda jobs: jobs.estimate,
    "ljf": lambda jobs: -jobs.estimate,
    "smallest": lambda jobs: jobs.procs,
    "largest": lambda jobs: -jobs.procs,
}


def check_backfill(scheduler: str, backfill: str) -> None:
    """Refuse an order of backfilling that is not known.

    Raises
    ------
    ParameterError
    """
    known = ("same", "none", *ORDERS)
    if backfill not in known:
        raise ParameterError(
            f"scheduler {scheduler}: backfill is {backfill!r}; known: {', '.join(known)}"
        )


def place_in_order(key: NDArray) -> NDArray[np.int64]:
    """Place of each job in an order: smallest key first, ties by arrival.

    Examples
    --------
    >>> place_in_order(np.array([20, 10, 20])).tolist()
    [1, 0, 2]
    """
    place = np.empty(key.size, np.int64)
    place[np.argsort(key, kind="stable")] = np.arange(key.size)
    return place


def places_to_backfill(
    backfill: str, workload: Workload, queue: NDArray[np.int64] | None
) -> NDArray[np.int64] | None:
    """Place of each job in an order of backfilling; None for no backfilling.

    `queue` are the places in the order of the queue, None where they vary with time.
    """
    if backfill == "none":
        return None
    return queue if backfill == "same" else place_in_order(ORDERS[backfill](workload))


def ranked_as_they_arrive(
    order: str, backfill: str, workload: Workload, queues: tuple[int, ...] = ()
) -> dict[str, Any]:
    """Tables of ranks for jobs of users who react, and what they are to be ranked by."""
    return tables_of_ranks(order, backfill, workload.submit.size, workload.users, queues)


def tables_of_ranks(
    order: str, backfill: str, room: int, users: Any, queues: tuple[int, ...] = ()
) -> dict[str, Any]:
    """As `ranked_as_they_arrive`, with room for so many jobs of some users."""
    from workloadkit._kernels import orders

    codes = {
        "sjf": orders.SJF,
        "ljf": orders.LJF,
        "smallest": orders.SMALLEST,
        "largest": orders.LARGEST,
        "f1": orders.F1,
        "priority-fifo": orders.PRIORITY,
    }
    rank = np.empty(room)
    code = codes.get(order, orders.ARRIVAL)
    backfill_rank = {"none": None, "same": rank}.get(backfill, np.empty(room))
    backfill_code = code if backfill == "same" else codes.get(backfill, orders.ARRIVAL)
    return {
        "rank": rank,
        "backfill_rank": backfill_rank,
        "users": users,
        "keys": orders.Keys(code, backfill_code, np.array(queues, np.int64)),
    }
