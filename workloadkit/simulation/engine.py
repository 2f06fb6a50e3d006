"""The plain-Python engine: users submit jobs, a scheduler starts them, the clock advances.

At one instant, all due terminations come first, then changes of the machine (processors go down,
come up, outages are announced), then submissions (by job number; jobs without one by user and order
of creation), then cancellations of waiting jobs, then wake-ups. Events that these create for the
same second follow in the same order, until none is left. Then the scheduler allocates processors,
once. If it starts a job of run time 0, the end of that job is due now and opens another such round.

Older simulators allocate after each single event instead; at equal times submissions come first,
then terminations in the order of the starts. `passes="event"` follows this rule. A job that ends as
planned counts as ended in every pass of that second, also before its own termination.

The engine is in `workloadkit.simulation.plain`; this module has the names that extensions use.
"""

from workloadkit.simulation.plain.job import HiddenError, Job, JobView
from workloadkit.simulation.plain.participants import Scheduler, User

__all__ = ["HiddenError", "Job", "JobView", "Scheduler", "User"]
