"""The default distributions."""

from functools import cache

from workloadkit.sample import load_sample
from workloadkit.site.distributions import SiteDistributions
from workloadkit.site.taking import site_distributions


@cache
def built_in() -> SiteDistributions:
    """Return the distributions of the built-in sample log, see `workloadkit.load_sample`.

    Examples
    --------
    >>> built_in().logs
    ('sample.swf.gz',)
    """
    return site_distributions(load_sample())
