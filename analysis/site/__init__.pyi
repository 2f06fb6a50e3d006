from .distributions import Empirical as Empirical
from .distributions import SiteDistributions as SiteDistributions
from .distributions import read_site_distributions as read_site_distributions
from .distributions import site_distributions as site_distributions
from .plots import plot_site as plot_site
from .plots import plot_site_cycle as plot_site_cycle
