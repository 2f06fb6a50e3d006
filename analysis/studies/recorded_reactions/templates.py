"""Templates, weeks that represent other weeks, joined to one log for simulation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from analysis.studies.recorded_reactions.windows import AFTER, TAIL, WARM_UP, Window
from workloadkit.clock import DAY, WEEK
from workloadkit.fields import UNKNOWN
from workloadkit.io.outages import Outage, Outages
from workloadkit.trace import Trace

#: What a simulation needs of jobs, besides when and who.
SERVED = ("wait", "run", "procs", "requested_procs", "requested_time")

#: From the end of a template to the next, at least: time for all jobs to end. [s]
APART = 4 * WEEK


class Template(NamedTuple):
    """The jobs of some weeks before a window."""

    window: Window
    back: int


def one_after_another(trace: Trace, templates: Sequence[Template]) -> tuple[Trace, list[Window]]:
    """Return templates as one log, in which none is near the others, or has users in common.

    Parameters
    ----------
    trace : Trace
    templates : sequence of Template
        One at least; they may come several times.

    Returns
    -------
    trace : Trace
        Each at the same hours of the week.
    windows : list of Window
        Where the window of each template is in it.
    """
    submit = trace.column("submit")
    users, code = np.unique(trace.column("user"), return_inverse=True)
    longest = max(window.end - window.start for window, _ in templates)
    apart = ((WARM_UP + longest + AFTER + TAIL) // WEEK + 1) * WEEK + APART
    first = templates[0].window.start // WEEK * WEEK
    rows, times, who, moved = [], [], [], []
    for place, (window, back) in enumerate(templates):
        start, end = window.start - back * WEEK, window.end - back * WEEK
        until = min(end + AFTER + TAIL, window.start)  # nothing of the window itself
        row = np.arange(*np.searchsorted(submit, (start - WARM_UP, until)))
        shift = first + place * apart - start // WEEK * WEEK
        rows.append(row)
        times.append(submit[row] + shift)
        who.append(code[row] + place * users.size)
        moved.append(window._replace(start=start + shift, end=end + shift))
    row = np.concatenate(rows)
    columns = {name: trace.column(name)[row] for name in SERVED}
    columns |= {"submit": np.concatenate(times), "user": np.concatenate(who)}
    return Trace.from_columns(columns, header=trace.header, name=trace.name), moved


def down(windows: Sequence[Window], procs: int | None) -> Outages:
    """Return outages of the whole machine; planned ones are announced a day ahead."""
    return Outages(tuple(
        Outage(
            number, window.start, window.end, procs=procs or UNKNOWN,
            announced=window.start - DAY if window.planned else UNKNOWN,
        )
        for number, window in enumerate(windows, 1)
    ))  # fmt: skip
