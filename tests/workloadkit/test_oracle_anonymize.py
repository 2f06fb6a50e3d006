"""Nothing that names anybody survives in the output of an anonymous import."""

import gzip
import io
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workloadkit as wk

KEY = b"of this site only"

#: Each stands somewhere in the accounting of every kind; `é` and capitals survive no other way.
SECRETS = (
    "alicesecret", "bobsecret", "groupsecret", "accountsecret", "hostsecret", "clustersecret",
    "jobnamesecret", "pathsecret", "commentsecret", "queuesecret", "partitionsecret", "qossecret",
    "reasonsecret", "statesecret", "mailsecret", "commandsecret", "departmentsecret",
)  # fmt: skip
IDS = ("987651", "987652")


def slurm():
    names = (
        "JobIDRaw|JobID|Cluster|Partition|QOS|Account|Group|User|Submit|Eligible|Start|End|Elapsed"
        "|State|ExitCode|NNodes|AllocCPUS|ReqCPUS|ReqMem|AllocTRES|Reason|NodeList|WorkDir"
        "|Comment|JobName"
    )
    rows = [
        f"{number}|{number}_4|clustersecret|partitionsecret|qossecret|accountsecret|groupsecret"
        f"|{user}|2024-05-01T08:00:00|2024-05-01T08:00:00|{start}|2024-05-01T09:00:00|01:00:00"
        f"|{state}|0:0|1|4|4|4G|cpu=4,license/statesecret=1|reasonsecret|hostsecret01"
        f"|/home/pathsecret|commentsecret|jobnamesecret"
        for number, user, start, state in (
            (IDS[0], "alicesecret", "2024-05-01T08:00:30", "COMPLETED"),
            (IDS[1], "bobsecret", "2024-05-01T08:00:30", "CANCELLED by 987651"),
            (IDS[1], "bobsecret", "Unknown", "STATESECRET"),
        )
    ]
    return "\n".join([names, *rows]) + "\n"


def pbs():
    return "".join(
        f"05/01/2024 09:00:00;E;{number}.hostsecret;user={user} group=groupsecret "
        f'account="accountsecret" project=accountsecret jobname=jobnamesecret queue=queuesecret '
        f"ctime=1714550400 qtime=1714550400 etime=1714550400 start=1714550430 "
        f"owner={user}@hostsecret exec_host=hostsecret/0*4 comment=commentsecret "
        f"Resource_List.host=hostsecret Resource_List.walltime=01:00:00 "
        f"submit_arguments=/pathsecret/commandsecret end=1714554000 Exit_status=0 "
        f"resources_used.walltime=00:59:30\n"
        for number, user in zip(IDS, SECRETS, strict=False)
    )


def lsf():
    usage = " 0" * 19
    return "".join(
        f'"JOB_FINISH" "9.11" 1714554000 {number} 500 0 4 1714550400 0 0 1714550430 "{user}" '
        f'"queuesecret" "statesecret" "" "" "hostsecret" "/pathsecret" "" "" "" "f" 0 1 '
        f'"4*hostsecret" 64 1.0 "jobnamesecret" "commandsecret ""x"""{usage} "mailsecret" '
        f'"accountsecret" 0 4 "" "" 0 8000 0 "/pathsecret" "" "" "departmentsecret" 0 '
        f'"commentsecret" 0 "" -1 "/groupsecret/{user}" "" "qossecret" "" -1 "/groupsecret"\n'
        for number, user in zip(IDS, SECRETS, strict=False)
    )


def sge():
    return "".join(
        f"queuesecret:hostsecret:groupsecret:{user}:jobnamesecret:{number}:accountsecret:0:"
        f"1714550400:1714550430:1714554000:0:0:3570:1.0:0.1:1.0:{'0:' * 14}partitionsecret:"
        f"departmentsecret:mpi:4:0:2.0:1.0:0.0:-u alicesecret -q queuesecret -l h_rt=90:0.0:NONE:"
        f"1.0:0:0\n"
        for number, user in zip(IDS, SECRETS, strict=False)
    )


FORMATS = {"slurm": slurm, "pbs": pbs, "lsf": lsf, "sge": sge}


def convert(folder, kind, *options):
    """Run the command; all bytes that come out of it, by where they came out."""
    source = folder / "secret-free-name.acct"
    source.write_text(FORMATS[kind]())
    command = [sys.executable, "-W", "error::DeprecationWarning", "-m", "workloadkit", "convert"]
    reported = subprocess.run(
        [*command, source, "-o", "out.swf.gz", "--from", kind, "--json", "intake.json", *options],
        cwd=folder, capture_output=True, check=False,
    )  # fmt: skip
    assert reported.returncode == 0, reported.stderr
    beside = folder / "out.swf.gz.parquet"
    table = pq.read_table(beside)
    texts = [str(table.schema), str(table.schema.metadata)]
    for column in table.column_names:
        texts += map(repr, table[column].to_pylist())
        for chunk in table[column].chunks:
            words = chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else pa.array([])
            texts += map(repr, words.to_pylist())
    return {
        "log": gzip.decompress((folder / "out.swf.gz").read_bytes()),
        "compressed": (folder / "out.swf.gz").read_bytes(),
        "parquet": beside.read_bytes(),
        "columns": "\n".join(texts).encode(),
        "stdout": reported.stdout,
        "stderr": reported.stderr,
        "json": (folder / "intake.json").read_bytes(),
    }


def found(outputs, words):
    return [
        (where, word)
        for where, text in outputs.items()
        for word in words
        if word.lower().encode() in text.lower()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("keyed", [False, True])
def test_no_secret_comes_out_of_the_command(kind, keyed, tmp_path):
    (tmp_path / "key").write_bytes(KEY)
    options = ("--key", "key") if keyed else ()
    outputs = convert(tmp_path, kind, "--anonymize", *options)
    assert not found(outputs, (*SECRETS, *IDS, "of this site"))
    # and the test sees what is there: without the option the names come out
    plain = convert(tmp_path, kind)
    assert {word for _, word in found(plain, SECRETS)} >= {"alicesecret", "bobsecret"}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
def test_no_secret_is_in_what_is_read_or_written(kind, key, tmp_path):
    read = getattr(wk, f"read_{kind}")
    trace = read(io.BytesIO(FORMATS[kind]().encode()), anonymize=True, key=key, attempts=True)
    path = tmp_path / "out.swf"
    wk.write_swf(trace, path)
    table = pq.read_table(tmp_path / "out.swf.parquet")
    outputs = {
        "log": path.read_bytes(),
        "parquet": (tmp_path / "out.swf.parquet").read_bytes(),
        "columns": "\n".join(repr(table[name].to_pylist()) for name in table.column_names).encode(),
        "metadata": str(table.schema.metadata).encode(),
        "intake": (str(trace.intake) + json.dumps(trace.intake.to_dict())).encode(),
        "trace": repr((trace.header.lines, trace.name, trace.repairs)).encode(),
        "sidecar": trace.sidecar.to_csv().encode(),
        "categories": repr(
            [
                trace.sidecar[name].cat.categories.tolist()
                for name in trace.sidecar.select_dtypes("category")
            ]
        ).encode(),
    }
    assert not found(outputs, (*SECRETS, *IDS))


@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
def test_a_key_gives_the_same_numbers_in_each_log():
    text = slurm()
    turned = "\n".join([text.splitlines()[0], *text.splitlines()[:0:-1]]) + "\n"

    def numbers(text, key):
        trace = wk.read_slurm(io.BytesIO(text.encode()), anonymize=True, key=key)
        plain = wk.read_slurm(io.BytesIO(text.encode()))
        names = plain.sidecar["user"].astype(str)
        return dict(zip(names, trace.column("user").tolist(), strict=True))

    one, other = numbers(text, KEY), numbers(turned, KEY)
    assert one == other
    assert set(one) == {"alicesecret", "bobsecret"}
    assert len(set(one.values())) == 2
    assert not set(numbers(text, b"another key").values()) & set(one.values())
    assert set(numbers(text, None).values()) == {1, 2}
    assert numbers(text, None) == {"alicesecret": 1, "bobsecret": 2}


@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
def test_one_name_of_two_kinds_has_two_numbers():
    text = slurm().replace("groupsecret", "alicesecret").replace("partitionsecret", "alicesecret")
    trace = wk.read_slurm(io.BytesIO(text.encode()), anonymize=True, key=KEY)
    user, group, partition = (trace.column(name)[0] for name in ("user", "group", "partition"))
    assert len({int(user), int(group), int(partition)}) == 3


def test_a_key_without_anonymity_is_wrong_usage():
    with pytest.raises(wk.ParameterError):
        wk.read_slurm(io.BytesIO(slurm().encode()), key=KEY)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
def test_no_secret_of_a_log_with_names_is_in_the_anonymous_one(kind, tmp_path):
    named = getattr(wk, f"read_{kind}")(io.BytesIO(FORMATS[kind]().encode()), attempts=True)
    wk.write_swf(named, tmp_path / "named.swf")
    named = wk.read_swf(tmp_path / "named.swf")
    made = wk.anonymize(named)
    wk.write_swf(made, tmp_path / "out.swf")
    table = pq.read_table(tmp_path / "out.swf.parquet")
    outputs = {
        "log": (tmp_path / "out.swf").read_bytes(),
        "parquet": (tmp_path / "out.swf.parquet").read_bytes(),
        "columns": "\n".join(repr(table[name].to_pylist()) for name in table.column_names).encode(),
        "metadata": str(table.schema.metadata).encode(),
        "trace": repr((made, made.name, made.repairs, made.changes)).encode(),
    }
    machine = tmp_path / "out.swf.machine.json"
    if named.machine is not None:
        outputs["machine"] = machine.read_bytes()
    dates = ["2024", "1714550400", named.digest]
    assert not found(outputs, (*SECRETS, *IDS, *dates))
    assert {word for _, word in found({"plain": repr(vars(named)).encode()}, SECRETS)}
    written = {tmp_path / "out.swf", tmp_path / "out.swf.parquet"}
    assert {*tmp_path.glob("out*")} == written | ({machine} if named.machine else set())
