"""Which policies are repeated, and what is proved of schedules of all policies."""

from collections.abc import Iterator
from typing import Any

from workloadkit.simulation import schedulers
from workloadkit.simulation.policies.conservative import Conservative
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.easy.ordered import SettledOrder
from workloadkit.simulation.policies.fcfs import Fcfs
from workloadkit.simulation.policies.lookahead import Lookahead
from workloadkit.simulation.policies.order import Order
from workloadkit.simulation.policies.order.named import NamedScore
from workloadkit.simulation.policies.reservations import Reservations
from workloadkit.simulation.policies.selective import Selective
from workloadkit.simulation.policies.slack import Slack
from workloadkit.simulation.policies.user_priority import UserPriority
from workloadkit.simulation.policies.varying import InVaryingOrder
from workloadkit.simulation.policies.varying.custom_order import CustomOrder
from workloadkit.simulation.replaying.keeping_plainly import Keeping, Slacking
from workloadkit.simulation.replaying.passing import InOrder, Looking, Passing, Selecting

_PASSING: tuple[tuple[Any, type[Passing]], ...] = (
    (Conservative, Keeping),
    (Slack, Slacking),
    (Selective, Selecting),
    (Lookahead, Looking),
    (Fcfs | Reservations | SettledOrder | NamedScore | Order, InOrder),
    (InVaryingOrder | CustomOrder | Creasy | UserPriority, InOrder),
)


def passing_of(policy: Any) -> type[Passing] | None:
    """Return the passes of a policy; None if they cannot be repeated.

    A custom class may have another order, but not other forms.
    """
    kinds = type(policy).__mro__
    makers = (next((k for k in kinds if form in vars(k)), None) for form in ("plain", "compiled"))
    if not all(maker and maker.__module__.startswith("workloadkit.") for maker in makers):
        return None
    return next((passing for kind, passing in _PASSING if isinstance(policy, kind)), None)


#: What is proved of a schedule: the texts of the claims.
EACH_PASS = "each pass starts the jobs that the policy starts"
AS_RECORDED = "each job starts its recorded wait after its submission"
NOT_EMPTY = "no job waits while the machine is empty"
ANY = "the rules for every schedule"

#: What is proved of schedules of policies whose passes are not repeated.
_OTHERS = {
    "recorded": AS_RECORDED,
    "multi-queue": NOT_EMPTY,
    "genetic": NOT_EMPTY,  # it draws random numbers
    "self-adaptive": ANY,  # its candidates may be any policies
}


def proof_of(name: str) -> str:
    """Return what is proved of the schedules of a policy, by its name.

    Examples
    --------
    >>> proof_of("slack")
    'each pass starts the jobs that the policy starts'
    """
    return _OTHERS.get(name, EACH_PASS) if name in schedulers.known() else ANY


def proofs() -> Iterator[tuple[str, list[str]]]:
    """Yield what is proved, and the names of the policies of which it is."""
    for proof in (EACH_PASS, AS_RECORDED, NOT_EMPTY, ANY):
        yield proof, [name for name in schedulers.known() if proof_of(name) == proof]
