"""Synthetic logs of known users: resampled from a log, and simulated with its outages."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.studies.recorded_reactions.templates import SERVED, down
from analysis.studies.recorded_reactions.windows import Pair
from workloadkit.errors import WorkloadWarning
from workloadkit.provenance import seed_of
from workloadkit.simulation.populations import Resampled
from workloadkit.simulation.simulate import simulate
from workloadkit.trace import Trace

#: What of drawn jobs is kept.
COLUMNS = ("submit", "user", *SERVED)


def population_of(trace: Trace) -> Any:
    """Return who draws users from a log: moved by whole weeks, each another way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # an empty pool is no news here
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

    First users are drawn, each moved by some weeks, so that nothing is left of what the recorded
    ones may have done about outages. What they submit by timestamps, served without outages, is the
    log that the users given then act out.

    Parameters
    ----------
    trace : Trace
    population : object
        As of `population_of`.
    pairs : sequence of Pair
    users : str or object
        As of `workloadkit.simulate`.
    rng : Generator
    interrupted : {"requeue", "lose"}
    """
    outages = down([pair.outage for pair in pairs], trace.header.procs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # partitions are one machine here
        drawn = simulate(
            trace, "easy", population=population, oversize="drop", rng=seed_of(rng)
        ).trace()
        drawn = Trace.from_columns({name: drawn.column(name) for name in COLUMNS},
                                   header=trace.header)  # fmt: skip
        return simulate(
            drawn, "easy", users, outages=outages, interrupted=interrupted, rng=seed_of(rng)
        ).trace()
