"""Site models: distributions of how users submit jobs and of what they submit."""

from workloadkit.site.classes import JobClass
from workloadkit.site.distributions import SiteDistributions, combine
from workloadkit.site.empirical import Empirical, Workpool
from workloadkit.site.files import read_site_distributions
from workloadkit.site.taking import built_in, site_distributions

__all__ = [
    "Empirical",
    "JobClass",
    "SiteDistributions",
    "Workpool",
    "built_in",
    "combine",
    "read_site_distributions",
    "site_distributions",
]
