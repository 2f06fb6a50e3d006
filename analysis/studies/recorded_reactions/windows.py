"""Outages of a log, the weeks that represent theirs, and synthetic logs of known users."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import DAY, WEEK, Clock
from workloadkit.errors import WorkloadWarning
from workloadkit.fields import UNKNOWN
from workloadkit.inferred_outages.infer import infer_outages
from workloadkit.io.outages import Outage, Outages
from workloadkit.metrics import use_over_time
from workloadkit.provenance import seed_of
from workloadkit.simulation.populations import Resampled
from workloadkit.simulation.simulate import simulate
from workloadkit.trace import Trace

#: Lowest confidence and shortest length of an outage. [s]
CONFIDENCE, SHORTEST = 0.9, 3600

#: Time before and after an outage without another one. [s]
BEFORE = AFTER = DAY

#: Number of weeks searched on either side; largest and smallest number of templates.
WEEKS, MOST, LEAST = 8, 4, 2

#: Time before an outage at which a template begins, so that the machine fills; time after the
#: scored bins at which it ends, so that users who are ahead of the log have more to submit. [s]
WARM_UP = TAIL = 3 * DAY

Kind = Literal["scheduled", "surprise", "unclear"]

#: A scheduled outage is known in advance: of at least five jobs that start within `DRAIN` before
#: it, 90 % are planned to end by its start (± 15 min); or another outage occurs at the same hour of
#: the week (± 1 h) within eight weeks.
DRAIN, STARTS, ENDING, SLACK, SAME_HOUR = 6 * 3600, 5, 0.9, 900, 3600

#: A surprise: at least half of the machine is still in use at this time before. [s]
CUT, IN_USE = 600, 0.5


class OutageWindow(NamedTuple):
    """An outage, or the same hours of a control week.

    Parameters
    ----------
    start, end : int
        [s]
    planned : bool
        Whether the scheduler knows the outage in advance.
    weeks : tuple of int
        Distances of its templates. [weeks before]
    """

    start: int
    end: int
    planned: bool
    weeks: tuple[int, ...]


class Pair(NamedTuple):
    """An outage and its control (None if there is no such week)."""

    kind: Kind
    outage: OutageWindow
    placebo: OutageWindow | None


def pairs_of(trace: Trace) -> list[Pair]:
    """Find the outages of a log that can be predicted from the weeks before.

    Parameters
    ----------
    trace : Trace
        Jobs that ran.

    Returns
    -------
    list of Pair
        In the order of the outages. Only outages in which jobs waited while none ran are used: a
        lack of submissions as evidence would determine the answer.
    """
    found = infer_outages(trace).chosen(CONFIDENCE)
    submit = trace.column("submit")
    down = found[["start", "end"]].to_numpy()
    waiting = (found["evidence"] == "waiting").to_numpy()
    long = np.flatnonzero(waiting & (down[:, 1] - down[:, 0] >= SHORTEST))
    kinds = kinds_of(trace, down[long])
    pairs = []
    for place, kind in zip(long, kinds, strict=True):
        start, end = int(np.ceil(down[place, 0])), int(down[place, 1])
        others = np.delete(down, place, axis=0)
        if not is_clean(start, end, others) or end + AFTER > submit[-1]:
            continue
        weeks = _templates(start, end, down, submit[0])
        if len(weeks) < LEAST:
            continue
        outage = OutageWindow(start, end, kind == "scheduled", weeks)
        pairs.append(Pair(kind, outage, _placebo(outage, down, submit)))
    return pairs


def is_clean(start: float, end: float, down: NDArray[np.float64]) -> bool:
    """Return whether the machine is up from `BEFORE` a start to `AFTER` an end.

    Examples
    --------
    >>> down = np.array([[0.0, 3600.0]])
    >>> is_clean(DAY + 3600, DAY + 7200, down), is_clean(DAY + 3599, DAY + 7200, down)
    (True, False)
    """
    return not ((down[:, 0] < end + AFTER) & (down[:, 1] > start - BEFORE)).any()


def kinds_of(trace: Trace, down: NDArray[np.float64]) -> list[Kind]:
    """Classify outages as scheduled or as surprises, by the jobs before them.

    Parameters
    ----------
    down : ndarray, shape (n_outages, 2)
        Starts and ends. [s]
    """
    start = trace.column("submit") + np.nan_to_num(trace.column("wait"))
    run, requested = trace.column("run"), trace.column("requested_time")
    planned_end = start + np.where(requested > 0, requested, run)
    time, in_use = use_over_time(start, start + run, trace.used_procs)
    phase = Clock.of(trace).local(down[:, 0]) % WEEK
    kinds: list[Kind] = []
    for (begin, _), hour in zip(down, phase, strict=True):
        near = np.abs(down[:, 0] - begin)
        apart = np.abs(phase - hour)
        again = (near > SAME_HOUR) & (near <= WEEKS * WEEK + SAME_HOUR)
        regular = (again & (np.minimum(apart, WEEK - apart) <= SAME_HOUR)).any()
        last = (start >= begin - DRAIN) & (start < begin)
        ending = planned_end[last] <= begin + SLACK
        drained = ending.size >= STARTS and ending.mean() >= ENDING
        used = in_use[max(np.searchsorted(time, begin - CUT, side="right") - 1, 0)]
        stopped = used >= IN_USE * (trace.header.procs or in_use.max())
        kinds.append("scheduled" if regular or drained else "surprise" if stopped else "unclear")
    return kinds


def outside(trace: Trace, pairs: list[Pair]) -> Trace:
    """Return the jobs of a log that were not submitted around an outage."""
    submit = trace.column("submit")
    keep = np.ones(submit.size, np.bool_)
    for pair in pairs:
        keep &= (submit < pair.outage.start - BEFORE) | (submit >= pair.outage.end + AFTER)
    return trace.select(keep)


def _templates(start: int, end: int, down: NDArray[np.float64], first: float) -> tuple[int, ...]:
    """Return the nearest weeks before in which the machine was up at these hours."""
    clean = [
        back
        for back in range(1, WEEKS + 1)
        if start - back * WEEK - WARM_UP >= first
        and is_clean(start - back * WEEK, end - back * WEEK, down)
    ]
    return tuple(clean[:MOST])


def _placebo(
    outage: OutageWindow, down: NDArray[np.float64], submit: NDArray[np.float64]
) -> OutageWindow | None:
    """Return the same hours of the nearest week after it in which the machine was up."""
    for later in range(1, WEEKS + 1):
        start, end = outage.start + later * WEEK, outage.end + later * WEEK
        if end + AFTER > submit[-1]:
            return None
        weeks = _templates(start, end, down, submit[0])
        if is_clean(start, end, down) and len(weeks) >= LEAST:
            return OutageWindow(start, end, outage.planned, weeks)
    return None


# Templates, weeks that represent other weeks, joined to one log for simulation.

#: Columns required by a simulation, except submit times and users.
SERVED = ("wait", "run", "procs", "requested_procs", "requested_time")

#: Smallest gap between templates, in which all jobs can end. [s]
APART = 4 * WEEK


class Template(NamedTuple):
    """A window, and the distance of the template. [weeks before]."""

    window: OutageWindow
    back: int


def one_after_another(
    trace: Trace, templates: Sequence[Template]
) -> tuple[Trace, list[OutageWindow]]:
    """Concatenate templates to one log, with gaps between them and without common users.

    Parameters
    ----------
    templates : sequence of Template
        At least one; a template may occur several times.

    Returns
    -------
    trace : Trace
        The templates, each at its original hours of the week.
    windows : list of Window
        The window of each template in the new log.
    """
    submit = trace.column("submit")
    users, code = np.unique(trace.column("user"), return_inverse=True)
    longest = max(window.end - window.start for window, _ in templates)
    apart = ((WARM_UP + longest + AFTER + TAIL) // WEEK + 1) * WEEK + APART
    first = templates[0].window.start // WEEK * WEEK
    rows, times, who, moved = [], [], [], []
    for place, (window, back) in enumerate(templates):
        start, end = window.start - back * WEEK, window.end - back * WEEK
        until = min(end + AFTER + TAIL, window.start)  # exclude the window itself
        row = np.arange(*np.searchsorted(submit, (start - WARM_UP, until)))
        shift = first + place * apart - start // WEEK * WEEK
        rows.append(row)
        times.append(submit[row] + shift)
        who.append(code[row] + place * users.size)
        moved.append(window._replace(start=start + shift, end=end + shift))
    row = np.concatenate(rows)
    columns = {name: trace.column(name)[row] for name in SERVED}
    columns |= {"submit": np.concatenate(times), "user": np.concatenate(who)}
    return Trace.from_columns(columns, header=trace.header, name=trace.name), moved


def down(windows: Sequence[OutageWindow], procs: int | None) -> Outages:
    """Return outages of the whole machine; scheduled ones are announced a day ahead."""
    return Outages(tuple(
        Outage(
            number, window.start, window.end, procs=procs or UNKNOWN,
            announced=window.start - DAY if window.planned else UNKNOWN,
        )
        for number, window in enumerate(windows, 1)
    ))  # fmt: skip


# Synthetic logs of known users: resampled from a log, and simulated with its outages.

#: Columns of the resampled jobs.
COLUMNS = ("submit", "user", *SERVED)


def population_of(trace: Trace) -> Any:
    """Return the population that resamples users from a log, each moved by whole weeks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # an empty pool is expected
        return Resampled().prepare(trace)


def synthetic_log(
    trace: Trace,
    population: Any,
    pairs: Sequence[Pair],
    users: Any,
    rng: np.random.Generator,
    *,
    interrupted: str = "requeue",
) -> Trace:
    """Return a log of the same time and outages, with users of the given behaviour.

    First users are resampled, each moved by some weeks, so that no recorded reaction to outages
    remains. Their submissions by timestamps, simulated without outages, are the log on which the
    given users are based.

    Parameters
    ----------
    population : object
        Result of `population_of`.
    pairs : sequence of Pair
    users : str or object
        As of `workloadkit.simulate`.
    interrupted : {"requeue", "lose"}
    """
    outages = down([pair.outage for pair in pairs], trace.header.procs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # partitions are treated as one machine
        drawn = simulate(
            trace, "easy", population=population, oversize="drop", rng=seed_of(rng)
        ).trace()
        drawn = Trace.from_columns({name: drawn.column(name) for name in COLUMNS},
                                   header=trace.header)  # fmt: skip
        return simulate(
            drawn, "easy", users, outages=outages, interrupted=interrupted, rng=seed_of(rng)
        ).trace()
