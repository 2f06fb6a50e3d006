"""Rules of what the fields of a job may hold, each field for itself."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workloadkit.fields import FIELDS, UNKNOWN
from workloadkit.rules.rule import Breach, Log, Rule, known

#: Times beyond this are no job's. [s]
TEN_YEARS = 10 * 365 * 86400

_LENGTHS = ("wait", "run", "requested_time", "think_time")  # the CPU time is an average
_COUNTS = ("procs", "requested_procs")


def _not_negative(log: Log) -> Breach | None:
    return log.by_field({f.name: (log[f.name] < 0) & (log[f.name] != UNKNOWN) for f in FIELDS})


def _whole_counts(log: Log) -> Breach | None:
    return log.by_field({name: _with_decimals(log[name]) for name in _COUNTS})


def _whole_times(log: Log) -> Breach | None:
    return log.by_field({name: _with_decimals(log[name]) for name in ("submit", *_LENGTHS)})


def _plausible(log: Log) -> Breach | None:
    return log.by_field({name: log[name] > TEN_YEARS for name in _LENGTHS})


def _requests_something(log: Log) -> Breach | None:
    return log.by_field({name: log[name] == 0 for name in ("requested_procs", "requested_time")})


def _unknown(*fields: str) -> Callable[[Log], Breach | None]:
    """Return the check that fields are known of every job."""

    def check(log: Log) -> Breach | None:
        return log.where(~known(log, *fields))

    return check


def _procs_known(log: Log) -> Breach | None:
    return log.where(~(log["procs"] > 0), "procs", "run")


def _with_decimals(column: NDArray[np.float64]) -> NDArray[np.bool_]:
    return ~np.isnan(column) & (column != np.rint(column))


RULES = (
    Rule("not-negative", "error", "No value is negative but -1, which is unknown.", _not_negative),
    Rule("procs-whole", "error", "Processors are whole numbers.", _whole_counts),
    Rule(
        "times-whole",
        "note",
        "Times are whole seconds; decimals are allowed since version 2.2.",
        _whole_times,
    ),
    Rule(
        "times-plausible",
        "warning",
        "No wait, run or requested time is beyond ten years.",
        _plausible,
    ),
    Rule("request-zero", "warning", "No job requests 0 processors or 0 s.", _requests_something),
    Rule("wait-known", "note", "Every wait is known.", _unknown("wait")),
    Rule("run-known", "note", "Every run time is known.", _unknown("run")),
    Rule("procs-known", "note", "Every job has processors: known, and not 0.", _procs_known),
    Rule("user-known", "note", "Every user is known.", _unknown("user")),
    Rule("estimate-known", "note", "Every requested time is known.", _unknown("requested_time")),
)
