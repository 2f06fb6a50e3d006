"""The description of a metasystem: its sites, the links between them, its meta-schedulers.

It is the canonical representation of metasystems that Chapin et al. propose [1]_.

References
----------
.. [1] S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job
   schedulers", JSSPP 1999, sections 3 and 4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from os import PathLike
from typing import Any, ClassVar, Literal, get_args

from workloadkit.errors import ParameterError, among
from workloadkit.machine.description import MachineDescription
from workloadkit.metasystem import policies
from workloadkit.metasystem.checks import (
    COUNT,
    NAME,
    NOT_NEGATIVE,
    NUMBERS,
    POSITIVE,
    SEED,
    SHARE,
    TEXT,
    TIME,
    Checked,
    InvalidFieldError,
    check_distinct,
    is_finite,
    is_number,
    is_text,
)
from workloadkit.metasystem.graphs import Graph
from workloadkit.parameters import read_duration
from workloadkit.settings.simulation import Estimates, Oversize
from workloadkit.simulation import schedulers
from workloadkit.simulation import users as behaviours
from workloadkit.simulation.users.behaviour import Behaviour, Community, LogBehaviour
from workloadkit.trace import Trace

#: What a site can publish: free processors; waiting jobs; remaining work by the estimates of the
#: jobs that wait and run; the plan of its jobs, from which starts are predicted.
PUBLISHED = ("free", "queue", "work", "plan")

#: Laws of the waits of modelled sites.
LAWS = ("exponential", "constant")

Overrun = Literal["raise", "kill"]


@dataclass(frozen=True)
class Access(Checked):
    """Which meta jobs a site admits; by default all that fit.

    Parameters
    ----------
    max_procs : int, optional
        Processors of the largest meta job.
    users, groups : sequence of int, optional
        Users and groups whose meta jobs it admits.
    """

    checks: ClassVar = {"max_procs": COUNT, "users": NUMBERS, "groups": NUMBERS}

    max_procs: int | None = None
    users: tuple[int, ...] | None = None
    groups: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Publishes(Checked):
    """What a site publishes, and how often.

    Parameters
    ----------
    every : float, default 0
        Time between publications, which are at its multiples; 0 for fresh information whenever it
        is read. In a file also a text such as "10min". [s]
    what : sequence of {"free", "queue", "work", "plan"}
        See `PUBLISHED`; by default all.
    """

    checks: ClassVar = {
        "every": TIME,
        "what": (
            lambda value: isinstance(value, tuple) and all(x in PUBLISHED for x in value),
            f"it must be a list of {', '.join(PUBLISHED)}",
        ),
    }

    every: float = 0
    what: tuple[str, ...] = PUBLISHED

    def __post_init__(self) -> None:
        every: Any = self.every
        if isinstance(every, str):
            try:
                every = read_duration(every)
            except ValueError:
                raise InvalidFieldError(
                    "every", every, "it must be a time, such as 90, 10min or 1h"
                ) from None
        whole = isinstance(every, float) and every.is_integer()
        object.__setattr__(self, "every", int(every) if whole else every)
        super().__post_init__()


@dataclass(frozen=True)
class JobSource(Checked):
    """Where jobs come from: a log, a model, users without a log, an application graph, a site.

    Parameters
    ----------
    log : str or Trace, optional
        A log, or its path; in a file relative to the folder of the description.
    model : str, optional
        A model of `workloadkit.models` with its parameters, such as ``lublin:types=two``.
    site : str, optional
        Of a meta-scheduler: the site whose local jobs are submitted to it instead.
    graph : Graph, optional
        Of a meta-scheduler: an application whose tasks are jobs. In a file also the path of one,
        see `read_graph`.
    users : str or object, optional
        Behaviour of the users, as in `workloadkit.simulate`, such as ``fluid``; by default they
        submit by timestamps. Users without a log, such as ``think:users=9,think=600``, are local.
    submit : sequence of float, optional
        When each application of the graph is submitted; by default one at 0. [s]
    jobs : int, optional
        Number of jobs of the model.
    load : float, optional
        Offered load of the model's jobs, on the machine of the site or of `home`.
    where : str, optional
        Chooses jobs, as `--where` does.
    share : float, default 1
        Share of these jobs, drawn by the seed.
    home : str, optional
        Site on which the run times of meta jobs are as they are; by default a site of speed 1. The
        policy `home` sends them to it.
    stage_in : float, default 0
        Volume that is moved before a meta job, or a task without predecessors, arrives at another
        site than its home. [bytes]
    parts : int, default 1
        Parts of each meta job, of about equally many processors, each for another site. They start
        together.
    """

    checks: ClassVar = {
        "log": (lambda value: isinstance(value, str | Trace) and bool(value), "it must be a log"),
        "model": TEXT,
        "site": TEXT,
        "graph": (lambda value: isinstance(value, Graph), "it must be a graph"),
        "submit": (
            lambda value: isinstance(value, tuple) and bool(value) and all(map(is_finite, value)),
            "it must be a list of times",
        ),
        "jobs": COUNT,
        "load": POSITIVE,
        "where": TEXT,
        "share": SHARE,
        "home": TEXT,
        "stage_in": NOT_NEGATIVE,
        "parts": COUNT,
    }

    log: Any = None
    model: str | None = None
    site: str | None = None
    graph: Graph | None = None
    users: Any = None
    submit: tuple[float, ...] | None = None
    jobs: int | None = None
    load: float | None = None
    where: str | None = None
    share: float = 1
    home: str | None = None
    stage_in: float = 0
    parts: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_named("users", self.users, behaviours.parse)
        given = [x for x in ("log", "model", "site", "graph") if getattr(self, x) is not None]
        if self.have_no_log:
            if given:
                name = given[0]
                raise InvalidFieldError(name, getattr(self, name), "these users have no log")
        elif len(given) != 1:
            raise InvalidFieldError("log", self.log, "give one of log, model, site and graph")
        elif not isinstance(self.behaviour, Behaviour | LogBehaviour | None):
            raise InvalidFieldError("users", self.users, "it must be a behaviour of users")
        for name in ("jobs", "load"):
            if self.model is None and getattr(self, name) is not None:
                raise InvalidFieldError(name, getattr(self, name), "it is for a model")
        if self.model is not None and self.jobs is None:
            raise InvalidFieldError("jobs", None, "a model needs the number of its jobs")
        if self.site is not None and self.home is not None:
            raise InvalidFieldError("home", self.home, f"the home of these jobs is {self.site}")
        for name, default in _NOT_OF_GRAPHS.items():
            if self.graph is not None and getattr(self, name) != default:
                raise InvalidFieldError(name, getattr(self, name), "it is not for a graph")
        if self.graph is None and self.submit is not None:
            raise InvalidFieldError("submit", self.submit, "it is for a graph")

    @property
    def home_site(self) -> str | None:
        """The home of the jobs."""
        return self.home if self.site is None else self.site

    @property
    def behaviour(self) -> Any:
        """What decides when jobs are submitted; None for their timestamps."""
        if self.graph is not None:
            return self.graph
        users = behaviours.parse(self.users) if isinstance(self.users, str) else self.users
        if isinstance(users, type) and issubclass(users, behaviours.BatchUser):
            return behaviours.CustomUsers(users)
        return None if isinstance(users, behaviours.OpenUsers) else users

    @property
    def have_no_log(self) -> bool:
        """Whether these are users who need no log."""
        return self.graph is None and isinstance(self.behaviour, Community)


#: Fields that do not apply to graphs, with their defaults.
_NOT_OF_GRAPHS = {"users": None, "where": None, "share": 1, "parts": 1}


@dataclass(frozen=True)
class Waits(Checked):
    """A simple model of a local scheduler: the waits of the jobs that are sent to it [1]_.

    Jobs do not affect each other's waits, which supposes that meta jobs are few.

    Parameters
    ----------
    mean : float
        Mean wait. [s]
    law : {"exponential", "constant"}
    error : float, default 0
        Error of predicted waits: standard deviation of the logarithm of predicted over real wait.

    References
    ----------
    .. [1] S. J. Chapin et al., JSSPP 1999, section 4.2.
    """

    checks: ClassVar = {
        "mean": NOT_NEGATIVE,
        "law": (lambda value: value in LAWS, f"give one of {', '.join(LAWS)}"),
        "error": NOT_NEGATIVE,
    }

    mean: float
    law: str = "exponential"
    error: float = 0


@dataclass(frozen=True)
class Site(Checked):
    """A machine with its scheduler and local load.

    Parameters
    ----------
    name : str
    procs : int, optional
        Processors; by default those that the header of the local log names.
    scheduler : str or Policy, default "easy"
        As in `workloadkit.simulate`.
    jobs : JobSource, optional
        Local jobs: a log, a model, or users without a log; by default none.
    speed : float, default 1
        A meta job runs for its run time × the speed of its home / this speed.
    price : float, default 0
        Price of a processor for an hour.
    access : Access
    publishes : Publishes
    waits : Waits, optional
        A model of the waits, in place of scheduler and local jobs. Such a site publishes a
        prediction for each job, as its "plan".
    machine : str, path or MachineDescription, optional
        Nodes, in place of `procs`: a description of a machine whose partitions share nodes, or the
        path of one, in a file relative to its folder; "log" for that of the local log.
    """

    checks: ClassVar = {
        "name": NAME,
        "procs": COUNT,
        "machine": (
            lambda value: isinstance(value, MachineDescription | PathLike) or is_text(value),
            "it must be the description of a machine, or its path",
        ),
        "speed": POSITIVE,
        "price": NOT_NEGATIVE,
        "jobs": (
            lambda value: isinstance(value, JobSource),
            "it must be a source of jobs",
        ),
        "access": (lambda value: isinstance(value, Access), "it must be an Access"),
        "publishes": (lambda value: isinstance(value, Publishes), "it must be a Publishes"),
        "waits": (lambda value: isinstance(value, Waits), "it must be a model of waits"),
    }

    name: str
    procs: int | None = None
    scheduler: Any = "easy"
    jobs: JobSource | None = None
    speed: float = 1
    price: float = 0
    access: Access = Access()
    publishes: Publishes = Publishes()
    waits: Waits | None = None
    machine: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_named("scheduler", self.scheduler, schedulers.parse)
        for name in ("site", "graph"):
            if self.jobs is not None and (value := getattr(self.jobs, name)) is not None:
                raise InvalidFieldError(f"jobs.{name}", value, "it is for a meta-scheduler")
        if self.machine is not None:
            self._check_machine()
        elif self.jobs is None and self.procs is None:
            raise InvalidFieldError("procs", None, "a site without local jobs needs it")
        if self.waits is not None and self.jobs is not None:
            raise InvalidFieldError("jobs", self.jobs, "a site of modelled waits has no local jobs")

    def _check_machine(self) -> None:
        if self.procs is not None:
            raise InvalidFieldError("procs", self.procs, "machine sets the number of processors")
        if self.waits is not None:
            raise InvalidFieldError("waits", self.waits, "a site of modelled waits has no machine")
        if self.jobs is not None and self.jobs.have_no_log:
            words = "users without a log do not submit to machines of nodes"
            raise InvalidFieldError("jobs.users", self.jobs.users, words)

    @property
    def published(self) -> tuple[str, ...]:
        """What the site publishes."""
        what = self.publishes.what
        return what if self.waits is None else tuple(x for x in what if x == "plan")


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
        _check_named("policy", self.policy, policies.parse)
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


def _check_named(field: str, value: Any, parse: Callable[[str], object]) -> None:
    """Check the name and the parameters of a part."""
    if isinstance(value, str):
        try:
            parse(value)
        except ParameterError as error:
            raise InvalidFieldError(field, value, str(error)) from None
