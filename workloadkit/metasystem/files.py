"""The description of a metasystem, and its files in JSON."""

import json
from dataclasses import MISSING, dataclass, fields
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from workloadkit.errors import FormatError, ParameterError, among, quoted
from workloadkit.io.files import Source, source_path, writing
from workloadkit.io.strict_json import read_json_file
from workloadkit.io.swf import write_swf
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
from workloadkit.metasystem.graphs import Graph, Task
from workloadkit.metasystem.sites import Access, Publishes, Site, Waits
from workloadkit.metasystem.sources import JobSource, check_named
from workloadkit.settings.simulation import Estimates, Oversize
from workloadkit.trace import Trace

# The description of a metasystem: its sites, the links between them, its meta-schedulers.


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


# Read the description of a metasystem, or of an application, from JSON; write one.


#: Version of the format.
VERSION = 1

_WHAT: dict[type, str] = {
    Metasystem: "is not the description of a metasystem",
    Graph: "is not the graph of an application",
}

#: The parts within a part: fields that hold an object, or a list of objects.
_PARTS: dict[type, dict[str, type]] = {
    Metasystem: {"sites": Site, "links": Link, "meta_schedulers": MetaScheduler},
    Site: {"jobs": JobSource, "access": Access, "publishes": Publishes, "waits": Waits},
    MetaScheduler: {"jobs": JobSource},
    JobSource: {"graph": Graph},
    Graph: {"tasks": Task},
}

#: Parts without parts of their own.
_WITHIN = (Link, Access, Publishes, Waits, Task)


def read_metasystem(source: Source) -> Metasystem:
    r"""Read the description of a metasystem.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. Paths of logs in it are relative to its folder.

    Raises
    ------
    FormatError
        With the field and its value; for a file that is missing, no JSON or of another version.

    Examples
    --------
    >>> import io
    >>> text = b'{"sites": [{"name": "a", "procs": 64, "speed": 0}]}'
    >>> read_metasystem(io.BytesIO(text))
    Traceback (most recent call last):
    ...
    workloadkit.errors.FormatError: <stream>, field sites[0].speed: it must be positive: '0'
    """
    made: Metasystem = _read(Metasystem, source)
    return made


def read_graph(source: Source) -> Graph:
    r"""Read the graph of an application.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input.

    Raises
    ------
    FormatError
        As by `read_metasystem`.

    Examples
    --------
    >>> import io
    >>> text = b'{"tasks": [{"name": "a", "run": 60}, {"name": "b", "run": 90, "after": ["a"]}]}'
    >>> read_graph(io.BytesIO(text)).critical_path([60, 90])
    150
    """
    made: Graph = _read(Graph, source)
    return made


def write_metasystem(system: Metasystem, folder: str | PathLike[str]) -> None:
    """Write a description as ``metasystem.json`` into a folder, with the logs of its jobs.

    A log becomes a file that is named after its site or meta-scheduler.

    Parameters
    ----------
    system : Metasystem
    folder : str or path
        It must exist.

    Raises
    ------
    ParameterError
        If a part has no form in a file, such as a custom scheduler.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> system = Metasystem(sites=[Site("a", procs=64, speed=2)])
    >>> with TemporaryDirectory() as folder:
    ...     write_metasystem(system, folder)
    ...     read_metasystem(f"{folder}/metasystem.json") == system
    True
    """
    logs: dict[str, Trace] = {}
    described = _described(system, "", logs)
    for name, log in logs.items():
        write_swf(log, Path(folder) / name)
    text = json.dumps({"format": VERSION, **described}, indent=2) + "\n"
    with writing(Path(folder) / "metasystem.json") as stream:
        stream.write(text.encode())


def _described(part: Any, name: str, logs: dict[str, Trace]) -> Any:
    """Return a part as JSON without the fields that have their defaults; collect its logs."""
    if isinstance(part, Trace):
        logs[f"{name}.swf.gz"] = part
        return f"{name}.swf.gz"
    if isinstance(part, tuple):
        return [_described(item, f"{name}-{i}", logs) for i, item in enumerate(part, 1)]
    if type(part) in _PARTS or type(part) in _WITHIN:
        name = getattr(part, "name", name)
        given = [(field, getattr(part, field.name)) for field in fields(part)]
        return {
            field.name: _described(value, name, logs)
            for field, value in given
            if isinstance(value, Trace) or value != field.default
        }
    if part is not None and not isinstance(part, str | int | float):
        raise ParameterError(f"{name}: {quoted(part)} has no form in a file")
    return part


def _read(kind: type, source: Source) -> Any:
    """Return the part that a file describes."""
    path, what = source_path(source), _WHAT[kind]
    data = read_json_file(source)
    if not isinstance(data, dict):
        raise FormatError(path, f"{what}: no object", text=_shown(data))
    if data.pop("format", VERSION) != VERSION:
        raise FormatError(path, f"unsupported version of the format, not {VERSION}", field="format")
    folder = Path(path).parent if isinstance(source, str) or hasattr(source, "__fspath__") else None
    return _made(kind, data, path, "", folder)


def _made(kind: Any, data: Any, path: str, place: str, folder: Path | None) -> Any:
    """Return the part that an object describes."""
    if not isinstance(data, dict):
        raise FormatError(path, "no object", field=place, text=_shown(data))
    prefix = f"{place}." if place else ""
    known = {field.name: field for field in fields(kind)}
    for key in data:
        if key not in known:
            raise FormatError(
                path, f"unknown key; {among(key[:60], known)}", field=f"{prefix}{key[:60]}"
            )
    for name, field in known.items():
        if field.default is MISSING and name not in data:
            raise FormatError(path, f"{name} is missing", field=place or None)
    values = dict(data)
    for name, part in _PARTS.get(kind, {}).items():
        where, value = f"{prefix}{name}", values.get(name)
        if isinstance(value, list):
            values[name] = tuple(
                _made(part, item, path, f"{where}[{i}]", folder) for i, item in enumerate(value)
            )
        elif name in values and part in (Site, Link, MetaScheduler, Task):
            raise FormatError(path, "no list", field=where, text=_shown(value))
        elif part is Graph and isinstance(value, str):
            values[name] = read_graph(folder / value if folder is not None else value)
        elif value is not None:
            values[name] = _made(part, value, path, where, folder)
            if kind is MetaScheduler:
                values[name] = (values[name],)
    try:
        made = kind(**values)
    except InvalidFieldError as error:
        raise FormatError(
            path, error.words, field=f"{prefix}{error.field}", text=_shown(error.value)
        ) from None
    named = {JobSource: "log", Site: "machine"}.get(kind, "")
    file = getattr(made, named, None)
    if folder is not None and file is not None and (named, file) != ("machine", "log"):
        object.__setattr__(made, named, str(folder / file))
    return made


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)
