"""Rules for the values of single job fields."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workloadkit.fields import FIELDS, UNKNOWN
from workloadkit.rules.rule import Breach, CheckedLog, LogRule, known

#: Longer times are implausible. [s]
TEN_YEARS = 10 * 365 * 86400

_LENGTHS = ("wait", "run", "requested_time", "think_time")  # without cpu, which is an average
_COUNTS = ("procs", "requested_procs")


def _not_negative(log: CheckedLog) -> Breach | None:
    return log.by_field({f.name: (log[f.name] < 0) & (log[f.name] != UNKNOWN) for f in FIELDS})


def _whole_counts(log: CheckedLog) -> Breach | None:
    return log.by_field({name: _with_decimals(log[name]) for name in _COUNTS})


def _whole_times(log: CheckedLog) -> Breach | None:
    return log.by_field({name: _with_decimals(log[name]) for name in ("submit", *_LENGTHS)})


def _plausible(log: CheckedLog) -> Breach | None:
    return log.by_field({name: log[name] > TEN_YEARS for name in _LENGTHS})


def _requests_something(log: CheckedLog) -> Breach | None:
    return log.by_field({name: log[name] == 0 for name in ("requested_procs", "requested_time")})


def _unknown(*fields: str) -> Callable[[CheckedLog], Breach | None]:
    """Return the check that fields are known for every job."""

    def check(log: CheckedLog) -> Breach | None:
        return log.where(~known(log, *fields))

    return check


def _procs_known(log: CheckedLog) -> Breach | None:
    return log.where(~(log["procs"] > 0), "procs", "run")


def _with_decimals(column: NDArray[np.float64]) -> NDArray[np.bool_]:
    return ~np.isnan(column) & (column != np.rint(column))


RULES = (
    LogRule("not-negative", "error", "No value is negative except -1 (unknown).", _not_negative),
    LogRule("procs-whole", "error", "Processors are whole numbers.", _whole_counts),
    LogRule(
        "times-whole",
        "note",
        "Times are whole seconds; decimals are allowed since version 2.2.",
        _whole_times,
    ),
    LogRule(
        "times-plausible",
        "warning",
        "No wait, run or requested time exceeds ten years.",
        _plausible,
    ),
    LogRule("request-zero", "warning", "No job requests 0 processors or 0 s.", _requests_something),
    LogRule("wait-known", "note", "Every wait is known.", _unknown("wait")),
    LogRule("run-known", "note", "Every run time is known.", _unknown("run")),
    LogRule(
        "procs-known", "note", "Every job has a known, positive number of processors.", _procs_known
    ),
    LogRule("user-known", "note", "Every user is known.", _unknown("user")),
    LogRule("estimate-known", "note", "Every requested time is known.", _unknown("requested_time")),
)
