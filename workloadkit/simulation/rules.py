"""The rules of scheduling, each once: both engines, all machines and policies call these functions.

- **Order of events.** At one instant come the ends of jobs, changes of the machine, events of
  reservations, submissions, cancellations, and wake-ups of the policy and of users; then one pass.
  With a pass after each event, submissions come first. `compiled.loop` and `plain.events` follow
  it.
- **Overdue.** A job that still runs after its planned end is overdue. Plans count its end as now.
- **Shadow time.** When a job that does not fit will fit, by the planned ends. All ends up to then
  count; what they leave is spare. Ledgers that count processors find it by `ledger.find_shadow`,
  levels in plain Python by `find_shadow`.
- **Overtaking.** A job may overtake the one with the reservation if it ends by the shadow time
  (if strict, before it), or if it needs no more than what is spare then.

`check` judges schedules by definitions of its own, and uses none of these.
"""

from collections.abc import Iterable
from math import inf
from typing import Any

from workloadkit._kernels.compile import shared

# The order of events at one instant.
(
    TERMINATION, MACHINE, REQUEST, SUBMISSION, CANCELLATION, SCHEDULER_WAKE_UP, WAKE_UP,
) = range(7)  # fmt: skip
FIRST = -1  # of submissions, with a pass after each event


@shared
def is_overdue(planned_end: Any, now: float) -> Any:
    """Whether a job that still runs has outlived its planned end."""
    return planned_end < now


@shared
def counted_end(planned_end: Any, now: float) -> Any:
    """Return the end of a running job in plans: that of an overdue one is now."""
    return max(planned_end, now)


@shared
def is_in_time(end: float, shadow: float, strict: Any) -> Any:
    """Whether a job with this planned end overtakes without spare processors."""
    return end < shadow or (end == shadow and not strict)


def find_shadow(level: Any, job: Any, planned_ends: Iterable[Any], now: float) -> tuple[Any, Any]:
    """Return the shadow time of a job that does not fit, and the level that it leaves then.

    Parameters
    ----------
    level : level
        What is free now, see `workloadkit.simulation.machine.plain`; it is copied.
    job : JobView
    planned_ends : iterable of (time, int, JobView)
        Planned ends of the running jobs, ascending.
    now : int or float
        [s]

    Returns
    -------
    shadow : int or float
        `inf` if the job fits at no time, as too much of the machine is down. [s]
    spare : level
    """
    shadow, spare = None, level.copy()
    for end, _, running in planned_ends:
        if shadow is not None and end > shadow:
            break
        spare.give_back(running)
        if shadow is None and spare.fits(job):
            shadow = counted_end(end, now)
    if shadow is None:
        return inf, spare
    spare.take(job)
    return shadow, spare
