"""Synthetic logs of known users: resampled from a log, and simulated with its outages."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from workloadkit.analysis.studies.recorded_reactions.templates import SERVED, down
from workloadkit.analysis.studies.recorded_reactions.windows import Pair
from workloadkit.errors import WorkloadWarning
from workloadkit.provenance import seed_of
from workloadkit.simulation.populations import Resampled
from workloadkit.simulation.simulate import simulate
from workloadkit.trace import Trace

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
    trace : Trace
    population : object
        Result of `population_of`.
    pairs : sequence of Pair
    users : str or object
        As of `workloadkit.simulate`.
    rng : Generator
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
