"""What a reader claims of its result, held to it."""

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import workloadkit as wk
from tests.fuzz.good import SECRET
from workloadkit.fields import BY_NAME, FIELDS, NAMES
from workloadkit.io.machine import machine_text
from workloadkit.record_fields import SIDECAR_FIELDS

_QUOTED = re.compile(r"'[^' ]{81,}'|\"[^\" ]{81,}\"")  # no file has so long a name here


class BrokenError(Exception):
    """A result is not what its reader claims."""


def keep(promise: bool, claim: str) -> None:
    """Say that a claim is broken, if it is."""
    if not promise:
        raise BrokenError(claim)


def of_error(error: wk.WorkloadError, *, usage: bool = False) -> None:
    """An error is one line, and not a long one; no content of a file is wrong usage."""
    text, whole = str(error), str(error.args[0])
    keep(len(text.splitlines()) == 1 and text.isprintable(), f"an error of one line: {text!r}")
    keep(len(whole) <= 400, f"an error of at most 400 characters before it is cut: {whole!r}")
    keep(not _QUOTED.search(text), f"values are quoted by at most 80 characters: {text!r}")
    keep(
        usage or not isinstance(error, wk.ParameterError),
        f"an error of the input, not of usage: {text}",
    )


def of_trace(trace: wk.Trace) -> None:
    """Jobs ascend; numbers are of their type and within limits; what rides along fits."""
    keep(trace.n_jobs > 0, "a log has jobs")
    for table in (trace.jobs, trace.bursts) if len(trace.bursts) else (trace.jobs,):
        keep(list(table.columns) == list(NAMES), "the columns of a log")
        for field in FIELDS:
            _of_column(field.name, table[field.name].to_numpy())
    submit = trace.column("submit")
    keep(bool((submit[1:] >= submit[:-1]).all()), "submit times ascend")
    keep(bool(trace.bursts["job"].isin(trace.jobs["job"]).all()), "bursts have their job")
    row = trace.utility["row"].to_numpy()
    keep(bool((row[1:] >= row[:-1]).all()), "utilities are in the order of their jobs")
    keep(not row.size or (row[0] >= 0 and row[-1] < trace.n_jobs), "utilities have their job")
    keep(bool(np.isfinite(trace.utility[["time", "value"]].to_numpy()).all()), "finite utilities")
    for repair in trace.repairs:
        keep(repair.count > 0 and repair.first_line >= 0 and "\n" not in str(repair), f"{repair}")
    if trace.sidecar is not None:
        keep(len(trace.sidecar) == trace.n_jobs, "a row of the side-car for each job")
        numbers = trace.sidecar.select_dtypes("number")
        keep(not np.isinf(numbers.to_numpy(np.float64)).any(), "numbers of the side-car are finite")
    if trace.intake is not None:
        of_intake(trace)


def _of_column(name: str, values: np.ndarray) -> None:
    field = BY_NAME[name]
    keep(values.dtype == field.dtype, f"{name} is of {field.dtype}")
    known = values[~np.isnan(values)] if field.measured else values
    keep(name != "submit" or known.size == values.size, "submit is known")
    within = (known <= field.limit) & (known >= -field.limit)
    keep(bool(within.all()), f"{name} within its limit")
    if field.measured and name != "submit":
        keep(not (known == -1).any(), f"{name} has NaN for unknown, not -1")


def of_intake(trace: wk.Trace) -> None:
    """Every row is a job or is left out, and is counted once."""
    intake = trace.intake
    assert intake is not None
    left_out = sum(repair.count for repair in intake.left_out)
    keep(intake.jobs == trace.n_jobs, f"{intake.jobs} jobs said, {trace.n_jobs} there")
    keep(intake.rows == intake.jobs + left_out, f"rows are jobs or left out: {intake}")
    for repairs in (intake.left_out, intake.noted):
        keep(len({repair.kind for repair in repairs}) == len(repairs), "a kind stands once")
        keep(all(r.count > 0 and r.first_line >= 0 for r in repairs), f"counts: {intake}")
    keep(all(line.isprintable() for line in str(intake).split("\n")), f"a table: {intake}")
    of_json(intake.to_dict(), "an intake")


def of_writing(trace: wk.Trace, folder: Path, *, anonymous: bool) -> None:
    """What is written reads back equal; what was left nameless has no name in it."""
    path = folder / "written.swf"
    beside = folder / "written.swf.parquet"
    machine = folder / "written.swf.machine.json"
    for companion in (beside, machine):
        companion.unlink(missing_ok=True)
    wk.write_swf(trace, path)
    again = wk.read_swf(path)
    same_trace(trace, again)
    keep(trace.header.lines == again.header.lines, "the header reads back")
    if trace.sidecar is not None:
        keep(again.sidecar is not None, "the side-car reads back")
        for name in trace.sidecar.columns:
            one, other = trace.sidecar[name], again.sidecar[name]
            same = one.dtype.kind == other.dtype.kind and one.astype(object).equals(
                other.astype(object)
            )
            keep(same, f"{name} of the side-car reads back")
    keep(again.machine == trace.machine, "the machine reads back")
    if anonymous:
        without_names(trace, path, beside)
        keep(SECRET not in machine_text(trace.machine).lower() if trace.machine else True, "names")


def same_trace(one: wk.Trace, other: wk.Trace) -> None:
    """Two logs have the same jobs, bursts and utilities."""
    for table in ("jobs", "bursts", "utility"):
        a, b = getattr(one, table), getattr(other, table)
        for name in a.columns:
            x, y = a[name].to_numpy(), b[name].to_numpy()
            same = np.array_equal(x, y, equal_nan=x.dtype.kind == "f") and x.dtype == y.dtype
            keep(same, f"two logs have the same {name} in their {table}")


def without_names(trace: wk.Trace, path: Path, beside: Path) -> None:
    """No planted name is left anywhere in what was written, nor in what is printed."""
    texts = {"log": path.read_bytes().decode(), "intake": str(trace.intake)}
    texts["intake as JSON"] = json.dumps(trace.intake.to_dict() if trace.intake else {})
    if beside.exists():
        import pyarrow.parquet as pq

        table = pq.read_table(beside)
        texts["schema"] = str(table.schema.metadata)
        texts["side-car"] = table.to_pandas().astype(str).to_csv()
        texts["bytes"] = beside.read_bytes().decode("latin-1")
    for what, text in texts.items():
        keep(SECRET not in text.lower(), f"no name in an anonymous {what}")


def of_reservations(requests: wk.ReservationRequests) -> None:
    """Requests are numbered once, and written and read again they are the same."""
    numbers = [request.number for request in requests]
    keep(len(set(numbers)) == len(numbers), "requests are numbered once")
    again = wk.read_reservations(io.BytesIO(requests.text().encode(errors="replace")))
    keep(again.requests == requests.requests, "requests read back")


def of_machine(machine: wk.MachineDescription) -> None:
    """A machine is written and read again as it is, and its nodes are those of its types."""
    again = wk.read_machine(io.BytesIO(machine_text(machine).encode()))
    keep(again == machine, "a machine reads back")
    keep(len(machine.node_names) in (0, machine.n_nodes), "all nodes have names, or none")
    keep(sum(map(len, machine.groups)) == len(machine.partitions), "a partition is in one group")


def of_outages(outages: wk.Outages) -> None:
    """Outages are numbered once, and written and read again they are the same."""
    numbers = [outage.number for outage in outages]
    keep(len(set(numbers)) == len(numbers), "outages are numbered once")
    again = wk.read_outages(io.BytesIO(outages.text().encode(errors="replace")))
    keep(again.outages == outages.outages, "outages read back")
    keep(again.header.lines == outages.header.lines, "the header of outages reads back")


def of_site(site: Any, folder: Path) -> None:
    """Distributions are written and read again the same."""
    path = folder / "site.json"
    site.save(path)
    again = wk.site.read_site_distributions(path)
    again.save(folder / "again.json")
    keep(path.read_bytes() == (folder / "again.json").read_bytes(), "a site reads back")


def of_json(data: Any, where: str = "") -> None:
    """A result is plain: no NaN, no infinity, nothing of numpy."""
    try:
        json.dumps(data, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BrokenError(f"{where} is no JSON: {error}") from error


def of_filters(filters: tuple[wk.Filter, ...]) -> None:
    """Filters are written as they are read."""
    keep(len(filters) > 0, "a file of filters holds one")
    for one in filters:
        keep(str(wk.Filter.parse(str(one))) == str(one), f"a filter reads back: {one}")


def of_sidecar(table: pd.DataFrame) -> None:
    """The columns of records are of their kind."""
    keep("job" in table, "the rows have their job")
    for field in SIDECAR_FIELDS:
        if field.name in table:
            dtype = str(table[field.name].dtype)
            kinds = {"number": "float64", "whole": "int64", "word": "category"}
            keep(dtype == kinds.get(field.kind, dtype), f"{field.name} is a {field.kind}: {dtype}")
