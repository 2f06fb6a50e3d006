from .summary import plot_site as plot_site
from .summary import plot_site_cycle as plot_site_cycle
