"""Built-in predictors, compiled: one part for all of them.

The ended jobs of a user, or those of one user, size and request, form a group. A group is named by
its first job, which a hash table finds; its ended jobs are linked from the last one back.
"""

import math
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.errors import ParameterError
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.predictors.predictor import INCREMENTS
from workloadkit.simulation.workload import shortest_estimate

# What predictions are made of: the run time, the limit, or the run times of ended jobs: the mean of
# the last ones or of all, or a quantile of the last ones.
KINDS = OF_RUN_TIME, OF_LIMIT, MEAN, MEAN_OF_ALL, QUANTILE = range(5)

# Rules of correction.
RULES = ("requested", "increments", "double", "none")
TO_LIMIT, BY_INCREMENTS, DOUBLED, UNCORRECTED = range(len(RULES))

_PRIMES = 1_000_003, 31, 2_654_435_761  # a remainder, a factor, and one that spreads the bits
_SPREAD = 16


class Memory(NamedTuple):
    """A predictor and what it has learned.

    Parameters
    ----------
    what, rule : int
        See the constants.
    corrects : bool
        Whether the rule corrects predictions.
    shortest : int
        The shortest prediction. [s]
    number : float
        Its parameter: f, factor, decay or quantile.
    window, least : int
        Most of the last jobs that count; fewest that are necessary.
    by_job : bool
        Whether groups are of one user, size and request.
    renewed : bool
        Whether waiting jobs are planned again.
    table : ndarray of int32
        First jobs of groups by hash, -1 for none; the size is a power of two.
    last : ndarray of int32, shape (n_jobs,)
        By first job of a group: the last of its ended jobs, -1 for none.
    link : ndarray of int32, shape (n_jobs,)
        The first job of a job's group; once it has ended, the one of its group that ended before.
    total, weight : ndarray of float64, shape (n_jobs,)
        By first job: weighted sum of all run times, and of the weights; only for their mean.
    draws : ndarray of float64, shape (n_jobs,)
        A random number for each job, or none.
    recent : ndarray, shape (window,)
        Work space: run times. [s]
    increments : ndarray
        Of predictions, for the rule `BY_INCREMENTS`. [s]
    """

    what: int
    rule: int
    corrects: bool
    shortest: int
    number: float
    window: int
    least: int
    by_job: bool
    renewed: bool
    table: NDArray[np.int32]
    last: NDArray[np.int32]
    link: NDArray[np.int32]
    total: NDArray[np.float64]
    weight: NDArray[np.float64]
    draws: NDArray[np.float64]
    recent: NDArray
    increments: NDArray


def new_memory(
    workload: Any,
    what: int,
    rule: str,
    *,
    number: float = 1.0,
    window: int = 0,
    least: int = 1,
    by_job: bool = False,
    renewed: bool = False,
    draws: NDArray[np.float64] | None = None,
) -> Memory:
    """Return a predictor that has learned nothing; see `Memory`.

    Raises
    ------
    ParameterError
        For values that the functions below do not know: they check no index.
    """
    n_jobs, dtype = workload.submit.size, workload.submit.dtype
    if draws is not None and draws.shape != (n_jobs,):
        raise ParameterError(f"predictor: there are {draws.size} draws for {n_jobs} jobs")
    of_share = what == QUANTILE and not 0 < number <= 1
    for name, value, is_wrong in (
        ("what", what, what not in KINDS),
        ("rule", rule, rule not in RULES),
        ("number", number, of_share),
        ("window", window, what in (MEAN, QUANTILE) and not window >= 1),
        ("least", least, not least >= 1),
    ):
        if is_wrong:
            raise ParameterError(
                f"predictor: {name} is {value!r:.60}, which the compiled predictors do not "
                "know; take engine='python', or register functions of your own"
            )
    n_learned = n_jobs if what in (MEAN, MEAN_OF_ALL, QUANTILE) else 0
    n_sums = n_jobs if what == MEAN_OF_ALL else 0
    return Memory(
        what=what,
        rule=RULES.index(rule),
        corrects=rule != "none",
        shortest=shortest_estimate(dtype),
        number=float(number),
        window=window,
        least=least,
        by_job=by_job,
        renewed=renewed,
        table=np.full(1 << (n_learned + n_learned // 8).bit_length(), -1, np.int32),
        last=np.full(n_learned, -1, np.int32),
        link=np.empty(n_learned, np.int32),
        total=np.zeros(n_sums),
        weight=np.zeros(n_sums),
        draws=np.empty(0) if draws is None else draws,
        recent=np.empty(min(window, n_jobs), dtype),
        increments=np.array(INCREMENTS, dtype),
    )


@bare
def plan(state, job, now):
    """Plan a job that arrives or waits."""
    memory, jobs = state.predictor, state.jobs
    what, limit = memory.what, jobs.limit[job]
    expected = float(limit)
    if what == OF_RUN_TIME:
        expected = float(jobs.run[job])
        if memory.draws.size > 0:
            expected *= 1.0 + memory.number * memory.draws[job]
    elif what == OF_LIMIT:
        expected *= memory.number
    else:
        group = memory.link[job] = _group_of(memory, jobs, job)
        expected = min(_expected(memory, jobs, group, limit), expected)
    jobs.estimate[job] = max(expected, memory.shortest)


@bare
def _group_of(memory, jobs, job):
    """Return the first job of a job's group."""
    table, mask = memory.table, memory.table.size - 1
    remainder, factor, spread = _PRIMES
    number = jobs.user[job] % remainder
    if memory.by_job:
        number = (number * factor + jobs.procs[job]) % remainder
        number = (number * factor + int(jobs.limit[job])) % remainder
    place = (number * spread >> _SPREAD) & mask
    while table[place] >= 0:
        first = table[place]
        if jobs.user[first] == jobs.user[job] and (
            not memory.by_job
            or (jobs.procs[first] == jobs.procs[job] and jobs.limit[first] == jobs.limit[job])
        ):
            return first
        place = (place + 1) & mask
    table[place] = job
    return job


@bare
def _expected(memory, jobs, group, limit):
    """Return the prediction from the ended jobs of a group; the limit where too few have ended."""
    job = memory.last[group]
    if memory.what == MEAN_OF_ALL:
        return float(limit) if job < 0 else memory.total[group] / memory.weight[group]
    run, recent, count = jobs.run, memory.recent, 0
    while job >= 0 and count < memory.window:
        recent[count] = run[job]
        job = memory.link[job]
        count += 1
    if count < memory.least:
        return float(limit)
    if memory.what == QUANTILE:
        _sort(recent, count)
        return float(recent[math.ceil(memory.number * count) - 1])
    total = weight = 0.0
    for place in range(count - 1, -1, -1):
        total = total * memory.number + recent[place]
        weight = weight * memory.number + 1.0
    return total / weight


@inline
def _sort(values, count):
    """Sort the first values."""
    for end in range(1, count):
        value, place = values[end], end
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


@bare
def learn(state, job, now):
    """Record a job that has ended."""
    memory, run = state.predictor, state.jobs.run[job]
    if memory.link.size == 0:
        return
    group = memory.link[job]
    memory.link[job], memory.last[group] = memory.last[group], job
    if memory.what == MEAN_OF_ALL:
        memory.total[group] = memory.total[group] * memory.number + run
        memory.weight[group] = memory.weight[group] * memory.number + 1.0


@bare
def correct(state, job, now):
    """Correct the estimate of a job that has outlived it, if it is below the limit.

    Steps that end by now are taken at once.
    """
    memory, jobs = state.predictor, state.jobs
    start, estimate, limit = jobs.start[job], jobs.estimate[job], jobs.limit[job]
    if estimate >= limit:
        return
    longer = limit
    if memory.rule == DOUBLED and estimate > 0:
        longer = 2 * estimate
        while longer < limit and start + longer <= now:
            longer *= 2
    elif memory.rule == BY_INCREMENTS:
        prediction, increments = jobs.prediction[job], memory.increments
        for place in range(increments.size):
            step = prediction + increments[place]
            if step > estimate and start + step > now:
                longer = step
                break
    jobs.estimate[job] = min(longer, limit)


register_functions(Memory, sys.modules[__name__])
