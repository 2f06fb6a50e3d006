"""Report section on the distributions for a model of the site."""

from functools import partial

import numpy as np

from workloadkit.analysis.distributions.marginals import describe, summary_table
from workloadkit.analysis.formats import duration
from workloadkit.analysis.load.over_time import waits_known
from workloadkit.analysis.section import Figure, Section
from workloadkit.analysis.site.plots import COUNTS, plot_site_curves, site_curves
from workloadkit.errors import plural
from workloadkit.fields import UNKNOWN
from workloadkit.site import Empirical, SiteDistributions, site_distributions
from workloadkit.site.distributions import DISTRIBUTIONS, LONGEST_BREAK, SESSION
from workloadkit.trace import Trace

_TITLE = "Distributions for a site model"
#: Short titles for tables.
_TITLES = DISTRIBUTIONS | {
    "gap": "gap in a batch",
    "repetition": "run of equal sizes",
    "since_end": "time since previous end",
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

#: Sizes, run times and cycles are drawn in other sections.
_DRAWN = {
    "batch_width": ("Batch widths", "Cumulative share of batches by their number of jobs."),
    "gap": (
        "Gaps within batches",
        "Cumulative share of the times between successive submissions of a batch.",
    ),
    "think_time": (
        "Think times",
        "Cumulative share of the think times within sessions, of up to 20 min.",
    ),
    "break_time": (
        "Breaks",
        "Cumulative share of the breaks between a user's sessions, of up to 8 h.",
    ),
    "repetition": (
        "Runs of equal size",
        "Cumulative share of the runs of jobs of equal size, submitted by a user in succession, by "
        "their length.",
    ),
}


def section(trace: Trace) -> Section:
    """Report the distributions for a model of the site's users and jobs."""
    known = trace.column("user") != UNKNOWN
    if not (trace.ran & known).any():
        reason = "No user is known" if trace.ran.any() else "No job of this log ran"
        note = f"{reason}, so users cannot be modelled."
        return Section("site", _TITLE, notes=(note,))
    found = site_distributions(trace)
    notes = [
        "Sessions are delimited by Last: a session ends if the user submits no job for 20 min "
        "after the end of the last submitted job. Think times and breaks start at this end. "
        "workloadkit.site.site_distributions saves the distributions for a simulation."
    ]
    if anonymous := int((trace.ran & ~known).sum()):
        notes.append(f"Left out: {plural(anonymous, 'job')} of unknown users.")
    if not waits_known(trace):
        notes.append(
            "No wait time is known; batches, think times and breaks assume that jobs end their run "
            "time after submission, and are only approximate."
        )
    numbers = {name: describe(_sample(getattr(found, name))) for name in DISTRIBUTIONS}
    table = summary_table(
        numbers,
        "Distributions of batches, pauses and jobs for simulated users.",
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
    """Describe the size of batches and the length of pauses."""
    job = plural(numbers["batch_width"]["mean"], "job")
    sentences = [f"By Last, a batch has {job} on average."]
    for name, what in (
        ("think_time", "think time within sessions"),
        ("break_time", "break between sessions (up to 8 h)"),
    ):
        if numbers[name]["count"]:
            sentences.append(f"The median {what} is {duration(numbers[name]['p50'])}.")
    return " ".join(sentences)


def _sample(of: Empirical) -> np.ndarray:
    return np.repeat(of.values, of.counts)


def _figures(found: SiteDistributions) -> list[Figure]:
    return [
        Figure(name, title, caption, site_curves(found, name), partial(plot_site_curves, what=name))
        for name, (title, caption) in _DRAWN.items()
        if getattr(found, name).n
    ]
