"""The measures of a site that are findings, their thresholds and the reasons for these."""

from typing import Any

from workloadkit.analysis.finding import Finding, Rule
from workloadkit.analysis.formats import count, duration, number, share
from workloadkit.clock import DAY

_HOUR = 3600


def _times(value: float) -> str:
    return f"{number(value)} times"


#: Rules by the name of the measure.
RULES = {
    "lost_core_hours": Rule(
        "Processor time without a result",
        0.1,
        0.25,
        "A tenth of the machine is what a usual extension adds; a quarter is more than most "
        "changes of the scheduler can win.",
        share,
    ),
    "lost_gpu_hours": Rule(
        "GPU-hours without a result",
        0.1,
        0.25,
        "The thresholds are those of processor time. A GPU costs as much as tens of cores, so its "
        "hours are judged separately.",
        share,
    ),
    "requeued_core_hours": Rule(
        "Core-hours of requeued attempts",
        0.05,
        0.15,
        "What an attempt computed before its job was requeued is lost, unless the program writes "
        "checkpoints. A twentieth of the machine is more than single failures of nodes cost.",
        share,
    ),
    "failed_jobs": Rule(
        "Jobs without a result",
        0.2,
        0.5,
        "One job in five is more than accidents: a program, a user or a node fails as a rule.",
        share,
    ),
    "cancelled_core_hours": Rule(
        "Processor time of cancelled jobs",
        0.2,
        0.4,
        "Some jobs are cancelled once they have served; a fifth of the work suggests that many "
        "are watched and stopped.",
        share,
        severity="low",
    ),
    "wait_p90": Rule(
        "Wait that a tenth of the jobs exceed",
        4 * _HOUR,
        DAY,
        "After four hours a result does not come within the working day, after a day not even "
        "on the next.",
        duration,
        is_share=False,
    ),
    "wait_gap": Rule(
        "Longest over shortest median wait of groups",
        10.0,
        100.0,
        "Priorities usually differ by factors, not by tens; only medians of at least 1 h count.",
        _times,
        is_share=False,
    ),
    "held_share": Rule(
        "Waiting before jobs were eligible",
        0.25,
        None,
        "A quarter of the waiting is due to dependencies, holds and begin times: no scheduler and "
        "no larger machine shortens it.",
        share,
        severity="low",
    ),
    "limit_share": Rule(
        "Waiting of jobs blocked by limits",
        0.25,
        0.5,
        "A quarter of the waiting is more than limits that stop exceptions cause: they shape the "
        "service.",
        share,
    ),
    "cpu_idle": Rule(
        "Allocated processor time without CPU time",
        0.3,
        0.5,
        "Parallel programs lose up to about a third to communication and input; half or more "
        "suggests serial programs on many processors.",
        share,
    ),
    "memory_use": Rule(
        "Requested memory in use",
        0.25,
        None,
        "Requests of four times the use keep jobs apart that fit together.",
        share,
        least=True,
        severity="low",
    ),
    "limit_use": Rule(
        "Requested time in use",
        0.3,
        None,
        "Backfilling plans with the requested times; if jobs use 30 % or less of them, most of its "
        "plan never happens.",
        share,
        least=True,
        severity="low",
    ),
    "largest_user": Rule(
        "Processor time of one user",
        0.5,
        None,
        "Half or more of the work is of one user: means and shares of the whole log describe "
        "this user.",
        share,
        severity="low",
    ),
    "share_ratio": Rule(
        "Most used share over given share",
        1.5,
        3.0,
        "Half more than given persists only if others leave their share unused, or the limits do "
        "not enforce it.",
        _times,
        is_share=False,
    ),
    "idle_while_waiting": Rule(
        "Capacity free while a job waited that fits",
        0.05,
        0.15,
        "Backfilling alone leaves a few percent free; more is due to partitions, limits, memory, "
        "or reservations.",
        share,
    ),
    "backlog": Rule(
        "Queue in the busiest tenth of the hours, in machines",
        1.0,
        5.0,
        "A queue as large as the machine needs a whole turnover of it to drain.",
        number,
        is_share=False,
    ),
    "unused": Rule(
        "Utilization of full days",
        0.5,
        0.25,
        "Half of the machine idle is not due to scheduling, which reaches 70 % and more.",
        share,
        least=True,
    ),
    "more_processors": Rule(
        "Reduction of the mean wait by 10 % more processors",
        0.5,
        None,
        "If a tenth more halves the wait, the machine is at its limit.",
        share,
    ),
    "unusual": Rule(
        "Unusual days, hours and gaps",
        1.0,
        None,
        "Each may stand for an outage, a runaway script or a failing program.",
        count,
        is_share=False,
    ),
}


def judged(name: str, value: float, effect: str, section: str, *, n: int, **more: Any) -> Finding:
    """Return a measure of `n` jobs as a finding by its rule."""
    return Finding(name, RULES[name], value, effect, section, n, **more)
