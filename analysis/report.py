"""The characterization of a log as a page, as JSON and as figures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from analysis import utilities
from analysis.distributions import accuracy, correlation, marginals
from analysis.fits import summary as fits
from analysis.load import cycles, overview
from analysis.load import over_time as load
from analysis.locality import summary as locality
from analysis.memory import summary as memory
from analysis.page import Report
from analysis.reactions import signature
from analysis.reactions import summary as reactions
from analysis.section import Section
from analysis.sessions import description as sessions
from analysis.sessions import methods as session_methods
from analysis.site import summary as site
from analysis.users import shares as users
from analysis.waits import summary as waits
from workloadkit.errors import WorkloadError
from workloadkit.trace import Trace, check_trace

#: Sections of a characterization in the order of the page: functions of the jobs submitted in the
#: log's window, which return None if the section does not apply to the log.
SECTIONS: tuple[Callable[[Trace], Section | None], ...] = (
    overview.section,
    load.section,
    cycles.section,
    marginals.section,
    fits.section,
    waits.section,
    accuracy.section,
    correlation.section,
    utilities.section,
    users.section,
    sessions.section,
    session_methods.section,
    reactions.section,
    signature.section,
    site.section,
    locality.section,
    memory.section,
    overview.reading_section,
)

#: These sections get all jobs of the log, also those outside its window.
_OF_ALL = (overview.section, load.section, overview.reading_section)


@dataclass(frozen=True, eq=False)
class Characterization(Report):
    """Characterization of a log.

    Parameters
    ----------
    source : Trace
        The log.
    sections : tuple of Section
    """

    kind: ClassVar[str] = "Workload characterization"


def characterize(trace: Trace) -> Characterization:
    """Characterize a log.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    Characterization

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
    check_trace(trace)
    if not trace.n_jobs:
        raise WorkloadError(f"{trace.name} has no jobs, so it cannot be characterized")
    inside = trace.within_window()
    sections = (section(trace if section in _OF_ALL else inside) for section in SECTIONS)
    return Characterization(trace, tuple(filter(None, sections)))
