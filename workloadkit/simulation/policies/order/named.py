"""Orders with names, each a score and its source."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.parameters import Duration, check_types
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.order import Order
from workloadkit.simulation.policies.overtaking import Backfilling
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class NamedScore(Backfilling):
    """The common part of orders with names; parameters are those of `Order`."""

    name: ClassVar[str]

    #: The expression.
    score: ClassVar[str]

    backfill: str = "same"
    oldest_first: Duration = math.inf
    reservations: int = 1

    def __post_init__(self) -> None:
        check_types("scheduler", self)
        _ = self.as_order

    @property
    def as_order(self) -> Order:
        """The order that it names."""
        return Order(
            self.score,
            self.backfill,
            self.oldest_first,
            reservations=self.reservations,
            spare=self.spare,
            strict=self.strict,
        )

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return self.as_order.plain()

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        return self.as_order.compiled(workload, rules)


class Lcfs(NamedScore):
    """EASY, the latest submission first (Lelong, Reis, Trystram, JSSPP 2017)."""

    name: ClassVar[str] = "lcfs"
    score: ClassVar[str] = "-submit"


class Saf(NamedScore):
    """EASY, the smallest estimated area first (Lelong, Reis, Trystram, JSSPP 2017)."""

    name: ClassVar[str] = "saf"
    score: ClassVar[str] = "estimate * procs"


class Laf(NamedScore):
    """EASY, the largest estimated area first (Lelong, Reis, Trystram, JSSPP 2017)."""

    name: ClassVar[str] = "laf"
    score: ClassVar[str] = "-(estimate * procs)"


class Sqf(NamedScore):
    """EASY, the fewest processors first (Lelong, Reis, Trystram, JSSPP 2017)."""

    name: ClassVar[str] = "sqf"
    score: ClassVar[str] = "procs"


class Lqf(NamedScore):
    """EASY, the most processors first (Lelong, Reis, Trystram, JSSPP 2017)."""

    name: ClassVar[str] = "lqf"
    score: ClassVar[str] = "-procs"


class Srf(NamedScore):
    """EASY, the smallest ratio of estimate and processors first (Lelong et al., JSSPP 2017)."""

    name: ClassVar[str] = "srf"
    score: ClassVar[str] = "estimate / procs"


class Lrf(NamedScore):
    """EASY, the largest ratio of estimate and processors first (Lelong et al., JSSPP 2017)."""

    name: ClassVar[str] = "lrf"
    score: ClassVar[str] = "-(estimate / procs)"


class Exp(NamedScore):
    """EASY, the largest expansion factor first (Lelong, Reis, Trystram, JSSPP 2017)."""

    name: ClassVar[str] = "exp"
    score: ClassVar[str] = "-((wait + estimate) / estimate)"


class Sexp(NamedScore):
    """EASY, the smallest expansion factor first (Lelong, Reis, Trystram, JSSPP 2017)."""

    name: ClassVar[str] = "sexp"
    score: ClassVar[str] = "(wait + estimate) / estimate"


class Lxf(NamedScore):
    """EASY, the largest expansion factor by the limit first (Chiang, Vernon, JSSPP 2001)."""

    name: ClassVar[str] = "lxf"
    score: ClassVar[str] = "-((wait + limit) / limit)"


class F2(NamedScore):
    """EASY in the order F2 (Carastan-Santos, de Camargo, SC 2017)."""

    name: ClassVar[str] = "f2"
    score: ClassVar[str] = "sqrt(estimate) * procs + 25600 * log10(max(submit, 1))"


class F3(NamedScore):
    """EASY in the order F3 (Carastan-Santos, de Camargo, SC 2017)."""

    name: ClassVar[str] = "f3"
    score: ClassVar[str] = "estimate * procs + 6860000 * log10(max(submit, 1))"


class F4(NamedScore):
    """EASY in the order F4 (Carastan-Santos, de Camargo, SC 2017)."""

    name: ClassVar[str] = "f4"
    score: ClassVar[str] = "estimate * sqrt(procs) + 530000 * log10(max(submit, 1))"
