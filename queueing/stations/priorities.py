"""Classes of jobs with priorities, with or without preemption, at one or several servers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import (
    Condition,
    Floats,
    count,
    not_negative,
    numbers,
    points,
)
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.result import Exactness
from workloadkit.queueing.users_at_servers import idle_share
from workloadkit.queueing.waits import erlang_c

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Priority = Literal["non-preemptive", "preemptive"]

#: Largest relative errors of Bondi and Buzen's scaling, compared with chains of two classes at two
#: and three servers whose means differ by a factor of 4, loads from 0.3 to 0.7:
#: tests/queueing/test_priorities.py.
_SCALED = {
    "non-preemptive": Exactness("approximation: scaled from one fast server", R=0.05, W=0.4),
    "preemptive": Exactness("approximation: scaled from one fast server", R=0.05, W=0.25),
}


@dataclass(frozen=True, eq=False)
class ClassesResult(DisplayedResult):
    """Measures of several classes of jobs at a station; arrays of shape (R,).

    Parameters
    ----------
    X : ndarray
        Served jobs per unit of time.
    R : ndarray
        Mean response time.
    W : ndarray
        Mean wait: response less service.
    Q, Lq : ndarray
        Mean number of jobs; mean number that waits or is interrupted.
    U : ndarray
        Utilization of a server.
    exactness : Exactness
    parameters : dict of str to ndarray
    """

    measures: ClassVar[tuple[str, ...]] = ("X", "R", "Q", "U", "W", "Lq")

    X: Floats
    R: Floats
    Q: Floats
    U: Floats
    W: Floats
    Lq: Floats
    exactness: Exactness
    parameters: dict[str, Floats]

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per class."""
        import pandas as pd

        size = self.R.size
        given = {k: np.broadcast_to(v, size) for k, v in self.parameters.items()}
        shown = {name: getattr(self, name) for name in self.measures}
        return pd.DataFrame({"class": np.arange(size), **given, **shown})

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean response times by class."""
        from matplotlib import pyplot as plt

        ax = plt.gca() if ax is None else ax
        ax.bar(np.arange(self.R.size), self.R)
        ax.set_xticks(np.arange(self.R.size))
        ax.set(xlabel="class", ylabel="mean response time R")
        return ax


def of_classes(R: Floats, exactness: Exactness, parameters: dict[str, Floats]) -> ClassesResult:
    """Return the result of response times by class."""
    lam, S = parameters["lam"], parameters["S"]
    W = np.maximum(R - S, 0.0)
    return ClassesResult(
        X=lam,
        R=R,
        Q=lam * R,
        U=lam * S / parameters.get("servers", 1.0),
        W=W,
        Lq=lam * W,
        exactness=exactness,
        parameters=parameters,
    )


def of_each_class(rules: Sequence[Condition], **given: ArrayLike) -> dict[str, Floats]:
    """Check parameters of classes, and broadcast them to shape (R,)."""
    arrays = {name: np.atleast_1d(numbers(name, value)) for name, value in given.items()}
    for name, value in arrays.items():
        if value.ndim > 1:
            raise QueueingError(f"the shape of {name} is {value.shape}; it must be one class each")
        if not value.size:
            raise QueueingError(f"{name} is empty; it must have a number for each class")
    for rule in rules:
        value = arrays[rule.name]
        wrong = np.flatnonzero(~rule.holds(arrays))
        if wrong.size:
            raise QueueingError(
                f"{rule.name}[{wrong[0]}] is {value[wrong[0]]:g}; it must {rule.condition}"
            )
    return points([], **arrays)


def read_classes(whole_load: str = "lam", **given: ArrayLike) -> dict[str, Floats]:
    """Check parameters of open classes, which together need less than the servers have."""
    rules = [not_negative(name) for name in ("lam", "S", "scv", "weight") if name in given]
    if "servers" in given:
        rules.append(count("servers"))
    at = of_each_class(rules, **given)
    load = float((at["lam"] * at["S"]).sum())
    servers = float(at["servers"].flat[0]) if "servers" in at else 1.0
    if load >= servers:
        raise QueueingError(
            f"{whole_load}: all classes together use {load:g} of {servers:g} servers; they must "
            "use less"
        )
    return at


def priorities(
    lam: ArrayLike,
    S: ArrayLike,
    servers: int = 1,
    scv: ArrayLike = 1.0,
    order: Priority = "non-preemptive",
) -> ClassesResult:
    """Solve M/G/1 or M/M/c with classes of priorities; class 0 is served first.

    With σ_k the load of classes 0 to k over c, and W0 the mean time until a server gets free
    (Σ lam E[S²] / 2 for one server, C S / c for equal exponential service at c, with C Erlang's
    formula):

    - non-preemptive: W_k = W0 / ((1 - σ_(k-1)) (1 - σ_k)) [1]_, exact for one server, and for
      several if all classes have one mean and exponential service [2]_;
    - preemptive resume, one server: R_k = S_k / (1 - σ_(k-1)) + Σ_(i≤k) lam_i E[S_i²] / 2 /
      ((1 - σ_(k-1)) (1 - σ_k)) [3]_; several servers with equal exponential service: classes 0 to k
      together are M/M/c. Both are exact.

    With several servers and different means, waits are those of one server that is c times as fast,
    times the ratio of the waits of M/M/c and that server without priorities [4]_.

    Parameters
    ----------
    lam, S : array_like, shape (R,)
        Arrival rate and mean service time of each class; Σ lam S < servers.
    servers : int, default 1
    scv : array_like, shape (R,), default 1
        Squared coefficient of variation of service times; must be 1 for several servers.
    order : {"non-preemptive", "preemptive"}

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or all classes together saturate the servers.

    References
    ----------
    .. [1] A. Cobham, "Priority assignment in waiting line problems", Operations Research 2(1),
       1954.
    .. [2] O. Kella, U. Yechiali, "Waiting times in the non-preemptive priority M/M/c queue",
       Stochastic Models 1(2), 1985.
    .. [3] N. K. Jaiswal, "Priority Queues", Academic Press, 1968; L. Kleinrock, "Queueing Systems",
       volume 2, 1976, equation 3.39.
    .. [4] A. B. Bondi, J. P. Buzen, "The response times of priority classes under preemptive resume
       in M/G/m queues", SIGMETRICS 1984.

    Examples
    --------
    >>> priorities([0.3, 0.5], S=1).R.round(4).tolist()
    [2.1429, 6.7143]
    >>> priorities([0.3, 0.5], S=1, order="preemptive").R.round(4).tolist()
    [1.4286, 7.1429]
    """
    if order not in ("non-preemptive", "preemptive"):
        raise QueueingError(
            f"order is {quoted(order)}; it must be 'non-preemptive' or 'preemptive'"
        )
    at = read_classes(lam=lam, S=S, servers=servers, scv=scv)
    c = float(at["servers"][0])
    equal = bool((at["S"] == at["S"][0]).all())
    if c > 1 and (at["scv"] != 1).any():
        raise QueueingError(f"scv is {quoted(scv)}; it must be 1 for several servers")
    if c == 1 or equal:
        solve = _one_server if c == 1 else _equal_service
        return of_classes(solve(at, order), Exactness("exact, priorities"), at)
    return of_classes(_scaled(at, order, c), _SCALED[order], at)


def _loads(at: dict[str, Floats], c: float = 1.0) -> tuple[Floats, Floats]:
    """Return 1 - σ_(k-1) and 1 - σ_k."""
    sums = np.cumsum(at["lam"] * at["S"]) / c
    return 1 - np.append(0.0, sums[:-1]), 1 - sums


def _one_server(at: dict[str, Floats], order: Priority) -> Floats:
    before, after = _loads(at)
    residual = at["lam"] * at["S"] ** 2 * (1 + at["scv"]) / 2
    if order == "preemptive":
        return at["S"] / before + np.cumsum(residual) / (before * after)
    return at["S"] + residual.sum() / (before * after)


def _equal_service(at: dict[str, Floats], order: Priority) -> Floats:
    S, c = at["S"], at["servers"]
    if order == "preemptive":
        total = np.cumsum(at["lam"])
        number = total * (S + _wait(total, S, c))
        several = np.diff(number, prepend=0.0)
        alone = S + _wait(total, S, c)  # a class without jobs: one job is no load
        return np.divide(several, at["lam"], out=alone, where=at["lam"] > 0)
    before, after = _loads(at, float(c[0]))
    total = np.full(S.shape, at["lam"].sum())
    return S + _wait(total, S, c) * idle_share(total, S, c) / (before * after)


def _wait(lam: Floats, S: Floats, c: Floats) -> Floats:
    """Return the mean wait of M/M/c."""
    idle = idle_share(lam, S, c)
    return np.asarray(erlang_c(lam * S, c, idle) * S / (c * idle), dtype=np.float64)


def _scaled(at: dict[str, Floats], order: Priority, c: float) -> Floats:
    """Scale the waits at one fast server by those of M/M/c and that server, for classes 0 to k."""
    fast = {**at, "S": at["S"] / c}
    one = _one_server(fast, order) - fast["S"]
    load = at["lam"] * at["S"]
    upto = np.cumsum(load) if order == "preemptive" else np.full(load.shape, load.sum())
    with np.errstate(invalid="ignore"):
        # W of M/M/c over that of a server c times as fast: C / rho
        ratio = erlang_c(upto, at["servers"], 1 - upto / c) / (upto / c)
    return at["S"] + np.where(upto > 0, ratio * one, 0.0)
