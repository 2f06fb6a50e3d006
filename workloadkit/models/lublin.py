"""The model of Lublin and Feitelson: rigid jobs of two types, with a daily cycle."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, check_choice, check_positive, takes_rng
from workloadkit.models.made import (
    DailyCycle,
    as_trace,
    changed,
    check_counts,
    check_share,
    draw_until,
    gap_factor,
)
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace

Types = Literal["one", "two", "batch", "interactive"]

#: Machine size for which the parameters of sizes are given.
REFERENCE = 128

#: Logarithms of the longest run time (45 h) and of the longest gap (5 days); larger values are
#: redrawn.
LONGEST_RUN, LONGEST_GAP = 12.0, 13.0

_LEAST_MED = 1.5  # the authors' example for a machine of 8 processors
_PARTS = 48  # half hours of a day
_FIRST_PART = 11  # the cycle begins with the eleventh half hour, at 5:00


@dataclass(frozen=True)
class JobType:
    """Parameters of one type of jobs, with the paper's symbols.

    Gamma distributions are given as (shape, scale); those of run times and gaps apply to natural
    logarithms of seconds.

    Parameters
    ----------
    serial, power2 : float
        Shares of serial jobs, and of parallel jobs with a power of two.
    u_low, u_med, u_hi : float
        Limits of the two uniform distributions of the binary logarithm of other sizes, for a
        machine of 128 processors.
    u_prob : float
        Probability of the first distribution.
    run_1, run_2 : tuple of float
        The two gamma distributions of run times.
    pa, pb : float
        The first one is used with probability pa × size + pb.
    gap : tuple of float
        Gamma distribution of the gaps between arrivals in rush hours.
    arar : float
        Factor on its shape for the average over all hours.
    day : tuple of float
        Gamma distribution of the half hour of arrivals, in a day that begins at 5:00.
    """

    serial: float
    power2: float
    u_low: float
    u_med: float
    u_hi: float
    u_prob: float
    run_1: tuple[float, float]
    run_2: tuple[float, float]
    pa: float
    pb: float
    gap: tuple[float, float]
    arar: float
    day: tuple[float, float]

    def __post_init__(self) -> None:
        check_share(serial=self.serial, power2=self.power2, u_prob=self.u_prob)
        if self.serial + self.power2 > 1:
            raise ParameterError(
                f"serial and power2 are shares of all jobs; {self.serial:g} and {self.power2:g} "
                "exceed 1 together"
            )
        if not 0 <= self.u_low <= self.u_med <= self.u_hi < np.inf:
            raise ParameterError(
                f"u_low, u_med and u_hi must ascend from 0, not {self.u_low:g}, {self.u_med:g}, "
                f"{self.u_hi:g}"
            )
        for name in ("run_1", "run_2", "gap", "day"):
            shape, scale = getattr(self, name)
            check_positive(**{f"shape of {name}": shape, f"scale of {name}": scale})
        check_positive(arar=self.arar)
        if self.gap[1] >= 1:
            raise ParameterError(f"the scale of gap is {self.gap[1]:g}; it must be less than 1")
        if not np.isfinite(self.pa + self.pb):
            raise ParameterError(f"pa and pb are {self.pa:g} and {self.pb:g}; they must be finite")

    def cycle(self) -> DailyCycle:
        """Return the daily cycle of arrivals, by half hours."""
        from scipy.special import gammainc

        shape, scale = self.day
        part = np.arange(_FIRST_PART, _FIRST_PART + _PARTS)
        weights = np.empty(_PARTS)
        weights[(part - 1) % _PARTS] = np.diff(
            gammainc(shape, np.append(part - 0.5, part[-1] + 0.5) / scale)
        )
        return DailyCycle(tuple(weights.tolist()))

    def mean_gap(self) -> float:
        """Return the mean gap between arrivals of this type, in seconds."""
        from scipy.special import gammainc

        shape, scale = self.gap[0] * self.arar, self.gap[1]
        # mean of exp(x) for a gamma distribution truncated at the longest gap
        below = gammainc(shape, LONGEST_GAP / scale)
        whole = gammainc(shape, LONGEST_GAP * (1 / scale - 1)) * (1 - scale) ** -shape
        return float(whole / below)


BATCH = JobType(
    serial=0.2927, power2=0.6686, u_low=1.2, u_med=5.0, u_hi=7.0, u_prob=0.875,
    run_1=(6.57, 0.823), run_2=(639.1, 0.0156), pa=-0.003, pb=0.6986,
    gap=(6.0415, 0.8531), arar=1.0519, day=(6.1271, 5.2740),
)  # fmt: skip
INTERACTIVE = JobType(
    serial=0.1541, power2=0.625, u_low=1.0, u_med=3.0, u_hi=5.5, u_prob=0.705,
    run_1=(3.8351, 0.6605), run_2=(7.073, 0.6856), pa=-0.0118, pb=0.9156,
    gap=(6.5510, 0.6621), arar=0.9797, day=(8.9186, 3.6680),
)  # fmt: skip
ALL_JOBS = JobType(
    serial=0.244, power2=0.576, u_low=0.8, u_med=4.5, u_hi=7.0, u_prob=0.86,
    run_1=(4.2, 0.94), run_2=(312.0, 0.03), pa=-0.0054, pb=0.78,
    gap=(10.2303, 0.4871), arar=1.0225, day=(8.1737, 3.9631),
)  # fmt: skip

_QUEUES = {"interactive": 0, "batch": 1}  # by the standard, 0 is for interactive jobs


@takes_rng
def lublin(
    jobs: int,
    procs: int = REFERENCE,
    rng: np.random.Generator | int | None = None,
    *,
    load: float | None = None,
    types: Types = "one",
    batch: JobType = BATCH,
    interactive: JobType = INTERACTIVE,
    all_jobs: JobType = ALL_JOBS,
) -> Trace:
    """Generate a log with the model of Lublin and Feitelson [1]_.

    A job is serial, or has a size with a binary logarithm from one of two uniform distributions,
    mostly rounded so that the size is a power of two. The logarithm of its run time comes from one
    of two gamma distributions; larger jobs are more likely to have the one of longer run times.
    The logarithms of the gaps between arrivals have a gamma distribution, and the gaps are
    shortened or stretched by a daily cycle. Batch and interactive jobs arrive independently, each
    type with its own parameters.

    Parameters
    ----------
    jobs : int
        Number of jobs.
    procs : int, default 128
        Processors of the machine.
    rng : Generator or int, optional
        Generator of random numbers, or seed.
    load : float, optional
        Offered load: all gaps are multiplied by the required factor; the shares of arrivals by
        hour of the day do not change. By default the load of the model.
    types : {"one", "two", "batch", "interactive"}
        "one" is the model of all jobs together, with parameters fitted without regard to types; the
        queue of a job is unknown. "two" mixes batch and interactive jobs, in queues 1 and 0, each
        type with its own parameters; 85 % of the jobs are interactive. "batch" and "interactive"
        generate jobs of one type.
    batch, interactive, all_jobs : JobType
        Parameters of each type, and of all jobs together.

    Returns
    -------
    trace : Trace
        It starts on Monday, 2 January 1995, 0:00 UTC. Times are in whole seconds.

    Raises
    ------
    ParameterError
        If a parameter is invalid, or the load cannot be reached.

    Notes
    -----
    The parameters are the authors', for a machine of 128 processors. For other sizes, u_hi and
    u_med are shifted by the binary logarithm of the size ratio, as the authors recommend: the
    largest job uses the whole machine, the largest interactive job 0.35 of it. On small machines
    u_med is at least the smaller of 1.5 and u_hi − 1.5, following the authors' example of 8
    processors. A power of two above the machine size is halved. The probability pa × size + pb is
    clipped to [0, 1], so jobs on more than about 145 processors are all long.

    For 128 processors the model gives

    ===========  ======  ============  =========  ========================
    jobs         serial  power of two  mean size  ln run: mean (deviation)
    ===========  ======  ============  =========  ========================
    one          .244    .869          12.13      5.484 (2.94)
    batch        .293    .968          13.89      6.945 (2.74)
    interactive  .154    .845          8.05       2.946 (1.65)
    ===========  ======  ============  =========  ========================

    where powers of two include serial jobs and random ones.

    The authors' program truncates its clock to whole seconds at each job, which shifts the daily
    cycle by about three hours in 21,000 jobs; here only the result is rounded.

    Left out: users, sessions, requests and estimates, repeated jobs, weekends, feedback from waits
    to arrivals, and memory beyond the daily cycle.

    References
    ----------
    .. [1] U. Lublin, D. G. Feitelson, "The workload on parallel supercomputers: modeling the
       characteristics of rigid jobs", Journal of Parallel and Distributed Computing 63, 2003.

    Examples
    --------
    >>> trace = lublin(1000, 64, rng=7)
    >>> trace.n_jobs, trace.header.procs, int(trace.column("procs").max()) <= 64
    (1000, 64, True)

    With half of the jobs serial:

    >>> from dataclasses import replace
    >>> serial = lublin(1000, rng=7, all_jobs=replace(ALL_JOBS, serial=0.5, power2=0.4))
    >>> int((serial.column("procs") == 1).sum())
    484
    """
    n_jobs, machine = check_counts(jobs, procs)
    check_choice("types", types, Types)
    chosen: dict[str, JobType] = {"batch": batch, "interactive": interactive, "one": all_jobs}
    kinds = ["batch", "interactive"] if types == "two" else [types]
    for kind in kinds:
        if not isinstance(chosen[kind], JobType):
            raise ParameterError(f"the parameters of {kind} jobs must be a JobType")
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)

    cycles = [chosen[kind].cycle() for kind in kinds]
    passed = _first_arrivals([chosen[kind] for kind in kinds], cycles, n_jobs, generator)
    size = [
        _sizes(chosen[kind], arrivals.size, machine, generator)
        for kind, arrivals in zip(kinds, passed, strict=True)
    ]
    run = [_run_times(chosen[k], s, generator) for k, s in zip(kinds, size, strict=True)]

    ends = [(c, p[[0, -1]]) for c, p in zip(cycles, passed, strict=True) if p.size]

    def span_of(factor: float) -> float:
        times = np.concatenate([cycle.time(end * factor) for cycle, end in ends])
        return float(np.ptp(times))

    work = float(sum((np.rint(r) * s).sum() for r, s in zip(run, size, strict=True)))
    factor = gap_factor(span_of, work, machine, load)
    columns = {
        "submit": np.concatenate(
            [cycle.time(p * factor) for cycle, p in zip(cycles, passed, strict=True)]
        ),
        "run": np.concatenate(run),
        "procs": np.concatenate(size),
    }
    notes: tuple[tuple[str, str], ...] = ()
    if types != "one":
        columns["queue"] = np.repeat([_QUEUES[k] for k in kinds], [p.size for p in passed])
        notes = tuple(("Queue", f"{_QUEUES[k]} {k}") for k in reversed(kinds))
    return as_trace(
        "lublin",
        "Lublin and Feitelson, 2003",
        columns,
        procs=machine,
        seed=seed,
        parameters=changed(
            lublin,
            types=types,
            batch=batch,
            interactive=interactive,
            all_jobs=all_jobs,
            load=load,
        ),
        hours=True,
        notes=notes,
    )


def _first_arrivals(
    kinds: list[JobType], cycles: list[DailyCycle], n: int, rng: np.random.Generator
) -> list[NDArray[np.float64]]:
    """Return the arrival times of the first n arrivals of all types, see `DailyCycle`."""
    rates = np.array([1 / kind.mean_gap() for kind in kinds])
    passed = [np.empty(0) for _ in kinds]
    short = list(range(len(kinds)))  # types that may have more of the first n arrivals
    while True:
        for i in short:
            more = _arrivals(kinds[i], int(n * rates[i] / rates.sum()) + 1, rng)
            passed[i] = np.append(passed[i], more + (passed[i][-1] if passed[i].size else 0))
        if len(kinds) == 1:
            return [passed[0][:n]]
        submit = [cycle.time(arrivals) for cycle, arrivals in zip(cycles, passed, strict=True)]
        last = np.partition(np.concatenate(submit), n - 1)[n - 1]
        short = [i for i, times in enumerate(submit) if times[-1] <= last]
        if not short:
            return [p[t <= last] for p, t in zip(passed, submit, strict=True)]


def _arrivals(kind: JobType, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the arrival times of the first n arrivals of one type."""
    shape, scale = kind.gap[0] * kind.arar, kind.gap[1]
    gaps = draw_until(lambda at: scale * rng.standard_gamma(shape, at.size), n, LONGEST_GAP)
    return np.cumsum(np.exp(gaps))


def _sizes(kind: JobType, n: int, machine: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the sizes of n jobs."""
    if machine == 1:
        return np.ones(n)
    u_low = min(kind.u_low, math.log2(machine))
    moved = math.log2(machine / REFERENCE)
    u_hi = max(kind.u_hi + moved, u_low)
    u_med = max(kind.u_med + moved, min(_LEAST_MED, u_hi - 1.5), u_low)

    which = rng.random(n)
    first = rng.random(n) < kind.u_prob
    place = rng.random(n)
    log_size = np.where(first, u_low + place * (u_med - u_low), u_med + place * (u_hi - u_med))
    rounded = np.floor(log_size + 0.5)
    powers = np.minimum(rounded, math.floor(math.log2(machine)))
    log_size = np.where(which < kind.serial + kind.power2, powers, log_size)
    return np.where(which < kind.serial, 1.0, np.floor(2.0**log_size + 0.5))


def _run_times(
    kind: JobType, size: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw the run times of jobs of these sizes [s]."""
    first = np.clip(kind.pa * size + kind.pb, 0, 1)

    def draw(at: NDArray[np.int64]) -> NDArray[np.float64]:
        short = rng.random(at.size) < first[at]
        shape = np.where(short, kind.run_1[0], kind.run_2[0])
        return np.where(short, kind.run_1[1], kind.run_2[1]) * rng.standard_gamma(shape)

    return np.exp(draw_until(draw, size.size, LONGEST_RUN))
