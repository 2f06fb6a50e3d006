"""What a model of the site would take from a log: the section of the report."""

from functools import partial

import numpy as np

from analysis.distributions.marginals import describe, summary_table
from analysis.formats import duration, plural
from analysis.load.over_time import waits_known
from analysis.section import Figure, Section
from analysis.site.plots import COUNTS, plot_site_curves, site_curves
from workloadkit.fields import UNKNOWN
from workloadkit.site import Empirical, SiteDistributions, site_distributions
from workloadkit.site.distributions import DISTRIBUTIONS, LONGEST_BREAK, SESSION
from workloadkit.trace import Trace

_TITLE = "What a site model needs"
#: Words that fit a table.
_TITLES = DISTRIBUTIONS | {
    "gap": "gap in a batch",
    "repetition": "equal sizes in a row",
    "since_end": "since the end before",
}
_TIMES = [name for name in DISTRIBUTIONS if name not in COUNTS]
_STATISTICS = {
    "count": "count",
    "mean": "mean",
    "cv": "coefficient of variation",
    "p25": "25th percentile",
    "p50": "median",
    "p75": "75th percentile",
    "p95": "95th percentile",
    "max": "maximum",
}

#: Sizes, run times and cycles are drawn in sections of their own.
_DRAWN = {
    "batch_width": ("Batch widths", "Share of the batches that have at most so many jobs."),
    "gap": (
        "Gaps within batches",
        "Share of the times between two submissions that follow each other in a batch that are at "
        "most so long.",
    ),
    "think_time": (
        "Think times",
        "Share of the think times within sessions, of up to 20 min, that are at most so long.",
    ),
    "break_time": (
        "Breaks",
        "Share of the breaks between a user's sessions, of up to 8 h, that are at most so long.",
    ),
    "repetition": (
        "Runs of equal size",
        "Share of the runs of jobs of one size, submitted by a user one after the other, that are "
        "at most so long.",
    ),
}


def section(trace: Trace) -> Section:
    """Report the distributions from which a site's users and jobs would be modelled."""
    known = trace.column("user") != UNKNOWN
    if not (trace.ran & known).any():
        reason = "No user is known" if trace.ran.any() else "No job of this log ran"
        note = f"{reason}, so there is nothing to model users by."
        return Section("site", _TITLE, notes=(note,))
    found = site_distributions(trace)
    notes = [
        "A session by Last ends where a user submits nothing for 20 min after the end of the job "
        "submitted last; think times and breaks begin with that end. "
        "analysis.site.site_distributions saves the distributions for a simulation."
    ]
    if anonymous := int((trace.ran & ~known).sum()):
        notes.append(f"Left out: {plural(anonymous, 'job')} of no known user.")
    if not waits_known(trace):
        notes.append(
            "No wait time is known; jobs are taken to end their run time after they were "
            "submitted, so batches, think times and breaks are only roughly right."
        )
    numbers = {name: describe(_sample(getattr(found, name))) for name in DISTRIBUTIONS}
    table = summary_table(
        numbers,
        "Batches, pauses and jobs: what a simulated user would draw from.",
        titles=_TITLES,
        times=_TIMES,
        statistics=_STATISTICS,
    )
    return Section(
        "site",
        _TITLE,
        _finding(numbers),
        tuple(notes),
        values={"n_users": found.n_users, "n_jobs": found.n_jobs, **numbers},
        tables=(table,),
        figures=tuple(_figures(found)),
        parameters={"site_session_threshold": SESSION, "site_longest_break": LONGEST_BREAK},
    )


def _finding(numbers: dict[str, dict[str, float]]) -> str:
    """Say how large batches are and how long users pause."""
    finding = f"By Last, a batch has {plural(numbers['batch_width']['mean'], 'job')} on average."
    for name, what in (
        ("think_time", "think times within sessions"),
        ("break_time", "breaks between sessions, of up to 8 h,"),
    ):
        if numbers[name]["count"]:
            finding += f" Half of the {what} last at most {duration(numbers[name]['p50'])}."
    return finding


def _sample(of: Empirical) -> np.ndarray:
    return np.repeat(of.values, of.counts)


def _figures(found: SiteDistributions) -> list[Figure]:
    return [
        Figure(name, title, caption, site_curves(found, name), partial(plot_site_curves, what=name))
        for name, (title, caption) in _DRAWN.items()
        if getattr(found, name).n
    ]
