"""Properties of the log of the utility functions.

The source describes SDSC-BLUE apart from its experiments: the load by time of day and day of the
week (Figure 6); waits, and therefore deadlines, that depend on the size and priority of jobs
(section 4.3); the expected value under the three kinds of decay (Figure 4); and jobs that do not
wait under EASY (section 7.4). Waits are those of the jobs of the study `lee` that ran; the
simulation under EASY has the same jobs.

Words of the source are given numbers. Load "varies" if one hour of the day, or one day of the week,
has at least 1.5 times the load of another. It is "quite heavy" at times if on some day more work is
submitted than the machine can do. "Heavily dependent" means a rank correlation of at least 0.3; for
priority any positive one, with the queues ordered from the most urgent to the least. Size is
processors times run time. Small jobs have at most the median number of processors. Figure 4 is the
mean over these jobs, drawn with a fixed seed. The simulations under EASY are those of ten shaken
copies of these jobs (± 30 s). Everything else is computed from this log alone, without randomness.
"""

from collections.abc import Iterator, Sequence
from functools import partial
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
)
from workloadkit.analysis.reproduction.runs import chaos_interval, shaken
from workloadkit.analysis.studies.lee import DECAYS, N_QUEUES, PROCS, QUEUES, lines_of
from workloadkit.analysis.studies.lee import STUDY as EXPERIMENTS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes

    from workloadkit.trace import Trace

VARIES, HEAVILY = 1.5, 0.3
_SEED = 31
_HOURS, _DAYS = 24, 7


class _Found(NamedTuple):
    """Measurements of the log, and the data of its figures."""

    claims: list[tuple[Claim, float]]
    simulated: list[tuple[Claim, list[float]]]
    by_hour: "pd.Series"
    by_day: "pd.Series"
    decays: "pd.DataFrame"


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the source's statements about the log with ours."""
    for log, found in zip(plan.logs, each(look, plan.logs), strict=True):
        yield from (Result(log, claim, ours) for claim, ours in found.claims)
        yield from (Result(log, claim, *chaos_interval(ours)) for claim, ours in found.simulated)
        yield Drawing("lee-logs-decays", "Figure 4. What jobs are worth, on average", found.decays,
                      _plot_decays)  # fmt: skip
        for name, data, words in (
            ("hour", found.by_hour, "hour of the day"),
            ("weekday", found.by_day, "day of the week, from Monday"),
        ):
            title = f"Figure 6. Work submitted by {words}"
            plot = partial(_plot_load, label=words)
            yield Drawing(f"lee-logs-{name}", title, data.to_frame(), plot)


def look(log: Log, rng: "np.random.Generator") -> _Found:
    """Measure the log."""
    trace = log.read()
    by_hour, by_day = (_by(trace, length, n) for length, n in ((3600, _HOURS), (86400, _DAYS)))
    ran = lines_of(trace)
    claims = [*_load(trace, by_hour, by_day), *_waits(ran)]
    return _Found(claims, _under_easy(shaken(ran, rng)), by_hour, by_day, _decays(ran))


def _by(trace: "Trace", length: int, n: int) -> "pd.Series":
    """Work submitted by hour of the day, or day of the week, as a multiple of the mean."""
    import numpy as np
    import pandas as pd

    from workloadkit.clock import Clock

    ran = trace.select(trace.ran)
    work = ran.used_procs * ran.column("run")
    at = (Clock.of(trace).local(ran.column("submit")) // length % n).astype(np.int64)
    total = np.bincount(at, weights=work, minlength=n)
    return pd.Series(total / total.mean(), name="load")


def _load(
    trace: "Trace", by_hour: "pd.Series", by_day: "pd.Series"
) -> Iterator[tuple[Claim, float]]:
    """Report the variation of the load, and its maximum."""
    from workloadkit.analysis.load.over_time import load_over_time
    from workloadkit.clock import Clock

    for by, words in ((by_hour, "hour of the day"), (by_day, "day of the week")):
        claim = at_least(f"work submitted by {words}, most over least", VARIES, "section 7.3",
                         "ours")  # fmt: skip
        yield claim, float(by.max() / by.min()) if by.min() > 0 else nan
    submit = trace.column("submit")
    days = Clock.of(trace).midnights(float(submit[0]), float(submit[-1]))
    load = load_over_time(trace, days, machine=PROCS)["offered_load"]
    claim = above("largest load submitted on a day, of what the machine can do", 1, "section 7.3",
                  "ours")  # fmt: skip
    yield claim, float(load.max())


def _waits(ran: "Trace") -> Iterator[tuple[Claim, float]]:
    """Report the correlation of waits with the size and the priority of jobs."""
    import pandas as pd

    wait, procs, run = (pd.Series(ran.column(name)) for name in ("wait", "procs", "run"))
    for words, size in (
        ("processors times run time", procs * run),
        ("processors", procs),
        ("run time", run),
    ):
        claim = at_least(f"rank correlation of wait and {words}", HEAVILY, "section 4.3", "ours")
        yield claim, float(wait.corr(size, method="spearman"))
    queue = pd.Series(ran.column("queue"))
    urgent = queue.isin(QUEUES)
    claim = above("rank correlation of wait and queue, from the most urgent to the least", 0,
                  "section 4.3", "direction")  # fmt: skip
    yield claim, float(wait[urgent].corr(queue[urgent], method="spearman"))


def _under_easy(logs: "Sequence[Trace]") -> list[tuple[Claim, list[float]]]:
    """Report the share of jobs that do not wait under EASY in each log, also by size."""
    import numpy as np

    import workloadkit as wk

    shares, more = [], []
    for ran in logs:
        schedule = wk.simulate(ran, "easy", procs=PROCS)
        at_once, procs = schedule.wait == 0, schedule.workload.procs
        small = procs <= np.median(procs)
        shares.append(float(np.mean(at_once)))
        more.append(at_once[small].mean() - at_once[~small].mean() if not small.all() else nan)
    words = "share of jobs that do not wait under EASY"
    return [
        (above(words, 0.5, "section 7.4", "bound"), shares),
        (above(f"{words}, small ones less others", 0, "section 7.4", "direction"), more),
    ]


def _decays(ran: "Trace") -> "pd.DataFrame":
    """Return the mean share of the start value over time, for each kind of decay."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.analysis.utilities import utility_shapes

    priority = {q: q if q in QUEUES else QUEUES[-1] for q in range(-1, N_QUEUES)}
    means = {}
    for kind, setting in DECAYS.items():
        augmented = wk.add_utility(
            ran,
            priority=priority,
            decay=kind,
            deadline="wait+run",
            points=setting.points,
            rng=_SEED,
        )
        means[kind] = utility_shapes(augmented).iloc[:, 0]
    return pd.DataFrame(means)


def _plot_decays(data: "pd.DataFrame", ax: "Axes | None" = None) -> "Axes":
    from workloadkit.analysis import style
    from workloadkit.analysis.utilities import label_decay

    ax = style.current_axes(ax)
    for name, line in zip(data, style.LINES, strict=False):
        ax.plot(data.index, data[name], **line, label=name)
    return label_decay(ax)


def _plot_load(data: "pd.DataFrame", ax: "Axes | None" = None, *, label: str) -> "Axes":
    from workloadkit.analysis import style

    ax = style.current_axes(ax)
    ax.bar(data.index, data["load"], color=style.BLUE)
    ax.axhline(1, color=style.MUTED, linewidth=0.8)
    style.count_axis(ax.xaxis)
    ax.set(xlabel=label, ylabel="work submitted, of the mean")
    return ax


STUDY = Study(
    name="lee-logs",
    text=__doc__,
    source=EXPERIMENTS.source,
    logs=EXPERIMENTS.logs,
    compare=compare,
)
