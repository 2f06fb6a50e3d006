"""An explained schedule as a page: a slider over its steps, each with a Gantt chart."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.formats import duration, printable
from workloadkit.analysis.schedules.gantt_charts import gantt
from workloadkit.errors import plural
from workloadkit.simulation.explained import ExplainedSchedule
from workloadkit.simulation.plain.decisions import Step

_MARGIN = 0.2  # of the time axis behind the last end, for reservations
_CLOSE = 2.0  # per cent of the chart within which reserved starts are one mark
_NAMED = 3  # jobs in a label of a reserved start
_LINES = 12  # of labels of reserved starts


def steps_page(explained: ExplainedSchedule) -> str:
    """Return an explained schedule as a self-contained HTML page.

    A slider, buttons and arrow keys move over the steps; without scripts, and in print, all steps
    are listed. Each has its events, decisions with reasons, a Gantt chart, reserved starts, and the
    queue in the order of the policy.

    Parameters
    ----------
    explained : ExplainedSchedule

    Examples
    --------
    >>> import workloadkit as wk
    >>> trace = wk.Trace.from_columns({"submit": [0, 1], "run": [9, 9], "procs": [3, 4]})
    >>> page = steps_page(wk.explain_schedule(trace, "easy", procs=4))
    >>> page.count('<li id="step-'), "starts: it is the first in the queue" in page
    (4, True)
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from workloadkit import __version__

    environment = Environment(
        loader=PackageLoader("workloadkit.analysis"),
        autoescape=True,
        finalize=lambda value: printable(value) if isinstance(value, str) else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    schedule = explained.schedule
    begin, until = _interval(explained)
    chart = _Chart(explained, begin, until)
    return environment.get_template("steps.html.j2").render(
        title=f"{schedule.source.name} under {schedule.parameters['scheduler']}, step by step",
        lead=_lead(explained),
        theme=style.THEME,
        machine=plural(schedule.machine, "processor"),
        bars=chart.placed,
        steps=[chart.step(step) for step in explained.steps],
        axis=(explained.when(begin), explained.when(until)),
        jobs=_jobs(explained),
        version=__version__,
    )


def _interval(explained: ExplainedSchedule) -> tuple[float, float]:
    """Return the times that the charts show."""
    schedule, steps = explained.schedule, explained.steps
    if explained.job is None:
        first, last = float(schedule.workload.submit.min()), float(schedule.end.max())
    else:
        first, last = float(steps[0].time), float(steps[-1].time)
    length = max(last - first, 1.0)
    return first - (0.0 if explained.job is None else _MARGIN * length), last + _MARGIN * length


def _lead(explained: ExplainedSchedule) -> list[str]:
    """Return what the page says before the steps."""
    lead = []
    if explained.job is not None:
        lead.append(f"The wait of job {explained.job}: from its submission to its start.")
    if explained.n_left_out:
        lead.append(f"Earlier steps that are left out: {explained.n_left_out:,}.")
    if not explained.gives_reasons:
        lead.append("The policy does not give the reason of each decision.")
    lead.append("Previous and next: arrow keys.")
    return lead


class _Chart:
    """The Gantt charts of all steps, whose bars have the same places."""

    def __init__(self, explained: ExplainedSchedule, begin: float, until: float) -> None:
        self.explained, self.begin, self.until = explained, begin, until
        schedule = explained.schedule
        self.table = gantt(schedule, begin=begin, until=until)
        top = max(schedule.machine, int((self.table["first"] + self.table["procs"]).max()))
        self.placed = [
            {
                "left": self.x(row.start),
                "low": _short(100 * row.first / top),
                "high": _short(100 * row.procs / top),
                "width": _short(self.x(row.end) - self.x(row.start)),
            }
            for row in self.table.itertuples()
        ]
        w = schedule.workload
        self.jobs = {int(job): i for i, job in enumerate(w.job)}

    def x(self, time: float) -> float:
        """Return the place of a time in the chart, in per cent; at its edges if it is outside."""
        return _short(min(max(100 * (time - self.begin) / (self.until - self.begin), 0), 100))

    def step(self, step: Step) -> dict[str, Any]:
        """Return what the page shows of a step."""
        when = self.explained.when
        starting = {each.job for each in step.decisions if each.starts}
        running = ", ".join(map(str, step.planned_ends)) or "none"
        waits = {e.job: e.sentence.partition("waits: ")[2] for e in step.decisions if not e.starts}
        return {
            "time": when(step.time),
            "events": _sentence(self.explained.events(step)),
            "starts": bool(starting),
            "sentence": _sentence(step.decisions[0].sentence) if step.decisions else "",
            "others": _sentence(_others(step)),
            "alt": f"Processors over time. Running jobs: {running}.",
            "bars": list(self._bars(step, starting)),
            "now": self.x(step.time),
            "marks": list(self._marks(step.reserved)),
            "waiting": plural(len(step.queue), "waiting job"),
            "free": step.free,
            "explains": bool(waits),
            "queue": [(*self._waiting(job, step), waits.get(job, "")) for job in step.queue],
        }

    def _marks(self, reserved: Mapping[int, float]) -> Iterator[dict[str, Any]]:
        """Yield the reserved starts, those that are close together as one mark."""
        places: dict[float, list[int]] = {}
        for job, begin in reserved.items():
            places.setdefault(round(self.x(begin) / _CLOSE) * _CLOSE, []).append(job)
        for i, (_, jobs) in enumerate(sorted(places.items())):
            some = jobs if len(jobs) <= _NAMED else jobs[: _NAMED - 1]
            more = f" and {len(jobs) - len(some)} more" if len(some) < len(jobs) else ""
            text = f"{'job' if len(jobs) == 1 else 'jobs'} {', '.join(map(str, some))}{more}"
            begin = min(reserved[job] for job in jobs)
            yield {"left": self.x(begin), "text": text, "top": 1.2 * (i % _LINES)}

    def _waiting(self, job: int, step: Step) -> tuple[str, ...]:
        """Return the row of a waiting job."""
        w, i = self.explained.schedule.workload, self.jobs[job]
        begin = step.reserved.get(job)
        return (
            str(job),
            f"{w.procs[i]:,}",
            duration(w.estimate[i]),
            duration(step.time - w.submit[i]),
            "–" if begin is None else self.explained.when(begin),
        )

    def _bars(self, step: Step, starting: set[int]) -> Iterator[dict[str, Any]]:
        """Yield the bars of the jobs that have started."""
        waiting = set(step.queue)
        for index, row in enumerate(self.table.itertuples(), 1):
            job = int(row.job)
            if row.start > step.time or job in waiting:
                continue
            if job not in step.planned_ends:
                yield {"index": index, "job": job, "kind": "", "style": ""}
                continue
            planned = max(step.planned_ends[job], step.time)
            left, now, right = self.x(row.start), self.x(step.time), self.x(planned)
            done = _short(100 * (now - left) / (right - left)) if right > left else 100
            kind = " new" if job in starting else " runs"
            style = f"width:{_short(right - left)}%;--done:{done}%"
            yield {"index": index, "job": job, "kind": kind, "style": style}


def _others(step: Step) -> str:
    """Say how many other jobs a step is about."""
    n = len(step.decisions) - 1
    return (
        f"{plural(n, 'other job')} {'waits' if n == 1 else 'wait'}, see the queue" if n > 0 else ""
    )


def _short(value: float) -> float:
    return round(float(value), 2)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _jobs(explained: ExplainedSchedule) -> list[tuple[Any, ...]]:
    """Return the rows of the table of jobs: with `job`, of that one."""
    schedule = explained.schedule
    w = schedule.workload
    steps = {
        each.job: number
        for number, step in enumerate(explained.steps, 1)
        for each in step.decisions
        if each.starts
    }
    shown = np.flatnonzero(pd.Series(w.job).isin(list(steps)))
    return [
        (
            int(w.job[i]),
            explained.when(w.submit[i]),
            f"{w.procs[i]:,}",
            duration(w.estimate[i]),
            duration(w.run[i]),
            duration(schedule.start[i] - w.submit[i]),
            steps[int(w.job[i])],
        )
        for i in shown
    ]
