"""Tables with a row for each event of a job: which column is the job, the event and the time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.io.tables.engine import name as quoted_name
from workloadkit.io.tables.engine import text
from workloadkit.io.tables.guess.columns import Column
from workloadkit.io.tables.guess.fields import meanings_of
from workloadkit.io.tables.guess.names import meanings, words_of
from workloadkit.io.tables.guess.proposal import Line, Sureness

#: Words of events, by what they begin or end.
_PHASES = {
    "submit": "submit submitted queue queued enqueue enqueued arrive arrived arrival create "
    "created creation add added new pending jobqueue",
    "start": "start started begin began begun run running schedule scheduled dispatch dispatched "
    "launch launched execute executing jobstart allocated",
    "end": "end ended finish finished complete completed done exit exited stop stopped terminated "
    "fail failed error kill killed cancel cancelled canceled abort aborted timeout delete deleted "
    "evict evicted lost success succeeded jobend released",
}
_PHASE_OF = {word: phase for phase, words in _PHASES.items() for word in words.split()}
_PLAIN_ENDS = frozenset(("end", "ended", "exit", "exited", "stop", "stopped", "jobend", "released"))
_EVENT_NAMES = frozenset(
    ("event", "action", "transition", "kind", "type", "what", "state", "status")
)
_TIME_NAMES = frozenset(("time", "timestamp", "ts", "t", "at", "date", "when", "datetime"))
_MOST_EVENTS = 20
_ROWS_OF_JOB = 1.5  # on average, at least
_MATCHING = 0.95


class Events(NamedTuple):
    """The columns of a table of events.

    Parameters
    ----------
    job, event, time : Column
    phases : dict of str to list of str
        Words of events, by ``submit``, ``start`` and ``end``.
    is_ordered : bool
        Whether nearly all jobs have these in order.
    """

    job: Column
    event: Column
    time: Column
    phases: dict[str, list[str]]
    is_ordered: bool


def events_of(columns: Sequence[Column]) -> Events | None:
    """Return the columns of a table of events; None if it is none."""
    named = {m.field for column in columns for m in meanings(column.name)[:1]}
    if {"start", "end"} <= named:
        return None
    event = next(filter(_is_event, columns), None)
    job = min(
        (c for c in columns if c is not event and _rank_of_id(c) is not None),
        key=lambda c: _rank_of_id(c) or 0,
        default=None,
    )
    times = [c for c in columns if c.kind == "time"] or [
        c for c in columns if c.kind == "number" and _TIME_NAMES & set(words_of(c.name))
    ]
    if event is None or job is None or len(times) != 1:
        return None
    _, number = np.unique(_values(job), return_inverse=True)
    if number.size < _ROWS_OF_JOB * (number.max(initial=0) + 1):
        return None
    phases: dict[str, list[str]] = {}
    for word in event.words:
        if phase := _PHASE_OF.get(_plain(word)):
            phases.setdefault(phase, []).append(word)
    if len(phases) < 2:
        return None
    return Events(job, event, times[0], phases, _in_order(number, event, times[0], phases))


def _is_event(column: Column) -> bool:
    """Whether the words of a column are events, and its name may be that of events."""
    if column.kind != "word" or len(column.words) > _MOST_EVENTS:
        return False
    known = [word for word in column.words if _plain(word) in _PHASE_OF]
    return bool(_EVENT_NAMES & set(words_of(column.name))) and 2 * len(known) > len(column.words)


def _plain(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())


def _rank_of_id(column: Column) -> int | None:
    found = (m.rank for m in meanings_of(column) if m.field == "id")
    return next(found, None) if column.kind in ("word", "number") else None


def _values(column: Column) -> NDArray[Any]:
    return np.array(column.cells) if column.cells else column.values


def _in_order(
    number: NDArray[np.int64], event: Column, time: Column, phases: dict[str, list[str]]
) -> bool:
    """Whether the submission, first start and last end of nearly all jobs follow each other."""
    n_jobs = int(number.max(initial=-1)) + 1
    cells = np.array(event.cells)
    firsts = []
    for phase, words in phases.items():
        which = np.isin(cells, words) & ~np.isnan(time.values)
        best = np.full(n_jobs, -np.inf if phase == "end" else np.inf)
        (np.maximum if phase == "end" else np.minimum).at(best, number[which], time.values[which])
        firsts.append((("submit", "start", "end").index(phase), best))
    ordered = [best for _, best in sorted(firsts, key=lambda each: each[0])]
    good = [(a <= b) | np.isinf(a) | np.isinf(b) for a, b in pairwise(ordered)]
    enough = distinct(time.values[~np.isnan(time.values)]).size >= 2 * len(phases)
    return enough and all(float(each.mean()) >= _MATCHING for each in good)


def event_lines(events: Events, others: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines of the source, the fields and the states; `others` are those of a job."""
    sure: Sureness = "sure" if events.is_ordered else "likely"
    order = "and events of a job are in order" if events.is_ordered else "by their words"
    job, event, time = (_sql(c) for c in (events.job, events.event, events.time))
    if events.event.sql:  # a key of a nested record: a text of JSON has quotes
        event = f"trim(CAST({event} AS VARCHAR), '\"')"
    yield Line("source", "group", job, sure, "several rows a job: one for each event")
    form: dict[str, str] = {}
    if events.time.kind == "number":
        sure, form, order = "unsure", {"unit": "?"}, "numbers that are no times since 1970"
    elif events.time.unit:
        form = {"unit": events.time.unit}
        if events.time.sql:  # a key of a nested record
            time = f"TRY_CAST({time} AS DOUBLE)"
        else:
            why = "for the least and the largest"
            yield Line("source", "numbers", [events.time.name], "sure", why)
    elif events.time.format:  # texts in an order that is not that of time
        form_of, _, other = events.time.format.partition("|")
        time = f"try_strptime({time}, {text(form_of)})"
        if other:
            sure, order = "unsure", f"day and month, or as {other.partition('|')[0]}?"
    yield Line("fields", "id", f"any_value({job})", "likely", "name")
    for phase, which in (("submit", "min"), ("start", "min"), ("end", "max")):
        if words := events.phases.get(phase):
            sql = f"{which}({time}) FILTER ({event} IN ({', '.join(map(text, words))}))"
            value = {"sql": sql, **form} if form else sql
            yield Line("fields", phase, value, sure, f"the events, {order}")
    ends = [w for w in events.phases.get("end", ()) if _plain(w) not in _PLAIN_ENDS]
    if ends:
        among = ", ".join(map(text, events.phases["end"]))
        sql = f"arg_max({event}, {time}) FILTER ({event} IN ({among}))"
        yield Line("fields", "state", sql, "likely", "the last event that ends the job")
    for line in others:
        if line.key and line.key not in ("submit", "start", "end", "id", "state"):
            yield _aggregated(line)


def _aggregated(line: Line) -> Line:
    """Return a line whose expression is that of any row of the job."""
    if isinstance(line.value, dict):
        return replace(line, value=line.value | {"sql": f"any_value({line.value['sql']})"})
    return replace(line, value=f"any_value({line.value})")


def _sql(column: Column) -> str:
    return column.sql or quoted_name(column.name)
