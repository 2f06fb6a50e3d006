"""Users who continue a session by the response time of the work before, in both engines."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit.analysis.reactions.continuation import fit_continuation
from workloadkit.analysis.studies.recorded_reactions.windows import (
    AFTER,
    OutageWindow,
    Template,
    down,
    one_after_another,
)
from workloadkit.clock import DAY, WEEK
from workloadkit.errors import check_not_negative
from workloadkit.provenance import seed_of
from workloadkit.sessions import delimit_sessions
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.population import Present, Recorded
from workloadkit.simulation.simulate import simulate
from workloadkit.simulation.users.batches import BatchContext, BatchUser
from workloadkit.simulation.users.batches.simulated_users import SimulatedBatchUsers
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

#: Behaviours by their names in claims, and whether they are random, which requires several runs.
BEHAVIOURS = {"open": False, "adjusted": False, "distribution": True, "fluid": True, "p(r)": True}


@dataclass(frozen=True)
class ByResponse:
    """Users who continue the sessions of a log with probability p(r) = a / (b r + 1).

    Within a session of the log, a batch follows work with response time r₀. If the simulated
    response time is r, the user continues with probability p(r) / p(r₀), at most 1, after the
    recorded think time; a cancels out. Otherwise the rest of the session is postponed to the same
    time of a later day. A session begins at its recorded time or, if the previous work has not
    ended by then, the smallest sufficient number of whole days later. Response times are those of
    the job submitted last.

    Parameters
    ----------
    b : float
        [1/min]
    """

    name: ClassVar[str] = "by-response"
    draws: ClassVar[bool] = True

    b: float

    def __post_init__(self) -> None:
        check_not_negative(b=self.b)

    def users_of(self, trace: Trace, workload: Workload) -> SimulatedBatchUsers:
        """Return the users of one simulation, who submit the jobs of `workload`."""
        population = Recorded()
        return SimulatedBatchUsers(
            population, self, trace, population.present(trace, lambda _: workload, 0)
        )

    def compiled(self, present: Present) -> Any:
        """Return the compiled form of the behaviour, new for each simulation."""
        activities = present.activities
        last = activities.first_job[1:] - 1
        recorded = activities.ended[last] - (activities.arrival + activities.gap[last])
        return Continuing(
            b=float(self.b),
            arrival=activities.arrival,
            recorded=recorded.astype(np.float64),
            response=np.zeros(present.users.member.size),
        )

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users of the plain-Python engine, new for each simulation."""
        context = BatchContext(present, rng)
        return [ContinuingUser(context, who, self.b) for who in range(present.users.member.size)]


class ContinuingUser(BatchUser):
    """A user who continues a session, or postpones the rest of it.

    Parameters
    ----------
    context : BatchContext
    who : int
    b : float
        [1/min]
    """

    def __init__(self, context: BatchContext, who: int, b: float) -> None:
        super().__init__(context, who)
        self.b = b

    def decide(self, batch: int, *, by_end: bool) -> Any:
        """Continue after the recorded think time, or return on a later day."""
        activities = self.context.activities
        recorded = activities.arrival[batch]
        late = max(self.now - recorded, 0)
        if self._opens_session(batch):
            return recorded + ceil(late / DAY) * DAY
        at = activities.first_job[batch] - 1  # the job submitted last before
        before = activities.ended[at] - (activities.arrival[batch - 1] + activities.gap[at])
        job = self.sent[-1]
        if self.context.rng.random() < go_on(job.end - job.submit, before, self.b):
            return self.now + activities.think_time[batch]
        return recorded + (late // DAY + 1) * DAY


def go_on(response: float, recorded: float, b: float) -> float:
    """Return p(r) / p(r₀) of p(r) = a / (b r + 1), times in seconds; above 1 where r is shorter.

    Examples
    --------
    >>> go_on(1200, 0, 0.05), go_on(0, 1200, 0.05)
    (0.5, 2.0)
    """
    return (b * recorded / 60 + 1) / (b * response / 60 + 1)


def fitted_users(trace: Trace) -> ByResponse:
    """Return users who continue by the p(r) fitted to a log; a constant p if it is unknown.

    Parameters
    ----------
    trace : Trace
        The jobs to fit, see `analysis.reactions.fit_continuation`.
    """
    b = fit_continuation(trace, n_resamples=1, rng=0).b
    return ByResponse(b if b == b else 0.0)


# Users who go on with a session by the response time of the work before, compiled.

_DAY = 86400


class Continuing(NamedTuple):
    """Parameters and state of the users; see `ByResponse`.

    Parameters
    ----------
    b : float
        [1/min]
    arrival : ndarray, shape (n_batches,)
        Recorded times. [s]
    recorded : ndarray of float64, shape (n_batches,)
        Response time of the last submitted job of each batch. [s]
    response : ndarray of float64, shape (n_users,)
        Response time of the last submitted job of the previous batch in the simulation. [s]
    """

    b: float
    arrival: NDArray
    recorded: NDArray[np.float64]
    response: NDArray[np.float64]


@bare
def job_ended(users: Any, place: Any, response: Any) -> None:
    """Store the response time of the last submitted job."""
    activities, tables = users.activities, users.tables
    who, at = tables.user[place], tables.at[place]
    batch = activities.batch[at]
    if batch == users.progress.next_batch[who] - 1 and at + 1 == activities.first_job[batch + 1]:
        users.behaviour.response[who] = response


@bare
def arrival(users: Any, released: Any, now: float) -> Any:
    """Return the arrival time of a batch that is released now."""
    who, batch, _ = released
    activities, behaviour = users.activities, users.behaviour
    recorded = behaviour.arrival[batch]
    late = max(now - recorded, 0)
    if activities.session[batch] != activities.session[batch - 1]:
        return float(recorded + ceil(late / _DAY) * _DAY)
    before, response = behaviour.recorded[batch - 1], behaviour.response[who]
    go_on = (behaviour.b * before / 60 + 1) / (behaviour.b * response / 60 + 1)
    if users.rng.random() < go_on:
        return float(now + activities.think_time[batch])
    return float(recorded + (floor(late / _DAY) + 1) * _DAY)


register_functions(Continuing, sys.modules[__name__])


#: Predicted quantities.
QUANTITIES = ("submissions", "sessions", "waiting jobs")

#: Length of a bin [s]; numbers of bins before an outage, in its first hours, and after it.
BIN, N_BEFORE, N_DURING, N_AFTER = 3 * 3600, 4, 2, AFTER // (3 * 3600)

#: The scored bins: those after an outage.
SCORED = slice(N_BEFORE + N_DURING, None)

#: Runs for users with random decisions.
RUNS = 3

#: Weight of the mean level of the day, in templates.
LEVEL = 0.25

#: Addend of both parts of a quotient, and least prediction. [jobs or sessions per bin]
ONE, SOME = 1.0, 0.1


class EventTimes(NamedTuple):
    """Times at which jobs were submitted, sessions began and jobs started, each ascending [s]."""

    submit: NDArray[np.float64]
    begin: NDArray[np.float64]
    start: NDArray[np.float64]


class WindowActivity(NamedTuple):
    """Recorded and simulated activity in a window.

    Parameters
    ----------
    observed, base : ndarray, shape (n_quantities, n_bins)
        Recorded activity in the window, and mean recorded activity in the templates.
    played : dict of str to ndarray, shape (2, n_quantities, n_bins)
        Simulated activity in the templates by behaviour: without an outage, and with it.
    whole : ndarray of bool, shape (n_bins,)
        Whether a bin that begins by the start of the outage ends by its end; True of the others.
    """

    observed: NDArray[np.float64]
    base: NDArray[np.float64]
    played: dict[str, NDArray[np.float64]]
    whole: NDArray[np.bool_]


def events_of(trace: Trace) -> EventTimes:
    """Return the events of a log; jobs that never ran belong to no session."""
    submit = trace.column("submit")
    session = delimit_sessions(trace)["session"]
    begin = submit[session.index[~session.duplicated()]]
    start = submit + np.nan_to_num(trace.column("wait"))
    return EventTimes(*(np.sort(times) for times in (submit, begin, start)))


def bins_of(start: int, end: int) -> NDArray[np.int64]:
    """Return the begins of the bins of a window, relative to its start, then to its end. [s].

    Examples
    --------
    >>> (bins_of(36000, 72000) // 3600).tolist()
    [-2, 1, 4, 7, 10, 13, 20, 23, 26, 29, 32, 35, 38, 41]
    """
    until = start + BIN * np.arange(-N_BEFORE, N_DURING)
    return np.concatenate([until, end + BIN * np.arange(N_AFTER)])


def counts(events: EventTimes, begin: NDArray[np.int64]) -> NDArray[np.float64]:
    """Count submissions and begins of sessions in bins, and the jobs waiting at their ends."""
    end = begin + BIN
    within = [np.searchsorted(times, end) - np.searchsorted(times, begin) for times in events[:2]]
    waiting = np.searchsorted(events.submit, end) - np.searchsorted(events.start, end)
    return np.array([*within, waiting], np.float64)


def play(
    trace: Trace,
    windows: Sequence[OutageWindow],
    behaviours: dict[str, Any],
    rng: np.random.Generator,
    *,
    runs: int = RUNS,
    interrupted: str = "requeue",
) -> list[WindowActivity]:
    """Simulate the templates of windows with and without their outages.

    Parameters
    ----------
    trace : Trace
        Jobs that ran.
    windows : sequence of Window
        At least one.
    behaviours : dict of str to object
        Behaviours of users, by the names of `BEHAVIOURS`.
    runs : int, default 3
        Runs of random users for each template.
    interrupted : {"requeue", "lose"}
        Treatment of jobs that the outage stops, see `workloadkit.simulate`.

    Returns
    -------
    list of Case
        One for each window.
    """
    events = events_of(trace)
    played: list[dict[str, NDArray[np.float64]]] = [{} for _ in windows]
    for name, users in behaviours.items():
        n_runs = runs if BEHAVIOURS[name] else 1
        copies = [
            (place, Template(window, back))
            for place, window in enumerate(windows)
            for back in n_runs * window.weeks
        ]
        found = _both(trace, [copy for _, copy in copies], users, rng, interrupted)
        of_window = np.array([place for place, _ in copies])
        for place in range(len(windows)):
            played[place][name] = found[:, of_window == place].mean(axis=1)
    cases = []
    for window, its in zip(windows, played, strict=True):
        bins = bins_of(window.start, window.end)
        recorded = np.array([counts(events, bins - back * WEEK) for back in window.weeks])
        whole = bins + BIN <= window.end
        whole[SCORED] = True
        cases.append(WindowActivity(counts(events, bins), mean_week(recorded), its, whole))
    return cases


def mean_week(recorded: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of templates, shrunk towards its own mean over the bins after an outage.

    A count that is zero in a few weeks may still have a positive mean.

    Parameters
    ----------
    recorded : ndarray, shape (n_templates, n_quantities, n_bins)

    Examples
    --------
    >>> mean_week(np.array([[[0.0] * 6 + [4.0, 0.0] * 4]]))[0, -2:].tolist()
    [3.6, 0.4]
    """
    level = recorded[:, :, SCORED].mean(axis=(0, 2))[:, None]
    return np.maximum((recorded.sum(axis=0) + LEVEL * level) / (len(recorded) + LEVEL), SOME)


def react(
    base: NDArray[np.float64], without: NDArray[np.float64], with_: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the prediction: the base, changed by the effect of the outage in the simulations.

    Submissions and sessions change by the factor, because they cannot be negative; the queue
    changes by the difference, because most of it is caused by the outage.

    Examples
    --------
    >>> base, without, with_ = np.full((3, 1), 4.0), np.full((3, 1), 7.0), np.full((3, 1), 3.0)
    >>> react(base, without, with_).ravel().tolist()
    [2.0, 2.0, 0.1]
    """
    by_factor = base[:2] * (with_[:2] + ONE) / (without[:2] + ONE)
    by_difference = base[2:] + with_[2:] - without[2:]
    return np.maximum(np.concatenate([by_factor, by_difference]), SOME)


def _both(
    trace: Trace,
    copies: Sequence[Template],
    users: Any,
    rng: np.random.Generator,
    interrupted: str,
) -> NDArray[np.float64]:
    """Return the activity of templates without an outage and with it.

    Returns
    -------
    ndarray, shape (2, n_copies, n_quantities, n_bins)
    """
    played, moved = one_after_another(trace, [*copies, *copies])
    outages = down(moved[len(copies) :], trace.header.procs)
    schedule = simulate(
        played, "easy", users, oversize="drop", outages=outages, interrupted=interrupted,
        rng=seed_of(rng.spawn(1)[0]),
    )  # fmt: skip
    events = events_of(schedule.trace())
    found = [counts(events, bins_of(window.start, window.end)) for window in moved]
    return np.array(found).reshape(2, len(copies), len(QUANTITIES), -1)
