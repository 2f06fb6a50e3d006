"""Policies that consider the tiers of partitions first."""

from typing import Any

from workloadkit.simulation.policies.easy import Easy
from workloadkit.simulation.policies.fcfs import Fcfs
from workloadkit.simulation.policies.order import Order, Score
from workloadkit.simulation.policies.reservations import Reservations

_HIGHEST_FIRST = "-tier"


def knows_tiers(policy: Any) -> bool:
    """Whether a policy considers tiers, by itself or as `in_tiers`."""
    if isinstance(policy, Order):
        return any(isinstance(score, Score) and "tier" in score.features for score in policy.scores)
    return in_tiers(policy) is not policy


def in_tiers(policy: Any) -> Any:
    """Return a policy in the order of (tier, arrival); one in another order is unchanged.

    Examples
    --------
    >>> ordered = in_tiers(Reservations(4))
    >>> ordered.name, ordered.score, ordered.reservations
    ('order', '-tier', 4)
    """
    if type(policy) is Easy and policy.backfill in ("same", "none"):
        names = ("backfill", "reservations", "spare", "strict")
        return Order(_HIGHEST_FIRST, **{name: getattr(policy, name) for name in names})
    if type(policy) is Fcfs:
        return Order(_HIGHEST_FIRST, backfill="none")
    if type(policy) is Reservations:
        return Order(_HIGHEST_FIRST, reservations=policy.depth)
    return policy
