"""The description of a machine: lists of nodes, its file next to a log, and slurm.conf."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis.strategies import (
    booleans,
    builds,
    dictionaries,
    from_regex,
    integers,
    just,
    lists,
    none,
    sampled_from,
    text,
)

import workloadkit as wk
from tests.examples import examples
from workloadkit.io.machine import machine_text, read_machine, write_machine
from workloadkit.io.slurm.conf import read_slurm_conf
from workloadkit.machine.description import MachineDescription, NodeType, Partition, Switch
from workloadkit.machine.hostlists import compress, expand, expand_counted

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "schemas" / "files" / "machine.json"

LOG = wk.Trace.from_columns({"submit": [0, 60], "run": [9, 9], "procs": [2, 2]})
SMALL = MachineDescription(
    nodes=(
        NodeType(count=2, cores=4, memory=1 << 20, partitions=("day",), names="n[1-2]"),
        NodeType(count=1, cores=8, gpus=2, features=("ib",), partitions=("day", "gpu"), names="g1"),
    ),
    partitions=(Partition(name="day", max_time=3600), Partition(name="gpu", tier=2)),
    pools={"matlab": 3},
    switches=(Switch(name="s1", nodes="n[1-2]"), Switch(name="top", switches=("s1",))),
)

names = lists(from_regex(r"[a-z]{1,2}-?[0-9]{0,3}(-[0-9]{1,2})?[a-z]?", fullmatch=True), min_size=1)


@given(names)
def test_lists_of_nodes_are_read_as_they_are_written(given_names):
    assert expand(compress(given_names)) == given_names


def test_lists_of_nodes():
    for listed, expected in (
        ("n[001-003,020],m[1-2]", ["n001", "n002", "n003", "n020", "m1", "m2"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("n[08-10]x", ["n08x", "n09x", "n10x"]),
        ("rack[0-1]_blade[0-1]", [f"rack{r}_blade{b}" for r in (0, 1) for b in (0, 1)]),
        ("cpn-d13-[03,05,07-08]-01", [f"cpn-d13-{n}-01" for n in ("03", "05", "07", "08")]),
    ):
        assert expand(listed) == expected
    assert expand_counted("16*n[1-2],m1") == [("n1", 16), ("n2", 16), ("m1", 0)]
    for wrong in (
        "",
        "n[1-",
        "n]",
        "n[2-1]",
        "n[x]",
        "a,,b",
        ",a",
        "a,",
        "n[]",
        "2*3*n",
        "n[1[2]]",
    ):
        with pytest.raises(wk.WorkloadError, match="not a list of nodes"):
            expand(wrong)
    for huge in ("n[0-99999999999]", "n[0-9999]m[0-9999]", "a[1-900000],b[1-900000]"):
        with pytest.raises(wk.WorkloadError, match="a list of too many nodes"):
            expand(huge)


counts = integers(1, 2**53)
words = text(min_size=1, max_size=5)
few = lists(sampled_from(["a", "b", "c"]), unique=True).map(tuple)


@given(
    builds(
        MachineDescription,
        nodes=lists(
            builds(
                NodeType,
                count=counts,
                cores=counts,
                memory=none() | counts,
                gpus=integers(0, 9),
                features=lists(words, unique=True).map(tuple),
                partitions=few.map(lambda found: tuple(p for p in found if p != "c")),
                names=just(""),
                inferred=lists(sampled_from(["count", "memory"]), unique=True).map(tuple),
            )
        ),
        partitions=just((Partition(name="a", max_nodes=7, default=True), Partition(name="b"))),
        pools=dictionaries(words, integers(0, 99)),
        switches=just(()),
    ),
    booleans(),
)
@examples(30)
def test_what_is_written_is_what_is_read(tmp_path_factory, machine, compressed):
    path = tmp_path_factory.mktemp("machine") / ("m.json.gz" if compressed else "m.json")
    write_machine(machine, path)
    assert read_machine(path) == machine == pickle.loads(pickle.dumps(machine))
    first = path.read_bytes()
    write_machine(read_machine(path), path)
    assert path.read_bytes() == first
    jsonschema.validate(json.loads(machine_text(machine)), json.loads(SCHEMA.read_text()))


def test_the_schema_has_the_keys_that_are_read():
    properties = json.loads(SCHEMA.read_text())["properties"]
    jsonschema.validate(
        json.loads(machine_text(SMALL, log="a", digest=64 * "0")), json.loads(SCHEMA.read_text())
    )
    for key, kind in (("nodes", NodeType), ("partitions", Partition), ("switches", Switch)):
        assert [*properties[key]["items"]["properties"]] == [*kind.__dataclass_fields__]


def test_errors_name_the_file_the_place_and_the_value(tmp_path):
    path = tmp_path / "m.json"
    for content, message in (
        ('{"nodes": [{"count": 2, "cores": 0}]}', r"m\.json, field nodes\[0\]: cores is 0; .* 1"),
        ('{"nodes": [{"count": 1.5, "cores": 1}]}', r"field nodes\[0\]: count is 1\.5"),
        ('{"nodes": [{"cores": 1}]}', r"field nodes\[0\]: count is missing"),
        (
            '{"nodes": [{"count": 1, "cores": 1, "memry": 1}]}',
            r"nodes\[0\]\.memry: unknown key; did",
        ),
        ('{"nodes": [{"count": 3, "cores": 1, "names": "n[1-2]"}]}', r"count is 3; names has 2"),
        ('{"nodes": [7]}', r"field nodes\[0\]: no object: '7'"),
        ('{"nodes": {}}', r"field nodes: no list: '\{\}'"),
        ('{"pools": {"a": -1}}', r"pools\.a is -1"),
        (
            '{"nodes": [{"count": 1, "cores": 1, "names": ["a"]}]}',
            r"names is \['a'\]; it is a text",
        ),
        ('{"switches": [{"name": "s", "nodes": 7}]}', r"switches\[0\]: nodes is 7; it is a text"),
        ('{"pools": {"": 4}}', "pools has 4 of a resource without a name"),
        ('{"pools": [1]}', r"pools is \[1\]"),
        ('{"partitions": [{"name": "a"}, {"name": "a"}]}', "partition 'a' is repeated"),
        ('{"nodes": [{"count": 1, "cores": 1, "partitions": ["b"]}]}', "'b' is not defined"),
        ('{"partitions": [{"name": "a", "exclusive": 1}]}', r"partitions\[0\]: exclusive is 1"),
        ('{"partitions": [{"name": "a", "max_time": "1h"}]}', "max_time is '1h'"),
        ('{"switches": [{"name": "s", "nodes": "x"}]}', "node 'x' is not defined"),
        ('{"format": 2}', "field format: unsupported version of the format, not 1: '2'"),
        ('{"log_sha256": 5}', "field log_sha256: no text"),
        ("[]", "is not the description of a machine: no object"),
        ('{"nodes": [\n}', r"m\.json, line 2: not JSON at column 1"),
        ('{"pools": {}, "pools": {}}', "repeated key: 'pools'"),
        ("[" * 100_000, "nested too deeply"),
        ('{"pools": {"a": NaN}}', "not a JSON number: 'NaN'"),
        (r'{"pools": {"\ud800": 1}}', "a lone surrogate is no character"),
    ):
        path.write_text(content)
        with pytest.raises(wk.FormatError, match=message) as error:
            read_machine(path)
        assert len(str(error.value).splitlines()) == 1


def test_it_rides_along_with_its_log(tmp_path):
    log = replace(LOG, machine=SMALL)
    written = wk.write_swf(log, tmp_path / "log.swf.gz")
    assert written == (tmp_path / "log.swf.gz.machine.json",)
    again = wk.read_swf(tmp_path / "log.swf.gz")
    assert again.machine == SMALL == again.take([1]).machine == again.where("job=1").machine
    assert json.loads(written[0].read_text())["log_sha256"] == again.digest
    wk.write_wkt(again, tmp_path / "log.wkt.parquet")
    assert wk.read_wkt(tmp_path / "log.wkt.parquet").machine == SMALL
    wk.write_swf(log, tmp_path / "log.swf.gz")  # its own may be replaced


def test_a_description_by_hand_needs_no_digest(tmp_path):
    wk.write_swf(LOG, tmp_path / "log.swf")
    write_machine(SMALL, tmp_path / "log.swf.machine.json")
    assert wk.read_swf(tmp_path / "log.swf").machine == SMALL
    with pytest.raises(wk.WorkloadError, match="exists and is not the machine of"):
        wk.write_swf(replace(LOG, machine=SMALL), tmp_path / "log.swf")


@pytest.mark.parametrize("content", ["{", machine_text(SMALL, digest=64 * "0")])
def test_another_or_a_broken_one_is_ignored_with_a_warning(content, tmp_path):
    wk.write_swf(LOG, tmp_path / "log.swf")
    (tmp_path / "log.swf.machine.json").write_text(content)
    with pytest.warns(wk.WorkloadWarning, match=r"log\.swf\.machine\.json.*ignored"):
        assert wk.read_swf(tmp_path / "log.swf").machine is None


def test_partitions_that_share_nodes_are_one_group():
    def machine(*sets):
        kinds = [NodeType(count=1, cores=1, partitions=tuple(parts)) for parts in sets]
        return MachineDescription(nodes=kinds, partitions=[Partition(name=name) for name in "abcd"])

    assert machine("a", "b").groups == (("a",), ("b",), ("c",), ("d",))
    assert machine("ab", "cd", "bc").groups == (("a", "b", "c", "d"),)
    assert machine("ad", "b").groups == (("a", "d"), ("b",), ("c",))
    assert [kind.partitions for kind in machine("ab", "b").nodes_of("b")] == [("a", "b"), ("b",)]


CONF = """# a site
ClusterName=hpc   SlurmctldHost=head(10.0.0.1)
Licenses=matlab:10,ansys@server
nodename=DEFAULT Sockets=2 CoresPerSocket=8 RealMemory=64000 State=UNKNOWN  # defaults
NodeName=n[001-016,020] Feature=avx,ib NodeAddr=10.1.0.[1-17]
NodeName=m[1-4] RealMemory=256000 MemSpecLimit=6000 CoreSpecCount=2 \\
    Gres=gpu:a100:4(S:0-1),gpu:t4:1,bandwidth:lustre:no_consume:4G
NodeName=DEFAULT RealMemory=1000
Include more.conf
NodeSet=fast Nodes=m[1-2] Feature=quick
PartitionName=DEFAULT MaxTime=1-0 State=UP
PartitionName=batch Nodes=n[001-016] Default=YES
PartitionName=all Nodes=ALL MaxTime=30:01 PriorityTier=3 Shared=EXCLUSIVE AllowGroups="a, b"
PartitionName=fast Nodes=fast MaxNodes=2 MaxTime=UNLIMITED
"""
MORE = """NodeName=q1 CPUs=64 Features=quick
NodeName=z[1-9] State=FUTURE
SwitchName=leaf Nodes=n[001-016]
SwitchName=root Switches=leaf LinkSpeed=9
"""


def test_slurm_conf(tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "more.conf").write_text(MORE)
    conf = read_slurm_conf(tmp_path / "slurm.conf")
    avx = {"cores": 16, "memory": 64_000 << 10, "features": ("avx", "ib")}
    gpu = {"cores": 14, "memory": 250_000 << 10, "gpus": 5}
    assert conf.machine == MachineDescription(
        nodes=(
            NodeType(count=16, **avx, partitions=("batch", "all"), names="n[001-016]"),
            NodeType(count=1, **avx, partitions=("all",), names="n020"),
            NodeType(count=2, **gpu, partitions=("all", "fast"), names="m[1-2]"),
            NodeType(count=2, **gpu, partitions=("all",), names="m[3-4]"),
            NodeType(
                count=1,
                cores=64,
                memory=1000 << 10,
                features=("quick",),
                partitions=("all", "fast"),
                names="q1",
            ),
        ),
        partitions=(
            Partition(name="batch", max_time=86_400, exclusive=False, default=True),
            Partition(name="all", max_time=1860, tier=3, exclusive=True),
            Partition(name="fast", max_nodes=2, exclusive=False),
        ),
        pools={"matlab": 10, "ansys@server": 1},
        switches=(Switch(name="leaf", nodes="n[001-016]"), Switch(name="root", switches=("leaf",))),
    )
    assert conf.left_out == tuple(f"z{n}" for n in range(1, 10))
    assert [*conf.unused] == [
        *("ClusterName", "NodeName.NodeAddr", "PartitionName.AllowGroups", "PartitionName.State"),
        *("SlurmctldHost", "SwitchName.LinkSpeed"),
    ]


def test_times_of_slurm_conf(tmp_path):
    path = tmp_path / "slurm.conf"
    for written, seconds in (
        *(("90", 5400), ("1:30", 120), ("2:00:00", 7200), ("2-12", 216_000), ("0-0:5", 300)),
        *(("1-2:3:4", 93_840), ("INFINITE", None), ("UNLIMITED", None)),
    ):
        path.write_text(f"NodeName=a\nPartitionName=p Nodes=a MaxTime={written}\n")
        assert read_slurm_conf(path).machine.partitions[0].max_time == seconds


def test_errors_in_slurm_conf(tmp_path):
    path = tmp_path / "slurm.conf"
    for content, message in (
        ("ClusterName=x", r"slurm\.conf: describes no nodes"),
        ("NodeName=n[1-", r"line 1, field NodeName: not a list of nodes"),
        ("NodeName=a\nNodeName=a", r"line 2, field NodeName: a node that is already defined: 'a'"),
        ("NodeName=a CPUs=x", r"line 1, field CPUs: not a whole number: 'x'"),
        ("NodeName=a CPUs=2 CoreSpecCount=2", "leaves no processors for jobs: '2'"),
        ("NodeName=a CPUs=0", "field CPUs: has no processors: '0'"),
        ("NodeName=a\nSwitchName=s Nodes=a[", "line 2: not a list of nodes"),
        ("NodeName=a\nLicenses=x:1,x:2", "field Licenses: without a name, or repeated: 'x:2'"),
        ("NodeName=a Gres=gpu::", "field Gres: not a list such as gpu:a100:4"),
        ("NodeName=a\nPartitionName=p Nodes=b", "line 2, field Nodes: a node that is not defined"),
        ("NodeName=a\nPartitionName=p MaxTime=soon", "field MaxTime: not a time"),
        ("NodeName=a\nthis is no setting", "line 2: not a setting such as NodeName=n1"),
        ("NodeName=a\nLicenses=x:many", "field Licenses: not a list such as matlab:10"),
        ("NodeName=a\nInclude none.conf", "line 2, field Include: no such file: 'none.conf'"),
        ("NodeName=a\nInclude slurm.conf", "includes itself"),
        ("NodeName=a\nPartitionName=p\nPartitionName=p", "partition 'p' is repeated"),
    ):
        path.write_text(content + "\n")
        with pytest.raises(wk.FormatError, match=message):
            read_slurm_conf(path)
