"""Four logs week by week: run times and estimates.

The study tests the statements of the source on its logs: run times (section 1, Figure 1),
processors, estimates, and the four classes that divide the jobs of a whole log equally by run time.
Each class should have a quarter of the jobs of every week (Figure 1(g)-(h)). The study reproduces
Figure 1.

Words of the source are given numbers. Run times are "very skewed" if their skewness is above 1. A
quantity that "varies considerably" in a log has a coefficient of variation above 1, that of an
exponential distribution; one that varies considerably from week to week differs by a factor of two
between the 90th and the 10th percentile of the weeks. A week misses the equal split if a class has
less than half, or more than one and a half times, of its quarter. "Mostly" is more than half, and a
job ends "early" in the first tenth of its estimate. Crashed jobs are those that failed according to
the log (status 0) and ended before their estimate; some of these may have been stopped a moment
before it. If a log has no such jobs, the input is missing.

A number of jobs agrees with a printed one within 1 %. As in the source, only the first 104 weeks of
SDSC-BLUE are used. Nothing is random.
"""

from collections.abc import Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction import (
    Claim,
    Drawing,
    Each,
    Log,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    below,
    printed,
)
from workloadkit.analysis.studies.lawson import LOGS, QUEUES, WEEK, first_weeks

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes

    from workloadkit.trace import Trace

SKEWED, VARIES, TWICE, MOSTLY, EARLY = 1.0, 1.0, 2.0, 0.5, 0.1

#: A class misses its quarter of a week's jobs below and above these shares.
MISSED = (0.5 / QUEUES, 1.5 / QUEUES)

#: The logs of Figure 1, and the numbers printed for one of them.
FIGURE_1 = ("KTH", "SDSC-SP2")
KTH_JOBS, KTH_MONTHS = 28_490, ("1996-10", "1997-08")

_PANELS = {
    "jobs": "jobs a week",
    "mean run time": "mean run time (s)",
    "variation": "C.V. of run times",
}


class _Found(NamedTuple):
    """Measurements of a log, and its weeks as in Figure 1."""

    claims: Sequence[tuple[Claim, float]]
    weeks: "pd.DataFrame"


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the source's statements about its logs with ours."""
    found = dict(zip(plan.logs, each(look, plan.logs), strict=True))
    for log, its in found.items():
        yield from (Result(log, claim, ours) for claim, ours in its.claims)
    for log, its in found.items():
        if log.name in FIGURE_1:
            name, title = f"lawson-logs-{log.name}", f"Figure 1. Weeks of {log.name}"
            yield Drawing(name, title, its.weeks, _plot_weeks, size=(9, 6))


def look(log: Log, rng: "np.random.Generator") -> _Found:
    """Measure a log."""
    trace = first_weeks(log)
    ran = trace.select(trace.ran)
    weeks = _weeks(ran)
    claims = [*_jobs(ran), *_estimates(ran)]
    if log.name in FIGURE_1:
        claims += _of_weeks(weeks)
    if log.name == "KTH":
        claims += _counts(log.read())
    return _Found(claims, weeks)


def _jobs(ran: "Trace") -> Iterator[tuple[Claim, float]]:
    """Report the variation of run times and processors in a log."""
    from workloadkit.analysis.distributions.marginals import describe
    from workloadkit.site import Empirical

    claim = above("skewness of run times", SKEWED, "section 1", "ours")
    yield claim, Empirical.of(ran.column("run")).skewness
    claim = above("coefficient of variation of processors", VARIES, "section 1", "ours")
    yield claim, describe(ran.used_procs)["cv"]


def _estimates(ran: "Trace") -> Iterator[tuple[Claim, float]]:
    """Report the accuracy of estimates, also for crashed jobs."""
    import numpy as np

    from workloadkit.analysis.distributions.accuracy import run_over_estimate
    from workloadkit.fields import FAILED

    used = run_over_estimate(ran)
    claim = above("share of jobs that end before their estimate", MOSTLY, "section 1", "bound")
    yield claim, float(np.mean(used < 1)) if used.size else nan
    estimate = ran.column("requested_time")
    crashed = (ran.column("status") == FAILED) & (ran.column("run") < estimate)
    of_crashed, of_others = (run_over_estimate(ran.select(x)) for x in (crashed, ~crashed))
    if of_crashed.size:
        claim = above("share of crashed jobs that end in the first tenth of their estimate", MOSTLY,
                      "section 1", "ours")  # fmt: skip
        yield claim, float(np.mean(of_crashed <= EARLY))
        words = "median run time over estimate, crashed jobs less others"
        claim = below(words, 0, "section 1", "direction")
        yield claim, float(np.median(of_crashed) - np.median(of_others)) if of_others.size else nan


def _weeks(ran: "Trace") -> "pd.DataFrame":
    """Describe the run times of each whole week, and the share of each class in its jobs."""
    import numpy as np
    import pandas as pd

    submit, run = ran.column("submit"), ran.column("run")
    week = ((submit - submit[0]) // WEEK).astype(np.int64)
    bounds = np.quantile(run, np.arange(1, QUEUES) / QUEUES)
    rows = {}
    for number in range(int(week[-1])):  # the last week is incomplete
        of_week = run[week == number]
        if of_week.size < 10 * QUEUES:
            continue
        mean = of_week.mean()
        share = np.bincount(np.searchsorted(bounds, of_week), minlength=QUEUES) / of_week.size
        variation = of_week.std() / mean if mean else nan
        rows[number + 1] = [of_week.size, mean, variation, *share]
    names = [*_PANELS, *(f"class {number}" for number in range(1, QUEUES + 1))]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names).rename_axis("week")


def _of_weeks(weeks: "pd.DataFrame") -> Iterator[tuple[Claim, float]]:
    """Report the variation between weeks, and the shares of the whole log's classes in them."""
    import numpy as np

    many, few = np.quantile(weeks["variation"], (0.9, 0.1)) if len(weeks) else (nan, nan)
    words = "coefficient of variation of a week's run times, 90th percentile over 10th"
    yield at_least(words, TWICE, "Figure 1(e)-(f)", "ours"), float(many / few)
    shares = weeks[[name for name in weeks if name.startswith("class")]]
    missed = ((shares < MISSED[0]) | (shares > MISSED[1])).any(axis=1)
    words = "share of weeks in which classes by run times of the whole log miss the equal split"
    claim = above(words, 0, "Figure 1(g)-(h)", "ours")
    yield claim, float(missed.mean()) if len(weeks) else nan


def _counts(trace: "Trace") -> Iterator[tuple[Claim, float]]:
    """Compare the printed number of jobs and the printed dates with ours."""
    import numpy as np
    import pandas as pd

    from workloadkit.clock import Clock

    yield printed("jobs", KTH_JOBS, "section 2.2", margin=0.01), trace.n_jobs
    clock, share = Clock.of(trace), nan
    if clock.known:
        month = clock.dates(trace.column("submit")).to_period("M")
        first, last = (pd.Period(name, "M") for name in KTH_MONTHS)
        share = float(np.mean((month >= first) & (month <= last)))
    words = "share of jobs submitted from October 1996 to August 1997"
    yield printed(words, 1.0, "section 2.2", within=0.01), share


def _plot_weeks(data: "pd.DataFrame", ax: "Axes | None" = None) -> "Axes":
    """Draw jobs, mean run times, their variation and the shares of the classes by week."""
    from workloadkit.analysis import style

    axes = style.panels(style.current_axes(ax), 4, rows=2)
    for panel, (name, label) in zip(axes, _PANELS.items(), strict=False):
        panel.plot(data.index, data[name], **style.LINES[0])
        panel.set_ylim(bottom=0)
        style.count_axis(panel.yaxis)
        panel.set_ylabel(label)
    classes = [name for name in data if name.startswith("class")]
    for name, line in zip(classes, style.LINES, strict=False):
        axes[-1].plot(data.index, data[name], **line, label=name)
    style.share_axis(axes[-1].yaxis)
    axes[-1].set_ylabel("share of jobs")
    style.legend_above(axes[-1])
    for panel in axes:
        style.count_axis(panel.xaxis)
        panel.set_xlabel("week")
    return axes[0]


STUDY = Study(
    name="lawson-logs",
    text=__doc__,
    source='B. Lawson, E. Smirni, "Self-adaptive scheduler parameterization", Technical Report '
    "TR-05-01, University of Richmond, 2005, sections 1 and 2",
    logs=LOGS,
    compare=compare,
)
