"""EASY in a custom order: a score, as an expression of a job's features or a function."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, ClassVar

from workloadkit.errors import ParameterError, among, check_number, quoted
from workloadkit.parameters import Duration, check_types
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.order.expression import FEATURES, arguments_of, read
from workloadkit.simulation.policies.order.kernel import Score
from workloadkit.simulation.policies.policy import (
    BACKFILLS,
    AnotherOrder,
    Backfilling,
    Overtaking,
    rule_of,
)
from workloadkit.simulation.supports import Memory, supporting
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Order(Backfilling):
    """EASY in the order of a score, the smallest first, ties by arrival.

    Parameters
    ----------
    score : str or callable
        An expression of a job's features, or a function of them, see Notes; by default the order of
        arrival.
    backfill : str or callable
        Order of backfilling: as for `easy`, or a score.
    oldest_first : float
        Jobs that have waited longer than this come before all others, the oldest first: a bound on
        starvation [1]_. [s]
    half_life : float
        Half-life of the decayed usage; infinite for the sum of all. [s]
    parameters : mapping of str to float
        Parameters of the score, by name. A change of them compiles nothing again.
    reservations : int
        Number of waiting jobs with a reservation.
    spare, strict
        As in `workloadkit.simulation.policies.policy.Backfilling`.

    Notes
    -----
    Features are `submit`, `estimate`, `limit` and `procs` of the job; its `number`, `user`,
    `queue`, `group` and `partition`, as numbers, and the `tier` of its partition; `since`, the time
    from the first submission of all to that of the job; `now` and `wait`; and of the job's user
    `running_work` and `waiting_work`, the sums of estimate × processors at arrival, and `usage`,
    the processors × seconds of the past, exponentially decayed. Times are in seconds. `number`,
    `group`, `partition` and `tier` are known where jobs arrive at the timestamps of a log. The tier
    is 1, except on a described machine.

    An expression has numbers and times (``20h``), ``+ - * / **``, comparisons (1 or 0), ``and``,
    ``or``, ``not``, and the functions ``log``, ``log2``, ``log10``, ``exp``, ``sqrt``, ``abs``,
    ``min``, ``max`` and ``where(condition, a, b)``. It is never evaluated by Python. A function
    takes features by the names of its arguments, as floats, and parameters; the compiled engine
    compiles it, once in each process. The arithmetic of both, and the functions of `math`, are
    those of Python's floats; where Python raises, the value is infinity or NaN.

    If a score depends on nothing that changes while a job waits, its place is settled when it
    arrives. Otherwise it is computed again at the beginning of each pass.

    References
    ----------
    .. [1] J. Lelong, V. Reis, D. Trystram, "Tuning EASY-backfilling queues", JSSPP 2017.

    Examples
    --------
    >>> Order("estimate * procs", backfill="sjf").backfill
    'sjf'
    >>> Order("-(wait / estimate) ** k * procs", parameters={"k": 3}).scores[0].is_settled
    False
    """

    name: ClassVar[str] = "order"
    supports: ClassVar = supporting("each pass", "parts", "state")
    memory: ClassVar = Memory(
        "the work of users", only="scores of running_work, waiting_work or usage", kept=False
    )

    score: str | Callable[..., Any] = "submit"
    backfill: str | Callable[..., Any] = "same"
    oldest_first: Duration = math.inf
    half_life: Duration = 604_800.0
    parameters: Any = ()
    reservations: int = 1

    def __post_init__(self) -> None:
        given = self.parameters
        pairs = tuple(given.items() if isinstance(given, Mapping) else given)
        object.__setattr__(self, "parameters", pairs)
        check_types("scheduler", self)
        for name in ("oldest_first", "half_life"):
            if not getattr(self, name) > 0:
                raise ParameterError(
                    f"scheduler {self.name}: {name} is {getattr(self, name):g} s; it is above 0"
                )
        for name, value in pairs:
            check_number(name, value)
        _ = self.scores, self.overtaking  # which checks them

    @property
    def overtaking(self) -> Overtaking:
        """The rule by which jobs may overtake."""
        return rule_of(self)

    @property
    def remembers(self) -> bool:
        """Whether it remembers more than the running and waiting jobs."""
        return any(isinstance(each, Score) and each.follows_users for each in self.scores)

    @cached_property
    def scores(self) -> tuple[Score, Score | str]:
        """The score of the queue, and that of backfilling or the name of that order."""
        backfill: Any = self.backfill
        if not (isinstance(backfill, str) and backfill in ("same", "none", *BACKFILLS)):
            backfill = self._score(backfill, "backfill", oldest_first=math.inf)
        return self._score(self.score, "score", oldest_first=self.oldest_first), backfill

    def _score(self, given: Any, name: str, *, oldest_first: float) -> Score:
        how: dict[str, Any] = {"oldest_first": oldest_first, "half_life": self.half_life}
        try:
            if isinstance(given, str):
                return Score(read(given, dict(self.parameters)), **how)
            return self._of_function(given, how)
        except ParameterError as error:
            raise ParameterError(f"scheduler {self.name}: {name}: {error}") from None

    def _of_function(self, given: Any, how: dict[str, Any]) -> Score:
        if not callable(given):
            raise ParameterError(f"{quoted(given)} is neither an expression nor a function")
        arguments = signature(getattr(given, "py_func", given)).parameters.values()
        names = [a.name for a in arguments if a.kind is a.POSITIONAL_OR_KEYWORD]
        if len(names) < len(arguments):
            raise ParameterError(f"{given.__name__} takes more than plain arguments")
        values: dict[str, float] = {
            a.name: a.default for a in arguments if a.default is not Parameter.empty
        } | {n: x for n, x in self.parameters if n in names}
        for name in names:
            if name not in FEATURES and name not in values:
                known = (*FEATURES, *dict(self.parameters))
                raise ParameterError(f"unknown argument {quoted(name)}; {among(name, known)}")
        return Score(arguments_of(names, values), given, **how)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.order.plain import ScoredScheduler

        return ScoredScheduler(*self.scores, self.overtaking, self.reservations)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.order.compiled import compiled_order

        return compiled_order(self, workload, rules)


# Orders with names, each a score and its source.


@dataclass(frozen=True)
class NamedScore(AnotherOrder, Backfilling):
    """The common part of orders with names.

    Parameters
    ----------
    backfill : str
        Order of backfilling: as for `easy`, or a score.
    oldest_first : float
        Jobs that have waited longer than this come before all others, the oldest first: a bound on
        starvation. [s]
    reservations : int
        Number of waiting jobs with a reservation.
    """

    name: ClassVar[str]
    supports: ClassVar = supporting("each pass", "parts", "benchmark", "state")

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
    supports: ClassVar = NamedScore.supports - {"benchmark"}
    score: ClassVar[str] = "procs"


class Lqf(NamedScore):
    """EASY, the most processors first (Lelong, Reis, Trystram, JSSPP 2017)."""

    name: ClassVar[str] = "lqf"
    supports: ClassVar = NamedScore.supports - {"benchmark"}
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
    supports: ClassVar = NamedScore.supports - {"benchmark"}
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
