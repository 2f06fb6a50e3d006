"""Schedules that other simulators write, as logs of the same jobs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.errors import FormatError
from workloadkit.intake import Repair
from workloadkit.io.files import log_name
from workloadkit.io.names import as_whole
from workloadkit.trace import Trace


def trace_of_schedule(
    jobs: Iterable[tuple[str, Mapping[str, float]]],
    path: str,
    digest: Any,
    repairs: Mapping[str, Repair],
) -> Trace:
    """Return a log that keeps the numbers of jobs, so that it can be checked against theirs.

    Parameters
    ----------
    jobs : iterable of (str, mapping of str to float)
        The id and the fields of each job. Ids that are not whole and distinct go to the side-car.
    path : str
        The file, for messages.
    digest : hash
        Of the text, which is read by `jobs`.
    repairs : mapping of str to Repair
        Filled while the jobs are read.
    """
    ids, rows = [], []
    for name, row in jobs:
        ids.append(name)
        rows.append(row)
    if not rows:
        raise FormatError(path, "the schedule has no job")
    order = np.argsort([row["submit"] for row in rows], kind="stable")
    table = {name: np.array([row[name] for row in rows])[order] for name in rows[0]}
    numbers = [number for name in ids if (number := as_whole(name)) is not None and number >= 0]
    sidecar = None
    if len(set(numbers)) == len(ids):
        table["job"] = np.array(numbers)[order]
    else:
        sidecar = pd.DataFrame({"id": np.array(ids, object)[order]})
    return replace(
        Trace.from_columns(table, name=log_name(path)),
        digest=digest.hexdigest(),
        repairs=tuple(repairs.values()),
        sidecar=sidecar,
    )


class Repairs(dict[str, Repair]):
    """Repairs by their kind, counted while a file is read."""

    def note(self, kind: str, line: int, count: int = 1) -> None:
        """Count a repair."""
        before = self.get(kind, Repair(kind, 0, line))
        self[kind] = Repair(kind, before.count + count, before.first_line)
