"""Hardware threads of a core: what Slurm's configuration states, and the jobs of each node type."""

import io
import json
from dataclasses import replace

import pandas as pd
import pytest

import workloadkit as wk
from tests.commands import run_command
from workloadkit.analysis import characterize, operations
from workloadkit.analysis.operations.accounting import accounted_jobs, hours_unit
from workloadkit.io.machine import machine_text, read_machine
from workloadkit.io.slurm.conf import read_slurm_conf
from workloadkit.machine.requests import threads_of_jobs

HOUR = 3600
TWO_SOCKETS = "Sockets=2 CoresPerSocket=16"


def machine_of(text):
    return read_slurm_conf(io.BytesIO(text.encode())).machine


@pytest.mark.parametrize(
    ("node", "cpus", "threads"),
    [
        # the man page of slurm.conf: CPUs are boards x sockets x cores x threads, or cores
        (f"{TWO_SOCKETS} ThreadsPerCore=2", 64, 2),
        (f"{TWO_SOCKETS} ThreadsPerCore=4", 128, 4),
        (f"CPUs=64 {TWO_SOCKETS} ThreadsPerCore=2", 64, 2),
        (f"CPUs=32 {TWO_SOCKETS} ThreadsPerCore=2", 32, 1),
        (f"Procs=64 {TWO_SOCKETS} ThreadsPerCore=2", 64, 2),
        ("Boards=2 SocketsPerBoard=1 CoresPerSocket=16 ThreadsPerCore=2", 64, 2),
        (f"CPUs=32 {TWO_SOCKETS}", 32, 1),
        ("CPUs=64 ThreadsPerCore=2", 64, 2),
        (f"CPUs=63 {TWO_SOCKETS} ThreadsPerCore=2", 63, None),
        ("CPUs=64", 64, None),
        (f"{TWO_SOCKETS} ThreadsPerCore=2 CoreSpecCount=2", 60, 2),
    ],
)
def test_a_configuration_states_the_threads_of_a_core(node, cpus, threads):
    for text in (f"NodeName=n[1-2] {node}", f"NodeName=DEFAULT {node}\nNodeName=n[1-2]"):
        (kind,) = machine_of(text).nodes
        assert (kind.cores, kind.threads_per_core) == (cpus, threads)


@pytest.mark.parametrize("parameters", ["CR_CPU_Memory", "CR_Core_Memory", "CR_Socket"])
def test_cpus_are_threads_in_each_form_of_selection(parameters):
    """Of cores, jobs get all threads, and each counts as a CPU."""
    text = f"SelectType=select/cons_tres\nSelectTypeParameters={parameters}\n"
    (kind,) = machine_of(f"{text}NodeName=n1 {TWO_SOCKETS} ThreadsPerCore=2").nodes
    assert kind.threads_per_core == 2


def site(conf, partitions, *, procs=64, node_lists=None, **columns):
    """Jobs of one hour on a configured machine."""
    n = len(partitions)
    sidecar = {"partition": pd.Categorical(partitions)}
    if node_lists:
        sidecar["node_list"] = pd.Categorical(node_lists)
    ran = {"submit": [*range(n)], "wait": [0] * n, "run": [HOUR] * n, "procs": [procs] * n}
    ran["partition"] = sidecar["partition"].codes
    log = wk.Trace.from_columns(ran | columns, header=wk.Header(("; MaxProcs: 256",)))
    return replace(log, sidecar=pd.DataFrame(sidecar), machine=machine_of(conf))


THREADS = f"NodeName=n[1-4] {TWO_SOCKETS} ThreadsPerCore=2\nPartitionName=p Nodes=n[1-4]\n"
MIXED = THREADS + (
    "NodeName=m[1-4] Sockets=1 CoresPerSocket=64 ThreadsPerCore=1\n"
    "PartitionName=q Nodes=m[1-4]\nPartitionName=all Nodes=ALL\n"
)


def test_hours_are_divided_by_the_threads_of_a_core():
    log = site(THREADS, ["p"] * 30, cpu=[1800] * 30, requested_time=[2 * HOUR] * 30)
    assert accounted_jobs(log)["core_hours"].sum() == 960
    section = next(s for s in characterize(log, profile="operations").sections if s.name == "usage")
    assert section.finding.startswith("30 jobs used 960 core-hours.")
    assert section.title == "Core-, node- and GPU-hours"
    assert section.values["hours_unit"] == "core-hours"
    used = operations.efficiency(log, "partition").iloc[0]
    assert (used["cpu_efficiency"], used["idle_hours"], used["limit_use"]) == (0.5, 480, 0.5)
    assert operations.partitions(log)["core_hours"].tolist() == [960]
    unknown = site("NodeName=n[1-4] CPUs=64\nPartitionName=p Nodes=n[1-4]\n", ["p"] * 30)
    section = next(
        s for s in characterize(unknown, profile="operations").sections if s.name == "usage"
    )
    assert section.finding.startswith("30 jobs used 1,920 processor-hours.")
    assert any("cores, or hardware threads" in note for note in section.notes)


def test_utilization_is_that_of_processors():
    day = 24 * HOUR
    log = site(THREADS, ["p", "p"], submit=[0, 2 * day], run=[day, day], procs=128)
    days = operations.full_days(log)
    assert days["utilization"].tolist() == [0.5, 0]
    assert days["core_hours"].tolist() == [64 * 24, 0]


def test_partitions_and_node_lists_determine_the_nodes():
    log = site(MIXED, ["p", "q"])
    assert threads_of_jobs(log).tolist() == [2, 1]
    assert accounted_jobs(log)["core_hours"].tolist() == [32, 64]
    log = site(MIXED, ["all", "all", "q"], node_lists=["n[1-2]", "m3", ""])
    assert threads_of_jobs(log).tolist() == [2, 1, 1]


@pytest.mark.parametrize("nodes", ["n1,m1", "x1", "", "n[1"])
def test_one_job_on_unknown_nodes_leaves_all_in_cpu_hours(nodes):
    log = site(MIXED, ["p", "all"], node_lists=["n1", nodes])
    assert threads_of_jobs(log) is None
    assert hours_unit(log) == "processor-hours"
    assert accounted_jobs(log)["core_hours"].tolist() == [64, 64]
    assert threads_of_jobs(log.where("job=1")).tolist() == [2]


def test_the_description_of_a_machine_has_the_threads():
    text = machine_text(machine_of(THREADS))
    assert '"cores": 64, "threads_per_core": 2' in text
    assert read_machine(io.BytesIO(text.encode())) == machine_of(THREADS)
    with pytest.raises(wk.WorkloadError, match="threads_per_core is 0"):
        read_machine(io.BytesIO(text.replace('core": 2', 'core": 0').encode()))


def test_a_site_with_two_threads_a_core(tmp_path, capsys):
    """30 jobs of 64 hardware threads, an hour each, on nodes of 32 cores."""
    rows = [
        f"{i}|a|x|p|2024-05-06T08:00:00|2024-05-06T{9 + i % 9:02}:00:00|"
        f"2024-05-06T{10 + i % 9:02}:00:00|3600|COMPLETED|64|n{i % 4 + 1}"
        for i in range(1, 31)
    ]
    names = "JobID|User|Account|Partition|Submit|Start|End|ElapsedRaw|State|AllocCPUS|NodeList"
    (tmp_path / "slurm.txt").write_text("\n".join([names, *rows, ""]))
    (tmp_path / "slurm.conf").write_text(THREADS)
    for more, hours in (
        ((), "1,920 processor-hours"),
        (("--slurm-conf", tmp_path / "slurm.conf"), "960 core-hours"),
    ):
        log, report = tmp_path / f"{len(more)}.swf", tmp_path / f"{len(more)}.json"
        assert run_command("convert", tmp_path / "slurm.txt", "-o", log, *more) == 0
        assert ("256 processors (2 of a core)" in capsys.readouterr().err) == bool(more)
        run_command("characterize", log, "-o", tmp_path / "page.html", "--json", report)
        assert json.loads(report.read_text())["usage"]["finding"].startswith(
            f"30 jobs used {hours}"
        )
