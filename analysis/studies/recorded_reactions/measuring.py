"""Tasks: predictions for the outages of recorded logs, and for synthetic logs of known users."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis.reproduction import Log
from workloadkit.analysis.studies.recorded_reactions.forecasting import RUNS, play
from workloadkit.analysis.studies.recorded_reactions.scores import Played, gains
from workloadkit.analysis.studies.recorded_reactions.synthetic import population_of, synthetic_log
from workloadkit.analysis.studies.recorded_reactions.users import BEHAVIOURS, fitted_users
from workloadkit.analysis.studies.recorded_reactions.windows import Pair, outside, pairs_of
from workloadkit.trace import Trace

#: Users in the synthetic logs of the test, in addition to open ones.
TESTED = ("fluid", "p(r)")

#: Number of outages in a task.
PART = 5


class OutagePart(NamedTuple):
    """Some outages of a log, by their positions."""

    log: Log
    places: tuple[int, ...]
    interrupted: str


class SyntheticTask(NamedTuple):
    """A synthetic log with known users, by the names of `BEHAVIOURS`."""

    log: Log
    users: str
    interrupted: str
    pooled: bool


@lru_cache(maxsize=4)
def jobs_and_pairs(log: Log) -> tuple[Trace, list[Pair]]:
    """Return the jobs of a log that ran, and its outages."""
    trace = log.read()
    trace = trace.select(trace.ran & (trace.column("user") >= 0))
    return trace, pairs_of(trace)


@lru_cache(maxsize=4)
def _behaviours(log: Log) -> dict[str, Any]:
    """Return the behaviours; p(r) is fitted on jobs that are not near an outage."""
    fitted = {"p(r)": fitted_users(outside(*jobs_and_pairs(log)))}
    return {name: fitted.get(name, name) for name in BEHAVIOURS}


@lru_cache(maxsize=4)
def _population(log: Log) -> Any:
    return population_of(jobs_and_pairs(log)[0])


def parts_of(log: Log, interrupted: str) -> list[OutagePart]:
    """Return the tasks of a recorded log."""
    places = range(len(jobs_and_pairs(log)[1]))
    return [
        OutagePart(log, tuple(places[first : first + PART]), interrupted)
        for first in range(0, len(places), PART)
    ]


def play_part(part: OutagePart, rng: np.random.Generator) -> list[Played]:
    """Simulate users of every behaviour in some outages of a log and their controls."""
    trace, pairs = jobs_and_pairs(part.log)
    chosen = [pairs[place] for place in part.places]
    behaviours = _behaviours(part.log)
    return _play_all(trace, chosen, behaviours, rng, part.interrupted)


def gains_if_known(
    known: SyntheticTask, rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Return the gains over open users in a synthetic log, by tested behaviour."""
    trace, pairs = jobs_and_pairs(known.log)
    behaviours = _behaviours(known.log)
    drawn = synthetic_log(
        trace, _population(known.log), pairs, behaviours[known.users], rng,
        interrupted=known.interrupted,
    )  # fmt: skip
    tested = TESTED if known.users == "open" else (known.users,)
    chosen = {name: behaviours[name] for name in ("open", *tested)}
    found = [
        played
        for first in range(0, len(pairs), PART)
        for played in _play_all(
            drawn, pairs[first : first + PART], chosen, rng, known.interrupted, runs=1
        )
    ]
    return {users: gains(found, users, pooled=known.pooled) for users in tested}


def _play_all(
    trace: Trace,
    pairs: Sequence[Pair],
    behaviours: dict[str, Any],
    rng: np.random.Generator,
    interrupted: str,
    runs: int = RUNS,
) -> list[Played]:
    """Simulate the templates of outages and of their controls."""
    windows = [pair.outage for pair in pairs]
    windows += [pair.placebo for pair in pairs if pair.placebo is not None]
    cases = iter(play(trace, windows, behaviours, rng, runs=runs, interrupted=interrupted))
    outages = [next(cases) for _ in pairs]
    return [
        Played(pair.kind, outage, None if pair.placebo is None else next(cases))
        for pair, outage in zip(pairs, outages, strict=True)
    ]
