"""What becomes of a job if one field of its record is missing, unknown or zero: that alone."""

import io

import numpy as np
import pytest

import workloadkit as wk

NAN = np.nan
LEFT_OUT = "left out"

SLURM = {
    "JobID": "7", "JobIDRaw": "7", "Cluster": "hpc", "Partition": "batch", "QOS": "high",
    "Account": "phys", "Group": "staff", "User": "al", "Submit": "2024-05-01T08:00:00",
    "Eligible": "2024-05-01T08:00:30", "Start": "2024-05-01T08:01:00",
    "End": "2024-05-01T09:02:00", "ElapsedRaw": "3600", "Suspended": "00:01:00",
    "State": "COMPLETED", "ExitCode": "0:0", "NNodes": "2", "AllocCPUS": "8", "ReqCPUS": "6",
    "ReqMem": "4Gn", "AllocTRES": "cpu=8,gres/gpu=2,node=2", "NodeList": "n[1-2]",
    "Constraints": "ib&ssd", "TimelimitRaw": "90",
    "TotalCPU": "04:00:00", "ConsumedEnergyRaw": "7200", "MaxRSS": "80K", "NTasks": "1",
    "Reason": "None", "JobName": "a.out",
}  # fmt: skip

# By column: what differs where it is empty, unknown or absent; and where it is 0, if not the same.
_NEVER_STARTED = {
    "nodes": NAN, "procs": NAN, "requested_nodes": 2, "run": NAN, "start": NAN, "wait": 3720,
}  # fmt: skip
OF_SLURM = {
    "JobIDRaw": ({}, None),
    "Cluster": ({"cluster": ""}, {"cluster": "0"}),
    "Partition": ({"partition": ""}, {"partition": "0"}),
    "QOS": ({"qos": ""}, {"qos": "0"}),
    "Account": ({"account": ""}, {"account": "0"}),
    "Group": ({"group": ""}, {"group": "0"}),
    "User": ({"user": ""}, {"user": "0"}),
    "Submit": ({"submit": NAN, "wait": 30}, None),  # waits are counted from Eligible
    "Eligible": ({"eligible": NAN}, None),
    "Start": (_NEVER_STARTED, None),
    "End": ({}, None),  # Elapsed and Suspended tell it
    "ElapsedRaw": ({}, {"run": 0}),  # Start, End and Suspended tell it
    "Suspended": ({"suspended": NAN}, {"suspended": 0}),
    "State": ({"state": "", "status": -1}, {"state": "0", "status": -1}),
    "ExitCode": ({"exit_code": ""}, {"exit_code": "0"}),
    "NNodes": ({"nodes": NAN, "requested_memory": NAN}, None),  # 4 GB each
    "AllocCPUS": ({}, {"cpu": NAN, "memory": NAN, "procs": NAN}),  # AllocTRES tells it
    "ReqCPUS": ({"requested_memory": 2 * 4 * 2**20 / 8, "requested_procs": NAN}, None),
    "ReqMem": ({"requested_memory": NAN, "requested_memory_per": ""}, None),  # 0 is all there is
    "AllocTRES": ({"gpus": NAN}, {"gpus": 0}),
    "NodeList": ({"node_list": ""}, {"node_list": "0"}),
    "Constraints": ({"features": ""}, {"features": "0"}),
    "TimelimitRaw": ({"requested_time": NAN}, None),
    "TotalCPU": ({"cpu": NAN}, {"cpu": 0}),
    "ConsumedEnergyRaw": ({"energy": NAN}, None),  # 0 is printed if nothing was measured
    "MaxRSS": ({"memory": NAN}, {"memory": 0}),
    "NTasks": ({}, None),
    "Reason": ({}, {"reason": "0"}),
    "JobName": ({"executable": ""}, {"executable": "0"}),
}

PBS = (
    "user=al group=g1 account=phys jobname=run.sh queue=long ctime=1451606400 qtime=1451606400 "
    "etime=1451606410 start=1451606500 exec_host=n1/0*4+n2/0*4 Resource_List.walltime=01:00:00 "
    "Resource_List.ncpus=6 Resource_List.mem=600kb Resource_List.nodect=2 end=1451610100 "
    "Exit_status=0 resources_used.cput=04:00:00 resources_used.mem=800kb "
    "resources_used.walltime=00:50:00"
)
OF_PBS = {
    "user": ({"user": ""}, {"user": "0"}),
    "group": ({"group": ""}, {"group": "0"}),
    "account": ({"account": ""}, {"account": "0"}),
    "jobname": ({"executable": ""}, {"executable": "0"}),
    "queue": ({"queue": ""}, {"queue": "0"}),
    "ctime": ({}, None),  # qtime tells it
    "qtime": ({}, None),
    "etime": ({"eligible": NAN}, None),
    "start": ({"start": 1451610100 - 3000, "suspended": NAN, "wait": 700}, None),
    "exec_host": (  # what was asked for
        {"cpu": 2400, "memory": 133, "nodes": NAN, "procs": 6, "node_list": ""},
        # a host of this name
        {"cpu": 14400, "memory": 800, "nodes": NAN, "procs": 1, "node_list": "1*0"},
    ),
    "Resource_List.walltime": ({"requested_time": NAN}, {"requested_time": 0}),
    "Resource_List.ncpus": ({"requested_memory": 300, "requested_procs": 2}, None),
    "Resource_List.mem": (
        {"requested_memory": NAN, "requested_memory_per": ""},
        {"requested_memory": 0},
    ),
    "Resource_List.nodect": ({"requested_nodes": NAN}, {"requested_nodes": 0}),
    "end": ({"end": NAN, "suspended": NAN}, None),
    "Exit_status": ({"exit_code": "", "status": -1}, {}),
    "resources_used.cput": ({"cpu": NAN}, {"cpu": 0}),
    "resources_used.mem": ({"memory": NAN}, {"memory": 0}),
    "resources_used.walltime": ({"run": 3600, "suspended": NAN}, None),
}

LSF = [
    '"JOB_FINISH"', '"9.11"', 1389686400, 7, 500, 33882739, 4, 1389642318, 0, 0, 1389642400,
    '"ann"', '"night"', *4 * ['""'], '"/home"', '""', '""', '""', '"138.4"', 1, '"h1"', 2,
    '"4*h1"', '"4*h2"', 64, '"60.0"', '"wrf"', '"cmd"', 5793.25, 679.06, 966960, *16 * [0], '""',
    '"climate"', 0, 4, '""', '""', 0, 10725376, 0, *4 * ['""'], 0, '""', 0,
]  # fmt: skip
OF_LSF = {  # by the place of the field: where it is -1 or an empty word, and where it is 0
    2: (LEFT_OUT, None),  # when it ended
    6: ({"requested_procs": NAN}, None),
    7: (LEFT_OUT, None),  # when it was submitted
    10: (  # when it started
        dict.fromkeys(("cpu", "memory", "nodes", "procs", "run", "start"), NAN)
        | {"wait": 44082, "node_list": ""},
        None,
    ),
    11: ({"user": ""},),
    12: ({"queue": ""},),
    25: (
        {
            "cpu": (5793.25 + 679.06) / 5,
            "memory": 10725376 / 5,
            "procs": 5,
            "node_list": "4*h2",
        },
    ),
    29: ({"executable": "cmd"},),
    31: ({"cpu": NAN}, {"cpu": 679.06 / 8}),  # user time; and system time
    32: ({"cpu": NAN}, {"cpu": 5793.25 / 8}),
    51: ({"account": ""},),
    52: ({"exit_code": "-1"}, {}),
    57: ({"memory": NAN}, None),
}

SGE = [
    "long", "host", "g1", "al", "run.sh", "7", "phys", "0", "1310761621", "1310761681",
    "1310765281", "0", "0", "3600", "60.05", "0.08", "104188.0", *14 * ["0"], "NONE",
    "defaultdepartment", "mpi", "8", "0", "14400.0", "7.3", "0.0", "-l h_rt=36000", "0.0", "NONE",
    "189153280.0", "0", "0",
]  # fmt: skip
_FROM_USAGE = {"cpu": (60.05 + 0.08) / 8}
OF_SGE = {  # by the place of the field: where it is empty, and where it is 0
    0: ({"queue": ""}, {"queue": "0"}),
    2: ({"group": ""}, {"group": "0"}),
    3: ({"user": ""}, {"user": "0"}),
    4: ({"executable": ""}, {"executable": "0"}),
    6: ({"account": ""}, {"account": "0"}),
    8: (LEFT_OUT, None),  # when it was submitted
    9: (  # when it started
        LEFT_OUT,
        {"procs": NAN, "run": NAN, "start": NAN, "status": 5, "wait": 3660},
    ),
    10: (LEFT_OUT, {"end": NAN, "run": NAN}),
    13: ({}, None),  # ru_wallclock
    16: ({"memory": 189153280 / 1024 / 8}, None),  # maxvmem tells something like it
    34: (dict.fromkeys(("cpu", "memory", "procs", "requested_procs"), NAN), None),
    36: (_FROM_USAGE, None),
    39: ({"requested_time": NAN}, None),
}


def read(name, text):
    return getattr(wk, f"read_{name}")(io.BytesIO(text.encode()))


def record(name, text, id_):
    """What the side-car contains of a job, and its wait; None if it is left out."""
    trace = read(name, text)
    rows = np.flatnonzero(trace.sidecar["id"] == id_)
    if not rows.size:
        return None
    (row,) = rows
    sidecar = trace.sidecar.drop(columns=["place", "submit_by"]).iloc[row].to_dict()
    return sidecar | {"wait": trace.column("wait")[row]}


def cases():
    """Every format, field and blank, and the change to expect."""
    for name, table in (("slurm", OF_SLURM), ("pbs", OF_PBS), ("lsf", OF_LSF), ("sge", OF_SGE)):
        for field, (unknown, *zero) in table.items():
            for blank in ("unknown", "absent"):
                if name in ("slurm", "pbs") and (field, blank) not in SHOWN_ELSEWHERE:
                    yield name, field, blank, unknown
            if name in ("lsf", "sge"):
                yield name, field, "unknown", unknown
            if zero:
                yield name, field, "0", unknown if zero[0] is None else zero[0]


#: Without these columns the export is another, or none: `test_slurm`, `test_slurm_without_submit`.
SHOWN_ELSEWHERE = {("Submit", "absent"), ("Start", "absent"), ("State", "absent")}


def slurm(blanked=None, blank=""):
    names = [name for name in SLURM if (name, "absent") != (blanked, blank)]
    other = SLURM | {"JobID": "6", "JobIDRaw": "6", "Submit": "2024-05-01T07:00:00"}
    row = SLURM | ({blanked: {"unknown": "", "0": "0"}.get(blank)} if blanked else {})
    lines = [names, *([one[name] for name in names] for one in (other, row))]
    return "".join("|".join(line) + "\n" for line in lines), "7"


def pbs(blanked=None, blank=""):
    words = []
    for word in PBS.split():
        name = word.partition("=")[0]
        if name != blanked:
            words.append(word)
        elif blank != "absent":
            words.append(f"{name}={'0' if blank == '0' else ''}")
    lines = (f"6.host;{PBS}", f"7.host;{' '.join(words)}")
    return "".join(f"01/01/2016 02:00:00;E;{line}\n" for line in lines), "7.host"


def lsf(blanked=None, blank=""):
    words = list(LSF)
    if blanked is not None:
        unknown = '""' if isinstance(words[blanked], str) else -1
        words[blanked] = 0 if blank == "0" else unknown
    other = [*LSF[:3], 6, *LSF[4:]]
    return "".join(" ".join(map(str, line)) + "\n" for line in (other, words)), "7"


def sge(blanked=None, blank=""):
    words = list(SGE)
    if blanked is not None:
        words[blanked] = "0" if blank == "0" else ""
    other = [*SGE[:5], "6", *SGE[6:]]
    return "".join(":".join(line) + "\n" for line in (other, words)), "7"


@pytest.mark.parametrize(
    "blanks", [("unknown",), pytest.param(("0", "absent"), marks=pytest.mark.slow)]
)
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_one_blank_field_changes_what_it_means_and_nothing_else(blanks):
    exports = {"slurm": slurm, "pbs": pbs, "lsf": lsf, "sge": sge}
    whole = {name: record(name, *make()) for name, make in exports.items()}
    for name, field, blank, change in (case for case in cases() if case[2] in blanks):
        make = exports[name]
        found = record(name, *make(field, blank))
        if change == LEFT_OUT:
            assert found is None
            trace = read(name, make(field, blank)[0])
            assert [repair.count for repair in trace.intake.left_out] == [1]
            continue
        expected = whole[name] | change
        for what, value in expected.items():
            if isinstance(value, str):
                assert found[what] == value, what
            else:  # memory is in whole KB
                assert found[what] == pytest.approx(value, rel=1e-3, nan_ok=True), what


def test_run_times_follow_from_the_fields_that_are_left():
    """Without Elapsed, End less Start is the run time and, if that is known, the time suspended."""

    def run(**without):
        names = [name for name in SLURM if name not in without["absent"]]
        text = "".join("|".join(line) + "\n" for line in (names, [SLURM[n] for n in names]))
        return record("slurm", text, "7")["run"]

    assert run(absent=["ElapsedRaw"]) == 3600
    assert run(absent=["ElapsedRaw", "Suspended"]) == 3660
    assert run(absent=["End", "Suspended"]) == 3600


def steps(*rows):
    """An export of job 7, which does not know its CPU time, and of steps."""
    names = list(SLURM)
    job = SLURM | {"TotalCPU": "", "MaxRSS": ""}
    lines = [names, *([(job | row)[name] for name in names] for row in rows)]
    return "".join("|".join(line) + "\n" for line in lines)


def test_steps_count_once_wherever_they_stand():
    """Right under their job, before it or after another; each adds to the CPU time of the job."""
    job, other = {}, {"JobID": "8", "JobIDRaw": "8"}
    batch = {"JobID": "7.batch", "JobIDRaw": "7.batch", "TotalCPU": "01:00:00", "MaxRSS": "40K"}
    one = {"JobID": "7.0", "JobIDRaw": "7.0", "TotalCPU": "03:00:00", "MaxRSS": "80K"}
    for rows in (
        [job, batch, one, other],
        [job, batch, other, one],
        [job, other, batch, one],
        [batch, one, job, other],
        [batch, job, one, other],
        [one, other, job, batch],
    ):
        found = record("slurm", steps(*rows), "7")
        assert (found["cpu"], found["memory"]) == (4 * 3600 / 8, 10), rows
        assert np.isnan(record("slurm", steps(*rows), "8")["cpu"])
