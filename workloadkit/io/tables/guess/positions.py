"""Columns without names: what their values show, and what is to be decided."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from workloadkit.io.tables.engine import name as quoted_name
from workloadkit.io.tables.guess.columns import Column
from workloadkit.io.tables.guess.proposal import Line
from workloadkit.io.tables.guess.relations import in_order, unit_of

_TIMES = ("submit", "start", "end")


def by_position(columns: Sequence[Column]) -> list[Line]:
    """Return lines for columns that have no names: times in their order, and remarks."""
    times = [column for column in columns if column.kind == "time" and not column.format]
    follow = all(in_order(one.values, next_.values) for one, next_ in pairwise(times))
    lines, used = [], set()
    if follow and len(times) in (2, 3):
        fields = _TIMES if len(times) == 3 else _TIMES[1:]
        for field, column in zip(fields, times, strict=True):
            value: object = quoted_name(column.name)
            if column.unit:
                value = {"sql": value, "unit": column.unit}
            why = "by the order of the times alone"
            lines.append(Line("fields", field, value, "unsure", why))
            used.add(column.name)
        lasted = times[-1].values - times[-2].values
        for column in columns:
            if column.kind == "number" and (unit := unit_of(column.values, lasted, different=1)):
                value = {"sql": quoted_name(column.name), "unit": unit}
                why = f"{times[-1].name} - {times[-2].name} in nearly all rows"
                lines.append(Line("fields", "run", value, "likely", why))
                used.add(column.name)
                break
    rest = (column for column in columns if column.name not in used)
    return [*lines, *(Line("fields", "", "", "unsure", why) for why in _remarks(rest))]


def _remarks(columns: Iterable[Column]) -> Iterator[str]:
    """Yield what the values of columns are."""
    for column in columns:
        known = column.values[~np.isnan(column.values)]
        if column.kind == "number" and known.size:
            what = f"numbers from {known.min():g} to {known.max():g}"
        elif column.words:
            shown = ", ".join(word[:20] for word in column.words[:3])
            what = f"{'times' if column.kind == 'time' else 'texts'} such as {shown}"
        else:
            what = "no values"
        yield f"{column.name} has {what}; add it to a field, or leave it out"
