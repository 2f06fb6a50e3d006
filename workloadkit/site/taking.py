"""Derive site distributions from logs, whose batches are classified."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.clock import DAY, Clock
from workloadkit.distinct import distinct, order_by
from workloadkit.errors import WorkloadError, plural
from workloadkit.fields import UNKNOWN
from workloadkit.provenance import provenance
from workloadkit.sample import load_sample
from workloadkit.sessions import label_jobs, think_times
from workloadkit.settings.making import Kinds
from workloadkit.settings.setting import takes
from workloadkit.site.classes import BEFORE, KINDS, PERIODS, UNKNOWN_PERIOD, JobClass
from workloadkit.site.distributions import (
    CYCLES,
    LONGEST_BREAK,
    SESSION,
    SiteDistributions,
    combine,
)
from workloadkit.site.empirical import Empirical, Workpool
from workloadkit.trace import Trace, list_of_logs

if TYPE_CHECKING:
    import pandas as pd


# Classify the batches of a log, see `workloadkit.site.classes`.

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
    kind = (np.bincount(batch, ~interactive) > 0).astype(np.int8)
    names = [UNKNOWN_PERIOD] if period is None else list(PERIODS)
    code = (len(KINDS) * (0 if period is None else period[first]) + kind).astype(np.int8)
    before = np.zeros(first.size, np.int8)  # index into BEFORE
    order = order_by(user[first])
    same = np.diff(user[first][order]) == 0
    before[order[1:][same]] = 1 + kind[order[:-1][same]]

    by_user = order_by(user)
    gap, within = np.diff(submit[by_user]), np.diff(batch[by_user]) == 0
    of_gap = code[batch[by_user[1:]]]
    del by_user
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
        for which in distinct(code).tolist()
    }


#: Begin and length of the day (Shmueli 2008, section 5.3.2.3). [s]
MORNING, DAYTIME = 7.5 * 3600, 10 * 3600


def period(local: ArrayLike) -> NDArray[np.int64]:
    """Return the part of the week: 0 for day, 1 for night, 2 for the weekend.

    Days last from 7:30 to 17:30, nights from 17:30 to 7:30, and belong to the day on which they
    begin; the weekend lasts from 7:30 on Saturday to 7:30 on Monday.

    Parameters
    ----------
    local : array_like
        Time since a Monday 0:00. [s]

    Examples
    --------
    Monday at 9:00, Monday at 3:00, Saturday at 3:00 and at 9:00:

    >>> period([9 * 3600, 3 * 3600, (5 * 24 + 3) * 3600, (5 * 24 + 9) * 3600]).tolist()
    [0, 2, 1, 2]
    """
    since = np.asarray(local, dtype=np.float64) - MORNING
    weekday = since // DAY % 7
    return np.where(weekday >= 5, 2, np.where(since % DAY < DAYTIME, 0, 1))


@takes(Kinds)
def site_distributions(
    traces: Trace | Iterable[Trace], settings: Kinds | None = None, **keywords: Any
) -> SiteDistributions:
    """Derive from logs the distributions for simulating a site [1]_.

    Sessions are those by "last" with 20 min: a job belongs to the session if it is submitted at
    most 20 min after the end of the user's previous job, and to the batch if it is submitted no
    later than that end.

    Parameters
    ----------
    traces : Trace or iterable of Trace
        Jobs that never ran or have no known user are left out; an unknown wait counts as 0.
    settings : workloadkit.settings.Kinds, optional
        All following parameters as one object; keyword arguments take precedence.
    {settings}

    Returns
    -------
    SiteDistributions
        For several logs, all jobs, batches and pauses have equal weight.

    Raises
    ------
    ParameterError
        If no log is given, an item is not a Trace, two logs have the same name, or a setting is
        invalid.
    WorkloadError
        If no job of a known user ran in a log, or the rule "queue" finds no jobs in queue 0.

    See Also
    --------
    read_site_distributions : reads saved distributions.

    References
    ----------
    .. [1] E. Shmueli, "Using site-level modeling to evaluate the performance of parallel system
       schedulers", thesis, 2008, sections 3.3 and 5.3.

    Examples
    --------
    User 5 submits two jobs, thinks for 30 s after the second and submits another.

    >>> trace = Trace.from_columns(
    ...     {"submit": [0, 10, 60], "run": [90, 20, 5], "procs": [4, 4, 1], "user": [5, 5, 5]}
    ... )
    >>> site = site_distributions(trace)
    >>> site.batch_width.values.tolist(), site.gap.values.tolist()
    ([1.0, 2.0], [10.0])
    >>> site.think_time.values.tolist(), site.repetition.values.tolist()
    ([30.0], [1.0, 2.0])
    """
    kinds = Kinds.of(settings, keywords)
    return combine([_of_log(trace, kinds) for trace in list_of_logs(traces)])


def _of_log(trace: Trace, kinds: Kinds) -> SiteDistributions:
    chosen = trace.ran & (trace.column("user") != UNKNOWN)
    if not chosen.any():
        raise WorkloadError(f"{trace.name}: no job of a known user ran, so there are no batches")
    made_from = {name: provenance(trace)[name] for name in ("log", "sha256")}
    if not chosen.all():
        trace = trace.select(chosen)
    _, labels = label_jobs(trace, method="last", threshold=SESSION)
    thinking = think_times(trace, method="last")
    session, job = labels.pop("session"), thinking.index.to_numpy()
    opens = session[job] != session[thinking["previous"].to_numpy()]
    breaks = thinking["think_time"].to_numpy()[opens]
    del session, job, opens
    within = labels.pop("think_time")
    gap, first, repetition = _in_a_row(trace, labels["batch"])
    local = _local_time(trace)
    interactive, rule = interactive_jobs(trace, kinds)
    return SiteDistributions(
        (made_from,),
        distinct(trace.column("user")).size,
        trace.n_jobs,
        batch_width=Empirical.of(np.bincount(labels["batch"])),
        gap=gap,
        think_time=Empirical.of(within[~np.isnan(within)]),
        break_time=Empirical.of(breaks[breaks <= LONGEST_BREAK]),
        size=Empirical.of(trace.used_procs),
        run=Empirical.of(trace.column("run")),
        repetition=Empirical.of(repetition),
        since_end=Empirical.of(thinking["think_time"]),
        hour_jobs=_by_cycle(local, CYCLES["hour"], 3600),
        weekday_jobs=_by_cycle(local, CYCLES["weekday"], DAY),
        by_log={},
        workpools=_workpools(trace, local, first, repetition),
        classes=sort_batches(
            trace,
            labels["batch"],
            thinking,
            None if local is None else period(local),
            interactive,
            (first, repetition),
        ),
        interactive=rule,
    )


def _in_a_row(
    trace: Trace, batch: NDArray[np.int64]
) -> tuple[Empirical, NDArray[np.int64], NDArray[np.int64]]:
    """Return the gaps in batches; the first jobs of runs of equal size, and the runs' lengths."""
    by_user = order_by(trace.column("user"))
    gap = np.diff(trace.column("submit")[by_user])[np.diff(batch[by_user]) == 0]
    new = np.ones(by_user.size, np.bool_)
    new[1:] = np.diff(trace.used_procs[by_user]) != 0
    new[1:] |= np.diff(trace.column("user")[by_user]) != 0
    begins = np.flatnonzero(new)
    return Empirical.of(gap), by_user[begins], np.diff(np.append(begins, by_user.size))


def _workpools(
    trace: Trace, local: NDArray | None, first: NDArray[np.int64], repetition: NDArray[np.int64]
) -> dict[str, Workpool]:
    """Return the jobs by part of the week of their submission."""
    names = (UNKNOWN_PERIOD,) if local is None else PERIODS
    at = np.zeros(trace.n_jobs, np.int64) if local is None else period(local)
    return {
        name: Workpool.of(
            trace.used_procs[at == i],
            trace.column("run")[at == i],
            repetition=repetition[at[first] == i],
        )
        for i, name in enumerate(names)
        if (at == i).any()
    }


def _local_time(trace: Trace) -> NDArray[np.float64] | None:
    """Return local submit times since a Monday 0:00; None if unknown. [s]."""
    clock = Clock.of(trace)
    return clock.local(trace.column("submit")) if clock.known else None


def _by_cycle(local: NDArray | None, n: int, length: int) -> NDArray[np.int64]:
    """Return jobs by hour of the day or day of the week; all 0 if local time is unknown."""
    if local is None:
        return np.zeros(n, np.int64)
    return np.bincount((local // length % n).astype(np.int64), minlength=n)


@cache
def built_in() -> SiteDistributions:
    """Return the distributions of the built-in sample log, see `workloadkit.load_sample`.

    Examples
    --------
    >>> built_in().logs
    ('sample.swf.gz',)
    """
    return site_distributions(load_sample())
