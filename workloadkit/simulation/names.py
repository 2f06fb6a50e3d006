"""Names of the measures of schedules, in the order in which they are printed."""

from workloadkit.simulation.measures import OF_JOBS, OF_UTILITIES, PROMISES
from workloadkit.simulation.productivity import NAMES

#: Names that `Schedule.metrics` has if jobs have utility functions.
UTILITY = ("aggregate_utility",)

#: Those of them that are means or medians over jobs.
MEASURED = ("mean_wait", "median_wait", "mean_response", "mean_slowdown", "mean_bounded_slowdown")

#: Names of `Schedule.metrics`.
METRICS: tuple[str, ...] = (
    *("jobs", "left_out", "killed", "makespan", "utilization", "throughput_per_hour"),
    *MEASURED,
)

#: Names that `Schedule.describe` adds if users react.
PRODUCTIVITY: tuple[str, ...] = (*NAMES, "aborted_share")

#: Names that it adds for all.
FURTHER: tuple[str, ...] = (
    *("mean_queue_length", "tail", "tail_work", "makespan_utilization"),
    *("makespan_throughput_per_hour", "backlog_growth"),
    *(name for name in OF_JOBS if name not in METRICS),
)

#: Names that `Schedule.measure` knows.
MEASURES: tuple[str, ...] = (*METRICS, *FURTHER, *PRODUCTIVITY, *OF_UTILITIES, *PROMISES)
