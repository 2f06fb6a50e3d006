"""The tables of sweeps and experiments on a terminal."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from workloadkit.experiments.results import Results

#: The text of a cell of a row.
Cell = Callable[[dict[str, Any]], str]


def print_results(results: "Results") -> None:
    """Print the means."""
    from analysis.formats import metric_title

    table = results.table
    columns: dict[str, Cell] = {
        metric_title(name): partial(_mean, name) for name in results.metrics
    }
    if (table["saturated"] > 0).any():
        columns["saturates"] = _saturates
    _print(table, results.axes, columns)


def print_comparison(results: "Results", baseline: str) -> None:
    """Print the differences of the other schedulers from one of them, run by run."""
    from analysis.formats import metric, metric_title, number

    for name in results.metrics:
        compared = results.compare(name, baseline)
        columns = {
            f"{metric_title(name)}, difference from {baseline}": partial(
                _interval, partial(metric, name), "difference"
            ),
            "ratio": partial(_interval, number, "ratio"),
        }
        _print(compared, results.axes, columns)


def _print(table: "pd.DataFrame", axes: Sequence[str], columns: Mapping[str, Cell]) -> None:
    """Print the table of each log, users and reading, with a heading if there are several."""
    shown = ["load", "scheduler"] if table["load"].notna().any() else ["scheduler"]
    outer = [axis for axis in axes if axis not in ("load", "scheduler")]
    several = [axis for axis in outer if table[axis].nunique() > 1]
    if not several:
        _print_one(table, shown, columns)
        return
    for place, part in table.groupby(several, sort=False):
        names = (f"{axis} {name}" for axis, name in zip(several, place, strict=True))
        typer.echo(", ".join(names))
        _print_one(part, shown, columns)


def _print_one(table: "pd.DataFrame", axes: Sequence[str], columns: Mapping[str, Cell]) -> None:
    """Print a table, or one for each column if it is too wide."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    whole = _laid_out(table, axes, columns)
    width = Measurement.get(console, console.options.update(max_width=1000), whole).maximum
    if width <= console.width:
        console.print(whole)
        return
    last = {title: cell for title, cell in columns.items() if cell is _saturates}
    for title, cell in columns.items():
        if title not in last:
            console.print(_laid_out(table, axes, {title: cell, **last}))


def _laid_out(table: "pd.DataFrame", axes: Sequence[str], columns: Mapping[str, Cell]) -> "Table":
    """Lay out a table: a row for each group of runs."""
    from rich import box
    from rich.table import Table

    laid_out = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for axis in axes:
        laid_out.add_column(axis, justify="right" if axis == "load" else "left", overflow="fold")
    one = sum(cell is not _saturates for cell in columns.values()) == 1
    for title, cell in columns.items():
        laid_out.add_column(title, justify="right", no_wrap=one and cell is not _saturates)
    for row in table.to_dict("records"):
        places = (_place(row[axis]) for axis in axes)
        laid_out.add_row(*places, *(cell(row) for cell in columns.values()))
    return laid_out


def _place(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "the log's" if value is None or math.isnan(value) else f"{value:g}"


def _mean(name: str, row: dict[str, Any]) -> str:
    """Return a mean with its interval; if runs saturate, that of the others."""
    from analysis.formats import metric

    if not row["saturated"] > 0:
        return _interval(partial(metric, name), name, row)
    others = f"{name}_others"
    text = _interval(partial(metric, name), others, row)
    return text if math.isnan(row[others]) else f"others: {text}"


def _interval(write: Callable[[float], str], name: str, row: dict[str, Any]) -> str:
    """Return a value with its interval, if there is one."""
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    return write(value) + ("" if math.isnan(low) else f" [{write(low)}, {write(high)}]")


def _saturates(row: dict[str, Any]) -> str:
    return f"in {row['saturated']:.0f} of {row['runs']}" if row["saturated"] > 0 else ""
