"""Templates, weeks that represent other weeks, joined to one log for simulation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workloadkit.analysis.studies.recorded_reactions.windows import (
    AFTER,
    TAIL,
    WARM_UP,
    OutageWindow,
)
from workloadkit.clock import DAY, WEEK
from workloadkit.fields import UNKNOWN
from workloadkit.io.outages import Outage, Outages
from workloadkit.trace import Trace

#: Columns required by a simulation, except submit times and users.
SERVED = ("wait", "run", "procs", "requested_procs", "requested_time")

#: Smallest gap between templates, in which all jobs can end. [s]
APART = 4 * WEEK


class Template(NamedTuple):
    """A window, and the distance of the template. [weeks before]."""

    window: OutageWindow
    back: int


def one_after_another(
    trace: Trace, templates: Sequence[Template]
) -> tuple[Trace, list[OutageWindow]]:
    """Concatenate templates to one log, with gaps between them and without common users.

    Parameters
    ----------
    trace : Trace
    templates : sequence of Template
        At least one; a template may occur several times.

    Returns
    -------
    trace : Trace
        The templates, each at its original hours of the week.
    windows : list of Window
        The window of each template in the new log.
    """
    submit = trace.column("submit")
    users, code = np.unique(trace.column("user"), return_inverse=True)
    longest = max(window.end - window.start for window, _ in templates)
    apart = ((WARM_UP + longest + AFTER + TAIL) // WEEK + 1) * WEEK + APART
    first = templates[0].window.start // WEEK * WEEK
    rows, times, who, moved = [], [], [], []
    for place, (window, back) in enumerate(templates):
        start, end = window.start - back * WEEK, window.end - back * WEEK
        until = min(end + AFTER + TAIL, window.start)  # exclude the window itself
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


def down(windows: Sequence[OutageWindow], procs: int | None) -> Outages:
    """Return outages of the whole machine; scheduled ones are announced a day ahead."""
    return Outages(tuple(
        Outage(
            number, window.start, window.end, procs=procs or UNKNOWN,
            announced=window.start - DAY if window.planned else UNKNOWN,
        )
        for number, window in enumerate(windows, 1)
    ))  # fmt: skip
