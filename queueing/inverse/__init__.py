"""Inverse problems: the number of users, the rate of jobs, or times, from a response time.

Response times increase with users, with the rate of open jobs and with service times, so each
problem has at most one solution, between known bounds.
"""

from workloadkit.queueing.inverse.limits import most_jobs, most_users, users_for_response
from workloadkit.queueing.inverse.measured import (
    UserTimes,
    kind_of_users,
    service_of_jobs,
    times_of_users,
)

__all__ = [
    "UserTimes",
    "kind_of_users",
    "most_jobs",
    "most_users",
    "service_of_jobs",
    "times_of_users",
    "users_for_response",
]
