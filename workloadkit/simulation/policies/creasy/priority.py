"""How much a job is worth to CREASY."""


def priority(bonus, waited, estimate):
    """Worth of a job [min]; `bonus` is that of one that responds at once [1]_, eq. 5.4.

    .. [1] E. Shmueli, PhD thesis, The Hebrew University of Jerusalem, 2008.
    """
    stretch = 0.05 * ((waited + estimate) / 60) + 1
    return bonus / (stretch * stretch) + waited / 60


def bonus(alpha):
    """Worth of a job that responds at once. [min]."""
    return alpha * 0.04
