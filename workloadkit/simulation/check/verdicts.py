"""Claims about a schedule, and their verdicts in words."""

from collections import Counter
from dataclasses import dataclass, field
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from workloadkit.display import Displayed, plot_counts
from workloadkit.errors import plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Verdict = Literal["proved", "refuted", "not applicable"]

#: Times with decimals that differ by no more than this count as one instant: sums round. [s]
INSTANT = 1e-6

_SHOWN = 3  # jobs that a counterexample names
_COLUMNS = 80


@dataclass(frozen=True)
class ScheduleClaim:
    """A rule for schedules, and whether a schedule satisfies it.

    Parameters
    ----------
    text : str
        The rule.
    verdict : {"proved", "refuted", "not applicable"}
    why : str
        How much was checked, the first violation, or the reason why it was not checked.
    determines : bool
        Whether no other schedule satisfies it.
    """

    text: str
    verdict: Verdict
    why: str
    determines: bool = False

    def __str__(self) -> str:
        return f"{self.text}: {self.why}"


@dataclass(frozen=True)
class CheckReport(Displayed):
    """The result of a check of a schedule; true if no rule is violated.

    Parameters
    ----------
    title : str
        What was checked.
    claims : tuple of ScheduleClaim
    provenance : dict
        Version, settings and inputs that made the report.
    notes : tuple of str
        Settings that the schedule records: those used as none were given, and those that differ
        from the ones given.
    """

    title: str
    claims: tuple[ScheduleClaim, ...]
    provenance: dict[str, Any] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no rule is violated."""
        return not self.refuted

    @property
    def verdict(self) -> Literal["proved", "consistent", "refuted"]:
        """The overall verdict.

        "proved": the log and the policy allow no other schedule. "consistent": no rule is
        violated, but other schedules would pass as well. "refuted": a rule is violated.
        """
        if self.refuted:
            return "refuted"
        sure = any(claim.determines and claim.verdict == "proved" for claim in self.claims)
        return "proved" if sure else "consistent"

    @property
    def refuted(self) -> tuple[ScheduleClaim, ...]:
        """The violated rules."""
        return tuple(claim for claim in self.claims if claim.verdict == "refuted")

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [fill(self.title, _COLUMNS, break_on_hyphens=False), *self.notes]
        lines += [
            fill(
                f"{claim.verdict:<14}  {claim}",
                _COLUMNS,
                subsequent_indent=" " * 16,
                break_on_hyphens=False,
            )
            for claim in self.claims
        ]
        lines.append(f"{self.verdict}: {_MEANS[self.verdict]}")
        return "\n".join(lines)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw how many claims have each verdict."""
        verdicts = Counter(claim.verdict for claim in self.claims)
        return plot_counts({v: verdicts[v] for v in get_args(Verdict)}, ax, label="claims")

    def _summary(self) -> str:
        return f"{self.verdict}, {plural(len(self.claims), 'claim')}, {len(self.refuted)} refuted"

    def _table(self) -> "pd.DataFrame":
        import pandas as pd

        rows = [(claim.verdict, claim.text, claim.why) for claim in self.claims]
        return pd.DataFrame(rows, columns=["verdict", "claim", "why"])

    def to_dict(self) -> dict[str, Any]:
        """Return the report ready for JSON."""
        claims = [{"claim": c.text, "verdict": c.verdict, "why": c.why} for c in self.claims]
        found: dict[str, Any] = {"ok": self.ok, "verdict": self.verdict, "claims": claims}
        if self.notes:
            found["notes"] = list(self.notes)
        return found | {"provenance": self.provenance}


_MEANS = {
    "proved": "the log and the policy allow no other schedule",
    "consistent": "no rule is violated, but other schedules would pass as well",
    "refuted": "a rule is violated",
}


def refuted(text: str, why: str, count: int) -> ScheduleClaim:
    """Return a violated rule with the first of `count` violations."""
    more = f"; {count - 1:,} more" if count > 1 else ""
    return ScheduleClaim(text, "refuted", why + more)


def seconds(time: float) -> str:
    """Return a time as text; whole numbers in full.

    Examples
    --------
    >>> seconds(31536000.0), seconds(0.1)
    ('31536000 s', '0.1 s')
    """
    return f"{time:.0f} s" if time == np.rint(time) else f"{time!s} s"


def jobs_named(numbers: NDArray[np.int64]) -> str:
    """Return jobs by their numbers as text, the first of many."""
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    more = f" and {numbers.size - _SHOWN:,} more" if numbers.size > _SHOWN else ""
    return f"job{'' if numbers.size == 1 else 's'} {shown}{more}"


def as_instants(*times: NDArray) -> list[NDArray]:
    """Merge times that differ only by the rounding of sums."""
    given, place = np.unique(np.concatenate(times), return_inverse=True)
    apart = np.diff(given) > max(INSTANT, 4 * float(np.spacing(np.abs(given).max())))
    first = np.flatnonzero(np.concatenate([[True], apart]))
    instant = given[first[np.cumsum(np.concatenate([[0], apart.astype(np.int64)]))]]
    return np.split(instant[place], np.cumsum([t.size for t in times])[:-1])


class Use(NamedTuple):
    """Processors in use over time; at equal times ends come before starts."""

    time: NDArray  # when jobs start or end, ascending
    after: NDArray[np.int64]  # in use from then on; jobs of run time 0 hold theirs for no time
    through: NDArray[np.int64]  # of these, by jobs that had started before
    begin: NDArray[np.int64]  # where in `time` each job starts


def use_of(start: NDArray, end: NDArray, procs: NDArray) -> Use:
    """Count the processors in use over time; at equal times ends come before starts."""
    time, place = np.unique(np.concatenate([start, end]), return_inverse=True)
    begin, last = place[: start.size], place[start.size :]
    held = np.where(end > start, procs, 0)
    taken, freed = (
        np.rint(np.bincount(places, held, minlength=time.size)).astype(np.int64)
        for places in (begin, last)
    )
    after = np.cumsum(taken - freed)
    return Use(time, after, after - taken, begin)
