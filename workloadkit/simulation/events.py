"""What happens to jobs in a compiled simulation, and who learns of it."""

from workloadkit._kernels.compile import inline
from workloadkit.simulation.machine.ledger import end_job
from workloadkit.simulation.parts import by_part
from workloadkit.simulation.state import ARRIVED, N_RUNNING, N_WAITING


@inline
def _nothing(state, what, now):
    pass


#: (state, job, now) of a policy: a job has arrived; its processors are free again; it waits again.
job_arrived = by_part("policy", "job_arrived", _nothing)
job_ended = by_part("policy", "job_ended", _nothing)
job_returned = by_part("policy", "job_returned")

#: (state, -, now) of a policy: the machine is, or will be, other than planned.
plans_void = by_part("policy", "plans_void", _nothing)

#: (state, new, now) of a policy: start jobs; those from `new` on have just arrived.
allocate = by_part("policy", "allocate")

#: (state, job, now) of a predictor: plan a job that arrives; learn from one that has ended.
_plan = by_part("predictor", "plan", _nothing)
_learn = by_part("predictor", "learn", _nothing)


@inline
def arrive(state, now):
    """Let the next job of the tables arrive."""
    job = state.at[ARRIVED]
    if job == 0:
        state.first[0] = now
    state.at[ARRIVED] = job + 1
    state.at[N_WAITING] += 1
    _plan(state, job, now)
    job_arrived(state, job, now)


@inline
def end_due(state, now):
    """End the first of the jobs that are to end, which is due; return it."""
    job = state.end_jobs[state.at[N_RUNNING] - 1]
    end_job(state, job, now)
    _learn(state, job, now)
    job_ended(state, job, now)
    return job


@inline
def lose(state, job, now):
    """Let policy and predictor know of the end of a job that was stopped."""
    job_ended(state, job, now)
