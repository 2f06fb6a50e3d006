"""SQL of local time: its UTC, and hours that a change of the clock skips or repeats."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from workloadkit.clock import Clock
from workloadkit.header import Header

#: What the places of `clock_change` mean, and how such times are read.
CHANGES = (
    "in an hour that the clock skips: the moment of the change is taken",
    "in an hour that the clock repeats: the earlier moment is taken",
)

_FIRST, _LAST = 0, 2_840_000_000  # of changes of local time, until 2059 [s since 1970]


@cache
def _clock(zone: str) -> Clock:
    header = Header(("; UnixStartTime: 1", f"; TimeZoneString: {zone}"))
    return Clock.between(header, _FIRST, _LAST)


def utc(local: str, zone: str) -> str:
    """Return the SQL of UTC from local seconds: the earlier one where there are two.

    Skipped seconds of local time are the second of the change, as in `Clock.seconds`.
    """
    clock = _clock(zone)
    values = []
    for begin, offset in zip(clock.begins.tolist(), clock.offsets.tolist(), strict=True):
        shifted = f"{local} - {offset!r}::DOUBLE"
        start = f"{begin!r}::DOUBLE"  # `greatest` would ignore null
        is_first = np.isinf(begin)
        values.append(
            shifted
            if is_first
            else f"CASE WHEN {shifted} < {start} THEN {start} ELSE {shifted} END"
        )
    return _by_interval(local, (clock.begins[1:] + clock.offsets[:-1]).tolist(), values)


def clock_change(local: str, zone: str) -> str:
    """Return the SQL whether local seconds are skipped (0) or repeated (1), else null.

    It is empty if the clock never changes.
    """
    clock = _clock(zone)
    bounds, values = [], ["NULL"]
    for begin, before, after in zip(
        clock.begins[1:].tolist(),
        clock.offsets[:-1].tolist(),
        clock.offsets[1:].tolist(),
        strict=True,
    ):
        if before != after:
            bounds += [begin + min(before, after), begin + max(before, after)]
            values += ["0" if after > before else "1", "NULL"]
    return _by_interval(local, bounds, values) if bounds else ""


def _by_interval(local: str, bounds: Sequence[float], values: Sequence[str]) -> str:
    """Return the SQL of a value for each interval between bounds, found by halving."""
    if not bounds:
        return values[0]
    middle = len(bounds) // 2
    below = _by_interval(local, bounds[:middle], values[: middle + 1])
    above = _by_interval(local, bounds[middle + 1 :], values[middle + 1 :])
    return f"CASE WHEN {local} < {bounds[middle]!r}::DOUBLE THEN {below} ELSE {above} END"
