"""The lines of a proposal: which column is which field, and what confirms it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.io.slurm import values as slurm
from workloadkit.io.tables.engine import name as quoted_name
from workloadkit.io.tables.guess.columns import Column, is_none
from workloadkit.io.tables.guess.names import Meaning, meanings, words_of
from workloadkit.io.tables.guess.proposal import Line, Sureness
from workloadkit.io.tables.guess.relations import (
    DIFFERENT,
    NO_LIMIT,
    are_equal,
    are_limits,
    in_order,
    unit_of,
    unit_of_reached,
)
from workloadkit.io.tables.mapping import DURATION_UNITS, DURATIONS, MEMORY, NUMBERS, SECONDS, TIMES

_OF_TIMES = ("time", "number")
_OF_DURATIONS = ("duration", "clock", "number")

#: Fields in the order in which columns are chosen for them.
_ORDER = (
    *("submit", "start", "end", "eligible", "run", "requested_time", "wait", "suspended", "cpu"),
    *("id", "array_job", "array_task", "cluster", "procs", "requested_procs", "procs_per_node"),
    "nodes",
    *("requested_nodes", "gpus", "requested_gpus", "memory", "requested_memory", "energy"),
    *("state", "exit_code", "reason", "user", "group", "account", "queue", "partition", "qos"),
    *("executable", "node_list"),
)

#: Words for states that are not those of Slurm.
_STATES = {
    "completed": "completed complete done success successful succeeded finished ok passed pass",
    "failed": "failed fail failure error errored crashed exit exited",
    "cancelled": "cancelled canceled killed aborted deleted removed revoked terminated_by_user",
    "timeout": "timeout timedout timed_out walltime",
    "node_fail": "node_fail nodefail",
    "out_of_memory": "oom out_of_memory",
    "preempted": "preempted evicted",
    "running": "running run active",
    "pending": "pending pend queued waiting",
}
_MEANING = {word: meaning for meaning, words in _STATES.items() for word in words.split()}
_MOST_STATES = 40

#: Keys of records that say nothing without the key above them.
_GENERAL = ("name", "id", "value", "count", "number")


class Chosen(NamedTuple):
    """The column of a field.

    Parameters
    ----------
    column : Column
    unit : str
        Unit of time that its name states.
    others : tuple of str
        Other columns that may be meant.
    """

    column: Column
    unit: str
    others: tuple[str, ...]


def choose(columns: tuple[Column, ...]) -> dict[str, Chosen]:
    """Return the column of each field, by names and kinds of values."""
    named: dict[str, list[tuple[int, int, Column, str]]] = {}
    for place, column in enumerate(columns):
        for meaning in meanings_of(column):
            if _may_be(meaning.field, column):
                named.setdefault(meaning.field, []).append(
                    (meaning.rank, place, column, meaning.unit)
                )
    chosen: dict[str, Chosen] = {}
    used: set[str] = set()
    for field in _ORDER:
        found = sorted(
            (each for each in named.get(field, ()) if each[2].name not in used),
            key=lambda each: each[:2],
        )
        if found:
            _, _, column, unit = found[0]
            others = tuple(each[2].name for each in found[1:])
            chosen[field] = Chosen(column, unit, others)
            used.add(column.name)
    return chosen


def _may_be(field: str, column: Column) -> bool:
    """Whether values of this kind may be those of a field."""
    if column.kind == "nothing":
        return False
    if field in TIMES:
        return column.kind in _OF_TIMES
    if field in DURATIONS:
        return column.kind in _OF_DURATIONS
    if field in MEMORY:
        return column.kind in ("amount", "number")
    if field in NUMBERS or field == "energy":
        return column.kind == "number"
    return column.kind in ("word", "number", "time", "amount")


def meanings_of(column: Column) -> list[Meaning]:
    """Return what a name may mean; of a key of a record, also without those above it."""
    found = meanings(column.name)
    *above, last = column.name.split(".") if column.sql else [column.name]
    if not found and above:
        found = meanings(above[-1] if last.lower() in _GENERAL else last)
    return found


class Fields:
    """Makes the lines of the fields, from the chosen columns and what they say of each other."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.columns = {column.name: column for column in columns}
        self.chosen = choose(columns)
        self.lasted = self._difference("start", "end")
        self._correct_durations()
        self.factors: list[str] = []  # columns of texts that are multiplied

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the section of fields."""
        for field in _ORDER:
            if field not in self.chosen or (field == "wait" and "start" in self.chosen):
                continue
            if field in ("procs", "procs_per_node") and self._by_node() is not None:
                continue
            if field in TIMES:
                yield self._time(field)
            elif field in DURATIONS:
                yield self._duration(field)
            else:
                yield self._other(field)
        if (by_node := self._of_nodes()) is not None:
            yield by_node
        elif "procs" not in self.chosen and "requested_procs" in self.chosen:
            sql = _sql(self.chosen["requested_procs"].column)["sql"]
            yield Line("fields", "procs", sql, "likely", "requested; no column of allocated ones")

    @property
    def times(self) -> list[Column]:
        """Columns of the times."""
        return [self.chosen[field].column for field in TIMES if field in self.chosen]

    def _known(self, field: str) -> NDArray[np.float64] | None:
        """Return the seconds of a field; None if there are none or their unit is not known."""
        chosen = self.chosen.get(field)
        if chosen is None or chosen.column.kind == "number" or "|" in chosen.column.format:
            return None
        return chosen.column.values

    def _difference(self, first: str, second: str) -> NDArray[np.float64] | None:
        begin, end = self._known(first), self._known(second)
        return None if begin is None or end is None else end - begin

    def _correct_durations(self) -> None:
        """Let a column that equals end - start be the run time; drop those that are not."""
        lasted = self.lasted
        if lasted is None:
            return
        if "run" not in self.chosen and "requested_time" in self.chosen:
            limit = self.chosen["requested_time"]
            if self._equals(limit.column, lasted):
                self.chosen["run"] = self.chosen.pop("requested_time")
        waited = self._difference("submit", "start")
        queue = self.chosen.get("queue")
        if queue and waited is not None and self._equals(queue.column, waited):
            del self.chosen["queue"]

    def _equals(
        self, column: Column, seconds: NDArray[np.float64], different: int = DIFFERENT
    ) -> bool:
        if column.kind == "number":
            return bool(unit_of(column.values, seconds, different=different))
        equal = are_equal(column.values, seconds, different=different)
        return column.kind in _OF_DURATIONS and equal

    # -- Times -------------------------------------------------------------------

    def _time(self, field: str) -> Line:
        column, unit, others = self.chosen[field]
        value = _sql(column)
        if column.kind == "number":
            why = "numbers that are no times since 1970; give the unit, and times.origin"
            if unit:
                why = "the name states the unit; not times since 1970: give times.origin, if known"
            stated: Sureness = "likely" if unit else "unsure"
            return Line("fields", field, value | {"unit": unit or "?"}, stated, why)
        if column.unit:
            numbers = [float(word) for word in column.words]
            odd = sorted({int(n) for n in numbers if n <= 0 and n == int(n)})
            value |= {"unit": column.unit} | ({"unknown": odd} if odd else {})
        if column.format:
            value["format"] = column.format.partition("|")[0]
            if "|" in column.format:
                other = column.format.split("|")[1]
                return Line("fields", field, value, "unsure", f"day and month, or as {other}?")
        rivals = [name for name in others if not self._same(name, column)]
        confirmed = self._confirmed(field)
        if rivals:
            return Line("fields", field, _plain(value), "likely", f"or {', '.join(rivals[:3])}")
        if confirmed:
            return Line("fields", field, _plain(value), "sure", f"name, and {confirmed}")
        return Line("fields", field, _plain(value), "likely", "name, and values are times")

    def _same(self, name: str, column: Column) -> bool:
        return bool(np.array_equal(self.columns[name].values, column.values, equal_nan=True))

    def _confirmed(self, field: str) -> str:
        """Return what confirms a time; empty if nothing does."""
        submit, start, end = (self._known(each) for each in ("submit", "start", "end"))
        waits = submit is not None and start is not None and in_order(submit, start)
        runs = start is not None and end is not None and in_order(start, end)
        if self._run_confirms() and field in ("start", "end"):
            return "end - start is the run time"
        if field == "submit" and waits:
            return "not after the start"
        if field in ("start", "end") and waits and runs:
            return "submission, start and end follow each other"
        return ""

    def _run_confirms(self) -> bool:
        run = self.chosen.get("run")
        return bool(run and self.lasted is not None and self._equals(run.column, self.lasted, 1))

    # -- Durations ---------------------------------------------------------------

    def _duration(self, field: str) -> Line:
        column, stated, others = self.chosen[field]
        value = _sql(column)
        if field == "run" and self.lasted is not None:
            return self._run(column, self.lasted)
        if column.kind == "number":
            return self._number_of(field, value, column, stated)
        if column.kind == "clock":
            value["unit"] = "clock"
            unlimited = [word for word in column.words if is_none(word)]
            value |= {"unknown": unlimited} if unlimited else {}
        if field == "requested_time" and not others:
            run = self._run_time()
            if run is not None and are_limits(column.values, run):
                return Line("fields", field, _plain(value), "sure", "name, and above the run time")
        return Line("fields", field, _plain(value), "likely", "name; the values have their unit")

    def _run(self, column: Column, lasted: NDArray[np.float64]) -> Line:
        """Return the line of the run time, next to start and end."""
        if self._run_confirms():
            unit = "clock" if column.kind == "clock" else ""
            if column.kind == "number":
                unit = unit_of(column.values, lasted, different=1)
            value = _sql(column) | ({"unit": unit} if unit else {})
            return Line("fields", "run", _plain(value), "sure", "end - start in nearly all rows")
        what = self._why_no_run(column, lasted)
        return Line("fields", "", "", "unsure", f"run = {_sql(column)['sql']} is left out: {what}")

    def _why_no_run(self, column: Column, lasted: NDArray[np.float64]) -> str:
        """Return what a run time is that is not end - start."""
        since = self._difference("submit", "end")
        if since is not None and self._equals(column, since, 1):
            return "it is end - submission"
        unit = unit_of(column.values, lasted, different=1, rounded=True)
        return f"end - start, rounded to {unit}" if unit else "not confirmed as end - start"

    def _number_of(self, field: str, value: dict[str, object], column: Column, stated: str) -> Line:
        """Return the line of a duration that is a plain number."""
        none = [n for n in NO_LIMIT if (column.values == float(n)).any()]
        unlimited = [*none, *(word for word in column.words if is_none(word))]
        numbers = np.where(np.isin(column.values, np.array(none, float)), np.nan, column.values)
        unit, sureness, why = self._unit(field, numbers, stated)
        value |= {"unit": unit} | ({"unknown": unlimited} if unlimited else {})
        return Line("fields", field, value, sureness, why)

    def _unit(
        self, field: str, numbers: NDArray[np.float64], stated: str
    ) -> tuple[str, Sureness, str]:
        """Return the unit of plain numbers, how sure it is, and why."""
        run = self._run_time()
        if field == "requested_time" and run is not None:
            unit = unit_of_reached(numbers, run, self._timed_out())
            if unit:
                return unit, "sure", "jobs in a state of time-out ran as long"
            if stated and not are_limits(numbers * SECONDS[stated], run):
                return "?", "unsure", f"the name states {stated}, but jobs ran longer"
        if stated:
            return stated, "likely", "the name states the unit"
        return "?", "unsure", f"a number without a unit; {' '.join(DURATION_UNITS)}"

    def _run_time(self) -> NDArray[np.float64] | None:
        return self.lasted if self.lasted is not None else self._known("run")

    def _timed_out(self) -> NDArray[np.bool_]:
        """Return which jobs reached their limits, by their states."""
        state = self.chosen.get("state")
        n_rows = next(iter(self.columns.values())).values.size
        if state is None or not state.column.cells:
            return np.zeros(n_rows, bool)
        return np.array([_meaning(word) == "timeout" for word in state.column.cells])

    # -- Others ------------------------------------------------------------------

    def _other(self, field: str) -> Line:
        column, _, others = self.chosen[field]
        value = _sql(column)
        why = column.why + (f"; or {', '.join(others[:3])}" if others else "")
        sureness: Sureness = "likely"
        if field in MEMORY:
            unit = "suffix" if column.kind == "amount" else "?"
            per = "job" if column.sql.startswith("regexp_extract") else "?"
            value |= {"unit": unit, "per": per}
            asked = "per proc, node or job?" * (per == "?") + " And the unit?" * (unit == "?")
            if asked:
                sureness, why = "unsure", asked.strip()
        elif field == "energy":
            value["unit"] = "?"
            sureness, why = "unsure", "a number without a unit; J kJ Wh kWh"
        elif field in NUMBERS:
            known = column.values[~np.isnan(column.values)]
            if "milli" in words_of(column.name):
                self.factors += [] if column.sql else [column.name]
                value["sql"] = f"{_as_number(column)} / 1000"
                why = "the name states thousandths"
                if (known < 10).mean() > 0.5:
                    sureness, why = "unsure", f"{why}, but most values are below 10"
            elif (known < 0).any() or (known != np.floor(known)).any():
                sureness, why = "unsure", "not all are whole numbers of 0 or more"
        elif field == "queue" and column.kind == "number":
            sureness, why = "unsure", "numbers: a queue, or a duration?"
        return Line("fields", field, _plain(value), sureness, why)

    def _by_node(self) -> Column | None:
        """Return the column of processors of each node; None if there is none, or of all nodes."""
        nodes, procs = self.chosen.get("nodes"), self.chosen.get("procs")
        each = self.chosen.get("procs_per_node")
        if nodes is None or nodes.column.kind != "number":
            return None
        if procs is None:
            return each.column if each else None
        known = ~np.isnan(nodes.column.values) & ~np.isnan(procs.column.values)
        fewer = procs.column.values[known] < nodes.column.values[known]
        return procs.column if fewer.any() and (procs.column.values[known] > 0).all() else None

    def _of_nodes(self) -> Line | None:
        """Return the line of processors that are given for each node."""
        column = self._by_node()
        if column is None:
            return None
        terms = []
        for factor in (self.chosen["nodes"].column, column):
            terms.append(_as_number(factor))
            self.factors += [] if factor.sql else [factor.name]
        if "procs_per_node" in self.chosen:
            return Line("fields", "procs", " * ".join(terms), "likely", "names: nodes × of each")
        why = f"{column.name} are fewer than nodes in some rows: those of each node?"
        return Line("fields", "procs", " * ".join(terms), "unsure", why)

    def states(self, words: Sequence[str] | None = None) -> Iterator[Line]:
        """Yield the lines of the section of states, unless they are those of Slurm.

        `words` are by default those of the column of states.
        """
        state = self.chosen.get("state")
        if words is None:
            words = state.column.words if state else ()
        if all(slurm.state(word) in slurm.STATES for word in words):
            return
        for word in words[:_MOST_STATES]:
            meaning = _meaning(word)
            sureness: Sureness = "likely" if meaning else "unsure"
            why = "the word" if meaning else "what does it mean?"
            yield Line("states", word, meaning or "unknown", sureness, why)


def _meaning(word: str) -> str:
    """Return what a state means; empty if that is not known."""
    known = slurm.state(word)
    if known in slurm.STATES and known.lower() in _STATES:
        return known.lower()
    return _MEANING.get(word.strip().lower().replace("-", "_").replace(" ", "_"), "")


def _sql(column: Column) -> dict[str, object]:
    return {"sql": column.sql or quoted_name(column.name)}


def _as_number(column: Column) -> str:
    """Return the expression of a number; a key of a nested record has no type."""
    return f"TRY_CAST({column.sql} AS DOUBLE)" if column.sql else quoted_name(column.name)


def _plain(value: Mapping[str, object]) -> object:
    """Return the expression alone, if nothing else is to be said."""
    return value["sql"] if len(value) == 1 else dict(value)
