"""Tables of `workloadkit queueing`: measures, quantiles of responses, and distributions."""

from collections.abc import Iterator
from textwrap import fill
from typing import TYPE_CHECKING, Any

from workloadkit.cli.common import (
    aligned,
)
from workloadkit.cli.queueing_parameters import as_our_errors
from workloadkit.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

#: Columns of a terminal.
WIDTH = 80

#: Numbers of jobs and times in the tables of distributions, at most.
_ROWS = 12

#: The numbers of jobs end where more have this probability. The times are quantiles of the wait.
_REST = 1e-3
_SHARES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


def shown(model: str, result: Any, table: "pd.DataFrame", shares: list[float]) -> Iterator[str]:
    """Format a result: the fixed parameters in a line, then varying parameters and measures."""
    given = [name for name in table if name in result.parameters]
    varying = [name for name in given if table[name].nunique() > 1]
    yield f"{model}{_kind(result)}: {result.exactness}"
    fixed = [f"{name} {as_text(table[name].iloc[0])}" for name in given if name not in varying]
    if fixed:
        yield fill(", ".join(fixed), WIDTH)
    keys = varying + [name for name in table if name in ("class", "station")]
    columns = {name: [str(name), *map(as_text, table[name])] for name in table}
    for names in fitting(columns, keys, [x for x in table if x not in (*given, *keys)]):
        yield ""
        yield aligned(list(zip(*(columns[name] for name in (*keys, *names)), strict=True)))
    if not getattr(result, "shape", ()) and (found := percentiles(result, shares)):
        yield ""
        head = ["responses", *(f"{100 * share:g} %" for share in shares)]
        lines = [[f"{job} jobs", *map(as_text, x)] for job, x in found.items()]
        yield aligned([head, *lines], words={0})
    if of_network := _of_network(result):
        yield from ("", fill(of_network, WIDTH))


def _kind(result: Any) -> str:
    """Return the kind of jobs of this part of a mixed network."""
    if getattr(result, "open", None) is not None:
        return ", closed jobs"
    return ", open jobs" if "closed" in result.parameters else ""


def _of_network(result: Any) -> str:
    """Return what a reader must know of the quantiles of a network: why none, or approximate."""
    from workloadkit.queueing import QueueingError, networks

    if not isinstance(result, networks.NetworkResult):
        return ""
    try:
        words = networks.sojourn(result).exactness
    except QueueingError as error:
        return f"no quantiles: {error}" if _kind(result) else ""
    return "" if words == "exact" else f"quantiles are an {words}; long times are longer"


def fitting(
    columns: dict[str, list[str]], keys: list[str], names: list[str]
) -> Iterator[list[str]]:
    """Split the columns into tables that fit a terminal; each table repeats the key columns."""
    widths = {name: max(map(len, cells)) + 2 for name, cells in columns.items()}
    room = WIDTH + 2 - sum(widths[key] for key in keys)
    part: list[str] = []
    for name in names:
        if part and sum(widths[x] for x in part) + widths[name] > room:
            yield part
            part = []
        part.append(name)
    yield part


def with_quantiles(result: Any, table: "pd.DataFrame", shares: list[float]) -> "pd.DataFrame":
    """Return the table, for a grid with the quantiles that are on the command line."""
    with as_our_errors():
        found = _quantiles(result, shares)
    if not getattr(result, "shape", ()):
        return table
    return table.assign(
        **{
            f"{job} {100 * share:g} %": values
            for job, of_job in found.items()
            for share, values in zip(shares, of_job, strict=True)
        }
    )


def _quantiles(result: Any, shares: list[float]) -> dict[str, list[Any]]:
    """Return the quantiles of the responses by kind of job; raise if no formula is known."""
    from workloadkit.queueing import QueueingError, networks

    if isinstance(result, networks.NetworkResult):
        job = "closed" if "N" in result.parameters else "open"
        return {job: [networks.sojourn(result).ppf(share) for share in shares]}
    if not hasattr(result, "ppf"):
        raise QueueingError("no formula is known for quantiles of the response times of classes")
    return {job: [result.ppf(share, job) for share in shares] for job in result.jobs}


def percentiles(result: Any, shares: list[float]) -> dict[str, list[Any]]:
    """Return the same, or nothing if no formula is known."""
    from workloadkit.queueing import QueueingError

    try:
        return _quantiles(result, shares)
    except QueueingError:
        return {}


def as_text(value: Any) -> str:
    """Format a cell."""
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


def distributions(result: Any) -> "pd.DataFrame":
    """Return a table of the probabilities of n jobs and of waits above t, one row each."""
    import pandas as pd

    from workloadkit.queueing import QueueingError

    if getattr(result, "shape", ()):
        raise ParameterError("--distribution shows one point, and there are several")
    rows: list[tuple[str, float, float]] = []
    for read in (_numbers, _waits):
        try:
            rows += read(result)
        except (QueueingError, AttributeError):  # no formula, or no single number of jobs
            continue
    if not rows:
        raise ParameterError(
            "no formula is known for the distributions of jobs and waits of this model"
        )
    return pd.DataFrame(rows, columns=["of", "at", "probability"])


def _numbers(result: Any) -> list[tuple[str, float, float]]:
    """Return P(n) up to where more jobs are improbable."""
    found: list[tuple[str, float, float]] = []
    rest = 1.0
    while rest > _REST and len(found) < _ROWS:
        chance = float(result.pmf(len(found)))
        found.append(("jobs", float(len(found)), chance))
        rest -= chance
    return found


def _waits(result: Any) -> list[tuple[str, float, float]]:
    """Return P(wait > t) at 0 and at quantiles, by kind of job."""
    found = []
    for job in result.jobs:
        times = [0.0, *(float(t) for t in result.wait_ppf(_SHARES, job) if t > 0)]
        found += [(f"wait of {job} jobs", t, float(result.wait_sf(t, job))) for t in times]
    return found


def shown_distributions(table: "pd.DataFrame") -> Iterator[str]:
    """Format the distributions, one after the other."""
    for what, rows in table.groupby("of", sort=False):
        head = ("n", "P(n)") if what == "jobs" else ("t", f"P({what} > t)")
        cells = rows[["at", "probability"]].itertuples(index=False)
        yield ""
        yield aligned([head, *([as_text(x) for x in row] for row in cells)])
