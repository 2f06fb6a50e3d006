"""The sources of the jobs of a metasystem."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.metasystem.checks import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    TEXT,
    Checked,
    InvalidFieldError,
    is_finite,
)
from workloadkit.metasystem.graphs import Graph
from workloadkit.simulation import users as behaviours
from workloadkit.simulation.users import Behaviour, Community, LogBehaviour
from workloadkit.trace import Trace


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
        check_named("users", self.users, behaviours.parse)
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


def check_named(field: str, value: Any, parse: Callable[[str], object]) -> None:
    """Check the name and the parameters of a part."""
    if isinstance(value, str):
        try:
            parse(value)
        except ParameterError as error:
            raise InvalidFieldError(field, value, str(error)) from None
