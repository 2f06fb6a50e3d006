"""From the rows of the query to records, in batches of columns, with an account of every row."""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadWarning, printable, quoted
from workloadkit.fields import CANCELLED, COMPLETED, FAILED, UNKNOWN
from workloadkit.io.assemble import LAST_SECOND, NEEDED
from workloadkit.io.cells import Words
from workloadkit.io.records import Records
from workloadkit.io.slurm import values as slurm
from workloadkit.io.tables.declared import MEMORY, TIMES, WORDS, TableMapping
from workloadkit.io.tables.parts import Part, short_names
from workloadkit.io.tables.query import SUBMISSIONS, Query
from workloadkit.record_fields import RECORD_FIELDS

_AT_ONCE = 1 << 18  # rows of a batch
_1971 = 365 * 86400  # the begin of that year [s]
_TOLERANCE = 0.5  # of run times [s]
_MOST_STATES = 20  # that are counted one by one

_Numbers = NDArray[np.float64]

_STATUS = {
    "completed": COMPLETED,
    "cancelled": CANCELLED,
    **dict.fromkeys(("failed", "timeout", "node_fail", "out_of_memory", "preempted"), FAILED),
}


class Batches:
    """Reads the jobs of a query into records.

    Parameters
    ----------
    mapping : TableMapping
    query : Query
    parts : sequence of Part

    Attributes
    ----------
    records : Records
        The jobs, in order of submission, and counts of the rows.
    """

    def __init__(self, mapping: TableMapping, query: Query, parts: Sequence[Part]) -> None:
        self.mapping, self.query = mapping, query
        wanted = {*NEEDED, *query.fields, "attempts", "requested_memory_per"}
        self.records = Records([f for f in RECORD_FIELDS if f.name in wanted])
        self.records.files = short_names(parts)
        self.records.unit = "line" if all(part.has_lines for part in parts) else "row"
        self.columns: tuple[str, ...] = ()  # of the side-car
        self.zero: float | None = None  # of times without a date [s]
        self._states: dict[str, tuple[int, str]] = {}
        self._odd_states: Counter[str] = Counter()
        self._n_odd: Counter[str] = Counter()
        self._n_jobs = 0
        self.last_at = -np.inf  # the last submission [s]
        self._never_known: dict[str, int] = {}  # fields, and the place of the first job
        self._last: tuple[float, NDArray[np.uint64]] = np.nan, np.empty(0, np.uint64)

    def read(self, con: Any) -> Iterator[int]:
        """Read all jobs, and yield the number of jobs of each batch that has some."""
        for batch in _gathered(con.sql(self.query.sql).to_arrow_reader()):
            kept = self._kept(batch)
            if kept.num_rows:
                self._extend(kept)
                yield kept.num_rows
        self._check_understood()
        self._check_years()

    def _check_understood(self) -> None:
        """Refuse a mapping by which no value of a time is understood; note what is never known."""
        for name, place in self._never_known.items():
            self.records.note(f"{name} is unknown in all jobs", place, self._n_jobs)
        for name in (*TIMES, "run", "wait"):
            if self._n_odd[name] == self._n_jobs > 0:
                why = f"the value of no job is understood ({self._n_jobs:,} jobs)"
                raise self.mapping.error(f"fields.{name}", why, self.mapping.fields[name].sql)

    def _check_years(self) -> None:
        """Warn of parts of seconds that are all times in 1970: they may be whole seconds."""
        fields = self.mapping.fields
        name = next((name for name in SUBMISSIONS if name in fields), "")
        unit = fields[name].unit if name else ""
        since_1970 = self.mapping.times.origin == "1970-01-01"
        if unit in ("ms", "us", "ns") and since_1970 and 0 <= self.last_at < _1971:
            warnings.warn(
                f"{self.mapping.name}, field fields.{name}: in the unit {unit} all "
                "jobs are of the year 1970; give the right unit, or the origin of the times "
                '(times.origin, "unknown" without dates)',
                WorkloadWarning,
                stacklevel=2,
            )

    def _kept(self, batch: Any) -> Any:
        """Return the rows that are jobs; count the others."""
        import pyarrow as pa

        records, places = self.records, _whole(batch, "_place")
        of_job = _whole(batch, "_n")
        records.rows += int(of_job.sum())
        keep = batch.column("_kept").to_numpy(zero_copy_only=False)
        if not keep.all():
            kind = "not selected (where of the mapping)"
            records.leave_out(kind, int(places[~keep].min()), int(of_job[~keep].sum()))
        more = keep & (of_job > 1)
        if more.any():
            kind = "further rows of jobs with several"
            records.leave_out(kind, int(places[more].min()), int((of_job[more] - 1).sum()))
        at = _number(batch, "_at")
        known = ~np.isnan(at)
        self._leave_out_undated(batch, keep & ~known, places)
        since = self._since(at)
        plausible = (since >= 0) & (since <= LAST_SECOND)
        outside = keep & known & ~plausible
        records.leave_out_where("submitted before 1970 or after 9999", outside, places)
        keep = keep & known & plausible
        self.last_at = max(self.last_at, float(at[keep].max(initial=-np.inf)))
        if "_same" in batch.schema.names:
            again = keep & self._repeated(at, _column(batch, "_same"))
            records.leave_out_where("repeated records", again, places)
            keep &= ~again
        return batch if keep.all() else batch.filter(pa.array(keep))

    def _leave_out_undated(
        self, batch: Any, undated: NDArray[np.bool_], places: NDArray[np.int64]
    ) -> None:
        """Count rows without a time, those in which one is not understood by its field."""
        odd = _whole(batch, "_odd")
        for bit, (name, _) in enumerate(self.query.odd):
            if name not in SUBMISSIONS or not self.query.odd[bit].is_unknown:
                continue
            which = undated & ((odd >> bit) & 1 == 1)
            if which.any():
                place, example = _first(batch, bit, which, places)
                self.records.leave_out(f"{name} not understood", place, int(which.sum()), example)
                undated = undated & ~which
        self.records.leave_out_where("without a submit time", undated, places)

    def _since(self, at: _Numbers) -> _Numbers:
        """Return times; those without a date count from the first submission."""
        if self.mapping.times.origin != "unknown":
            return at
        if self.zero is None:
            self.zero = float(np.floor(np.nanmin(at))) if not np.isnan(at).all() else None
        return at - (self.zero or 0.0)

    def _repeated(self, at: _Numbers, same: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which rows repeat an earlier one; rows are in order of submission."""
        last_at, last_same = self._last
        again = np.zeros(at.size, bool)
        in_order = np.sort(same)
        if (in_order[1:] == in_order[:-1]).any():
            order = np.lexsort((np.arange(at.size), same))
            first, second = order[:-1], order[1:]
            again[second] = (same[second] == same[first]) & (at[second] == at[first])
        if at.size and at[0] == last_at:
            again |= (at == last_at) & np.isin(same, last_same)
        if at.size:
            of_last = same[at == at[-1]]
            carried = last_same if at[-1] == last_at else last_same[:0]
            self._last = float(at[-1]), np.concatenate([carried, of_last])
        return again

    def _extend(self, batch: Any) -> None:
        """Add a batch of jobs to the records."""
        import pyarrow as pa

        places = _whole(batch, "_place")
        self._n_jobs += places.size
        self._note_odd(batch, places)
        given: dict[str, Any] = {}
        for name in self.query.fields:
            if name in MEMORY and self.mapping.fields[name].unit == "suffix":
                given[name] = _words(batch, name)
            elif name == "id":
                given[name] = pa.chunked_array([batch.column(name).fill_null("")])
            elif name in WORDS:
                given[name] = _words(batch, name)
            else:
                given[name] = _number(batch, name)
        self._note_known(given, places)
        for name in TIMES:
            if name in given:
                given[name] = self._since(given[name])
        self._submission(given, places)
        self._execution(given, places)
        self._memory(given, places)
        if "state" in given:
            given |= self._state(given.pop("state"), places)
        if "suspended" in given:
            self.records.suspends |= bool((given["suspended"] > 0).any())
        given.setdefault("attempts", np.ones(places.size))
        given.pop("wait", None)
        self.columns = tuple(f.name for f in RECORD_FIELDS if f.name in given or f.name == "place")
        self.records.extend(places.size, place=places, **given)

    def _note_known(self, given: Mapping[str, Any], places: NDArray[np.int64]) -> None:
        """Find the expressions that give no job a value so far; a column may well be empty."""
        if self._n_jobs == places.size:  # the first jobs
            made = [name for name in given if not _COLUMN.fullmatch(self.mapping.fields[name].sql)]
            self._never_known = dict.fromkeys(made, int(places.min()))
        for name in [*self._never_known]:
            column = given[name]
            if isinstance(column, Words):
                is_known = any(column.words)
            elif isinstance(column, np.ndarray):
                is_known = not np.isnan(column).all()
            else:
                is_known = any(column.unique().to_pylist())
            if is_known:
                del self._never_known[name]

    def _note_odd(self, batch: Any, places: NDArray[np.int64]) -> None:
        odd = _whole(batch, "_odd")
        for bit, found in enumerate(self.query.odd) if odd.any() else ():
            which = (odd >> bit) & 1 == 1
            if which.any():
                place, example = _first(batch, bit, which, places)
                self._n_odd[found.of] += int(which.sum()) if found.is_unknown else 0
                self.records.note(" ".join(found), place, int(which.sum()), example)

    def _note(self, kind: str, which: NDArray[np.bool_], places: NDArray[np.int64]) -> None:
        if which.any():
            self.records.note(kind, int(places[which].min()), int(which.sum()))

    def _submission(self, given: dict[str, Any], places: NDArray[np.int64]) -> None:
        """Let the time of eligibility, or the start, replace a missing submission."""
        submit = given.get("submit", np.full(places.size, np.nan))
        by = np.zeros(places.size, np.int64)
        for code, name in enumerate(SUBMISSIONS[1:], 1):
            missing = np.isnan(submit) & ~np.isnan(given.get(name, submit))
            if missing.any():
                submit, by = np.where(missing, given[name], submit), np.where(missing, code, by)
                self._note(f"no submit: {name} used instead", missing, places)
        given |= {"submit": submit, "submit_by": Words(by, ["", "eligible", "start"])}

    def _execution(self, given: dict[str, Any], places: NDArray[np.int64]) -> None:
        """Derive starts, ends and run times from each other, and compare them."""
        unknown = np.full(places.size, np.nan)
        start, end = given.get("start", unknown), given.get("end", unknown)
        if "wait" in given:
            start = np.where(np.isnan(start), given["submit"] + given["wait"], start)
        lasted = given.get("run", unknown)
        end = np.where(np.isnan(end), start + lasted, end)
        derived = end - start - np.nan_to_num(given.get("suspended", unknown))
        kind = "run time differs from end - start: the given one is used"
        differs = np.abs(derived - lasted) > _TOLERANCE
        if differs.any():
            first = np.flatnonzero(differs)[np.argmin(places[differs])]
            example = f"{lasted[first]:,g} s instead of {derived[first]:,g} s"
            self.records.note(kind, int(places[first]), int(differs.sum()), example)
        self._note("end before start", end < start, places)
        run = np.where(np.isnan(lasted), derived, lasted)
        if not {"start", "wait", "end"} & given.keys() and "run" in given:
            # as where the start replaces the submission: the wait of no job is known
            start, end = given["submit"], given["submit"] + lasted
            by = Words(np.ones(places.size, np.int64), ["", "start"])
            given |= {"submit_by": by}
        self._note("run time without a start: never started", np.isnan(start) & (run > 0), places)
        given |= {"start": start, "end": end, "run": np.where(np.isnan(start), np.nan, run)}

    def _memory(self, given: dict[str, Any], places: NDArray[np.int64]) -> None:
        """Convert CPU time and memory to those of one processor."""
        procs = _positive(given.get("procs", np.full(places.size, np.nan)))
        wanted = _positive(given.get("requested_procs", procs), procs)
        nodes = _positive(given.get("nodes", np.full(places.size, np.nan)))
        wanted_nodes = _positive(given.get("requested_nodes", nodes), nodes)
        for name, of, on in (
            ("cpu", procs, nodes),
            ("memory", procs, nodes),
            ("requested_memory", wanted, wanted_nodes),
        ):
            if name not in given:
                continue
            value = self.mapping.fields[name]
            by = Words(np.zeros(places.size, np.int64), [_PER.get(value.per, "cpu")])
            if isinstance(given[name], Words):
                codes, words = given[name]
                parsed = [slurm.requested_memory(_in_slurms_form(word)) for word in words]
                amount = np.array([each.amount for each in parsed], np.float64)[codes]
                self._note_words(name, given[name], np.isinf(amount), places)
                given[name] = np.where(np.isinf(amount), np.nan, amount)
                # a letter in the text, as in 4Gc, precedes the unit of the mapping
                lettered = [
                    each.per if each.per in ("node", "cpu") else by.words[0] for each in parsed
                ]
                by = Words(codes, lettered)
            unit = by.column(object)
            with np.errstate(over="ignore"):  # of parts of a processor next to 0
                times = np.where(unit == "node", on / of, np.where(unit == "job", 1 / of, 1.0))
                amount = given[name] * times
            if name == "requested_memory":
                given["requested_memory_per"] = by.where(~np.isnan(given[name]))
            lost = ~np.isfinite(amount) & ~np.isnan(given[name])
            self._note(f"{name} of a job without processors or nodes, unknown", lost, places)
            given[name] = np.where(lost, np.nan, amount)

    def _note_words(
        self, name: str, given: Words, odd: NDArray[np.bool_], places: NDArray[np.int64]
    ) -> None:
        if odd.any():
            first = np.flatnonzero(odd)[np.argmin(places[odd])]
            kind, example = (
                f"{name} not understood, taken as unknown",
                given.words[given.codes[first]],
            )
            self.records.note(kind, int(places[first]), int(odd.sum()), example)

    def _state(self, state: Words, places: NDArray[np.int64]) -> dict[str, Any]:
        """Return the status, and the states: in the words of Slurm if they have a meaning."""
        for word in state.words:
            if word not in self._states:
                self._states[word] = _meaning(self.mapping.states, word)
        known = [self._states[word] for word in state.words]
        odd = np.array(
            [w != "" and s == _NOT_MAPPED for w, (s, _) in zip(state.words, known, strict=True)]
        )
        for code in np.flatnonzero(odd).tolist() if odd.any() else ():
            which = state.codes == code
            word = state.words[code]
            if len(self._odd_states) < _MOST_STATES or word in self._odd_states:
                self._odd_states[word] += 1
                kind = f"state {quoted(word, 30)} is not in the mapping: status unknown"
            else:
                kind = "other states are not in the mapping: status unknown"
            self._note(kind, which, places)
        status = np.array([max(s, UNKNOWN) for s, _ in known], np.int64)[state.codes]
        return {"status": status, "state": Words(state.codes, [word for _, word in known])}


_COLUMN = re.compile(r'\w+|"[^"]+"')
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ?([kmgtp]?)(i?b?)([nc]?)", re.ASCII | re.IGNORECASE)


def _in_slurms_form(word: str) -> str:
    """Return an amount of memory as Slurm writes it: of 16gb, 16GiB and 16Gi 16G; of 512b .5K."""
    match = _AMOUNT.fullmatch(word)
    if match is None:
        return word
    number, letter, byte, per = match.groups()
    if byte and not letter:
        return f"{float(number) / 1024:f}K{per.lower()}"
    return f"{number}{letter.upper()}{per.lower()}"


_PER = {"proc": "cpu", "node": "node", "job": "job"}
_NOT_MAPPED = UNKNOWN - 1


def _meaning(states: Mapping[str, str], word: str) -> tuple[int, str]:
    """Return the status and the word of a state; `_NOT_MAPPED` if it has no meaning."""
    if not states:
        known = slurm.state(word)
        return (slurm.status(known) if known in slurm.STATES else _NOT_MAPPED), known
    begins = (key for key in states if key.endswith("*") and word.startswith(key[:-1]))
    key = word if word in states else max(begins, key=len, default=None)
    if key is None:
        return _NOT_MAPPED, word
    meaning = states[key]
    return _STATUS.get(meaning, UNKNOWN), word if meaning == "unknown" else meaning.upper()


def _gathered(batches: Any) -> Iterator[Any]:
    """Yield batches of at least `_AT_ONCE` rows, but for the last: each costs some time."""
    import pyarrow as pa

    some: list[Any] = []
    for batch in batches:
        some.append(batch)
        if sum(each.num_rows for each in some) >= _AT_ONCE:
            yield pa.concat_batches(some)
            some = []
    if some:
        yield pa.concat_batches(some)


def _first(
    batch: Any, bit: int, which: NDArray[np.bool_], places: NDArray[np.int64]
) -> tuple[int, str]:
    """Return the first of some places, and what is not understood there, by its bit of `_odd`."""
    first = int(np.flatnonzero(which)[np.argmin(places[which])])
    return int(places[first]), batch.column("_example")[first][bit].as_py() or ""


def _positive(amount: _Numbers, otherwise: float | _Numbers = np.nan) -> _Numbers:
    return np.where(amount > 0, amount, otherwise)


def _column(batch: Any, name: str) -> NDArray:
    return batch.column(name).to_numpy(zero_copy_only=False)


def _whole(batch: Any, name: str) -> NDArray[np.int64]:
    return _column(batch, name).astype(np.int64, copy=False)


def _number(batch: Any, name: str) -> _Numbers:
    return _column(batch, name).astype(np.float64, copy=False)


def _words(batch: Any, name: str) -> Words:
    """Return a column of texts, each of one printable line."""
    encoded = batch.column(name).fill_null("").dictionary_encode()
    codes = encoded.indices.to_numpy()
    return Words(codes, [printable(word) for word in encoded.dictionary.to_pylist()])
