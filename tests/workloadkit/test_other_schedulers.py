"""Flux, OAR, HTCondor and ClusterCockpit, in files of the shape of their documentation."""

import io
import json
import tarfile
from random import Random

import numpy as np
import pytest

import workloadkit as wk
from tests.fuzz import good_schedulers as good
from tests.oracles import other_schedulers as oracle

IN_LOG = ("wait", "procs", "requested_time", "cpu", "memory", "status")
NAMES = ("flux", "oar", "htcondor", "htcondor_json", "clustercockpit")


def read(text):
    return wk.read_log(io.BytesIO(text))


@pytest.mark.parametrize("name", NAMES)
def test_each_job_is_read(name):
    for seed in range(4):
        text = getattr(good, name)(Random(seed))
        trace, jobs = read(text), getattr(oracle, name)(text.decode())
        left_out = sum(kind.count for kind in trace.intake.left_out)
        assert trace.intake.rows == trace.n_jobs + left_out
        jobs.sort(key=lambda job: job.get("submit", 0))
        for row, line, job in zip(
            trace.sidecar.to_dict("records"), trace.jobs.to_dict("records"), jobs, strict=True
        ):
            for key, value in job.items():
                found = line[key] if key in IN_LOG else row[key]
                if value is None:
                    assert np.isnan(found), (job, key)
                elif isinstance(value, str):
                    assert found == value, (job, key)
                else:
                    assert found == pytest.approx(value, abs=0.5 if key == "memory" else 1e-6)
            ran = job["start"] is not None
            assert line["run"] == pytest.approx(job["end"] - job["start"]) if ran else True


def test_a_folder_and_a_tar_of_the_archive(tmp_path):
    archive = tmp_path / "archive"
    for job in range(3):
        folder = archive / "c1" / str(job)
        folder.mkdir(parents=True)
        (folder / "meta.json").write_bytes(good.clustercockpit(Random(job)))
        (folder / "data.json.gz").write_bytes(b"\x1f\x8b")
    (archive / "c1" / "2" / "meta.json").write_text("{")
    with tarfile.open(tmp_path / "archive.tar.gz", "w:gz") as tar:
        tar.add(archive, "archive")
    for path in (archive, tmp_path / "archive.tar.gz"):
        trace = wk.read_clustercockpit(str(path))
        assert (trace.n_jobs, trace.intake.rows) == (2, 3)
    (tmp_path / "torn.tar").write_bytes((tmp_path / "archive.tar.gz").read_bytes()[:-40])
    with pytest.raises(wk.FormatError, match=r"corrupt|contains no job"):
        wk.read_clustercockpit(str(tmp_path / "torn.tar"))


def test_what_condor_removes_without_a_run_never_started():
    text = "ClusterId = 7\nProcId = 0\nJobStatus = 3\nQDate = 1664571163\n"
    text += "EnteredCurrentStatus = 1664571263\nRequestCpus = 2\nodd line\n"
    trace = read(text.encode())
    assert trace.jobs[["wait", "status"]].to_numpy().tolist() == [[100, 5]]
    assert np.isnan(trace.column("run")[0])
    (odd,) = trace.intake.noted
    assert (odd.kind, odd.count, odd.first_line) == ("lines that are no attribute", 1, 7)


def test_whole_numbers_of_condor_may_have_a_decimal_point():
    job = {"ClusterId": 7, "ProcId": 0, "JobStatus": 3, "LastJobStatus": 2, "JobUniverse": 11}
    job |= {"MachineCount": 3, "RequestCpus": 2, "CpusProvisioned": 2, "QDate": 1664571163}
    job |= {"JobCurrentStartDate": 1664571173, "EnteredCurrentStatus": 1664571263}
    whole, decimal = (
        read(json.dumps([{name: kind(value) for name, value in job.items()}]).encode())
        for kind in (int, float)
    )
    assert whole.jobs.equals(decimal.jobs)
    assert whole.jobs[["run", "procs"]].to_numpy().tolist() == [[90, 6]]


def test_oar_without_the_full_view_has_no_ends():
    job = {"Job_Id": 7, "state": "Terminated", "submissionTime": 9, "startTime": 9}
    with pytest.raises(wk.FormatError, match=r"without an end: export with oarstat -f \(once"):
        read(json.dumps({"7": job}).encode())


def test_each_line_of_accasim_is_read():
    for seed in range(3):
        text = good.accasim(Random(seed))
        trace = read(text + b"an odd line\n")
        assert [(odd.count, odd.first_line) for odd in trace.repairs] == [(1, 13)]
        jobs = sorted(oracle.accasim(text.decode()), key=lambda job: job["job"])
        lines = sorted(trace.jobs.to_dict("records"), key=lambda job: job["job"])
        for line, job in zip(lines, jobs, strict=True):
            for name, value in job.items():
                assert np.isnan(line[name]) if value is None else line[name] == value, (job, name)
