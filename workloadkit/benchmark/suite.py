"""The suite: workloads × systems × users, each run made from its seed.

Everything that other people's results depend on is in this module and in `metasystems`. A change
of what they make is a new `VERSION`.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workloadkit.benchmark.metasystems import GRIDS, META_WORKLOADS, PROCS, TYPES, grid, micro
from workloadkit.errors import ParameterError, WorkloadWarning, among, quoted
from workloadkit.header import Header
from workloadkit.io.formats import read_native
from workloadkit.metasystem import Metasystem
from workloadkit.models import add_estimates, cirne, lublin, scale_load
from workloadkit.resample import resample
from workloadkit.sample import load_sample
from workloadkit.trace import Trace

#: Version of the suite. Results of different versions are not compared.
VERSION = 1

#: Seed and number of the canonical runs.
SEED, RUNS = 1999, 10

#: Jobs of a workload from a model, and about as many of one from a log.
JOBS = 2000

#: Offered load of every workload on the machine that it is made for.
LOAD = 0.8


@dataclass(frozen=True)
class SuiteWorkload:
    """A workload of the suite; each run draws its own.

    Parameters
    ----------
    name : str
    summary : str
    procs : int
        Processors of the machine that it is made for.
    draw : callable
        ``draw(rng)`` returns a log with users' estimates.
    reacting : bool
        Whether its users may react.
    """

    name: str
    summary: str
    procs: int
    draw: Callable[[np.random.Generator], Trace]
    reacting: bool = False

    def run(self, i: int, seed: int = SEED) -> Trace:
        """Return run i of a seed, from 0."""
        return canonical(self.draw(stream(self.name, i, seed)), self.procs, f"{self.name}.{i}")


def stream(name: str, i: int, seed: int) -> np.random.Generator:
    """Return the random numbers of a run."""
    return np.random.default_rng([seed, i, *name.encode()])


def canonical(trace: Trace, procs: int, name: str, *, load: float | None = LOAD) -> Trace:
    """Return the jobs that ran, in the form of the suite, at its load; with None at their own.

    Times are whole seconds; jobs are numbered from 1; none is larger than the machine. No job runs
    longer than its estimate: those that did are stopped there. A job without an estimate has its
    run time as its estimate.

    Examples
    --------
    >>> jobs = {"submit": [0.5, 9], "run": [60.2, 90], "procs": [1, 2]}
    >>> jobs |= {"requested_time": [80.1, -1]}
    >>> made = canonical(Trace.from_columns(jobs), 4, "two", load=None)
    >>> made.jobs[["submit", "run", "requested_time"]].to_numpy().tolist()
    [[0.0, 61.0, 81.0], [9.0, 90.0, 90.0]]
    """
    run, requested = trace.column("run"), trace.column("requested_time")
    size = np.where(trace.column("procs") > 0, trace.column("procs"), 0)
    asked = trace.column("requested_procs")
    size = np.where(asked > 0, asked, size)
    rows = np.flatnonzero((run > 0) & (size > 0) & (size <= procs))
    estimate = np.ceil(np.where(requested > 0, requested, np.maximum(run, 1)))[rows]
    submit = np.floor(trace.column("submit")[rows])
    columns: dict[str, Any] = {
        "job": np.arange(1, rows.size + 1),
        "submit": submit - submit[:1],
        "wait": np.where(trace.column("wait")[rows] >= 0, np.floor(trace.column("wait")[rows]), -1),
        "run": np.minimum(np.ceil(run[rows]), estimate),
        "procs": size[rows],
        "requested_procs": size[rows],
        "requested_time": estimate,
        "user": trace.column("user")[rows],
        "queue": trace.column("queue")[rows],
    }
    header = Header(("; Version: 2.2", f"; MaxProcs: {procs}"))
    if load is not None:
        scaled = scale_load(Trace.from_columns(columns, header=header), load)
        columns["submit"] = np.floor(scaled.column("submit"))
    return Trace.from_columns(columns, header=header, name=name)


def _micro(types: tuple[str, ...], rng: np.random.Generator) -> Trace:
    return micro(types, JOBS, rng)


def _lublin(rng: np.random.Generator) -> Trace:
    return add_estimates(lublin(JOBS, PROCS, rng), rng)


def _cirne(rng: np.random.Generator) -> Trace:
    return cirne(JOBS, PROCS, rng)


def _resampled(path: str, rng: np.random.Generator) -> Trace:
    """Draw weeks of users of a log, about as many jobs as the other workloads have."""
    log = _log(path)
    jobs = log.within_window()
    weeks = np.ptp(jobs.column("submit")) / 604_800
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # of jobs that are left out
        return resample(log, weeks=max(1, round(JOBS * weeks / jobs.n_jobs)), rng=rng)


@cache
def _log(path: str) -> Trace:
    """Return a log, or the sample if the path is empty; each process reads it once."""
    return read_native(path, strict=False) if path else load_sample()


class ArchiveLog(NamedTuple):
    """A log of the Parallel Workloads Archive, known by the digest of its text."""

    name: str
    procs: int
    digest: str


#: Logs that take part where they are available, by name.
ARCHIVE = {
    "ctc": ArchiveLog(
        "CTC-SP2-1996-3.1-cln",
        338,
        "8e33a9b597e1ddda2d2164347bac08c9444e1a2620a7947df52f0a1622ec4cde",
    ),
    "hpc2n": ArchiveLog(
        "HPC2N-2002-2.2-cln",
        240,
        "77b8993c73ae438385f6c0015708251f52dc316267b03ac19a406fbea2802afa",
    ),
    "kth": ArchiveLog(
        "KTH-SP2-1996-2.1-cln",
        100,
        "fba36494c4e4257f72182e8b629ebb0bcb054b3b82851ef957445bd627adcc87",
    ),
    "sdsc-blue": ArchiveLog(
        "SDSC-BLUE-2000-4.2-cln",
        1152,
        "13892839f430583231a14bb811fd50a31b5b529eb37faacdbbefb71e73390e3e",
    ),
    "sdsc-sp2": ArchiveLog(
        "SDSC-SP2-1998-4.2-cln",
        128,
        "2bb635f4b5793f52bd49ccb8fd913d95f9c5be6346925162cadcaf0117e28cf2",
    ),
}


@cache
def workloads() -> dict[str, SuiteWorkload]:
    """Return the workloads that need no files, by name."""
    types = {name: partial(_micro, (name,)) for name in TYPES}
    mixed, sample = partial(_micro, tuple(TYPES)), partial(_resampled, "")
    procs = _log("").header.procs or 0
    found = [
        SuiteWorkload("compute", "bags of small, long jobs", PROCS, types["compute"]),
        SuiteWorkload(
            "communication", "large, tightly coupled jobs", PROCS, types["communication"]
        ),
        SuiteWorkload(
            "device", "short jobs that hold a device's processors", PROCS, types["device"]
        ),
        SuiteWorkload("mixed", "all three types", PROCS, mixed, reacting=True),
        SuiteWorkload(
            "lublin", "model of Lublin and Feitelson, estimates of Tsafrir", PROCS, _lublin
        ),
        SuiteWorkload("cirne", "model of Cirne and Berman", PROCS, _cirne),
        SuiteWorkload("sample", "built-in sample, resampled", procs, sample, reacting=True),
    ]
    return {one.name: one for one in found}


def archived(folder: Path) -> dict[str, SuiteWorkload]:
    """Return the workloads from the logs in a folder that are those of the archive.

    Warns
    -----
    WorkloadWarning
        If a log has the name of one of the archive, but another text.
    """
    found = {}
    for name, log in ARCHIVE.items():
        paths = sorted(folder.glob(f"{log.name}.swf*"))
        if not paths:
            continue
        path = str(paths[0])
        trace = _log(path)
        if trace.digest != log.digest:
            warnings.warn(
                f"{path} is left out: its text has sha256 {trace.digest}, not that of "
                f"{log.name}, {log.digest}",
                WorkloadWarning,
                stacklevel=2,
            )
            continue
        summary = f"{log.name}, resampled"
        found[name] = SuiteWorkload(
            name, summary, log.procs, partial(_resampled, path), reacting=True
        )
    return found


#: Machines, as factors of the processors that a workload is made for.
MACHINES = {"busy": 1.0, "roomy": 1.5}

#: Users: at recorded times; or who react to the service.
USERS = ("open", "fluid")


@dataclass(frozen=True)
class Case:
    """One benchmark case: workload, machine and user model.

    Parameters
    ----------
    workload, system, users : str
        Names.
    source : SuiteWorkload or str
        What draws the runs; for a metasystem the type of its meta jobs.
    """

    workload: str
    system: str
    users: str
    source: Any

    @property
    def name(self) -> str:
        """The three names, as in file names."""
        return f"{self.workload}.{self.system}.{self.users}"

    @property
    def is_grid(self) -> bool:
        """Whether the system has several sites, and entries are meta-schedulers."""
        return self.system in GRIDS

    @property
    def procs(self) -> int:
        """Processors of the machine."""
        return round(self.source.procs * MACHINES[self.system])

    def run(self, i: int, seed: int = SEED) -> Trace | Metasystem:
        """Return the log of a run, whose header has the machine's processors; or the metasystem."""
        if self.is_grid:
            return grid(self.system, self.workload, stream(f"{self.workload}.grid", i, seed))
        trace = self.source.run(i, seed)
        return trace.with_procs(self.procs)


def cases(folder: Path | None = None, chosen: Iterable[str] = ()) -> list[Case]:
    """Return the cases of the suite.

    Parameters
    ----------
    folder : path, optional
        With logs of the archive, which take part.
    chosen : iterable of str, optional
        Names of workloads, systems and users; by default all of each kind.

    Raises
    ------
    ParameterError
        For an unknown name.

    Examples
    --------
    >>> [case.name for case in cases(chosen=["lublin", "open"])]
    ['lublin.busy.open', 'lublin.roomy.open']
    """
    sources: Mapping[str, SuiteWorkload] = workloads() | (archived(folder) if folder else {})
    found = [
        Case(name, system, users, one)
        for name, one in sources.items()
        for system in MACHINES
        for users in USERS[: 1 + one.reacting]
    ]
    found += [Case(name, system, "open", name) for name in META_WORKLOADS for system in GRIDS]
    wanted = set(chosen)
    of_case = [(case.workload, case.system, case.users) for case in found]
    kinds = [set(names) for names in zip(*of_case, strict=True)]
    for name in wanted.difference(*kinds):
        raise ParameterError(
            f"unknown part of the suite {quoted(name)}; {among(name, sorted(set.union(*kinds)))}"
        )
    named = [wanted & names or names for names in kinds]
    return [
        case
        for case, names in zip(found, of_case, strict=True)
        if all(name in some for name, some in zip(names, named, strict=True))
    ]


def case_names() -> list[str]:
    """Return the names of all cases, also of those from logs that are not available."""
    reacting = {name: one.reacting for name, one in workloads().items()}
    found = [
        f"{name}.{system}.{users}"
        for name, reacts in (reacting | dict.fromkeys(ARCHIVE, True)).items()
        for system in MACHINES
        for users in USERS[: 1 + reacts]
    ]
    return [*found, *(f"{name}.{system}.open" for name in META_WORKLOADS for system in GRIDS)]
