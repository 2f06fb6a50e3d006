"""The common part of compiled policies in settled orders: the places of jobs in both orders.

A part of the state with such orders has fields `order` and `backfill_order`, None if the places of
all jobs are known from the start, and the places `rank` and `backfill_rank`.
"""

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.orders import key_of


@inline
def job_arrived(state, job, now):
    """Set a job's places in the orders, if it has none yet."""
    policy = state.policy
    if policy.order is not None:
        policy.backfill_rank[job] = key_of(state, policy.backfill_order, job)
        policy.rank[job] = key_of(state, policy.order, job)


@inline
def in_turn(policy, new, arrived):
    """Whether jobs that arrive together do so in the order of the pass."""
    rank, backfill_rank = policy.rank, policy.backfill_rank
    for job in range(new + 1, arrived):
        if rank[job] < rank[job - 1] or backfill_rank[job] < backfill_rank[job - 1]:
            return False
    return True
