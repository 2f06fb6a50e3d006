"""Meta-schedulers: how sites are chosen for jobs.

`known` lists the built-in ones; `parse` reads ``name:param=value,...``. A custom one is a subclass
of `MetaPolicy`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workloadkit.built_in import META_SCHEDULERS, BuiltInParts
from workloadkit.errors import ParameterError
from workloadkit.metasystem.kernels.sending import CHEAPEST, HOME, LEAST_WORK, RANDOM, SHORTEST_WAIT
from workloadkit.metasystem.views import MetaJob, SiteView
from workloadkit.parameters import check_types, read_choice
from workloadkit.simulation.supports import supporting


class MetaPolicy:
    """Base of meta-schedulers; override `choose`.

    The attribute `rng` is set when a simulation begins: a generator for each meta-scheduler.

    Examples
    --------
    >>> class Largest(MetaPolicy):
    ...     name = "largest"
    ...
    ...     def choose(self, job, sites):
    ...         return [max(sites, key=lambda site: site.procs)]
    """

    name: ClassVar[str] = ""

    #: What it supports: words of `workloadkit.simulation.supports`.
    supports: ClassVar[frozenset[str]] = frozenset()

    #: What sites must publish.
    needs: ClassVar[tuple[str, ...]] = ()

    #: How the parts of jobs start together: by "reserve" or "hold"; empty for jobs of one part.
    co_allocates: ClassVar[str] = ""

    #: Code of the policy in the compiled engine, -1 for none.
    code: ClassVar[int] = -1

    rng: np.random.Generator

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Choose sites for a job.

        Parameters
        ----------
        job : MetaJob
        sites : sequence of SiteView
            Those that admit it, in the order of the description; at least one.

        Returns
        -------
        sequence of SiteView
            Usually one. With several, the job is sent to all of them, and cancelled at the others
            when the first one starts it.
        """
        raise NotImplementedError(f"{type(self).__name__} must define choose")


@dataclass(frozen=True)
class Home(MetaPolicy):
    """Each job is sent to its home, as without a metasystem."""

    name: ClassVar[str] = "home"
    supports: ClassVar = supporting("benchmark", base=())
    code: ClassVar[int] = HOME

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Choose the home."""
        found = [site for site in sites if site.place == job.home]
        if not found:
            raise ParameterError(
                f"meta-scheduler home: job {job.number} has no home that admits it"
            )
        return found


@dataclass
class Random(MetaPolicy):
    """Each site that admits a job is as probable as the others."""

    name: ClassVar[str] = "random"
    supports: ClassVar = supporting("benchmark", base=())
    code: ClassVar[int] = RANDOM

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Choose any."""
        return [sites[int(self.rng.random() * len(sites))]]


@dataclass(frozen=True)
class LeastWork(MetaPolicy):
    """The least remaining work per processor, as published, and by what was sent since."""

    name: ClassVar[str] = "least-work"
    supports: ClassVar = supporting("benchmark", base=())
    needs: ClassVar = ("work",)
    code: ClassVar[int] = LEAST_WORK

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Choose the first of the least loaded."""
        return [min(sites, key=lambda site: site.load)]


@dataclass(frozen=True)
class ShortestWait(MetaPolicy):
    """The earliest predicted start, if all jobs run for their estimates and no others arrive."""

    name: ClassVar[str] = "shortest-wait"
    supports: ClassVar = supporting("benchmark", base=())
    needs: ClassVar = ("plan",)
    code: ClassVar[int] = SHORTEST_WAIT

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Choose the first of the earliest."""
        return [min(sites, key=lambda site: site.start(job))]


@dataclass(frozen=True)
class EarliestEnd(MetaPolicy):
    """The earliest predicted end: the predicted start, and the estimate on the site [1]_.

    References
    ----------
    .. [1] H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and low-complexity task
       scheduling for heterogeneous computing", IEEE Transactions on Parallel and Distributed
       Systems 13(3), 2002: the earliest finish time.
    """

    name: ClassVar[str] = "earliest-end"
    needs: ClassVar = ("plan",)

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Choose the first of the earliest."""
        return [min(sites, key=lambda site: site.start(job) + site.estimate(job))]


@dataclass(frozen=True)
class Cheapest(MetaPolicy):
    """The lowest price by the estimate of the job; of equal prices the least remaining work."""

    name: ClassVar[str] = "cheapest"
    supports: ClassVar = supporting("benchmark", base=())
    needs: ClassVar = ("work",)
    code: ClassVar[int] = CHEAPEST

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Choose the first of the cheapest."""
        return [min(sites, key=lambda site: (site.cost(job), site.load))]


@dataclass(frozen=True)
class Redundant(MetaPolicy):
    """Jobs are sent to several sites, those with the least remaining work.

    When the first one starts a job, it is cancelled at the others.

    Parameters
    ----------
    sites : int
        Number of sites.
    """

    name: ClassVar[str] = "redundant"
    supports: ClassVar = supporting("benchmark", base=())
    needs: ClassVar = ("work",)

    sites: int = 2

    def __post_init__(self) -> None:
        check_types("meta-scheduler", self)
        if self.sites < 1:
            raise ParameterError(f"meta-scheduler redundant: sites is {self.sites}; at least 1")

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Choose the least loaded."""
        return sorted(sites, key=lambda site: site.load)[: self.sites]


@dataclass(frozen=True)
class CoAllocate(MetaPolicy):
    """The parts of a job start in the earliest common window of reservations.

    Each site answers with its processors that are free over time by the planned ends of its running
    jobs and by accepted reservations. The parts get the earliest time at which as many sites have
    room for their estimates; of these sites, those with the most room. Waiting jobs are planned
    around accepted reservations.
    """

    name: ClassVar[str] = "co-allocate"
    co_allocates: ClassVar[str] = "reserve"


@dataclass(frozen=True)
class Hold(MetaPolicy):
    """The parts of a job wait at the sites with the least remaining work, the largest at the least.

    A part that starts holds its processors, idle, until the last one has started; then all run. If
    jobs hold what others wait for, so that none of them can ever start, the one submitted last
    releases its processors, and its parts are submitted again when the one submitted first runs.
    """

    name: ClassVar[str] = "hold"
    needs: ClassVar = ("work",)
    co_allocates: ClassVar[str] = "hold"

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Choose for one part: the first of the least loaded."""
        return [min(sites, key=lambda site: site.load)]


def known() -> BuiltInParts:
    """Return the built-in meta-schedulers, by name.

    Examples
    --------
    >>> ", ".join(known())
    'home, random, least-work, shortest-wait, earliest-end, cheapest, redundant, co-allocate, hold'
    """
    return META_SCHEDULERS


def parse(text: str) -> MetaPolicy:
    """Make a meta-scheduler from its name and parameters.

    Raises
    ------
    ParameterError
        For an unknown name, parameter or value, with the known ones.

    Examples
    --------
    >>> parse("redundant:sites=3")
    Redundant(sites=3)
    """
    make, values = read_choice("meta-scheduler", known(), text)
    return make(**values)
