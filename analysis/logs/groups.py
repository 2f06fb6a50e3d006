"""Section of a comparison on accounts, users, partitions, queues and QOS."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.analysis.formats import UNKNOWN, duration, number
from workloadkit.analysis.logs.measured import Form, MeasuredLog, unit_of, without_days
from workloadkit.analysis.operations.parts import GROUPINGS, hours, kind, listed, names_of, titled
from workloadkit.analysis.operations.tables import usage
from workloadkit.analysis.section import Section, Table
from workloadkit.provenance import source_of


def groups_section(names: list[str], logs: list[MeasuredLog]) -> Section:
    """Compare accounts, users, partitions, queues and QOS."""
    tables, said, notes = [], [], []
    of_one_log = source_of(logs[0].trace) == source_of(logs[1].trace)
    for by in GROUPINGS:
        found = [names_of(log.inside, by) for log in logs]
        if any(each is None for each in found):
            continue
        if not of_one_log and any(_is_numbered(each, by) for each in found):
            notes.append(
                f"No comparison by {kind(by)}: the logs have numbers for them, and the numbers of "
                "two logs need not be the same."
            )
            continue
        data = _by_group(by, logs)
        tables.append(_table_by(by, data, names, unit_of(logs)))
        change = data["change"]
        if change.abs().max() > 0:
            top = change.abs().idxmax()
            said.append(
                f"{titled(str(top), by)} {'+' if change[top] > 0 else '−'}{hours(abs(change[top]))}"
            )
    tables = [table for table in tables if len(table.shown.columns)]
    finding = without_days(names, logs)
    if not (tables or finding):
        notes.append("Neither accounts nor users, partitions, queues or QOS can be compared.")
    if tables and not finding:
        finding = f"No group used more or fewer {unit_of(logs)} per day."
    if said:
        finding = f"Largest changes of {unit_of(logs)} per day: {', '.join(said)}."
    return Section(
        "groups",
        "By account, user, partition, queue and QOS",
        finding,
        tuple(notes),
        tables=tuple(tables),
    )


def _is_numbered(names: Any, by: str) -> bool:
    return all(str(name).startswith(f"{by} ") for name in names.categories)


def _by_group(by: str, logs: list[MeasuredLog]) -> pd.DataFrame:
    """Return hours and jobs per day, and waits, of each group in both logs."""
    sides = []
    for log, side in zip(logs, ("first", "second"), strict=True):
        table = usage(log.inside, by)  # type: ignore[arg-type]
        per_day = table[["core_hours", "jobs"]] / (log.length if len(log.days) else np.nan)
        table = per_day.join(table[["waits", "p50", "p90"]])
        sides.append(table.add_suffix(f"_{side}"))
    data = sides[0].join(sides[1], how="outer")
    data.index.name = by
    data["change"] = np.nan
    if all(len(log.days) for log in logs):
        data["change"] = data["core_hours_second"].fillna(0) - data["core_hours_first"].fillna(0)
    order = data["change"].abs().sort_values(ascending=False, kind="stable").index
    return data.loc[order]


def _table_by(by: str, data: pd.DataFrame, names: list[str], unit: str) -> Table:
    pairs = data[[]].copy()
    columns: dict[str, tuple[str, Form]] = {}
    for column, title, form in (
        ("core_hours", f"{unit} per day", hours),
        ("jobs", "jobs per day", number),
        ("p50", "wait, median", duration),
        ("p90", "wait, 90th percentile", duration),
    ):
        sides = data[[f"{column}_first", f"{column}_second"]]
        if sides.notna().any(axis=None):
            pairs[column] = [_pair(form, *row) for row in sides.to_numpy()]
            columns[column] = (title, str)
    columns["change"] = (f"change of {unit} per day", _signed_hours)
    caption = (
        f"By {kind(by)}, {names[0]} → {names[1]}; the largest changes of {unit} per day first."
    )
    shown_table = listed(f"by_{by}", caption, pairs.assign(change=data["change"]), columns)
    return replace(shown_table, data=data)


def _pair(form: Form, first: float, second: float) -> str:
    """Write two values; one sign if both are unknown."""
    texts = form(first), form(second)
    return texts[0] if texts == (UNKNOWN, UNKNOWN) else " → ".join(texts)


def _signed_hours(value: float) -> str:
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{hours(abs(value))}"
