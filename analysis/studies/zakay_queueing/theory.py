"""The points of the chapter's figures, and its models by formulas."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


# The points of the figures: which model with which parameters is drawn where.
#
# Time is counted in mean service times, S = 1, which stand for ten minutes.

#: Forms of p of a response time r: e^(-r), and 0.8 / (0.5 r + 1), which is Shmueli's with r in
#: tens of minutes.
EXPONENTIAL, SHMUELI = "exp:1", "zakay"

#: The forms in words.
WORDS = {EXPONENTIAL: "exponential", SHMUELI: "Shmueli's"}


class Point(NamedTuple):
    """A model and its parameters; those that do not apply are 0.

    Parameters
    ----------
    model : {"mixed", "reopen"}
        A mixed model without open users is closed.
    lam : float
        Arrival rate of open users.
    p : str
        Probability of another job, in the notation of `workloadkit.users.Reopen`.
    Z : float
        Mean think time.
    N : int
        Number of closed users.
    """

    model: Literal["mixed", "reopen"]
    lam: float = 0.0
    p: str = ""
    Z: float = 0.0
    N: int = 0


def reopened(lam: float, p: float | str, Z: float = 1.0) -> Point:
    """Return a point of the re-open model."""
    return Point("reopen", float(lam), f"{p}", float(Z))


#: Figure 3: closed users with Z = 5.
USERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30)
CLOSED = tuple(Point("mixed", N=N, Z=5.0) for N in USERS)

#: Points of the text on mixed users, and on users without think time.
FEW_AND_MANY = tuple(Point("mixed", lam=0.5, N=N, Z=5.0) for N in (1, 30))
BATCH = Point("mixed", N=5)

#: Figure 4: p constant, and the think time varied.
THINK = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
CONSTANTS = (0.36, 0.47)
THINKING = {p: tuple(reopened(0.5, p, Z) for Z in THINK) for p in CONSTANTS}

#: Figure 5: p constant, from 0 to near saturation, and beyond it.
CHANCES = (0.0, 0.06, 0.12, 0.18, 0.24, 0.3, 0.36, 0.4, 0.44, 0.46, 0.48)
GROWING = tuple(reopened(0.5, p) for p in CHANCES)
BEYOND = reopened(0.5, 0.55)

#: Figure 6: the points of Figure 5, or increasing arrivals.
LOADS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.59, 0.61)
ARRIVING = tuple(reopened(lam, 0.36) for lam in LOADS)

#: Figures 7 and 8: p of the response time, and the arrivals varied.
RATES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
REACTING = {p: tuple(reopened(lam, p) for lam in RATES) for p in WORDS}
LOW_AND_HIGH = (0.2, 0.8)


def all_points() -> list[Point]:
    """Return every point once."""
    sweeps = (*THINKING.values(), *REACTING.values(), GROWING, ARRIVING, CLOSED, FEW_AND_MANY)
    return list(dict.fromkeys([*(point for sweep in sweeps for point in sweep), BATCH, BEYOND]))


def chance(text: str) -> Any:
    """Return p in the form of `queueing.reopen`."""
    from workloadkit import queueing

    forms = {
        EXPONENTIAL: queueing.exponential(1.0),
        SHMUELI: queueing.hyperbolic(0.8, 0.5),
    }
    return forms[text] if text in forms else float(text)


def predict(points: Sequence[Point]) -> "pd.DataFrame":
    """Return the results of formulas for points of one model, one row for each.

    Columns are those of the simulations, as far as there are formulas. p of the response time is
    solved by the chain.
    """
    import pandas as pd

    rows = pd.DataFrame(points)
    return _reopen(rows) if points[0].model == "reopen" else _mixed(rows)


def run_times(point: Point, times: Sequence[float]) -> "pd.DataFrame":
    """Return the shares of run times longer than each time: of last jobs, and of continued ones."""
    import pandas as pd

    found = _continuation(point)
    jobs = {"last": "last", "continued": "followed"}
    return pd.DataFrame({name: found.run_sf(times, job) for name, job in jobs.items()})


def run_time_bias(point: Point) -> float:
    """Return the mean run time of last jobs over that of continued ones."""
    found = _continuation(point)
    return float(found.run_mean("last") / found.run_mean("followed"))


def _continuation(point: Point) -> Any:
    from workloadkit import queueing

    return queueing.reopen(point.lam, chance(point.p), point.Z, 1.0).continuation()


def _mixed(rows: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    from workloadkit import queueing

    lam, N, Z = (rows[name].to_numpy(dtype=float) for name in ("lam", "N", "Z"))
    found = queueing.mixed(lam, N, Z, 1.0)
    names = ("X", "U", "R", "Xc", "Rc", "Ro")
    return _with_waits(pd.DataFrame({name: getattr(found, name) for name in names}))


def _reopen(rows: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    from workloadkit import queueing

    names = ("X", "U", "R", "jobs_per_user", "time_per_user", "X_per_user")
    parts = []
    for p, its in rows.groupby("p", sort=False):
        lam, Z = (its[name].to_numpy(dtype=float) for name in ("lam", "Z"))
        found = queueing.reopen(lam, chance(str(p)), Z, 1.0)
        parts.append(pd.DataFrame({name: getattr(found, name) for name in names}, its.index))
    return _with_waits(pd.concat(parts).sort_index())


def _with_waits(found: "pd.DataFrame") -> "pd.DataFrame":
    found["W"] = found["R"] - 1.0
    found["L"] = found["X"] * found["W"]
    return found
