"""What custom policies in the compiled engine are made of.

A policy's part of the state is a NamedTuple of arrays and numbers. Functions of (state, what, now),
marked `inline` or, if they are long, `bare`, read and change it; `register_functions` links the
two, and `CompiledPolicy.begin` puts the part into the state. A policy must define ``allocate`` and
``job_returned``; it may define the other functions of `workloadkit.simulation.events`. Jobs are
numbers in the order of arrival: places in the columns of ``state.jobs``.

`WaitingList` is a queue in the order of arrival, with functions to keep it: `some_fit`, which adds
the new jobs, `forget_started`, and `job_ended`, `job_returned`, `job_left` and `plans_void`, which
the policy registers as its own.
"""

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.machine.ledger import (
    changes_ahead,
    fits,
    is_full,
    may_pass,
    passes,
    release_all,
    reserve,
    start_job,
)
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.policies.arrivals import (
    COUNT,
    WaitingList,
    forget_started,
    job_ended,
    job_left,
    job_returned,
    new_arrivals,
    plans_void,
    some_fit,
)
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.state import ARRIVED, N_RUNNING, N_WAITING, State

__all__ = [
    "ARRIVED",
    "COUNT",
    "N_RUNNING",
    "N_WAITING",
    "CompiledPolicy",
    "State",
    "WaitingList",
    "bare",
    "changes_ahead",
    "fits",
    "forget_started",
    "inline",
    "is_full",
    "job_ended",
    "job_left",
    "job_returned",
    "may_pass",
    "new_arrivals",
    "passes",
    "plans_void",
    "register_functions",
    "release_all",
    "reserve",
    "some_fit",
    "start_job",
]
