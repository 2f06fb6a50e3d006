"""The description of a metasystem: its sites, the links between them, its meta-schedulers.

It is the canonical representation of metasystems that Chapin et al. propose [1]_.

References
----------
.. [1] S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job
   schedulers", JSSPP 1999, sections 3 and 4.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from math import inf
from numbers import Real
from typing import Any, ClassVar, Literal, get_args

from workloadkit.errors import ParameterError, among
from workloadkit.fields import MAX_PROCS
from workloadkit.metasystem import policies
from workloadkit.parameters import read_duration
from workloadkit.settings.simulation import Estimates, Oversize
from workloadkit.simulation import schedulers
from workloadkit.trace import Trace

#: What a site can publish: free processors; waiting jobs; remaining work by the estimates of the
#: jobs that wait and run; planned free processors over time, from which waits are predicted.
PUBLISHED = ("free", "queue", "work", "plan")

#: Laws of the waits of modelled sites.
LAWS = ("exponential", "constant")

Overrun = Literal["raise", "kill"]


class InvalidFieldError(ParameterError):
    """A field of a description has an invalid value.

    Parameters
    ----------
    field : str
        Its place, such as ``sites[0].speed``.
    value : object
    words : str
        What is wrong.
    """

    def __init__(self, field: str, value: object, words: str) -> None:
        super().__init__(f"{field} is {value!r}; {words}")
        self.field, self.value, self.words = field, value, words


def _is_number(value: object, low: float, *, above: bool = False) -> bool:
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and (low < value if above else low <= value) and value <= inf  # type: ignore


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _name(value: object) -> bool:
    return _text(value) and not set(str(value)) & set("/\\\0\n") and value not in (".", "..")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _identifiers(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_whole, value))


def _finite(value: object) -> bool:
    return _is_number(value, 0) and value < inf  # type: ignore[operator]


_NOT_NEGATIVE = _finite, "it must be a number, 0 or more"
_POSITIVE = lambda value: _is_number(value, 0, above=True) and value < inf, "it must be positive"
_COUNT = lambda value: _whole(value) and 1 <= value <= MAX_PROCS, "it must be a whole number from 1"
_TEXT = _text, "it must be a text"
_NAME = _name, "it must be a text that can name a file"
_SHARE = lambda value: _is_number(value, 0) and value <= 1, "it must be from 0 to 1"
_NUMBERS = _identifiers, "it must be a list of whole numbers"
_SEED = lambda value: _whole(value) and value >= 0, "it must be a whole number, 0 or more"

Check = tuple[Callable[[Any], bool], str]


class _Checked:
    """A part of a description that checks its fields; None is valid where it is the default."""

    checks: ClassVar[dict[str, Check]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, field.name, value)
            valid, words = self.checks.get(field.name, (None, ""))
            is_default = value is None and field.default is None
            if valid is not None and not is_default and not valid(value):
                raise InvalidFieldError(field.name, value, words)


@dataclass(frozen=True)
class Access(_Checked):
    """Which meta jobs a site admits; by default all that fit.

    Parameters
    ----------
    max_procs : int, optional
        Processors of the largest meta job.
    users, groups : sequence of int, optional
        Users and groups whose meta jobs it admits.
    """

    checks: ClassVar = {"max_procs": _COUNT, "users": _NUMBERS, "groups": _NUMBERS}

    max_procs: int | None = None
    users: tuple[int, ...] | None = None
    groups: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Publishes(_Checked):
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
        "every": _NOT_NEGATIVE,
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
class JobSource(_Checked):
    """Where jobs come from: a log, a model, or, for a meta-scheduler, the local jobs of a site.

    Parameters
    ----------
    log : str or Trace, optional
        A log, or its path; in a file relative to the folder of the description.
    model : str, optional
        A model of `workloadkit.models` with its parameters, such as ``lublin:types=two``.
    site : str, optional
        The site whose local jobs are submitted to the meta-scheduler instead.
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
        Volume that is moved before a meta job arrives at another site than its home. [bytes]
    parts : int, default 1
        Parts of each meta job, of about equally many processors, each for another site. They start
        together.
    """

    checks: ClassVar = {
        "log": (lambda value: _text(value) or isinstance(value, Trace), "it must be a log"),
        "model": _TEXT,
        "site": _TEXT,
        "jobs": _COUNT,
        "load": _POSITIVE,
        "where": _TEXT,
        "share": _SHARE,
        "home": _TEXT,
        "stage_in": _NOT_NEGATIVE,
        "parts": _COUNT,
    }

    log: Any = None
    model: str | None = None
    site: str | None = None
    jobs: int | None = None
    load: float | None = None
    where: str | None = None
    share: float = 1
    home: str | None = None
    stage_in: float = 0
    parts: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("log", "model", "site") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidFieldError("log", self.log, "give one of log, model and site")
        for name in ("jobs", "load"):
            if self.model is None and getattr(self, name) is not None:
                raise InvalidFieldError(name, getattr(self, name), "it is for a model")
        if self.model is not None and self.jobs is None:
            raise InvalidFieldError("jobs", None, "a model needs the number of its jobs")
        if self.site is not None and self.home is not None:
            raise InvalidFieldError("home", self.home, f"the home of these jobs is {self.site}")

    @property
    def home_site(self) -> str | None:
        """The home of the jobs."""
        return self.home if self.site is None else self.site


@dataclass(frozen=True)
class Waits(_Checked):
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
        "mean": _NOT_NEGATIVE,
        "law": (lambda value: value in LAWS, f"give one of {', '.join(LAWS)}"),
        "error": _NOT_NEGATIVE,
    }

    mean: float
    law: str = "exponential"
    error: float = 0


@dataclass(frozen=True)
class Site(_Checked):
    """A machine with its scheduler and local load.

    Parameters
    ----------
    name : str
    procs : int, optional
        Processors; by default those that the header of the local log names.
    scheduler : str or Policy, default "easy"
        As in `workloadkit.simulate`.
    jobs : JobSource, optional
        Local jobs: a log or a model; by default none.
    speed : float, default 1
        A meta job runs for its run time × the speed of its home / this speed.
    price : float, default 0
        Price of a processor for an hour.
    access : Access
    publishes : Publishes
    waits : Waits, optional
        A model of the waits, in place of scheduler and local jobs. Such a site publishes a
        prediction for each job, as its "plan".
    """

    checks: ClassVar = {
        "name": _NAME,
        "procs": _COUNT,
        "speed": _POSITIVE,
        "price": _NOT_NEGATIVE,
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

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_named("scheduler", self.scheduler, schedulers.parse)
        if self.jobs is not None and self.jobs.site is not None:
            raise InvalidFieldError("jobs.site", self.jobs.site, "local jobs are of the site")
        if self.jobs is None and self.procs is None:
            raise InvalidFieldError("procs", None, "a site without local jobs needs it")
        if self.waits is not None and self.jobs is not None:
            raise InvalidFieldError("jobs", self.jobs, "a site of modelled waits has no local jobs")

    @property
    def published(self) -> tuple[str, ...]:
        """What the site publishes."""
        what = self.publishes.what
        return what if self.waits is None else tuple(x for x in what if x == "plan")


@dataclass(frozen=True)
class Link(_Checked):
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
        "latency": _NOT_NEGATIVE,
        "bandwidth": (lambda value: _is_number(value, 0, above=True), "it must be positive"),
    }

    between: tuple[str, str]
    latency: float = 0
    bandwidth: float = inf


@dataclass(frozen=True)
class MetaScheduler(_Checked):
    """A meta-scheduler with the jobs that are submitted to it.

    Parameters
    ----------
    name : str
    policy : str or object
        How it chooses sites, see `workloadkit.metasystem.policies`.
    jobs : sequence of JobSource
    """

    checks: ClassVar = {
        "name": _NAME,
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


@dataclass(frozen=True)
class Metasystem(_Checked):
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
        "seed": _SEED,
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
            _check_distinct(what, [each.name for each in named])
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
                    if self.sites[self.place(source.site)].jobs is None:
                        raise InvalidFieldError(
                            f"{place}.site", source.site, "this site has no local jobs"
                        )

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


def _check_distinct(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise InvalidFieldError(f"{what}[{i}].name", name, "another one has this name")
        seen.add(name)
