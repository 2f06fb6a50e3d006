"""The machine of a log and what jobs request of it: worked out by hand, and identities."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import workloadkit as wk
from tests.data import format_path
from workloadkit.analysis import characterize, operations
from workloadkit.analysis.load import overview
from workloadkit.analysis.operations import requesting
from workloadkit.machine.description import MachineDescription, NodeType, Partition, Switch

SLURM = """JobID|Partition|QOS|User|Submit|Start|End|State|NNodes|AllocCPUS|ReqMem|ReqTRES|AllocTRES|NodeList|Constraints
1|batch|low|al|2024-03-04T08:00:00|2024-03-04T08:00:00|2024-03-04T09:00:00|COMPLETED|2|16|4Gn|cpu=16,node=2|cpu=16,node=2|n[01-02]|ib
2|batch|low|al|2024-03-04T08:10:00|2024-03-04T08:30:00|2024-03-04T09:30:00|COMPLETED|1|4|1Gc|cpu=4,gres/gpu=1,license/matlab=2|cpu=4,gres/gpu=1|n02|
3|gpu||bo|2024-03-04T08:20:00|2024-03-04T09:00:00|2024-03-04T09:45:00|COMPLETED|1|8||cpu=8,gres/gpu=4|cpu=8,gres/gpu=4|g1|
4|gpu|low|bo|2024-03-04T08:30:00|Unknown|2024-03-04T09:10:00|CANCELLED|1|0||cpu=2|||
5|old|low|bo|2024-03-04T08:30:00|Unknown|2024-03-04T09:10:00|CANCELLED|1|0||cpu=2|||
"""  # noqa: E501  # one row is one line
GB = 1 << 20  # KB


@pytest.fixture(scope="module")
def log():
    return wk.read_log(io.BytesIO(SLURM.encode()))


def tables_of(section):
    return {table.name: table for table in section.tables}


def test_what_jobs_request_is_counted_and_measured(log):
    table = operations.requested(log)
    assert table["jobs"].to_dict() == {
        "processors": 5,
        "nodes": 5,  # of jobs 2 and 3 the allocated ones
        "processors per node": 5,
        "memory per processor": 1,
        "memory per node": 1,
        "GPUs": 2,
        "pool matlab": 1,
        "more than one node": 1,
        "more memory than its share": 1,  # job 2: 1 GB of nodes with 8 GB and 12 processors
        "features": 1,
        "partition": 5,
        "QOS": 4,
    }
    assert table["share"].tolist() == [jobs / 5 for jobs in table["jobs"]]
    # core-hours: 16, 4 and 6
    assert table.loc["GPUs", "core_share"] == pytest.approx(10 / 26)
    assert table.loc["more than one node", "core_share"] == pytest.approx(16 / 26)
    amounts = table[["distinct", "least", "most"]]
    assert amounts.loc["processors per node"].tolist() == [3, 2, 8]
    assert amounts.loc["GPUs"].tolist() == [2, 1, 4]
    assert amounts.loc["memory per node"].tolist() == [1, 4 * GB, 4 * GB]
    assert amounts.loc["memory per processor"].tolist() == [1, GB, GB]
    assert amounts.loc["pool matlab"].tolist() == [1, 2, 2]
    assert amounts.loc["partition", "distinct"] == 3
    assert amounts.loc["partition", ["least", "most"]].isna().all()
    assert table["p50"].isna().all()  # of fewer than ten jobs


def test_percentiles_of_many_jobs():
    sizes = np.arange(1, 101)
    table = operations.requested(wk.Trace.from_columns({"submit": sizes, "procs": sizes}))
    assert table.loc["processors", ["least", "p50", "p90", "most"]].tolist() == [1, 50.5, 90, 100]


def test_partitions_have_their_nodes_jobs_and_hours(log):
    table = operations.partitions(log)
    assert table.index.tolist() == ["batch", "gpu", "(no partition of the machine)"]
    has = table[["nodes", "procs", "gpus", "jobs", "core_hours", "gpu_hours"]]
    assert has.loc["batch"].tolist() == [2, 24, 2, 2, 20, 1]
    assert has.loc["gpu"].tolist() == [1, 8, 4, 2, 6, 3]
    assert has.loc["(no partition of the machine)"].isna().tolist() == [
        *(True, True, True, False, True, True)
    ]
    assert table["exclusive"].tolist() == [False, None, None]
    assert table["core_share"].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "name",
    [
        "slurm_xdmod_phillips_1500jobs.sacct.gz",
        "slurm_xdmod_edgecases.sacct",
        "slurm_apel.sacct",
        "pbs_xdmod_variants.acct",
        "lsf_xdmod_lsb.acct",
        "sge_uge_xdmod.accounting",
    ],
)
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_hours_of_the_partitions_of_sites_are_those_of_the_section_on_hours(name):
    trace = wk.read_log(format_path(name))
    found = operations.partitions(trace)
    field = next((by for by in ("partition", "queue") if operations_by(trace, by) is not None), "")
    if field and len(found):
        used = operations_by(trace, field)
        named = [name for name in found.index if name in used.index]
        columns = ["jobs", "core_hours", "gpu_hours"]
        pd.testing.assert_frame_equal(
            found.loc[named, columns], used.loc[named, columns], check_dtype=False
        )
    requests = operations.requested(trace)
    assert requests["jobs"].between(1, trace.n_jobs).all()
    assert not (requests["core_share"] > 1 + 1e-9).any()
    section = requesting.section(trace)
    assert json.dumps(section.to_dict(), allow_nan=False)
    for figure in section.figures:
        figure.plot(figure.data, Figure().add_subplot())


def operations_by(trace, field):
    try:
        return operations.usage(trace, field)
    except wk.WorkloadError:
        return None


def test_what_is_inferred_is_marked(log):
    section = requesting.section(log)
    assert section.finding == (
        "As inferred from the jobs, the machine has at least 32 processors, 3 nodes, 6 GPUs and "
        "2 partitions. 20 % of the jobs request more than one node, 40 % GPUs and 20 % more "
        "memory than its share."
    )
    tables = tables_of(section)
    nodes, partitions = tables["nodes"], tables["partitions"]
    assert "≥ is inferred" in nodes.caption
    assert nodes.shown.loc["n[01-02]"].tolist() == ["≥ 2", "≥ 12", "≥ 8", "≥ 1", "batch"]
    assert nodes.shown.loc["g1"].tolist() == ["≥ 1", "≥ 8", "–", "≥ 4", "gpu"]
    assert partitions.shown.loc["gpu", ["nodes", "processors", "GPUs"]].tolist() == [
        *("≥ 1", "≥ 8", "≥ 4")
    ]
    assert section.values["inferred"] and section.values["gpus"] == 6
    assert tables["requests"].shown.loc["memory per node", "most"] == "4 GB"
    assert section.figures[0].data.index[0] == "more than one node"
    assert dict(overview.lead(log))["Machine"].startswith("at least 32 processors, inferred")


def test_a_described_machine_is_not_marked(log):
    machine = MachineDescription(
        nodes=(
            NodeType(count=4, cores=16, memory=64 * GB, partitions=("batch",), names="n[1-4]"),
            NodeType(count=1, cores=8, gpus=0, features=("ib",), partitions=("batch", "gpu")),
        ),
        partitions=(
            Partition(name="batch", max_time=86400),
            Partition(name="gpu", exclusive=True),
            Partition(name="old", procs=4),
        ),
        pools={"matlab": 10},
        switches=(Switch(name="leaf"),),
    )
    section = requesting.section(replace(log, machine=machine))
    assert section.finding.startswith("The machine has 76 processors, 5 nodes and 3 partitions. ")
    tables = tables_of(section)
    assert tables["nodes"].caption == "Node types."
    assert tables["nodes"].shown.loc["n[1-4]"].tolist() == ["4", "16", "64", "0", "batch", "–"]
    assert tables["nodes"].shown.loc["type 2", "features"] == "ib"
    shown = tables["partitions"].shown
    assert shown.loc["gpu", ["nodes", "processors", "whole nodes"]].tolist() == ["1", "8", "yes"]
    assert shown.loc["batch", "longest time"] == "1 d"
    assert shown.loc["old", ["nodes", "processors", "jobs"]].tolist() == ["–", "4", "1"]
    assert tables["pools"].data["value"].to_dict() == {"matlab": 10}
    assert (section.values["pools"], section.values["switches"]) == ({"matlab": 10}, 1)
    assert operations.requested(replace(log, machine=machine)).loc["whole nodes", "jobs"] == 2


def test_a_log_without_description_and_side_car_has_no_section(log):
    plain = wk.Trace.from_columns({"submit": [0, 9], "run": [5, 5], "procs": [1, 1]})
    assert requesting.section(plain) is None
    without = requesting.section(replace(log, machine=None))
    assert "unknown" in without.gaps[0]
    assert {*tables_of(without)} == {"requests"}
    described = replace(plain, machine=MachineDescription(nodes=(NodeType(count=2, cores=4),)))
    section = requesting.section(described)
    assert section.finding.endswith(
        "No job is known to request more than processors and memory of one node."
    )
    assert not section.figures


def test_the_page_and_the_json_have_the_section(log):
    found = characterize(log)
    assert found.profile == "operations"
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))["machine"]
    assert values["title"] == "Machine and requests"
    rows = values["tables"]["partitions"]["rows"]
    assert [row["gpu_hours"] for row in rows] == [1, 3, None]
    assert values["figures"]["requests"]["data"]["share"][0] == 0.2
    page = found.to_html()
    assert 'id="machine"' in page and "≥ 12" in page
