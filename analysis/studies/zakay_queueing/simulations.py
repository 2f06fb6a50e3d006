"""The models of the chapter, simulated; what is measured of a run."""

from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.studies.zakay_queueing.theory import LOW_AND_HIGH, Point

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

#: Users of a run, as in the source; users before them (warm-up), and users after them, who keep the
#: queue at its usual length until they have left.
USERS, BEFORE, AFTER = 10_000, 2_000, 2_000

#: Warm-up and measured time of models in which users never leave.
FILLING, MEASURED = 2_000.0, 20_000.0

#: Run times at which their distributions are computed.
TIMES = tuple(x / 10 for x in range(61))


class PointTask(NamedTuple):
    """Several runs of one point."""

    point: Point
    runs: int


def simulate(task: PointTask, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate a point; a row for each run.

    Columns are X, U, R, W (mean wait), L (mean number of jobs that wait); of the mixed model Xc,
    Rc and Ro; of the re-open model jobs_per_user, time_per_user, X_per_user (the quotient of these
    means), quotient (the mean of the users' own quotients), growth (of the number at the server,
    from the first half of the time to the second, over its mean), run_last and run_continued (mean
    run times), and the share of the run times longer than each of `TIMES`, last:TIME and
    continued:TIME.
    """
    import pandas as pd

    run = _reopen_run if task.point.model == "reopen" else _mixed_run
    return pd.DataFrame([run(task.point, stream) for stream in rng.spawn(task.runs)])


def _mixed_run(point: Point, rng: "np.random.Generator") -> dict[str, float]:
    import workloadkit as wk

    until = FILLING + MEASURED
    users = wk.users.Mixed(point.lam, point.N, point.Z, until=until)
    jobs = wk.simulate(None, "fcfs", users, procs=1, rng=rng).jobs
    found = _measures(jobs, FILLING, until)
    inside = jobs["submit"] >= FILLING
    closed, opened = (jobs[inside & (jobs["kind"] == kind)] for kind in (1, 0))
    ended = (jobs["kind"] == 1) & (jobs["end"] >= FILLING) & (jobs["end"] < until)
    return found | {
        "Xc": float(ended.sum() / MEASURED),
        "Rc": float(closed["response"].mean()),
        "Ro": float(opened["response"].mean()),
    }


def _reopen_run(point: Point, rng: "np.random.Generator") -> dict[str, float]:
    import numpy as np

    import workloadkit as wk

    until = 1.02 * (BEFORE + USERS + AFTER) / point.lam
    users = wk.users.Reopen(point.lam, point.p, point.Z, until=until)
    jobs = wk.simulate(None, "fcfs", users, procs=1, rng=rng).jobs
    user = jobs["user"].to_numpy() - jobs["user"].min()
    arrival = jobs["submit"].to_numpy()[jobs["visit"].to_numpy() == 0]  # by user
    begin, end = arrival[BEFORE], arrival[BEFORE + USERS]
    found = _measures(jobs, begin, end)
    # The jobs are in the order of submission, so the last one of each user is written last.
    left, last = np.zeros(arrival.size), np.zeros(arrival.size, np.int64)
    left[user], last[user] = jobs["end"], np.arange(user.size)
    is_last = np.zeros(user.size, np.bool_)
    is_last[last] = True
    those = slice(BEFORE, BEFORE + USERS)
    n_jobs, time = np.bincount(user)[those], (left - arrival)[those]
    middle = (begin + end) / 2
    growth = _at_server(jobs, middle, end) - _at_server(jobs, begin, middle)
    found |= {
        "jobs_per_user": float(n_jobs.mean()),
        "time_per_user": float(time.mean()),
        "X_per_user": float(n_jobs.sum() / time.sum()),
        "quotient": float((n_jobs / time).mean()),
        "growth": growth / _at_server(jobs, begin, end),
    }
    run, measured = jobs["run"].to_numpy(), (user >= BEFORE) & (user < BEFORE + USERS)
    for name, chosen in (("last", measured & is_last), ("continued", measured & ~is_last)):
        times = np.sort(run[chosen])
        found[f"run_{name}"] = float(times.mean()) if times.size else np.nan
        if point.lam in LOW_AND_HIGH:
            longer = 1 - np.searchsorted(times, TIMES, side="right") / max(times.size, 1)
            found |= {f"{name}:{t:g}": float(x) for t, x in zip(TIMES, longer, strict=True)}
    return found


def _measures(jobs: "pd.DataFrame", begin: float, end: float) -> dict[str, float]:
    """Return the measures of a time interval."""
    ended = jobs["end"].between(begin, end, inclusive="left")
    inside = jobs["submit"].between(begin, end, inclusive="left")
    return {
        "X": float(ended.sum() / (end - begin)),
        "U": _mean_number(jobs["start"], jobs["end"], begin, end),
        "R": float(jobs.loc[inside, "response"].mean()),
        "W": float(jobs.loc[inside, "wait"].mean()),
        "L": _mean_number(jobs["submit"], jobs["start"], begin, end),
    }


def _at_server(jobs: "pd.DataFrame", begin: float, end: float) -> float:
    return _mean_number(jobs["submit"], jobs["end"], begin, end)


def _mean_number(
    since: "NDArray[np.float64] | pd.Series",
    until: "NDArray[np.float64] | pd.Series",
    begin: float,
    end: float,
) -> float:
    """Return the mean number present, given the times from and until which each is present."""
    import numpy as np

    spent = np.clip(until, begin, end) - np.clip(since, begin, end)
    return float(spent.sum() / (end - begin))
