"""Open, closed or partly open system, by the number of jobs per session."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing.arguments import Condition, points

#: Mean jobs per session up to which a partly open system is like an open one, and from which
#: closed.
FEW, MANY = 5.0, 10.0


def kind_of_users(jobs_per_session: ArrayLike) -> str | NDArray[np.str_]:
    """Return whether users with sessions resemble an open or a closed model.

    A rule of thumb from simulations of a partly open system [1]_: up to 5 jobs per session, its
    response times are like those of an open system; from 10 on, like those of a closed one. In
    between, compare both with the re-open model.

    Parameters
    ----------
    jobs_per_session : array_like
        Mean number of jobs per session, 1 or more.

    Returns
    -------
    str or ndarray of str
        "open", "partly open" or "closed"; "" if undefined.

    Raises
    ------
    QueueingError
        If the number is below 1.

    Warns
    -----
    QueueingWarning
        If points of an array are below 1.

    References
    ----------
    .. [1] B. Schroeder, A. Wierman, M. Harchol-Balter, "Open versus closed: a cautionary tale",
       NSDI 2006.

    Examples
    --------
    >>> kind_of_users([1.4, 7, 30]).tolist()
    ['open', 'partly open', 'closed']
    """
    least = Condition(
        "jobs_per_session",
        lambda p: (p["jobs_per_session"] >= 1) & (p["jobs_per_session"] < np.inf),
        "be finite, 1 or more",
    )
    jobs = points([least], jobs_per_session=jobs_per_session)["jobs_per_session"]
    kinds = np.select(
        [jobs <= FEW, jobs >= MANY, ~np.isnan(jobs)], ["open", "closed", "partly open"], ""
    )
    return kinds if kinds.ndim else str(kinds)
