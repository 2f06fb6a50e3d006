"""From what is wanted or measured back to parameters: how many users, how many jobs, which times.

Response times rise with users, with the rate of open jobs and with service times, so that each
question has one answer at most, between bounds that are known.
"""

from queueing.inverse.limits import most_jobs, most_users, users_for_response
from queueing.inverse.measured import Times, service_of_jobs, times_of_users
from queueing.inverse.session_rule import kind_of_users

__all__ = [
    "Times",
    "kind_of_users",
    "most_jobs",
    "most_users",
    "service_of_jobs",
    "times_of_users",
    "users_for_response",
]
