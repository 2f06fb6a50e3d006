"""Micro-benchmarks: workloads of applications that stress one part of a system."""

from typing import NamedTuple

import numpy as np

from workloadkit.trace import Trace

#: Processors of the machines that the micro-benchmarks are made for.
PROCS = 128

_USERS = 24
_SHORTEST, _LONGEST = 30, 129_600  # run times [s]
_GAP = 20  # mean time between the jobs of a bag [s]

# Times that users request [s]: they take a round one.
_ROUND = 60.0 * np.array([10, 30, 60, 120, 240, 480, 720, 1440, 2160])


class Application(NamedTuple):
    """Applications of one type, which users submit in bags.

    Parameters
    ----------
    bag : float
        Mean number of jobs in a bag; it has a geometric distribution.
    procs : mapping of int to float
        Probability of each number of processors.
    median, sigma : float
        Median of the log-normal run times [s], and standard deviation of their logarithm.
    """

    bag: float
    procs: dict[int, float]
    median: float
    sigma: float

    @property
    def work(self) -> float:
        """Mean work of a bag, processors × seconds, without the bounds of the run times."""
        procs = sum(size * share for size, share in self.procs.items())
        return self.bag * procs * self.median * float(np.exp(self.sigma**2 / 2))


#: The types; their numbers, from 1, are the queues of the jobs.
TYPES = {
    "compute": Application(10, {1: 0.6, 2: 0.25, 4: 0.15}, 3600, 1.2),
    "communication": Application(2, {16: 0.5, 32: 0.35, 64: 0.15}, 1200, 1.0),
    "device": Application(4, {8: 1.0}, 600, 1.5),
}


def micro(types: tuple[str, ...], n_jobs: int, rng: np.random.Generator) -> Trace:
    """Return a workload of applications of these types, each with about the same share of the work.

    Bags arrive at random; the load is left to the caller. The user requests the same time for all
    jobs of a bag: the longest run time, times up to three, rounded up.
    """
    shares = np.array([1 / TYPES[name].work for name in types])
    kind: list[int] = []
    size: list[int] = []
    run, procs, requested = [], [], []
    while sum(size) < n_jobs:
        name = types[rng.choice(len(types), p=shares / shares.sum())]
        one = TYPES[name]
        size.append(int(rng.geometric(1 / one.bag)))
        drawn = np.exp(np.log(one.median) + one.sigma * rng.standard_normal(size[-1]))
        run.append(np.clip(np.rint(drawn), _SHORTEST, _LONGEST))
        least = min(run[-1].max() * rng.uniform(1, 3), _ROUND[-1])
        requested.append(_ROUND[np.searchsorted(_ROUND, least)])
        procs.append(rng.choice([*one.procs], size[-1], p=[*one.procs.values()]))
        kind += [1 + [*TYPES].index(name)] * size[-1]
    begin = np.cumsum(rng.exponential(3600, len(size)))
    within = [np.cumsum(rng.exponential(_GAP, n)) for n in size]
    submit = np.repeat(begin, size) + np.concatenate(within)
    user = np.repeat(rng.integers(1, 1 + _USERS, len(size)), size)
    order = np.argsort(submit, kind="stable")[:n_jobs]
    columns = {
        "submit": np.rint(submit),
        "run": np.concatenate(run),
        "procs": np.concatenate(procs),
        "requested_time": np.repeat(requested, size),
        "user": user,
        "queue": kind,
    }
    return Trace.from_columns({name: np.asarray(x)[order] for name, x in columns.items()})
