"""Batsim's workloads: what is read, what is refused, and logs that go there and back."""

import hashlib
import io
import json
import warnings
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import workloadkit as wk
from tests.data import TRACES, needs_traces, trace_path
from tests.examples import examples
from tests.workloadkit.test_swf_properties import HEADERS, JOBS
from workloadkit import Header, Trace
from workloadkit.fields import FIELDS
from workloadkit.io import batsim
from workloadkit.io.batsim import looks_like, writing

PROFILES = {
    "short": {"type": "delay", "delay": 20.2},
    "long": {"type": "delay", "delay": 3600},
    "homogeneous": {"type": "parallel_homogeneous", "cpu": 1e7, "com": 1e6},
    "sequence": {"type": "composed", "repeat": 4, "seq": ["short", "long"]},
}


def job(name="1", **changes):
    return {"id": name, "subtime": 10, "res": 4, "walltime": 60, "profile": "short"} | changes


def without(key):
    return {k: v for k, v in job().items() if k != key}


def read(*jobs, **changes):
    return read_text(json.dumps({"nb_res": 8, "jobs": jobs, "profiles": PROFILES} | changes))


def read_text(text):
    return wk.read_batsim(io.BytesIO(text.encode(errors="surrogatepass")))


def written(trace):
    stream = io.BytesIO()
    fake = mock.MagicMock(__enter__=lambda _: stream)
    with mock.patch.object(writing, "writing", lambda path: fake):
        wk.write_batsim(trace, "anywhere")
    return stream.getvalue().decode()


def without_counts(header):
    return header.without("MaxJobs").without("MaxRecords").lines


def check_there_and_back(trace):
    """All that Batsim can simulate comes back equal, and the header."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is left out
        again = read_text(written(trace))
    kept = trace.select(trace.ran & (trace.column("submit") >= 0))
    pd.testing.assert_frame_equal(again.jobs, kept.jobs)
    assert without_counts(again.header) == without_counts(trace.header)
    if kept.n_jobs == trace.n_jobs and not len(trace.bursts):
        assert again.header == trace.header
    assert again.sidecar is None


def test_a_workload_worked_by_hand():
    trace = read(job("b", subtime=20.5, profile="long"), job("a", walltime=-1), without("walltime"))
    columns = ["job", "submit", "run", "procs", "requested_procs", "requested_time"]
    assert trace.jobs[columns].iloc[0].tolist()[:5] == [1, 10, 20.2, 4, 4]
    assert trace.jobs["run"].tolist() == [20.2, 20.2, 3600]
    np.testing.assert_array_equal(trace.jobs["requested_time"], [np.nan, np.nan, 60])
    assert trace.jobs["wait"].isna().all()
    assert trace.sidecar["id"].tolist() == ["a", "1", "b"]
    assert trace.header.lines == ("; MaxProcs: 8",)


@pytest.mark.parametrize(
    ("names", "numbers", "beside"),
    [
        (["7", 3], [7, 3], False),
        (["w0!7", "w0!3"], [7, 3], False),
        (["w0!7", "w1!7"], [1, 2], True),
        (["7", "x"], [1, 2], True),
        (["007", "7"], [1, 2], True),
    ],
)
def test_ids(names, numbers, beside):
    trace = read(*(job(name) for name in names))
    assert trace.jobs["job"].tolist() == numbers
    assert (trace.sidecar is not None) is beside
    if beside:
        assert trace.sidecar["id"].tolist() == names


def runs(profiles):
    """The run times of jobs with each of the profiles."""
    jobs = [job(str(i), profile=name) for i, name in enumerate(profiles)]
    return read(*jobs, profiles=profiles).jobs["run"].tolist()


def test_a_sequence_of_delays_is_their_sum():
    three, ten = {"type": "DelayProfile", "delay": 3}, {"type": "delay", "delay": 10}
    sequence = "SequentialCompositionProfile"
    assert runs(
        {
            "nested": {"type": sequence, "seq": ["w0!twice", "three"]},
            "twice": {"type": "composed", "repeat": 2, "seq": ["three", "ten", "three"]},
            "once": {"type": sequence, "seq": ["ten"]},
            "of Batsim 2": {"type": "composed", "nb": 4, "seq": ["three"]},
            "three": three,
            "ten": ten,
        }
    ) == [35, 32, 10, 12, 3, 10]


def test_a_long_chain_of_sequences():
    chain = {f"p{i}": {"type": "composed", "seq": [f"p{i + 1}"]} for i in range(5000)}
    assert set(runs(chain | {"p5000": {"type": "delay", "delay": 7}})) == {7}


@pytest.mark.parametrize(
    "kind", ["parallel_homogeneous", "ParallelTaskHomogeneousProfile", "TraceReplayProfile", "x"]
)
def test_jobs_that_need_a_platform_are_refused_by_name(kind):
    profiles = PROFILES | {"it": {"type": kind}, "two": {"type": "composed", "seq": ["it"]}}
    assert read(job(), profiles=profiles).n_jobs == 1  # no job has one
    for name in ("it", "two"):
        message = rf"field jobs\[1\]\.profile: .* type '{kind}' takes a time .* known types: delay,"
        with pytest.raises(wk.FormatError, match=message):
            read(job(), job("2", profile=name), profiles=profiles)


def test_what_is_not_read_is_noted():
    trace = read(
        job("1", must_be_local=True), job("2", profile="long", swf={"color": 3, "user": 4})
    )
    assert trace.jobs["user"].tolist() == [-1, 4]
    assert [repair.kind for repair in trace.repairs] == [
        "key of jobs that is not read: 'must_be_local'",
        "key under 'swf' that is not read: 'color'",
        "jobs that Batsim stops at their walltime, kept as they are",
    ]
    many = read(job("1", **{f"key{i}": 0 for i in range(90)}))
    assert len(many.repairs) == 51


def test_a_job_may_run_to_its_walltime():
    assert read(job(walltime=20.2)).repairs == ()


def test_no_resources_recorded():
    assert read_text(json.dumps({"jobs": [job()], "profiles": PROFILES})).header.procs is None


def test_what_is_no_workload():
    for text, message in (
        ("", "is empty"),
        (" \n ", "is empty"),
        (
            '{"nb_res": 8,\n "jobs" []}',
            "line 2: not JSON at column 9: Expecting ':' delimiter",
        ),
        ('{"nb_res": 8', "not JSON at column"),
        ("[" * 100_000, "JSON is nested too deeply"),
        ('{"nb_res": ' + "9" * 5000 + "}", "a number is out of range: '999"),
        ('{"nb_res": NaN}', "not a JSON number: 'NaN'"),
        ('{"jobs": [], "jobs": []}', "repeated key: 'jobs'"),
        ('{"nb_res": 8, "jobs": [], "jobs": []}', "repeated key: 'jobs'"),
        ("[]", "not a JSON object"),
        ("{}", "field jobs: the array jobs is missing"),
        ('{"jobs": {}}', "field jobs: not an array: '{…}'"),
        ('{"jobs": []}', "field profiles: the object profiles is missing"),
        ('{"jobs": [], "profiles": []}', "field profiles: not an object: '[…]'"),
        ('{"jobs": [], "profiles": {}}', "field jobs: the workload has no jobs"),
    ):
        with pytest.raises(wk.FormatError) as caught:
            read_text(text)
        assert message in str(caught.value)


def test_jobs_that_are_refused():
    for jobs, message in (
        ([job(), 7], "field jobs[1]: not an object: '7'"),
        *([[without(key)], f"field jobs[0]: the key {key} is missing"] for key in ("id", "res")),
        ([without("profile")], "field jobs[0]: the key profile is missing"),
        ([without("subtime")], "field jobs[0]: the key subtime is missing"),
        ([job(True)], "field jobs[0].id: neither a string nor a whole number: 'true'"),
        ([job(1.5)], "field jobs[0].id: neither a string nor a whole number: '1.5'"),
        ([job(), job(1)], "field jobs[1].id: duplicate job id: '1'"),
        ([job(profile="none")], "field jobs[0].profile: unknown profile: 'none'"),
        ([job(profile=[1])], "field jobs[0].profile: unknown profile: '[…]'"),
        ([job(subtime="10")], "field jobs[0].subtime: not a number: '10'"),
        ([job(subtime=None)], "field jobs[0].subtime: not a number"),
        ([job(subtime=-1)], "field jobs[0].subtime: a negative time: '-1'"),
        ([job(subtime=10**30)], "field jobs[0].subtime: out of range"),
        ([job(subtime=10**400)], "a number is out of range: '1000"),
        ([job(res=-1)], "field jobs[0].res: not a whole number, 0 or more: '-1'"),
        ([job(res=2.5)], "field jobs[0].res: not a whole number, 0 or more: '2.5'"),
        ([job(res=True)], "field jobs[0].res: not a number: 'true'"),
        ([job(walltime=0)], "field jobs[0].walltime: neither a positive time nor -1"),
        ([job(walltime=-7)], "field jobs[0].walltime: neither a positive time nor -1"),
        ([job(walltime=None)], "field jobs[0].walltime: not a number"),
        ([job(swf={"wait": "x"})], "field jobs[0].swf.wait: not a number: 'x'"),
        ([job(swf={"user": 1.5})], "field jobs[0].swf.user: not an integer: '1.5'"),
        ([job(swf={"job": 2**63})], "field jobs[0].swf.job: out of range"),
    ):
        with pytest.raises(wk.FormatError) as caught:
            read(*jobs)
        assert message in str(caught.value)


def test_profiles_that_are_refused():
    for profile, message in (
        (7, 'profiles["p"]: not an object'),
        ({}, 'profiles["p"]: the key type is missing'),
        ({"type": 1}, 'profiles["p"]: the key type is missing'),
        ({"type": "delay"}, 'profiles["p"]: the key delay is missing'),
        ({"type": "delay", "delay": -1}, 'profiles["p"].delay: a negative time'),
        ({"type": "delay", "delay": "1"}, 'profiles["p"].delay: not a number'),
        ({"type": "delay", "delay": 1e300}, 'profiles["p"].delay: out of range'),
        ({"type": "composed"}, 'profiles["p"].seq: not an array of profiles'),
        ({"type": "composed", "seq": []}, 'profiles["p"].seq: not an array of profiles'),
        ({"type": "composed", "seq": "short"}, 'profiles["p"].seq: not an array of profiles'),
        ({"type": "composed", "seq": ["no"]}, "profiles[\"p\"].seq[0]: unknown profile: 'no'"),
        ({"type": "composed", "seq": ["p"]}, 'profiles["p"]: a sequence that contains itself'),
        ({"type": "composed", "seq": ["short"], "repeat": 0}, "repeat: not a whole number above"),
        ({"type": "composed", "seq": ["short"], "repeat": 1.5}, "repeat: not a whole number above"),
        ({"type": "composed", "seq": ["short"], "repeat": 1e18}, 'profiles["p"]: out of range'),
    ):
        with pytest.raises(wk.FormatError) as caught:
            read(job(), profiles=PROFILES | {"p": profile})
        assert message in str(caught.value)


@pytest.mark.parametrize("resources", [0, -1, 1.5, "8", True, None])
def test_resources_that_are_refused(resources):
    with pytest.raises(wk.FormatError, match="field nb_res"):
        read(job(), nb_res=resources)


@pytest.mark.parametrize("content", [7, {"header": 7}, {"left_out": 7}, {"header": ["no header"]}])
def test_what_others_put_under_our_key_does_no_harm(content):
    trace = read(job(), workloadkit=content)
    assert trace.header.lines == ("; MaxProcs: 8",)


def test_jobs_of_one_second_stay_in_the_order_of_the_file():
    trace = read(*(job(str(i), subtime=5 * (i % 2)) for i in range(1, 61)))
    assert trace.column("job").tolist() == [*range(2, 61, 2), *range(1, 61, 2)]


def test_jobs_that_take_no_time_or_no_resources_and_counts_of_0():
    profiles = {"none": {"type": "delay", "delay": 0}}
    trace = read(job(profile="none", res=0, subtime=0), profiles=profiles)
    columns = ["submit", "run", "procs"]
    assert trace.jobs[columns].to_numpy().tolist() == [[0, 0, 0]]
    assert read(job(), workloadkit={"left_out": {"never ran": 0}}).repairs == ()


def test_a_job_that_requested_no_processors_asks_for_those_that_it_used():
    columns = {"submit": [0], "run": [5], "procs": [4], "requested_procs": [0]}
    (made,) = json.loads(written(Trace.from_columns(columns)))["jobs"]
    assert (made["res"], made["swf"]) == (4, {"requested_procs": 0})


def test_the_most_resources_are_those_of_32_bits():
    columns = {"submit": [0, 0], "run": [5, 5], "procs": [2**31 - 1, 2**31]}
    with pytest.warns(
        wk.WorkloadWarning, match="1 of 2 jobs left out .* a fraction of a processor or too many"
    ):
        text = written(Trace.from_columns(columns))
    assert [made["res"] for made in json.loads(text)["jobs"]] == [2**31 - 1]


def test_no_utf_8():
    with pytest.raises(wk.FormatError, match="line 2: is not UTF-8, which JSON requires"):
        wk.read_batsim(io.BytesIO(b'{"nb_res": 8,\n"\xff": 1}'))


def test_more_text_than_is_believed():
    with (
        mock.patch.object(batsim, "MAX_TEXT", 50),
        pytest.raises(wk.FormatError, match="more than 1 GiB"),
    ):
        read(job())


def test_what_is_written():
    log = {
        "job": [5, 5, 6, 7, 8, 9],
        "submit": [0, 1, 2, 3, 4, 5],
        "wait": [3, 0, -1, -1, -1, -1],
        "run": [90, 90, 0, -1, 60.5, 60],
        "procs": [2, -1, 4, 4, -1, 2],
        "requested_procs": [4, 4, -1, 4, -1, 2],
        "requested_time": [600, 60, -1, 60, 60, 0],
    }
    trace = Trace.from_columns(log, header=Header(("; MaxProcs: 16",)))
    with pytest.warns(wk.WorkloadWarning, match="trace: 3 of 6 jobs left out for Batsim: 3 never"):
        workload = json.loads(written(trace))
    assert workload["nb_res"] == 16
    assert workload["workloadkit"] == {
        "batsim": 5,
        "header": ["; MaxProcs: 16"],
        "left_out": {"never ran": 3},
    }
    assert workload["profiles"] == {
        "delay 0": {"type": "DelayProfile", "delay": 0.001},
        "delay 60": {"type": "DelayProfile", "delay": 60},
        "delay 90": {"type": "DelayProfile", "delay": 90},
    }
    first, third, last = workload["jobs"]
    assert first == {
        "id": "5",
        "subtime": 0,
        "res": 4,
        "profile": "delay 90",
        "walltime": 600,
        "swf": {"procs": 2, "wait": 3},
    }
    assert third["swf"] == {"run": 0, "requested_procs": -1}
    assert "walltime" not in last
    assert last["swf"] == {"requested_time": 0}


def test_numbers_that_come_again_get_other_ids():
    log = {"job": [5, 5, -1, -1], "submit": [0, 1, 2, 3], "run": [1] * 4, "procs": [1] * 4}
    trace = Trace.from_columns(log)
    assert [job["id"] for job in json.loads(written(trace))["jobs"]] == ["5", "5.1", "-1", "-1.1"]
    check_there_and_back(trace)


def test_what_left_out_jobs_were_is_reported_on_reading():
    trace = Trace.from_columns({"submit": [0, 0], "run": [1, -1], "procs": [1, 1]})
    with pytest.warns(wk.WorkloadWarning):
        again = read_text(written(trace))
    kinds = [str(repair) for repair in again.repairs]
    assert kinds == ["jobs left out when the workload was written: never ran (once)"]


def test_a_header_that_counts_the_jobs_counts_those_that_are_left():
    log = {"submit": [0, 0], "run": [1, -1], "procs": [1, 1]}
    for stated, expected in ((2, 1), (99, 99)):  # what was not true before stays as it was
        header = Header((f"; MaxJobs: {stated}", f"; MaxRecords: {stated}"))
        with pytest.warns(wk.WorkloadWarning):
            again = read_text(written(Trace.from_columns(log, header=header)))
        assert again.header.lines == (f"; MaxJobs: {expected}", f"; MaxRecords: {expected}")


def test_the_last_end_of_a_header_is_of_the_jobs_that_are_left():
    log = {"submit": [0, 0, 50], "run": [1, -1, 9], "wait": [0, 90, 0], "procs": [1, 1, 0]}
    zone = ("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm")
    ends = "Mon Sep 23 14:02:01 CEST 1996", "Mon Sep 23 14:00:32 CEST 1996"
    trace = Trace.from_columns(log, header=Header((*zone, f"; EndTime: {ends[0]}")))
    with pytest.warns(wk.WorkloadWarning):
        assert read_text(written(trace)).header.get("EndTime") == ends[1]


def test_jobs_that_batsim_cannot_place():
    log = {"submit": [-1, 0, 0, 0], "run": [1] * 4, "procs": [1, 1.5, 3e8, 1]}
    with pytest.warns(
        wk.WorkloadWarning, match="1 submitted before second 0, 1 need a fraction of"
    ):
        workload = json.loads(written(Trace.from_columns(log)))
    assert [job["res"] for job in workload["jobs"]] == [300_000_000, 1]


def test_without_a_header_the_machine_is_as_large_as_the_largest_job_that_is_written():
    log = {"submit": [0, 1, 2], "run": [1, -1, 1], "procs": [2, 8, 1], "requested_procs": [3, 8, 1]}
    with pytest.warns(wk.WorkloadWarning, match="1 of 3 jobs left out"):
        assert json.loads(written(Trace.from_columns(log)))["nb_res"] == 3


def test_bursts_and_utility_functions_that_are_not_written_are_reported():
    trace = Trace.from_columns({"submit": [0], "run": [1], "procs": [1]})
    with pytest.warns(wk.WorkloadWarning, match="1 bursts of checkpointed jobs are not written"):
        written(replace(trace, bursts=trace.jobs))
    points = pd.DataFrame({"row": [0], "time": [0.0], "value": [1.0]})
    with pytest.warns(wk.WorkloadWarning, match="utility functions are not written"):
        written(replace(trace, utility=points))


def test_a_log_of_which_nothing_can_be_simulated(tmp_path):
    trace = Trace.from_columns({"submit": [0], "run": [-1], "procs": [1]})
    with pytest.raises(wk.WorkloadError, match="trace has no job that Batsim can simulate"):
        wk.write_batsim(trace, tmp_path / "log.json")
    assert not [*tmp_path.iterdir()]


def test_a_workload_for_another_machine_gives_another_header():
    trace = Trace.from_columns(
        {"submit": [0], "run": [1], "procs": [1]}, header=Header(("; MaxProcs: 16",))
    )
    text = written(trace)
    assert read_text(text).header == trace.header
    assert read_text(text.replace('"nb_res": 16', '"nb_res": 32')).header.procs == 32


def test_a_log_has_the_digest_of_its_text():
    text = json.dumps({"nb_res": 8, "jobs": [job()], "profiles": PROFILES})
    assert read_text(text).digest == hashlib.sha256(text.encode()).hexdigest()


def test_a_line_of_a_header_is_one_line():
    lines = ["; MaxProcs: 8\n1 0 5 60 4", "; Computer: a", "  ; Note: b"]
    trace = read(job(), workloadkit={"header": lines})
    assert trace.header.get("Computer") == "a"
    assert not any("\n" in line for line in trace.header.lines)


def test_looks_like():
    assert looks_like(["", ' {"jobs": ['])
    assert not looks_like(["; a comment", "{"])
    assert not looks_like([])


@examples(25)
@given(JOBS, HEADERS)
def test_swf_there_and_back_is_equal_in_what_both_hold(jobs, comments):
    table = zip(zip(*jobs, strict=True), FIELDS, strict=True)
    columns = {field.name: np.array(column, field.dtype) for column, field in table}
    columns["procs"] = np.rint(columns["procs"])
    columns["requested_procs"] = np.rint(columns["requested_procs"])
    header = Header(tuple(f";{comment}" for comment in comments))
    trace = Trace.from_columns(columns, header=header)
    if (trace.ran & (trace.column("submit") >= 0)).any():
        check_there_and_back(trace)


@needs_traces
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "lublin_256"])
def test_the_beginning_of_real_logs(name):
    check_there_and_back(wk.read_swf(trace_path(name)).take(np.arange(2000)))


@pytest.mark.slow
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_real_logs(path):
    check_there_and_back(wk.read_swf(path))


@pytest.mark.parametrize(
    ("key", "most"), [("subtime", 10**12), ("res", 10**9), ("walltime", 10**12)]
)
def test_numbers_up_to_their_limits_are_believed(key, most):
    field = {"subtime": "submit", "res": "procs", "walltime": "requested_time"}[key]
    assert read(job(**{key: most})).column(field).tolist() == [most]
    with pytest.raises(wk.FormatError, match=rf"jobs\[0\].{key}: out of range"):
        read(job(**{key: most + 1}))


def test_text_up_to_its_limit_is_read():
    text = json.dumps({"jobs": [job()], "profiles": PROFILES})
    with mock.patch.object(batsim, "MAX_TEXT", len(text)):
        assert read_text(text).n_jobs == 1
    with (
        mock.patch.object(batsim, "MAX_TEXT", len(text) - 1),
        pytest.raises(wk.FormatError, match="more than 1 GiB"),
    ):
        read_text(text)


def test_a_header_of_as_many_processors_as_a_job_needs_is_reported_without_a_word():
    header = Header(("; MaxProcs: 4",))
    trace = Trace.from_columns({"submit": [0], "run": [5], "procs": [4]}, header=header)
    assert json.loads(written(trace))["nb_res"] == 4  # warnings are errors
    with pytest.warns(wk.WorkloadWarning, match="more than the 4 processors .* nb_res is 5"):
        assert json.loads(written(trace.with_columns(procs=[5])))["nb_res"] == 5
