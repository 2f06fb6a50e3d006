"""The machine that accounting shows, and what jobs request of a machine."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import format_path
from tests.examples import examples
from workloadkit.io.machine import machine_path, read_machine
from workloadkit.machine.description import MachineDescription, NodeType, Partition
from workloadkit.machine.hostlists import expand
from workloadkit.machine.observed import observed_machine
from workloadkit.machine.requests import requests_of

SLURM = """JobID|Partition|User|Submit|Start|End|State|NNodes|AllocCPUS|ReqMem|ReqTRES|AllocTRES|NodeList|Constraints
1|batch|al|2024-03-04T08:00:00|2024-03-04T08:00:09|2024-03-04T09:00:00|COMPLETED|2|16|4Gn|cpu=16,node=2|cpu=16,node=2|n[01-02]|ib
2|batch|al|2024-03-04T08:10:00|2024-03-04T08:30:00|2024-03-04T09:30:00|COMPLETED|1|4|1Gc|cpu=4,gres/gpu=1,license/matlab=2|cpu=4,gres/gpu=1|n02|
3|gpu|bo|2024-03-04T08:20:00|2024-03-04T09:00:00|2024-03-04T09:40:00|COMPLETED|1|8||cpu=8,gres/gpu=4|cpu=8,gres/gpu=4|g1|
4|gpu|bo|2024-03-04T08:30:00|Unknown|2024-03-04T09:10:00|CANCELLED|1|0|||cpu=2|None assigned|
"""  # noqa: E501  # one row is one line


def read(text, **options):
    return wk.read_log(io.BytesIO(text.encode()), **options)


def test_the_machine_that_slurm_shows():
    trace = read(SLURM)
    seen = ("count", "cores", "memory", "gpus", "partitions")
    assert trace.machine == MachineDescription(
        nodes=(
            NodeType(
                count=1,
                cores=8,
                gpus=4,
                partitions=("gpu",),
                names="g1",
                inferred=tuple(name for name in seen if name != "memory"),
            ),
            NodeType(
                count=2,
                cores=12,
                memory=8 << 20,
                gpus=1,
                partitions=("batch",),
                names="n[01-02]",
                inferred=seen,
            ),
        ),
        partitions=(
            Partition(name="batch", exclusive=False, inferred=("exclusive",)),
            Partition(name="gpu"),
        ),
    )
    assert trace.sidecar["features"].tolist() == ["ib", "", "", ""]
    assert trace.sidecar["node_list"].tolist() == ["n[01-02]", "n02", "g1", ""]
    assert trace.sidecar["pools"].tolist() == ["", "matlab=2", "", ""]


def test_an_anonymous_log_names_no_node():
    trace = read(SLURM, anonymize=True)
    assert [kind.names for kind in trace.machine.nodes] == ["", ""]
    assert [partition.name for partition in trace.machine.partitions] == ["1", "2"]
    assert not {"node_list", "features", "pools"} & {*trace.sidecar}
    assert requests_of(trace).partition.tolist() == [0, 0, 1, 1]


intervals = st.tuples(
    st.integers(0, 20),
    st.integers(0, 9),
    st.sampled_from(["n1", "n2", "m1", "n[1-2]", "3*n1,1*m1", "m1,n[1-2]", ""]),
    st.integers(1, 12),
    st.sampled_from(["a", "b", ""]),
)


@given(st.lists(intervals, min_size=1, max_size=12))
@examples(60)
def test_what_is_inferred_is_what_was_in_use_at_once(jobs):
    start, length, lists, procs, partition = zip(*jobs, strict=True)
    end = [s + n for s, n in zip(start, length, strict=True)]
    table = pd.DataFrame(
        {"start": start, "end": end, "procs": procs, "node_list": lists, "partition": partition}
    )
    machine = observed_machine(table.astype({"start": float, "end": float, "procs": float}))
    by_procs = {p for p, listed in zip(partition, lists, strict=True) if p and not listed}

    def share(job, node):
        parts = [part.partition("*") for part in lists[job].split(",")]
        if any(star for _, star, _ in parts):
            counts = {name: int(number) for number, _, name in parts}
        else:
            counts = dict.fromkeys(expand(lists[job]), 1) if lists[job] else {}
        return procs[job] * counts.get(node, 0) / sum(counts.values()) if counts else 0

    most = {}  # by node
    parts = {}
    for job, listed in enumerate(lists):
        if partition[job] in by_procs:
            continue
        for node in ("n1", "n2", "m1"):
            if listed and share(job, node):
                parts.setdefault(node, set()).update({partition[job]} - {""})
                at = [
                    other
                    for other in range(len(jobs))
                    if partition[other] not in by_procs
                    and start[other] <= start[job] < max(end[other], start[other] + 0.5)
                ]
                use = sum(share(other, node) for other in at)
                most[node] = max(most.get(node, 0), use)
    if machine is None:
        assert not most and len(by_procs) < 2
        return
    assert sum(kind.count for kind in machine.nodes) == len(most)
    for kind in machine.nodes:
        nodes = expand(kind.names)
        assert kind.cores == max(int(np.ceil(max(most[node] for node in nodes) - 1e-9)), 1)
        assert all(parts[node] == set(kind.partitions) for node in nodes)
    assert {p.name for p in machine.partitions if p.procs} == by_procs


def test_requests_of_the_side_car():
    trace = read(SLURM)
    machine = MachineDescription(
        nodes=(
            NodeType(count=2, cores=16, memory=32 << 20, features=("ib",), partitions=("batch",)),
            NodeType(count=2, cores=16, memory=64 << 20, partitions=("batch", "gpu"), gpus=4),
        ),
        partitions=(Partition(name="batch"), Partition(name="gpu", exclusive=True)),
        pools={"ansys": 1, "matlab": 3},
    )
    found = requests_of(trace, machine)
    assert found.procs.tolist() == [16, 4, 8, 0]
    assert found.nodes.tolist() == [2, 0, 0, 1]
    assert found.node_memory.tolist() == [4 << 20, 0, 0, 0]
    assert found.memory.tolist() == [0, 1 << 20, 4 << 20, 4 << 20]
    assert found.gpus.tolist() == [0, 1, 4, 0]
    assert found.partition.tolist() == [0, 0, 1, 1]
    assert found.exclusive.tolist() == [False, False, True, True]
    assert found.eligible.tolist() == [[True, False], [True, True], [False, True], [False, True]]
    assert found.pools.tolist() == [[0, 0], [0, 2], [0, 0], [0, 0]]
    assert found.counts == {"memory unknown: the share of a node": 2}
    strict = replace(trace, sidecar=trace.sidecar.assign(features=["a|b", "none", "", ""]))
    assert requests_of(strict, machine).counts == {
        "features in a form that is not modelled": 1,
        "without a node of its partition that has its features": 1,
        "memory unknown: the share of a node": 2,
    }


def test_requests_of_the_standard_fields_alone():
    columns = {
        "submit": [0, 1, 2, 3],
        "procs": [4, 4, 4, 4],
        "requested_procs": [2, -1, 2, 2],
        "memory": [70, 5, -1, 9],
        "requested_memory": [60, -1, -1, 10],
        "partition": [1, 2, 3, -1],
    }
    trace = wk.Trace.from_columns(columns)
    machine = MachineDescription(
        nodes=(
            NodeType(count=1, cores=4, memory=40, partitions=("1",)),
            NodeType(count=1, cores=4, memory=80, partitions=("1", "2")),
        ),
        partitions=(Partition(name="1", default=True), Partition(name="2")),
    )
    found = requests_of(trace, machine)
    assert found.procs.tolist() == [2, 4, 2, 2]
    assert found.memory.tolist() == [60, 20, 10, 10]
    assert found.partition.tolist() == [0, 1, -1, 0]
    assert found.counts == {
        "of no partition of the machine": 1,
        "memory unknown: the share of a node": 2,
        "used more memory than requested": 1,
    }
    assert requests_of(trace, machine, memory="used").memory.tolist() == [70, 5, 10, 9]
    assert requests_of(trace, machine, memory="none").memory.tolist() == [0, 0, 0, 0]
    unknown = trace.with_columns(requested_memory=[-1] * 4)  # then field 7 is all there is
    assert requests_of(unknown, machine).memory.tolist() == [70, 5, 10, 9]
    header = wk.Header(("; Partition: 1 night", "; Partition: 2 day"))
    parts = (Partition(name="day", procs=4), Partition(name="night", procs=8))
    named = MachineDescription(partitions=parts)
    assert requests_of(replace(trace, header=header), named).partition.tolist() == [1, 0, -1, -1]
    with pytest.raises(wk.ParameterError, match="has no description of its machine"):
        requests_of(trace)


def test_convert_writes_the_machine_of_the_jobs_or_of_slurm_conf(run, tmp_path):
    (tmp_path / "jobs.txt").write_text(SLURM)
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=x\nNodeName=n[01-16] CPUs=32\nNodeName=g1 CPUs=8 Gres=gpu:4 Port=7\n"
        "PartitionName=batch Nodes=n[01-16]\nPartitionName=gpu Nodes=g1\n"
    )
    log = tmp_path / "log.swf.gz"
    code, _, err = run("convert", tmp_path / "jobs.txt", "-o", log)
    assert code == 0 and f"wrote {log} and {log}.parquet and {machine_path(log)}" in err
    assert read_machine(machine_path(log)) == wk.read_swf(log).machine
    assert wk.read_swf(log).machine.n_nodes == 3
    code, _, err = run("convert", log, "-o", tmp_path / "again.swf", "--slurm-conf", conf)
    assert code == 0
    assert f"{conf}: 17 nodes, 520 processors, 2 partitions\n" in err
    assert f"{conf}: settings not used: ClusterName, NodeName.Port\n" in err
    again = wk.read_swf(tmp_path / "again.swf")
    assert (again.machine.n_nodes, again.machine.gpus) == (17, 4)
    assert requests_of(again).eligible.sum() == 3  # no node has the feature of job 1
    code, _, err = run(
        "convert", tmp_path / "jobs.txt", "-o", log, "--slurm-conf", conf, "--anonymize"
    )
    assert code == 2 and "leave out --anonymize, and then use workloadkit anonymize" in err


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("lsf_xdmod_lsb.acct", 8),
        ("pbs_xdmod_variants.acct", 11),
        ("sge_uge_xdmod.accounting", 1),
        ("slurm_apel.sacct", 5),
        ("slurm_xdmod_edgecases.sacct", None),
        ("slurm_xdmod_phillips_1500jobs.sacct.gz", None),
    ],
)
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_dumps_of_sites(name, nodes, tmp_path):
    trace = wk.read_log(format_path(name))
    machine = trace.machine
    assert nodes in (None, machine.n_nodes)
    wk.write_swf(trace, tmp_path / "log.swf.gz")
    assert wk.read_swf(tmp_path / "log.swf.gz").machine == machine
    kind_of = {node: kind for kind in machine.nodes for node in expand(kind.names)}
    found = requests_of(trace)
    table = trace.sidecar
    for row in np.flatnonzero(table["node_list"] != "").tolist():
        if "*" in (listed := table["node_list"][row]) or not table["start"][row] > 0:
            continue
        on = [kind_of[node] for node in expand(listed) if node in kind_of]
        if on and table["procs"][row] > 0 and table["end"][row] >= table["start"][row]:
            assert table["procs"][row] <= sum(kind.cores for kind in on)
            assert not table["gpus"][row] > sum(kind.gpus for kind in on)
            assert found.partition[row] >= 0 or table["partition"][row] == ""
    json.dumps(found.counts)
