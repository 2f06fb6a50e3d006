"""The characterization of a log as a page, as JSON and as figures."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from workloadkit.analysis import automatic, site, users, utilities
from workloadkit.analysis.dashboard import Dashboard, dashboard
from workloadkit.analysis.distributions import accuracy, correlation, marginals
from workloadkit.analysis.fits import summary as fits
from workloadkit.analysis.formats import share
from workloadkit.analysis.load import cycles, overview
from workloadkit.analysis.load import summary as load
from workloadkit.analysis.locality import summary as locality
from workloadkit.analysis.logs.archive import with_archive
from workloadkit.analysis.memory import summary as memory
from workloadkit.analysis.operations import (
    capacity,
    efficient,
    failures,
    gpus,
    read_shares,
    requesting,
    unusual_periods,
    using,
    waiting,
)
from workloadkit.analysis.operations.parts import titled
from workloadkit.analysis.page import Progress, Report, each_named
from workloadkit.analysis.reactions import signature
from workloadkit.analysis.reactions import summary as reactions
from workloadkit.analysis.section import Section, in_words_of
from workloadkit.analysis.sessions import description as sessions
from workloadkit.analysis.sessions import methods as session_methods
from workloadkit.analysis.waits import summary as waits
from workloadkit.errors import WorkloadError, plural
from workloadkit.executors import Mapped
from workloadkit.memory import at_most, most_memory
from workloadkit.settings import Characterize
from workloadkit.settings.common import Profile
from workloadkit.settings.setting import takes
from workloadkit.trace import Trace, check_trace
from workloadkit.units import in_known_unit, in_processors, text_in_words, words_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Sections of the profile research by name, in the order of the page: functions of the jobs
#: submitted in the log's window, which return None if the section does not apply to the log.
SECTIONS: dict[str, Callable[[Trace], Section | None]] = {
    "overview": overview.section,
    "machine": requesting.section,
    "gpus": gpus.section,
    "load": load.section,
    "cycles": cycles.section,
    "marginals": marginals.section,
    "fits": fits.section,
    "waits": waits.section,
    "accuracy": accuracy.section,
    "correlations": correlation.section,
    "utilities": utilities.section,
    "users": users.section,
    "automatic": automatic.section,
    "sessions": sessions.section,
    "session_methods": session_methods.section,
    "reactions": reactions.section,
    "signature": signature.section,
    "site": site.section,
    "locality": locality.section,
    "long_memory": memory.section,
    "reading": overview.reading_section,
}

#: Sections of the profile operations, functions of all jobs of the log.
OPERATIONS: dict[str, Callable[[Trace], Section | None]] = {
    "failures": failures.section,
    "waiting": waiting.section,
    "efficiency": efficient.section,
    "usage": using.section,
    "shares": using.shares_section,
    "gpus": gpus.section,
    "capacity": capacity.section,
    "unusual": unusual_periods.section,
}

# These sections get all jobs of the log, also those outside its window.
_OF_ALL = ("overview", "machine", "load", "reading", *OPERATIONS)

# These sections count sizes: they get the log as it is seen in the unit. All others are about the
# jobs whatever their sizes, or about each of its resources.
_OF_SIZES = (
    *("load", "marginals", "fits", "correlations", "users", "signature", "locality"),
    *("waiting", "usage", "shares", "capacity"),
)

# These take longest. They start first, so that no process works on while the others are done.
_LONG = ("capacity", "fits", "locality", "reactions", "correlations", "site", "session_methods")

# The log as it is, and as it is seen in the unit; of each the jobs submitted in its window
_Logs = tuple[tuple[Trace, Trace], tuple[Trace, Trace]] | Mapped


@dataclass(frozen=True, eq=False)
class Characterization(Report):
    """Characterization of a log.

    Parameters
    ----------
    source : Trace
        The log.
    sections : tuple of Section
    profile : {"operations", "research", "full"}
    seen : Trace, optional
        The log as it is seen in the unit; by default in processors.
    """

    kind: ClassVar[str] = "Workload characterization"

    profile: Profile = "research"
    seen: Trace | None = None

    @property
    def lead(self) -> tuple[tuple[str, str], ...]:
        """Window, jobs, machine, coverage and repairs of the log, and who worked most on it."""
        return (*overview.lead(self.source, self.seen), *_most_work(self.sections))

    @property
    def headlines(self) -> tuple[tuple[str, str, str], ...]:
        """What matters most, for a terminal, and who did most of the work."""
        most = (("", f"{title}: {text}.", "") for title, text in _most_work(self.sections))
        return (*super().headlines, *most)

    @property
    def dashboard(self) -> Dashboard:
        """Key numbers, and the log in pictures."""
        seen = self.source if self.seen is None else self.seen
        return dashboard(self.source, seen, self.sections)

    @property
    def warnings(self) -> tuple[str, ...]:
        """That more processors are in use at once than the machine has, if so."""
        seen = self.source if self.seen is None else self.seen
        words = load.contradiction(seen)
        return (text_in_words(words_of(seen), words),) if words else ()

    @property
    def provenance(self) -> dict[str, Any]:
        """Version of workloadkit, name and digest of the log, profile and parameters."""
        found = super().provenance
        chosen: dict[str, Any] = {"profile": self.profile}
        if self.seen is not None and self.seen.counting is not None:
            chosen |= {"unit": self.seen.unit, "procs": self.seen.header.procs}
        return found | {"parameters": chosen | found["parameters"]}


@takes(Characterize)
def characterize(
    trace: Trace,
    *,
    executor: "Executor | None" = None,
    progress: Progress | None = None,
    settings: Characterize | None = None,
    **keywords: Any,
) -> Characterization:
    """Characterize a log.

    Parameters
    ----------
    trace : Trace
    executor : Executor, optional
        Computes the sections, such as a pool of processes on this machine; by default this process.
        The result does not depend on it.
    progress : callable, optional
        Called with the numbers of finished and of all sections, and with the next one.
    settings : workloadkit.settings.Characterize, optional
        The keywords below as one object.
    {settings}

    Raises
    ------
    WorkloadError
        If the log has no jobs.

    Examples
    --------
    >>> log = {"submit": [0, 60], "run": [90, 30], "procs": [4, 1], "user": [1, 1]}
    >>> characterization = characterize(Trace.from_columns(log))
    >>> [section.name for section in characterization.sections][:4]
    ['overview', 'load', 'cycles', 'marginals']
    >>> characterization.to_dict()["overview"]["finding"]
    '2 jobs of 1 user over 1 min.'
    """
    options = Characterize.of(settings, keywords)
    check_trace(trace)
    if not trace.n_jobs:
        raise WorkloadError(f"{trace.name} has no jobs, so it cannot be characterized")
    seen, trace = in_known_unit(trace, options.unit), in_known_unit(trace, trace.unit)
    if options.procs is not None:
        seen = replace(seen, header=seen.header.with_procs(options.procs))
    if seen.counting is None or seen.unit != options.unit:
        trace = seen
    shares = options.shares
    if isinstance(shares, str | PathLike):
        shares = read_shares(shares)
    profile = options.profile or ("operations" if _is_accounted(trace) else "research")
    chosen = _sections_of(profile)
    of_trace = trace, trace.within_window()
    of_sizes = of_trace if seen is trace else (seen, seen.within_window())
    logs: _Logs = (of_trace, of_sizes)
    with ExitStack() as stack:
        if executor is not None:
            logs = Mapped.write(logs, Path(stack.enter_context(TemporaryDirectory())) / "logs")
        names = [*(name for name in _LONG if name in chosen), *chosen]
        tasks = {name: (name, logs, shares) for name in dict.fromkeys(names)}
        found = each_named(partial(_within, most_memory()), tasks, executor, progress)
    sections = tuple(filter(None, (found[name] for name in chosen)))
    if seen.counting is None:
        sections = with_archive(trace, sections)
    return Characterization(trace, sections, profile, seen)


def _most_work(sections: Sequence[Section]) -> tuple[tuple[str, str], ...]:
    """Return the account and the user with the most work, and their shares."""
    tables = {(s.name, t.name): t.data for s in sections for t in s.tables}
    found: dict[str, str] = {}
    for by, name, column in (
        ("account", ("usage", "by_account"), "core_share"),
        ("user", ("usage", "by_user"), "core_share"),
        ("user", ("users", "most_work"), "work_share"),
    ):
        data = tables.get(name)
        if data is not None and len(data) > 1 and data[column].iloc[0] > 0:
            first, who = data.iloc[0], titled(str(data.index[0]), by)
            jobs = plural(int(first["jobs"]), "job")
            found.setdefault(by, f"{who} with {share(first[column])} ({jobs})")
    return (("Most work", ", ".join(found.values())),) if found else ()


def _is_accounted(trace: Trace) -> bool:
    """Whether the log has the side-car of an import."""
    return trace.sidecar is not None and "submit" in trace.sidecar


def _sections_of(profile: Profile) -> tuple[str, ...]:
    """Return the names of the sections of a profile, in the order of the page."""
    if profile == "operations":
        return (*OPERATIONS, "automatic", "overview", "machine", "reading")
    return tuple(SECTIONS) if profile == "research" else tuple(OPERATIONS | SECTIONS)


def _within(most: float, task: tuple[str, _Logs, Mapping[str, float] | None]) -> Section | None:
    """Return a section, computed in this process with a limit of the memory."""
    with at_most(most):
        return _section(task)


def _section(task: tuple[str, _Logs, Mapping[str, float] | None]) -> Section | None:
    """Return a section, by its name, of a log or of its jobs within the window."""
    name, logs, shares = task
    of_trace, of_sizes = logs.read() if isinstance(logs, Mapped) else logs
    every, inside = of_sizes if name in _OF_SIZES else of_trace
    if name == "machine":  # has processors and nodes next to each other
        every = in_processors(every)
    if name == "shares":
        found = using.shares_section(every, shares)
    elif name == "gpus":
        found = gpus.section(every, of_sizes[0])
    elif name in _OF_ALL:
        found = (SECTIONS | OPERATIONS)[name](every)
    else:
        found = SECTIONS[name](inside)
    if found is None or every.counting is None:
        return found
    made = in_words_of(found, every)
    if not (made.finding or made.tables or made.figures):  # it says why in its last note
        return made
    return replace(made, notes=(*made.notes, str(every.counting)))
