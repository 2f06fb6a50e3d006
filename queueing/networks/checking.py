"""Check of operational laws against measures of a system."""

import math
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.queueing.arguments import numbers
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.networks.laws import Observation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class CheckedLaw(NamedTuple):
    """An operational law, and the measured values of its two sides.

    Parameters
    ----------
    of : str
        Name of the station, or "system".
    law : str
    formula : str
    left, right : float
        Sides of the formula.
    difference : float
        (left - right)/right; for a limit, the excess of left; 0 if both are 0.
    holds : bool
        Whether the difference is within the tolerance.
    """

    of: str
    law: str
    formula: str
    left: float
    right: float
    difference: float
    holds: bool


@dataclass(frozen=True)
class CheckedLaws(DisplayedResult):
    """Operational laws checked against measures.

    Parameters
    ----------
    laws : tuple of CheckedLaw
        Laws with both sides measured.
    flow_balance_error : float
        Arrivals minus departures, relative to the departures. The laws are exact if no jobs are
        present at the begin and end.
    tolerance : float

    Examples
    --------
    A server that is busy for 50 of 100 seconds but serves 40 jobs of one second:

    >>> measured = Observation(time=100, arrivals=41, completions=40, busy=50, service=1.0)
    >>> print(check_operational(measured, tolerance=0.05))
    flow balance      A = C      41 against 40     +2.5 %  holds
    utilization law   U = X S/c  0.5 against 0.4  +25.0 %  does not hold
    capacity          U ≤ 1      0.5 against 1     +0.0 %  holds
    """

    laws: tuple[CheckedLaw, ...]
    flow_balance_error: float
    tolerance: float = field(default=0.01)

    @property
    def holds(self) -> bool:
        """Whether all laws hold."""
        return all(law.holds for law in self.laws)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per law."""
        import pandas as pd

        return pd.DataFrame(self.laws, columns=list(CheckedLaw._fields))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the differences between the sides of the laws, with the tolerance."""
        from matplotlib import pyplot as plt

        ax = plt.gca() if ax is None else ax
        names = [self._name(law) for law in self.laws]
        places = range(len(names))
        ax.axvspan(
            -100 * self.tolerance, 100 * self.tolerance, color="0.5", alpha=0.2, label="tolerance"
        )
        for holds, colour, label in ((True, "C0", "holds"), (False, "C3", "does not hold")):
            widths = [100 * law.difference * (law.holds == holds) for law in self.laws]
            ax.barh(places, widths, color=colour, height=0.6, label=label)
        ax.axvline(0, color="0.5", linewidth=0.8)
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.set(xlabel="difference between measured sides [%]", ylabel="operational law")
        ax.legend()
        return ax

    def __str__(self) -> str:
        """Return one line per law: both sides, their difference, and whether it holds."""
        rows = [
            (
                self._name(law),
                law.formula,
                f"{_shown(law.left)} against {_shown(law.right)}",
                f"{100 * law.difference:+.1f} %",
                "holds" if law.holds else "does not hold",
            )
            for law in self.laws
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(5)] if rows else []
        return "\n".join(
            "  ".join(
                cell.rjust(width) if column == 3 else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )

    def _name(self, law: CheckedLaw) -> str:
        several = any(other.of != "system" for other in self.laws)
        return f"{law.of}: {law.law}" if several else law.law


def check_operational(
    observed: Observation,
    *,
    stations: Mapping[str, Observation] | None = None,
    tolerance: float = 0.01,
) -> CheckedLaws:
    """Check the operational laws against measures of a system.

    The laws do not depend on distributions or the order of service: measures that violate them are
    wrong, or refer to different jobs or times. Differences in correct measures are due to jobs that
    are present at the begin or end of the interval.

    Parameters
    ----------
    observed : Observation
        Measures of the system; `observe` computes them from a schedule. Laws with an unknown side
        are omitted.
    stations : mapping of str to Observation, optional
        Measures of its stations. Stations with `visits` are also checked against the forced flow
        law, and together against the response time of the system.
    tolerance : float, default 0.01
        Largest relative difference of equal sides.

    Examples
    --------
    >>> from workloadkit.queueing.networks import observe
    >>> jobs = observe(submit=[0, 1, 2], start=[0, 2, 5], end=[2, 5, 6])
    >>> print(check_operational(jobs))
    flow balance              A = C              3 against 3          +0.0 %  holds
    conservation of jobs      A + n = C + n'     3 against 3          +0.0 %  holds
    utilization law           U = X S/c          1 against 1          +0.0 %  holds
    capacity                  U ≤ 1              1 against 1          +0.0 %  holds
    Little's law              Q = X R        1.667 against 1.667      +0.0 %  holds
    Little's law of the queue L = X W       0.6667 against 0.6667     +0.0 %  holds
    """
    allowed = numbers("tolerance", tolerance)
    if allowed.ndim or not 0 <= allowed < 1:
        raise QueueingError(f"tolerance is {quoted(tolerance)}; it must be from 0 to below 1")
    parts = dict(stations or {})
    for name, given in {"observed": observed, **parts}.items():
        if not isinstance(given, Observation):
            raise QueueingError(f"{name} is {quoted(given)}; it must be an Observation")
    if "system" in parts:
        raise QueueingError("stations has 'system', the name of the whole system")
    found = list(_laws("system", observed, float(allowed)))
    for name, station in parts.items():
        found += _laws(name, station, float(allowed))
        if station.visits is not None:
            sides = station.X, station.visits * observed.X
            found.append(_equal(name, "forced flow law", "X_k = V_k X", *sides, float(allowed)))
    total = _response_of(parts.values())
    if total is not None and observed.response is not None:
        sides = observed.response, total
        found.append(_equal("system", "response time law", "R = Σ V_k R_k", *sides, float(allowed)))
    return CheckedLaws(tuple(found), observed.flow_balance_error, float(allowed))


def _laws(of: str, m: Observation, tolerance: float) -> Iterator[CheckedLaw]:
    yield _equal(of, "flow balance", "A = C", m.arrivals, m.completions, tolerance)
    if m.at_begin is not None and m.at_end is not None:
        sides = m.arrivals + m.at_begin, m.completions + m.at_end
        yield _equal(of, "conservation of jobs", "A + n = C + n'", *sides, 0.0)
    if m.busy is not None:
        U = m.busy / (m.servers * m.time)
        if m.service is not None:
            sides = U, m.X * m.service / m.servers
            yield _equal(of, "utilization law", "U = X S/c", *sides, tolerance)
        yield _limit(of, "capacity", "U ≤ 1", U, 1.0, tolerance)
    if m.job_time is not None and m.response is not None:
        sides = m.job_time / m.time, m.X * m.response
        yield _equal(of, "Little's law", "Q = X R", *sides, tolerance)
    if m.waiting_time is not None and m.wait is not None:
        sides = m.waiting_time / m.time, m.X * m.wait
        yield _equal(of, "Little's law of the queue", "L = X W", *sides, tolerance)
    if m.users is not None and m.think is not None and m.response is not None and m.completions:
        sides = m.response + m.think, m.users / m.X
        yield _equal(of, "interactive response time law", "R + Z = N/X", *sides, tolerance)


def _response_of(stations: Collection[Observation]) -> float | None:
    """Return ΣV_k R_k, or None if incomplete."""
    times = [
        s.visits * s.response for s in stations if s.visits is not None and s.response is not None
    ]
    return sum(times) if stations and len(times) == len(stations) else None


def _equal(
    of: str, law: str, formula: str, left: float, right: float, tolerance: float
) -> CheckedLaw:
    gap = left - right
    if abs(gap) < sys.float_info.min:  # denormal numbers have no relative precision
        gap = 0.0
    difference = gap / right if right else float("inf") if gap else 0.0
    return CheckedLaw(of, law, formula, left, right, difference, abs(difference) <= tolerance)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) and value == int(value) else f"{value:.4g}"


def _limit(
    of: str, law: str, formula: str, left: float, right: float, tolerance: float
) -> CheckedLaw:
    beyond = max(left / right - 1, 0.0)
    return CheckedLaw(of, law, formula, left, right, beyond, beyond <= tolerance)
