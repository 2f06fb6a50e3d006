"""Classify the batches of a log, see `workloadkit.site.classes`."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError, plural
from workloadkit.settings.site import Kinds
from workloadkit.site.classes import BEFORE, KINDS, PERIODS, UNKNOWN_PERIOD, JobClass
from workloadkit.site.distributions import LONGEST_BREAK, SESSION
from workloadkit.site.empirical import Empirical, Workpool
from workloadkit.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


#: Queue of interactive jobs in the standard (field 15).
INTERACTIVE_QUEUE = 0


def interactive_jobs(trace: Trace, kinds: Kinds) -> tuple[NDArray[np.bool_], str]:
    """Return which jobs are interactive, and the rule as text.

    Raises
    ------
    WorkloadError
        If the rule is the queue, and it has no jobs.
    """
    in_queue = trace.column("queue") == INTERACTIVE_QUEUE
    if kinds.interactive == "queue" and not in_queue.any():
        raise WorkloadError(
            f"{trace.name}: queue {INTERACTIVE_QUEUE} of interactive jobs is empty; classify "
            "by run or requested_time instead"
        )
    if kinds.interactive == "queue" or (kinds.interactive == "auto" and in_queue.any()):
        return in_queue, f"queue {INTERACTIVE_QUEUE}"
    field = "run" if kinds.interactive == "auto" else kinds.interactive
    time = trace.column(field)
    chosen = time <= kinds.short  # false for unknown times
    rule = f"{field} up to {kinds.short:g} s"
    if kinds.narrow is not None:
        chosen &= trace.used_procs <= kinds.narrow
        rule += f" on up to {plural(kinds.narrow, 'processor')}"
    return chosen, rule


def sort_batches(
    trace: Trace,
    batch: NDArray[np.int64],
    thinking: "pd.DataFrame",
    period: NDArray[np.int64] | None,
    interactive: NDArray[np.bool_],
    repetition: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> dict[str, JobClass]:
    """Return the classes of a log.

    Parameters
    ----------
    trace : Trace
    batch : ndarray of int64, shape (n_jobs,)
        Numbers of the batches, by "last", in order of their begins.
    thinking : DataFrame
        As returned by `think_times`, with row labels from 0.
    period : ndarray of int64, shape (n_jobs,), optional
        Part of the week of each submission, if local time is known.
    interactive : ndarray of bool, shape (n_jobs,)
    repetition : ndarray of int64, each of shape (n_runs,)
        First job of each run of jobs of equal size, and the length of the run.
    """
    user, submit = trace.column("user"), trace.column("submit")
    first = np.unique(batch, return_index=True)[1]
    kind = (np.bincount(batch, ~interactive) > 0).astype(np.int64)
    names = [UNKNOWN_PERIOD] if period is None else list(PERIODS)
    code = len(KINDS) * (0 if period is None else period[first]) + kind
    before = np.zeros(first.size, np.int64)  # index into BEFORE
    order = np.argsort(user[first], kind="stable")
    same = np.diff(user[first][order]) == 0
    before[order[1:][same]] = 1 + kind[order[:-1][same]]

    by_user = np.argsort(user, kind="stable")
    gap, within = np.diff(submit[by_user]), np.diff(batch[by_user]) == 0
    of_gap = code[batch[by_user][1:]]
    previous, think = thinking["previous"].to_numpy(), thinking["think_time"].to_numpy()
    of_pause = code[batch[previous]]
    new = batch[thinking.index.to_numpy()] != batch[previous]
    response = (trace.end - submit)[previous]
    awaited = (think >= 0) & ~np.isnan(trace.column("wait")[previous])
    stays = think <= SESSION
    run, size = trace.column("run"), trace.used_procs
    begins, times = repetition

    def of_class(which: int) -> JobClass:
        its, after_it = code[batch] == which, of_pause == which
        return JobClass(
            batch_width=Empirical.of(np.bincount(batch)[code == which]),
            gap=Empirical.of(gap[within & (of_gap == which)]),
            think_time=Empirical.of(think[new & stays & after_it]),
            break_time=Empirical.of(think[new & ~stays & (think <= LONGEST_BREAK) & after_it]),
            continued=Empirical.of(response[awaited & stays & after_it]),
            aborted=Empirical.of(response[awaited & ~stays & after_it]),
            jobs=Workpool.of(size[its], run[its], repetition=times[code[batch[begins]] == which]),
            after=np.bincount(before[code == which], minlength=len(BEFORE)),
        )

    return {
        f"{names[which // len(KINDS)]} {KINDS[which % len(KINDS)]}": of_class(which)
        for which in np.unique(code).tolist()
    }
