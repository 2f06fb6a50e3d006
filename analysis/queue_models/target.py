"""How many processors keep waits below a target: by a queueing model, and by simulation."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workloadkit import metrics
from workloadkit.analysis.formats import duration
from workloadkit.errors import ParameterError, among, plural, quoted
from workloadkit.parameters import read_duration
from workloadkit.simulation.simulate import simulate

if TYPE_CHECKING:
    from workloadkit.analysis.queue_models.fit_result import Moments
    from workloadkit.trace import Trace

_MEASURES = {
    "mean_wait": "mean wait",
    "median_wait": "median wait",
    "p90_wait": "90th percentile of waits",
}

#: Largest machine that is tried, as a multiple of the smallest.
_MOST = 2**20


class Target(NamedTuple):
    """A measure of waits that must not be exceeded.

    Parameters
    ----------
    measure : str
        "mean_wait", "median_wait" or "p90_wait".
    seconds : float
    """

    measure: str
    seconds: float

    @classmethod
    def read(cls, text: str) -> "Target":
        """Read a target such as median_wait=1h.

        Examples
        --------
        >>> Target.read("median_wait=1h")
        Target(measure='median_wait', seconds=3600.0)
        """
        name, equals, value = text.partition("=")
        if not equals or name not in _MEASURES:
            raise ParameterError("target", f"is {quoted(text)}; {among(name, _MEASURES)}=TIME")
        try:
            return cls(name, read_duration(value))
        except ValueError:
            raise ParameterError("target", f"is {quoted(text)}; write {name}=1h") from None


class TargetAnswer(NamedTuple):
    """Processors that keep a measure of waits at a target.

    Parameters
    ----------
    measure : str
    seconds : float
    theory, theory_low, theory_high : int
        By the model, with a 95 % interval.
    simulation, too_few : int
        Smallest machine that met the target in a simulation, and the largest that was tried and did
        not (0 if none was).
    scheduler : str
    """

    measure: str
    seconds: float
    theory: int
    theory_low: int
    theory_high: int
    simulation: int
    too_few: int
    scheduler: str

    @property
    def text(self) -> str:
        """Both answers and their difference in words."""
        gap = self.theory - self.simulation
        compared = "the same" if not gap else f"{abs(gap):,} {'more' if gap > 0 else 'fewer'}"
        limit = (
            f"{self.too_few:,} are too few" if self.too_few else "as many as the largest job needs"
        )
        return (
            f"A {_MEASURES[self.measure]} of at most {duration(self.seconds)} needs "
            f"{self.theory:,} processors [{self.theory_low:,}, {self.theory_high:,}] by theory, "
            f"and {self.simulation:,} in a simulation under {self.scheduler} "
            f"({limit}): theory says {compared} ({gap / self.simulation:+.0%})."
        )


def answer(
    target: Target,
    trace: "Trace",
    size: float,
    model: str,
    moments: "Moments",
    drawn: Sequence["Moments"],
    scheduler: str,
) -> TargetAnswer:
    """Answer how many processors meet a target, by theory and by simulation.

    `size` is the mean number of processors of a running job, which a server of the model stands
    for.
    """

    def by_theory(of: "Moments") -> int:
        def met(servers: int) -> bool:
            waits = of._replace(servers=servers).waits(model)
            return bool(waits[target.measure] <= target.seconds)

        servers, _ = _fewest(met, max(1, int(of.lam * of.S)))
        return int(np.ceil(servers * size))

    largest = int(trace.used_procs.max())

    def by_simulation(procs: int) -> bool:
        schedule = simulate(trace, scheduler, procs=procs)
        wait = schedule.start - schedule.workload.submit
        if target.measure == "mean_wait":
            return bool(wait.mean() <= target.seconds)
        percent = 50 if target.measure == "median_wait" else 90
        return metrics.percentile(wait, percent) <= target.seconds

    low, high = np.quantile([by_theory(of) for of in drawn], [0.025, 0.975], method="nearest")
    simulated, too_few = _fewest(by_simulation, largest)
    return TargetAnswer(
        *target, by_theory(moments), int(low), int(high), simulated, too_few, scheduler
    )


def _fewest(met: Callable[[int], bool], least: int) -> tuple[int, int]:
    """Return the smallest number from `least` that meets a monotone condition, and one too small.

    Examples
    --------
    >>> _fewest(lambda n: n >= 11, 2), _fewest(lambda n: True, 2)
    ((11, 10), (2, 0))
    """
    low, high = least - 1, least
    while not met(high):
        low, high = high, 2 * high
        if high > _MOST * least:
            raise ParameterError(f"target: not met with {plural(low, 'processor')}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return high, low if low >= least else 0
