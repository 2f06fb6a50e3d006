"""Statistics of the users of a log, and their classes."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK, Clock
from workloadkit.errors import WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.metrics import RUN_CLASSES
from workloadkit.sessions import delimit_sessions
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd


#: Classes of users, by column of `user_table`.
USER_CLASSES = {
    "size": ("serial", "parallel"),
    "length": tuple(RUN_CLASSES),
    "share": ("heavy", "light"),
    "frequency": ("frequent", "occasional"),
}


def user_table(trace: Trace) -> "pd.DataFrame":
    """Return statistics of each user of a log, and the user's classes.

    Users differ: some run long jobs, others prefer many small ones [1]_. Resampling can prefer
    the classes defined here.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown user are left out.

    Returns
    -------
    DataFrame
        By `user`, ascending: number of `jobs`; their `work` [processor-seconds]; mean `run` [s],
        `procs` and `memory` per processor, used or else requested [KB], NaN if unknown;
        `serial_share`, the share of jobs on one processor; number of `sessions` (by arrival,
        60 min); `weeks` from the first job to the last, inclusive. The classes are:

        - `size`: "serial" if all jobs ran on one processor, else "parallel";
        - `length`: "short", "medium" or "long" by the median run time, up to 1 min, up to 10 min,
          or longer (the classes of run times of `workloadkit.metrics`);
        - `share`: "heavy" for the fewest users with half of the work together, "light" for the
          others;
        - `frequency`: "frequent" for the fewest users with half of the jobs together, "occasional"
          for the others.

    Raises
    ------
    WorkloadError
        If no job of a known user ran.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014,
       section 6.5.4.

    Examples
    --------
    >>> log = {"submit": [0, 5, 9, 9], "run": [9, 9, 9, 4000], "procs": [1, 1, 1, 8]}
    >>> table = user_table(Trace.from_columns({**log, "user": [3, 3, 3, 7]}))
    >>> table[["jobs", "work", "size", "length", "share", "frequency"]]
          jobs     work      size length  share   frequency
    user
    3        3     27.0    serial  short  light    frequent
    7        1  32000.0  parallel   long  heavy  occasional
    """
    import pandas as pd

    check_trace(trace)
    known = trace.select(trace.ran & (trace.column("user") != UNKNOWN))
    if not known.n_jobs:
        raise WorkloadError(f"{trace.name}: no job of a known user ran")
    local = Clock.of(known).local(known.column("submit"))
    procs, run = known.used_procs, known.column("run")
    memory = known.column("memory")
    jobs = pd.DataFrame(
        {
            "user": known.column("user"),
            "work": run * procs,
            "run": run,
            "procs": procs,
            "memory": np.where(memory >= 0, memory, known.column("requested_memory")),
            "serial": procs == 1,
            "session": delimit_sessions(known)["session"].to_numpy(),
            "week": np.floor((local - local[0]) / WEEK),
        }
    )
    of_user = jobs.groupby("user")
    table = pd.DataFrame(
        {
            "jobs": of_user.size(),
            "work": of_user["work"].sum(),
            **{name: of_user[name].mean() for name in ("run", "procs", "memory")},
            "serial_share": of_user["serial"].mean(),
            "sessions": of_user["session"].nunique(),
            "weeks": (of_user["week"].max() - of_user["week"].min() + 1).astype(np.int64),
        }
    )
    median = of_user["run"].median().to_numpy()
    choices = {
        "size": table["serial_share"].to_numpy() < 1,
        "length": np.searchsorted([*RUN_CLASSES.values()], median),
        "share": ~_makes_half(table["work"].to_numpy()),
        "frequency": ~_makes_half(table["jobs"].to_numpy()),
    }
    for name, names in USER_CLASSES.items():
        table[name] = np.array(names, dtype=object)[choices[name].astype(np.int64)]
    return table


def _makes_half(amount: NDArray) -> NDArray[np.bool_]:
    """Return whether each is among the fewest that together have half of the sum."""
    order = np.argsort(-amount, kind="stable")
    before = np.cumsum(amount[order]) - amount[order]
    makes = np.zeros(amount.size, dtype=bool)
    makes[order] = before < amount.sum() / 2
    return makes
