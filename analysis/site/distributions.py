"""Distributions of a site as results with plots."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from matplotlib.axes import Axes

from analysis.section import Result
from workloadkit import site
from workloadkit.io.files import Source
from workloadkit.settings import Kinds
from workloadkit.trace import Trace


class Empirical(site.Empirical, Result):
    """An empirical distribution with a plot, see `workloadkit.site.Empirical`."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the cumulative distribution."""
        from analysis.site.plots import plot_empirical

        return plot_empirical(self, ax)


class SiteDistributions(site.SiteDistributions, Result):
    """Distributions of users and jobs with plots, see `workloadkit.site.SiteDistributions`."""

    def plot(self, ax: Axes | None = None, *, what: str = "batch_width") -> Axes:
        """Draw one distribution: a curve per log, and one for all logs combined.

        Parameters
        ----------
        ax : Axes, optional
            Default: the current Axes.
        what : str, default "batch_width"
            A distribution, "hour" or "weekday".
        """
        from analysis.site.plots import plot_site

        return plot_site(self, ax, what=what)


def site_distributions(
    traces: Trace | Iterable[Trace], settings: Kinds | None = None, **keywords: Any
) -> SiteDistributions:
    """Extract the distributions of logs, see `workloadkit.site.site_distributions`."""
    return drawable(site.site_distributions(traces, settings, **keywords))


def read_site_distributions(source: Source) -> SiteDistributions:
    """Read distributions from a file, see `workloadkit.site.read_site_distributions`."""
    return drawable(site.read_site_distributions(source))


def drawable(of: site.SiteDistributions) -> SiteDistributions:
    """Return the same distributions with plots."""
    parts = {part.name: getattr(of, part.name) for part in fields(of)}
    for name, part in parts.items():
        if isinstance(part, site.Empirical):
            parts[name] = Empirical(part.values, part.counts)
    parts["by_log"] = {name: drawable(log) for name, log in of.by_log.items()}
    return SiteDistributions(**parts)
