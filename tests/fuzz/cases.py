"""A case: a good file, broken, read and used, each made again from its seed and number alone."""

import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import workloadkit as wk
from tests.fuzz import mutations, promises, stages
from tests.fuzz.formats import FORMATS
from tests.fuzz.watching import TooMuch, bounded

_TRIES = 300  # reads that may be spent on making a failing case smaller


@dataclass(frozen=True)
class Case:
    """One broken file and what it is put through; all of it follows from `seed` and `number`."""

    seed: int
    number: int
    format: str
    steps: tuple[mutations.Step, ...]

    def rng(self, what: str) -> Random:
        """Chance for one purpose, which does not move when another draws more."""
        return Random(f"{self.seed}/{self.number}/{self.format}/{what}")

    @property
    def data(self) -> bytes:
        """The broken file."""
        broken = FORMATS[self.format]
        return mutations.apply(broken.good(self.rng("good")), self.steps, broken.mutations)

    @property
    def command(self) -> str:
        """What draws it again."""
        where = f"--format {self.format} --seed {self.seed} --case {self.number}"
        return f"python -m tests.fuzz {where}"


@dataclass(frozen=True)
class Outcome:
    """What came of a case: `read`, `refused` or `failed`, the stages it passed, and the fault."""

    kind: str
    seen: Counter[str] = field(default_factory=Counter)
    fault: str = ""
    trace: str = ""


def case(seed: int, number: int, name: str | None = None) -> Case:
    """Draw a case: of a given format, or of any."""
    if name is None:
        weights = [fmt.weight for fmt in FORMATS.values()]
        name = Random(f"{seed}/{number}/format").choices([*FORMATS], weights)[0]
    rng = Random(f"{seed}/{number}/steps")
    return Case(seed, number, name, tuple(mutations.steps(rng, FORMATS[name].mutations)))


def run(chosen: Case, folder: Path, *, data: bytes | None = None) -> Outcome:
    """Put a case through its stages.

    Parameters
    ----------
    chosen : Case
    folder : Path
        For what is written on the way.
    data : bytes, optional
        In place of the case's own: a smaller one.
    """
    data = chosen.data if data is None else data
    outcome = _tried(chosen, folder, data, patience=1)
    if outcome.fault.startswith(TooMuch.__name__):  # the first to compile or to import something
        return _tried(chosen, folder, data, patience=20)
    return outcome


def _tried(chosen: Case, folder: Path, data: bytes, *, patience: int) -> Outcome:
    """Put a case through its stages, each in the usual time and memory, times `patience`."""
    seen: Counter[str] = Counter()
    draw = chosen.rng("stages")
    used, written = draw.random() < stages.USED, draw.random() < stages.WRITTEN
    characterized = draw.random() < stages.CHARACTERIZED
    kind = "failed"
    fault = trace = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", wk.WorkloadWarning)
            with bounded(stages.SECONDS, patience):
                kind, result = _read(chosen, data, folder, seen)
            if result is not None:
                with bounded(stages.SECONDS, patience):
                    options = FORMATS[chosen.format].options(chosen.rng("options"))
                    stages.check(chosen.format, data, options, result, folder)
                    if written and isinstance(result, wk.Trace):
                        anonymous = bool(options.get("anonymize"))
                        promises.of_writing(result, folder, anonymous=anonymous)
                        seen["written"] += 1
                if used:
                    with bounded(stages.SECONDS, patience):
                        stages.use(result, draw, seen, folder)
                if characterized and isinstance(result, wk.Trace):
                    with bounded(stages.SECONDS_TO_CHARACTERIZE, patience):
                        stages.characterize(result)
                    seen["characterized"] += 1
    except (Exception, TooMuch) as error:
        kind = "failed"
        fault = f"{type(error).__name__}: {error}"[:400]
        trace = traceback.format_exc()
    return Outcome(kind, seen, fault, trace)


def _read(chosen: Case, data: bytes, folder: Path, seen: Counter[str]) -> tuple[str, Any]:
    reader = FORMATS[chosen.format]
    try:
        result = reader.read(data, reader.options(chosen.rng("options")), folder)
    except wk.WorkloadError as error:
        promises.of_error(error, usage=reader.is_word)
        return "refused", None
    seen["read"] += 1
    return "read", result


def shrunk(chosen: Case, folder: Path) -> tuple[Case, bytes]:
    """Leave out mutations, then lines, while the case fails in the same way."""
    fault = _kind_of(run(chosen, folder))
    for step in chosen.steps:
        fewer = replace(chosen, steps=tuple(s for s in chosen.steps if s is not step))
        if fewer.steps and _kind_of(run(fewer, folder)) == fault:
            chosen = fewer
    data = chosen.data
    if len(data) < 100_000:
        for smaller in _with_fewer_lines(data):
            if _kind_of(run(chosen, folder, data=smaller)) == fault:
                return chosen, _smallest(chosen, smaller, fault, folder)
    return chosen, data


def _smallest(chosen: Case, data: bytes, fault: str, folder: Path) -> bytes:
    """Leave out lines until none can go, or patience ends."""
    tries = 0
    while tries < _TRIES:
        for smaller in _with_fewer_lines(data):
            tries += 1
            if _kind_of(run(chosen, folder, data=smaller)) == fault:
                data = smaller
                break
        else:
            break
    return data


def _with_fewer_lines(data: bytes) -> Iterator[bytes]:
    """Yield the text without a stretch of its lines, long stretches first."""
    lines = data.split(b"\n")
    length = len(lines) // 2
    while length:
        for at in range(0, len(lines), length):
            yield b"\n".join(lines[:at] + lines[at + length :])
        length //= 2


def _kind_of(outcome: Outcome) -> str:
    """What makes two failures the same: the fault's type and where it was raised."""
    places = [line for line in outcome.trace.splitlines() if line.startswith("  File ")]
    return outcome.fault.partition(":")[0] + (places[-1] if places else "")
