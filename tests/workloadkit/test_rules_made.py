"""Logs that the toolkit makes follow the standard; real ones break what is known of them."""

import io
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_traces, trace_path
from tests.examples import examples
from workloadkit import models

WHOLE = wk.load_sample()
FIRST = WHOLE.take(np.arange(1500))
SAMPLE = replace(FIRST, header=FIRST.header.with_jobs(1500, EndTime=float(np.nanmax(FIRST.end))))

# A job that was requeued and completed, two cancelled while pending, one that failed.
COLUMNS = (
    "JobIDRaw|Partition|Account|User|Submit|Eligible|Start|End|ElapsedRaw",
    "State|ExitCode|NNodes|AllocCPUS|ReqCPUS|ReqMem|TimelimitRaw",
)
ROWS = [
    ("7|batch|physics|ada|10:00:00|10:00:00|10:05:00|11:05:00|3600", "REQUEUED|0:0|1|8|8|16G|120"),
    ("7|batch|physics|ada|10:00:00|11:05:00|11:10:00|12:10:00|3600", "COMPLETED|0:0|1|8|8|16G|120"),
    ("8|batch|maths|bob|10:30:00|10:30:00|Unknown|10:40:00|0", "CANCELLED by 12|0:0|1|0|4|8G|60"),
    ("10|long|maths|bob|12:30:00|12:30:00|Unknown|12:50:00|0", "CANCELLED by 12|0:0|1|0|4|8G|60"),
    ("9|long|maths|bob|09:30:00|09:30:00|09:31:00|11:40:00|7740", "FAILED|1:0|2|16|16|8G|600"),
]


def sacct():
    """The rows as sacct prints them, all of one day."""
    rows = [re.sub(r"(?<=\|)(\d\d:\d\d:\d\d)", r"2024-05-01T\1", "|".join(row)) for row in ROWS]
    return io.BytesIO("\n".join(["|".join(COLUMNS), *rows, ""]).encode())


def errors(trace):
    return [(f.rule, f.shown) for f in wk.validate(trace).findings if f.severity == "error"]


def through_a_file(trace, folder):
    path = folder / "made.swf.gz"
    wk.write_swf(trace, path)
    return wk.read_swf(path)


def test_the_sample(tmp_path):
    assert errors(WHOLE) == errors(SAMPLE) == []
    assert [rule for rule, _ in errors(through_a_file(FIRST, tmp_path))] == [
        *("max-jobs", "max-records", "end-time")  # what the header says of the whole
    ]


@examples(12)
@given(
    st.sampled_from(sorted(models.known())),
    st.integers(1, 60),
    st.sampled_from((1, 2, 64, 100)),
    st.integers(0, 2**32),
)
def test_models(model, n_jobs, procs, seed):
    try:
        trace = models.known()[model](n_jobs, procs, rng=seed)
    except wk.WorkloadError:  # not every model makes jobs for every machine
        return
    assert errors(trace) == []


CHANGED = {
    "dependencies": lambda log: wk.with_dependencies(log),
    "dependencies out of order": lambda log: wk.with_dependencies(wk.shake(log, rng=1)),
    "utilities": lambda log: wk.add_utility(log, rng=1),
    "shaken": lambda log: wk.shake(log, rng=1),
    "local": lambda log: wk.enhance_locality(log, rng=1),
    "not local": lambda log: wk.reduce_locality(log, rng=1),
    "scaled": lambda log: models.scale_load(log, 0.9),
    "estimates": lambda log: models.add_estimates(log, rng=1),
    "cleaned": lambda log: wk.clean(log, [wk.Filter.parse("user=3 or job<=5")]),
    "simulated": lambda log: wk.simulate(log, "easy").trace(),
    "segment": lambda log: wk.segments(log, at=[2])[1],
}


@pytest.mark.parametrize("how", CHANGED)
def test_changed_logs(how, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        made = CHANGED[how](SAMPLE)
    assert errors(made) == []
    assert errors(through_a_file(made, tmp_path)) == []


@pytest.mark.parametrize("weeks", [3, 30])
def test_resampled_logs(weeks, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        made = wk.resample(SAMPLE, weeks=weeks, rng=1)
    assert errors(through_a_file(made, tmp_path)) == []


@pytest.mark.parametrize("attempts", [False, True])
@pytest.mark.parametrize("secret", [{}, {"anonymize": True}, {"anonymize": True, "key": b"key"}])
def test_converted_logs(attempts, secret, tmp_path):
    made = wk.read_slurm(sacct(), tz="Europe/Paris", procs=32, attempts=attempts, **secret)
    assert made.n_jobs == 4
    assert len(made.bursts) == (2 if attempts else 0)
    assert errors(made) == []
    back = through_a_file(made, tmp_path)
    assert errors(back) == []
    assert errors(back.as_bursts()) == []


# -- real logs: the counts of what is known of them ----------------------------------------------

#: Jobs; wait, run time, processors, user unknown; run time above the estimate.
COUNTS = {
    "KTH-SP2-1996-2": (28_489, 0, 0, 0, 0, 475),
    "KTH-SP2-1996-2.1-cln": (28_476, 0, 0, 1, 0, 475),
    "SDSC-SP2-1998-4.2-cln": (59_715, 0, 5_671, 5_669, 0, 4_134),
    "CTC-SP2-1996-3.1-cln": (77_222, 0, 0, 0, 0, 7_174),
    "SDSC-BLUE-2000-4.2-cln": (243_306, 0, 10_744, 19_516, 0, 23_434),
    "HPC2N-2002-2.2-cln": (202_871, 1, 0, 0, 0, 14_817),
    "LANL-CM5-1994-4.1-cln": (122_060, 3, 0, 3, 0, 40_180),
    "OSC-Clust-2000-3.1-cln": (36_097, 1, 0, 0, 0, 0),
    "SDSC-DS-2004-2.1-cln": (96_069, 149, 11_024, 0, 0, 10_658),
    "SDSC-Par-1996-3.1-cln": (32_135, 805, 0, 0, 0, 0),
    "NASA-iPSC-1993-3": (42_264, 42_264, 0, 0, 0, 0),
    "NASA-iPSC-1993-3.1-cln": (18_239, 18_239, 0, 0, 0, 0),
    "lublin_256": (10_000, 10_000, 0, 0, 10_000, 0),
}
_RULES = ("wait-known", "run-known", "procs-known", "user-known", "run-requested")

#: Errors: what contradicts the log's own header. Raw KTH has a job less than it says.
CONTRADICTED = {"KTH-SP2-1996-2": {"max-jobs", "max-records"}}

#: Where the archive cleaned a log before 2012, MaxRecords still counts the raw one.
CLEANED_EARLY = ("CTC-SP2", "LANL-CM5", "OSC-Clust", "SDSC-Par", "NASA-iPSC")

_QUICK = ("KTH-SP2-1996-2.1-cln", "NASA-iPSC-1993-3.1-cln")


@needs_traces
@pytest.mark.parametrize(
    "name",
    [name if name in _QUICK else pytest.param(name, marks=pytest.mark.slow) for name in COUNTS],
)
def test_real_logs(name):
    report = wk.validate(wk.read_swf(trace_path(name)))
    counts = tuple(report[rule].count if rule in report else 0 for rule in _RULES)
    assert (report.jobs, *counts) == COUNTS[name]
    broken = {finding.rule for finding in report.findings if finding.severity == "error"}
    assert broken == CONTRADICTED.get(name, set())


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_what_filters_of_the_header_removed_is_missing(path):
    """MaxJobs of every cleaned log is its jobs and those that its filters removed."""
    report = wk.validate(wk.read_swf(path))
    if "-cln" in path.name:
        assert report["max-jobs"].severity == report["job-gaps"].severity == "note"
        early = path.name.startswith(CLEANED_EARLY)
        assert ("max-records" in report) == early
        assert not early or report["max-records"].severity == "note"
