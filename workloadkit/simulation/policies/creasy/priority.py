"""The priority of jobs under CREASY."""


def priority(bonus, waited, estimate):
    """Return the priority of a job [min]; `bonus` is that at response time 0 [1]_, eq. 5.4.

    .. [1] E. Shmueli, PhD thesis, The Hebrew University of Jerusalem, 2008.
    """
    stretch = 0.05 * ((waited + estimate) / 60) + 1
    return bonus / (stretch * stretch) + waited / 60


def bonus(alpha):
    """Return the priority of a job with response time 0. [min]."""
    return alpha * 0.04
