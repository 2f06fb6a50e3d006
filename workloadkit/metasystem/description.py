"""The description of a metasystem: its sites, the links between them, its meta-schedulers.

It is the canonical representation of metasystems that Chapin et al. propose [1]_.

References
----------
.. [1] S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job
   schedulers", JSSPP 1999, sections 3 and 4.
"""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Literal, get_args

from workloadkit.errors import among
from workloadkit.metasystem import policies
from workloadkit.metasystem.checks import (
    NAME,
    SEED,
    TIME,
    Checked,
    InvalidFieldError,
    check_distinct,
    is_number,
)
from workloadkit.metasystem.sites import Site
from workloadkit.metasystem.sources import JobSource, check_named
from workloadkit.settings.simulation import Estimates, Oversize

Overrun = Literal["raise", "kill"]


@dataclass(frozen=True)
class Link(Checked):
    """A network between two sites, in both directions.

    Parameters
    ----------
    between : (str, str)
        Names of the sites.
    latency : float, default 0
        [s]
    bandwidth : float, default inf
        [bytes/s]
    """

    checks: ClassVar = {
        "between": (
            lambda value: isinstance(value, tuple) and len(value) == 2 and value[0] != value[1],
            "it must be the names of two sites",
        ),
        "latency": TIME,
        "bandwidth": (lambda value: is_number(value, 0, above=True), "it must be positive"),
    }

    between: tuple[str, str]
    latency: float = 0
    bandwidth: float = inf


@dataclass(frozen=True)
class MetaScheduler(Checked):
    """A meta-scheduler with the jobs that are submitted to it.

    Parameters
    ----------
    name : str
    policy : str or object
        How it chooses sites, see `workloadkit.metasystem.policies`.
    jobs : sequence of JobSource
    """

    checks: ClassVar = {
        "name": NAME,
        "jobs": (
            lambda value: (
                bool(value)
                and isinstance(value, tuple)
                and all(isinstance(source, JobSource) for source in value)
            ),
            "it must be a list of sources of jobs",
        ),
    }

    name: str
    policy: Any
    jobs: tuple[JobSource, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_named("policy", self.policy, policies.parse)
        for j, source in enumerate(self.jobs):
            if source.have_no_log:
                raise InvalidFieldError(
                    f"jobs[{j}].users", source.users, "users of a meta-scheduler need a log"
                )


@dataclass(frozen=True)
class Metasystem(Checked):
    """Sites, links and meta-schedulers.

    Parameters
    ----------
    sites : sequence of Site
    meta_schedulers : sequence of MetaScheduler
    links : sequence of Link
        Jobs arrive at once where there is no link.
    estimates, overrun, oversize : str
        As in `workloadkit.simulate`, for all jobs; a meta job is too large if no site admits it.
        The overrun is "raise" or "kill".
    seed : int, default 0
        Of all random choices.

    Raises
    ------
    ParameterError
        If a field is invalid, or names a site that does not exist.

    Examples
    --------
    >>> system = Metasystem(
    ...     sites=[Site("a", procs=64), Site("b", procs=128, speed=2)],
    ...     meta_schedulers=[
    ...         MetaScheduler("grid", "least-work", [JobSource(model="lublin", jobs=100, home="a")])
    ...     ],
    ... )
    >>> [site.name for site in system.sites]
    ['a', 'b']
    """

    checks: ClassVar = {
        "sites": (
            lambda value: bool(value) and all(isinstance(site, Site) for site in value),
            "it must be a list of sites",
        ),
        "meta_schedulers": (
            lambda value: all(isinstance(each, MetaScheduler) for each in value),
            "it must be a list of meta-schedulers",
        ),
        "links": (
            lambda value: all(isinstance(link, Link) for link in value),
            "it must be a list of links",
        ),
        "estimates": (
            lambda value: value in get_args(Estimates),
            f"give one of {', '.join(get_args(Estimates))}",
        ),
        "overrun": (
            lambda value: value in get_args(Overrun),
            f"give one of {', '.join(get_args(Overrun))}",
        ),
        "oversize": (
            lambda value: value in get_args(Oversize),
            f"give one of {', '.join(get_args(Oversize))}",
        ),
        "seed": SEED,
    }

    sites: tuple[Site, ...]
    meta_schedulers: tuple[MetaScheduler, ...] = ()
    links: tuple[Link, ...] = ()
    estimates: Estimates = "user"
    overrun: Overrun = "raise"
    oversize: Oversize = "error"
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for what, named in (("sites", self.sites), ("meta_schedulers", self.meta_schedulers)):
            check_distinct(what, [each.name for each in named])
        for i, link in enumerate(self.links):
            for name in link.between:
                self._check_site(f"links[{i}].between", name)
        for i, scheduler in enumerate(self.meta_schedulers):
            for j, source in enumerate(scheduler.jobs):
                place = f"meta_schedulers[{i}].jobs[{j}]"
                if source.home is not None:
                    self._check_site(f"{place}.home", source.home)
                if source.site is not None:
                    self._check_site(f"{place}.site", source.site)
                    local = self.sites[self.place(source.site)].jobs
                    if local is None or local.have_no_log:
                        words = "this site has no local jobs" + " of a log" * (local is not None)
                        raise InvalidFieldError(f"{place}.site", source.site, words)

    def _check_site(self, field: str, name: object) -> None:
        names = [site.name for site in self.sites]
        if name not in names:
            raise InvalidFieldError(field, name, f"no such site; {among(str(name), names)}")

    def place(self, name: str) -> int:
        """Return the place of a site in `sites`."""
        return [site.name for site in self.sites].index(name)
