"""Common parts of open stations."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import (
    Condition,
    Flags,
    Floats,
    Value,
    not_negative,
    plain,
    points,
)
from workloadkit.queueing.complex_step import steps
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.result import Exactness, ModelResult, again

_MOST_LOAD = 1e100


@dataclass(frozen=True, eq=False)
class Open(ModelResult):
    """Poisson arrivals, one queue, and servers that take jobs first come, first served.

    Parameters
    ----------
    parameters, exactness, solve
        See `ModelResult`.
    X : float or ndarray
        Served jobs per unit of time.
    R : float or ndarray
        Mean response time, W plus service. If lam is 0, that of a single job.
    Q : float or ndarray
        Mean number of jobs in the system.
    U : float or ndarray
        Utilization of a server.
    W : float or ndarray
        Mean wait, including jobs that do not wait.
    Lq : float or ndarray
        Mean number of waiting jobs.
    p_wait : float or ndarray
        Share of jobs that wait.
    """

    measures: ClassVar[tuple[str, ...]] = ("X", "R", "Q", "U", "W", "Lq", "p_wait")
    jobs: ClassVar[tuple[str, ...]] = ("open",)
    #: Parameters that are whole numbers.
    whole: ClassVar[tuple[str, ...]] = ()

    X: Value
    R: Value
    Q: Value
    U: Value
    W: Value
    Lq: Value
    p_wait: Value

    @classmethod
    def at(
        cls,
        model: Callable[..., "Open"],
        rules: Iterable[Condition],
        exactness: str,
        **given: ArrayLike,
    ) -> Self:
        """Solve a model for the given parameters."""
        p = points((not_negative("lam"), not_negative("S"), *rules), **given)
        with np.errstate(over="ignore"):
            measures = {name: plain(value) for name, value in cls.solved(p).items()}
        return cls(p, Exactness(exactness), partial(again, model, given), **measures)

    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        """Return all measures; parameters may be complex, for derivatives."""
        raise NotImplementedError

    def derivative(self, of: str, wrt: str) -> Value:
        """Return the derivative of a measure with respect to a parameter, by a complex step.

        Parameters
        ----------
        of : str
            A measure.
        wrt : str
            Name of a parameter that is not a count.
        """
        self._check_derivative(of, wrt)
        if wrt in self.whole:
            raise QueueingError(f"wrt is {quoted(wrt)}, a whole number")
        value = self.parameters[wrt]
        step = steps(value)
        p = {**self.parameters, wrt: value + 1j * step}
        with np.errstate(all="ignore"):  # NaN points
            found = np.imag(self.solved(p)[of]) / step
        return plain(np.where(np.isnan(value), np.nan, found))

    def _laws(self) -> list[tuple[Value, Value]]:
        p = self.parameters
        return [
            (self.Q, self.X * self.R),
            (self.Lq, self.X * self.W),
            (self.U, self.X * p["S"] / p.get("servers", 1)),
        ]


def in_one_line(lam: Any, S: Any, servers: Any, W: Any, p_wait: Any) -> dict[str, Any]:
    """Return all measures of jobs without loss, from their waits."""
    R = S + W
    return {
        "X": lam + 0.0,
        "R": R,
        "Q": lam * R,
        "U": lam * S / servers,
        "W": W,
        "Lq": lam * W,
        "p_wait": p_wait + 0.0 * W,
    }


def bearable() -> Condition:
    """Return the condition that loads without a capacity limit can be multiplied."""

    def holds(p: Mapping[str, Floats]) -> Flags:
        with np.errstate(all="ignore"):
            return p["lam"] * p["S"] <= _MOST_LOAD

    return Condition("lam", holds, f"be at most {_MOST_LOAD:g} / S")
