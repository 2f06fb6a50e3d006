"""Policies that consider the tiers of partitions first."""

from typing import Any

from workloadkit.simulation.policies.easy import Easy
from workloadkit.simulation.policies.fcfs import Fcfs
from workloadkit.simulation.policies.order import Order
from workloadkit.simulation.policies.order.kernel import Score
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
    >>> in_tiers(Easy(backfill="arrival")) == in_tiers(Easy())
    True
    """
    easy = policy.as_order if type(policy) in (Fcfs, Reservations) else policy
    if type(easy) is Easy and easy.backfill in ("same", "none", easy.order):
        backfill = "none" if easy.backfill == "none" else "same"
        how = {name: getattr(easy, name) for name in ("reservations", "spare", "strict")}
        return Order(_HIGHEST_FIRST, backfill=backfill, **how)
    return policy
