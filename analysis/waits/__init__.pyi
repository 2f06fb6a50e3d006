from .measures import plot_waits as plot_waits
from .measures import wait_intervals as wait_intervals
from .measures import waits_over_time as waits_over_time
