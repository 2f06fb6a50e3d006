"""Activity of users around an outage: recorded, and predicted from templates that react to it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.studies.recorded_reactions.templates import Template, down, one_after_another
from analysis.studies.recorded_reactions.users import BEHAVIOURS
from analysis.studies.recorded_reactions.windows import AFTER, Window
from workloadkit.clock import WEEK
from workloadkit.provenance import seed_of
from workloadkit.sessions import delimit_sessions
from workloadkit.simulation.simulate import simulate
from workloadkit.trace import Trace

#: Predicted quantities.
QUANTITIES = ("submissions", "sessions", "waiting jobs")

#: Length of a bin [s]; bins before an outage, in its first hours, and after it.
BIN, N_BEFORE, N_DURING, N_AFTER = 3 * 3600, 4, 2, AFTER // (3 * 3600)

#: The bins after an outage, which are scored.
SCORED = slice(N_BEFORE + N_DURING, None)

#: Runs for users with random decisions.
RUNS = 3

#: Weight of the mean level of the day, in templates.
LEVEL = 0.25

#: Addend of both parts of a quotient, and least prediction. [jobs or sessions per bin]
ONE, SOME = 1.0, 0.1


class Events(NamedTuple):
    """Times at which jobs were submitted, sessions began and jobs started, each ascending [s]."""

    submit: NDArray[np.float64]
    begin: NDArray[np.float64]
    start: NDArray[np.float64]


class Case(NamedTuple):
    """What came in a window, and what its templates say.

    Parameters
    ----------
    observed, base : ndarray, shape (n_quantities, n_bins)
        What was recorded, and what the templates recorded in the mean.
    played : dict of str to ndarray, shape (2, n_quantities, n_bins)
        What the templates submit by behaviour: without an outage, and with it.
    whole : ndarray of bool, shape (n_bins,)
        Whether a bin that begins by the start of the outage ends by its end; True of the others.
    """

    observed: NDArray[np.float64]
    base: NDArray[np.float64]
    played: dict[str, NDArray[np.float64]]
    whole: NDArray[np.bool_]


def events_of(trace: Trace) -> Events:
    """Return the events of a log; jobs that never ran belong to no session."""
    submit = trace.column("submit")
    session = delimit_sessions(trace)["session"]
    begin = submit[session.index[~session.duplicated()]]
    start = submit + np.nan_to_num(trace.column("wait"))
    return Events(*(np.sort(times) for times in (submit, begin, start)))


def bins_of(start: int, end: int) -> NDArray[np.int64]:
    """Return where the bins of a window begin: by its start until it, then by its end. [s].

    Examples
    --------
    >>> (bins_of(36000, 72000) // 3600).tolist()
    [-2, 1, 4, 7, 10, 13, 20, 23, 26, 29, 32, 35, 38, 41]
    """
    until = start + BIN * np.arange(-N_BEFORE, N_DURING)
    return np.concatenate([until, end + BIN * np.arange(N_AFTER)])


def counts(events: Events, begin: NDArray[np.int64]) -> NDArray[np.float64]:
    """Count submissions and sessions that begin in bins, and the jobs that wait as these end."""
    end = begin + BIN
    within = [np.searchsorted(times, end) - np.searchsorted(times, begin) for times in events[:2]]
    waiting = np.searchsorted(events.submit, end) - np.searchsorted(events.start, end)
    return np.array([*within, waiting], np.float64)


def play(
    trace: Trace,
    windows: Sequence[Window],
    behaviours: dict[str, Any],
    rng: np.random.Generator,
    *,
    runs: int = RUNS,
    interrupted: str = "requeue",
) -> list[Case]:
    """Let the templates of windows go through their outages.

    Parameters
    ----------
    trace : Trace
        The log, of jobs that ran.
    windows : sequence of Window
        One at least.
    behaviours : dict of str to object
        How users behave, by the names of `BEHAVIOURS`.
    rng : Generator
    runs : int, default 3
        Runs of users who draw, for each template.
    interrupted : {"requeue", "lose"}
        What becomes of jobs that the outage stops, see `workloadkit.simulate`.

    Returns
    -------
    list of Case
        One a window.
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
        cases.append(Case(counts(events, bins), mean_week(recorded), its, whole))
    return cases


def mean_week(recorded: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of templates, drawn a bit towards its own mean over the bins after.

    Where a few weeks have nothing, there may be something.

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
    """Return what templates submit without an outage and with it.

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
