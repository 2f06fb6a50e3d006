"""Each mapping that ships reads a small table in the shape that its trace is described with."""

from typing import NamedTuple

import numpy as np
import pytest

from tests.tables_of_traces import EPOCH, TABLES, local, write
from workloadkit.errors import FormatError, WorkloadWarning
from workloadkit.fields import CANCELLED, COMPLETED, FAILED, UNKNOWN
from workloadkit.io.tables import mapping_names, read_mapping, read_table
from workloadkit.io.tables.engine import JOINED, connect
from workloadkit.io.tables.expressions import columns_in

pytest.importorskip("duckdb")


class Truth(NamedTuple):
    """What a table contains, counted by hand."""

    jobs: int = 3
    waits: float = 360  # sum [s]
    core_hours: float = 5
    status: tuple[int, ...] = (COMPLETED, FAILED, CANCELLED)
    gpu_hours: float = 0
    limits: float = 0  # sum [s]
    users: int = 0


TWO = (COMPLETED, FAILED)
NO_STATES = (UNKNOWN, UNKNOWN)
TRUTH = {
    "kestrel": Truth(gpu_hours=2, limits=14_400, users=2),
    "draft-eagle-nlr": Truth(gpu_hours=2, limits=14_400, users=2),
    "eagle": Truth(gpu_hours=2, limits=14_400, users=2),
    "in2p3": Truth(gpu_hours=2, limits=14_400, users=2),
    "pm100": Truth(gpu_hours=2, limits=14_400, users=2),
    "draft-m100": Truth(gpu_hours=2, limits=14_400, users=2),
    "draft-adastra": Truth(gpu_hours=2, limits=10_800, users=2),
    # the third job used no cores and ended before it started
    "alcf": Truth(waits=460, status=(COMPLETED, FAILED, FAILED), limits=14_400, users=2),
    "lassen": Truth(2, status=TWO, limits=7200, users=2),
    "supercloud": Truth(gpu_hours=2, limits=10_800, users=2),
    "mustang": Truth(core_hours=24 * 1.5, limits=151_200, users=2),
    "draft-opentrinity": Truth(core_hours=32 * 1.5, limits=151_200, users=2),
    # the attempts of the first job: submitted 0, started 10, ended 3610 s
    "draft-two-sigma": Truth(2, waits=360, status=(COMPLETED, UNKNOWN), users=2),
    "draft-fresco": Truth(2, waits=0, status=TWO, gpu_hours=2, limits=10_800),
    "draft-princeton": Truth(2, waits=0, status=NO_STATES, gpu_hours=2, limits=10_800),
    "draft-fugaku": Truth(2, status=TWO, limits=10_800, users=2),
    "helios": Truth(gpu_hours=2, users=2),
    "acme": Truth(gpu_hours=2, users=2),
    "philly": Truth(core_hours=0, gpu_hours=3, users=3),
    "pai2020": Truth(status=(*TWO, UNKNOWN), gpu_hours=2, users=2),
    "gpu2023": Truth(status=(*TWO, UNKNOWN), gpu_hours=2.25),
    # the third instance is older than the trace and outlives it
    "draft-gpu2025": Truth(status=(UNKNOWN, UNKNOWN, UNKNOWN), gpu_hours=2),
    "draft-spot2026": Truth(2, waits=0, status=NO_STATES, gpu_hours=2),
    "draft-alibaba2018": Truth(2, waits=0, status=(COMPLETED, UNKNOWN)),
    # a fourth job is older than the trace, and a fifth, in 2019, an alloc set
    "google2011": Truth(4, status=(UNKNOWN, COMPLETED, FAILED, CANCELLED), users=2),
    "draft-google2019": Truth(core_hours=0, users=3),
    # the first machine is older than the trace, the last outlives it
    "azure2019": Truth(4, waits=0, status=(UNKNOWN,) * 4, users=2),
    "draft-azure2017": Truth(4, waits=0, status=(UNKNOWN,) * 4, users=2),
    "wta": Truth(status=(UNKNOWN,) * 3, users=2),
    "opendc": Truth(2, waits=0, status=NO_STATES),
}

#: A change of the first table that makes it something else, and what the error says of it.
FOREIGN = {
    "kestrel": ("id", [None, 12, 13]),
    "supercloud": (f"{EPOCH}", "0"),
    "azure2019": ("900,2591700", "2592900,2593000"),
    "draft-azure2017": ("900,2591700", "2592900,2593000"),
    "helios": ("2024-05", "2019-05"),
    "wta": ("wait_time", [60, 300, -2]),
    "opendc": ("submission_time", [EPOCH, EPOCH + 100]),
    "draft-adastra": ("time_limit", [120, 60, 60]),
    "draft-princeton": (str(EPOCH)[:5], "1"),
    "draft-fugaku": ("adt", local(None, 100)),
    "alcf": ("2024-05-01", "May"),
    "lassen": ("2024-05-01", "May"),
    "philly": ("submitted_time", "submit_time"),
}


@pytest.mark.parametrize("name", mapping_names())
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_a_table_in_the_shape_of_the_trace(name, tmp_path):
    truth = TRUTH[name]
    trace = read_table(write(tmp_path, TABLES[name]), name)
    sidecar = trace.sidecar
    hours = trace.column("run") / 3600
    gpus = sidecar["gpus"] if "gpus" in sidecar else np.zeros(trace.n_jobs)
    users = trace.column("user")
    found = Truth(
        jobs=trace.n_jobs,
        waits=round(float((sidecar["start"] - sidecar["submit"]).sum()), 3),
        core_hours=float(np.nansum(np.maximum(hours, 0) * trace.column("procs"))),
        status=tuple(trace.column("status").tolist()),
        gpu_hours=float(np.nansum(hours * gpus)),
        limits=float(np.nansum(trace.column("requested_time"))),
        users=len(set(users[users >= 0].tolist())),
    )
    assert found == truth


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_a_part_that_looks_otherwise_is_refused(name, tmp_path):
    old, new = FOREIGN[name]
    (place, table), *others = TABLES[name].items()
    changed = table.replace(old, new) if isinstance(table, str) else table | {old: new}
    with pytest.raises(FormatError, match=r"not as the mapping expects|has no such column"):
        read_table(write(tmp_path, {place: changed, **dict(others)}), name)


@pytest.mark.parametrize("name", mapping_names())
def test_the_evidence_of_every_column_is_marked(name):
    mapping, con = read_mapping(name), connect([], "")
    joined, source, by = mapping.joined, mapping.source, mapping.provenance
    given = [value.sql for value in mapping.fields.values()]
    given += [source.where or "true", source.group or "true", *source.expect]
    if joined:
        given += [joined.key, *joined.columns.values()]
    used = {c[0] for sql in given for c in columns_in(con, sql) if c[0] != JOINED}
    assert used == {*by.published, *by.documented}
    assert not set(by.published) & set(by.documented)
    assert by.tried and by.download and by.input and by.notes
    assert (by.tried == "description") >= name.startswith("draft-")


def test_drafts_warn(tmp_path):
    table = write(tmp_path, TABLES["draft-fresco"])
    with pytest.warns(WorkloadWarning, match="draft-fresco is a draft"):
        read_table(table, "draft-fresco")
