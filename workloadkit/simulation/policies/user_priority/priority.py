"""Priorities of users and jobs under the User Priority Scheduler."""

#: A job that has waited this long has as much priority as the first user gives. [s]
FULL_WAIT = 14400


def priority(alpha_user, place, waited):
    """Priority of a job of the user at a place, 1, 2, …, in the order of the users [1]_.

    .. [1] N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018.
    """
    return alpha_user * (1 / place) + (1 - alpha_user) * waited / FULL_WAIT


def work(estimate, procs):
    """Work of a job. [processor seconds]."""
    return float(estimate) * procs
