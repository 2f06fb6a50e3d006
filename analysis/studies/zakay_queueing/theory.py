"""The models of the chapter by formulas: the measures that the simulations have."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.studies.zakay_queueing.points import EXPONENTIAL, SHMUELI, Point

if TYPE_CHECKING:
    import pandas as pd


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
