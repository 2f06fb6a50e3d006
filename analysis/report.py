"""The characterisation of a log: its sections, as a page, as JSON and as figures."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis import accuracy, correlation, cycles, load, marginals, overview, style, users
from analysis.fits import summary as fits
from analysis.locality import summary as locality
from analysis.memory import summary as memory
from analysis.reactions import signature
from analysis.reactions import summary as reactions
from analysis.section import Section
from analysis.sessions import description as sessions
from analysis.sessions import methods as session_methods
from analysis.site import summary as site
from workloadkit.errors import WorkloadError
from workloadkit.io.files import write_text
from workloadkit.provenance import provenance
from workloadkit.trace import Trace, check_trace

#: The sections of a characterisation, in the order of the page: each a function of a Trace.
SECTIONS: tuple[Callable[[Trace], Section], ...] = (
    overview.section,
    load.section,
    cycles.section,
    marginals.section,
    fits.section,
    accuracy.section,
    correlation.section,
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


@dataclass(frozen=True, eq=False)
class Characterization:
    """What a log tells.

    Parameters
    ----------
    source : Trace
        The log.
    sections : tuple of Section
    """

    source: Trace
    sections: tuple[Section, ...]

    @property
    def name(self) -> str:
        """Name of the log."""
        return self.source.name

    @property
    def findings(self) -> tuple[tuple[Section, str], ...]:
        """The findings, each with its section."""
        return tuple((section, section.finding) for section in self.sections if section.finding)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What made it: version of workloadkit, name and digest of the log, parameters."""
        parameters: dict[str, Any] = {}
        for section in self.sections:
            parameters |= section.parameters
        return provenance(self.source, **parameters)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers in full precision, as JSON knows them; None is what is unknown."""
        return {
            "provenance": self.provenance,
            "findings": [finding for _, finding in self.findings],
            **{section.name: section.to_dict() for section in self.sections},
        }

    def to_html(self) -> str:
        """Return one page that needs nothing else."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("analysis"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        svgs = {}
        for section in self.sections:
            for figure in section.figures:
                name = f"{section.name}-{figure.name}"
                svg = style.draw(figure.plot, figure.data, name=name)
                svgs[name] = style.inline(svg, name=name, label=figure.caption)
        template = environment.get_template("report.html.j2")
        return template.render(log=self, svgs=svgs, theme=style.THEME)

    def save_figures(self, directory: str | Path) -> list[Path]:
        """Write every figure as an SVG file, named by section and figure.

        Parameters
        ----------
        directory : str or path
            Made if it is not there.

        Returns
        -------
        list of Path
            The files.
        """
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for section in self.sections:
            for figure in section.figures:
                name = f"{section.name}-{figure.name}"
                title = f"{figure.title} · {self.name}"
                svg = style.draw(figure.plot, figure.data, name=name, title=title)
                paths.append(folder / f"{name}.svg")
                write_text(paths[-1], svg)
        return paths


def characterize(trace: Trace) -> Characterization:
    """Say what is in a log.

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
        raise WorkloadError(f"{trace.name} has no jobs, so there is nothing to characterise")
    return Characterization(trace, tuple(section(trace) for section in SECTIONS))
