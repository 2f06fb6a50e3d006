"""Rules of the standard against plain counts over the lines of files."""

import gzip
import io
import warnings
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import ODD, TRACES, needs_odd, needs_traces, trace_path
from tests.examples import examples
from tests.oracles import swf_lines as oracle

HEADER = ("MaxProcs: 6", "MaxRuntime: 20", "MaxMemory: 5", "MaxJobs: 4", "MaxRecords: 5")
OVERUSE = ("AllowOveruse: True", "AllowOveruse: No", "AllowOveruse: maybe")


@st.composite
def logs(draw):
    """A few lines of small numbers, most of them fine, and a header."""
    small = st.integers(-1, 4)
    lines = []
    submit = 0
    for number in range(1, draw(st.integers(1, 12)) + 1):
        submit += draw(st.integers(0, 9))
        number += draw(st.sampled_from((0, 0, 0, 0, 1, -1)))
        early = draw(st.sampled_from((0, 0, 0, 0, 3)))
        line = [
            number,
            max(submit - early, 0),
            draw(small | st.just(-2)),
            draw(st.integers(-1, 30)),
            draw(st.integers(-1, 7)),
            draw(st.integers(-1, 32)),
            draw(st.integers(-1, 6)),
            draw(st.integers(-1, 7)),
            draw(st.integers(-1, 30)),
            draw(st.integers(-1, 6)),
            draw(st.sampled_from((1, 1, 0, 5, -1, 2, 6))),
            *(draw(small) for _ in range(5)),
            *draw(st.sampled_from(((-1, -1), (-1, 3)))),
        ]
        lines.append(" ".join(map(str, line)))
    labels = draw(st.lists(st.sampled_from(HEADER), unique=True))
    labels += draw(st.lists(st.sampled_from(OVERUSE), max_size=1))
    return "\n".join([*(f"; {label}" for label in labels), *lines]) + "\n"


def found_in(text):
    """What `validate` counts, by rule; 0 for a rule that holds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        findings = wk.validate(wk.read_swf(io.BytesIO(text.encode()))).findings
    counts = {}
    for finding in findings:
        assert finding.rule not in counts
        counts[finding.rule] = finding.count
    return counts


def disagreements(text):
    counts = found_in(text)
    expected = oracle.breaches(text)
    return {
        rule: (counts.get(rule, 0), times)
        for rule, times in expected.items()
        if counts.get(rule, 0) != times
    }


@examples(15)
@given(logs())
def test_breaches_are_counted_as_by_hand(text):
    assert not disagreements(text)


@pytest.mark.slow
@examples(300)
@given(logs())
def test_breaches_of_many_logs_are_counted_as_by_hand(text):
    assert not disagreements(text)


def first_jobs(path, n_jobs):
    """The header and the first jobs of a file."""
    with gzip.open(path, "rt") as stream:
        lines = [line.rstrip("\n") for line in islice(stream, n_jobs + 500)]
    header = [line for line in lines if line.startswith(";")]
    return "\n".join(header + [line for line in lines if not line.startswith(";")][:n_jobs]) + "\n"


@needs_traces
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "SDSC-BLUE-2000-4.2-cln"])
def test_the_first_jobs_of_two_logs(name):
    assert not disagreements(first_jobs(trace_path(name), 300))


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_the_first_jobs_of_each_log(path):
    assert not disagreements(first_jobs(path, 2000))


@needs_odd
@pytest.mark.parametrize("path", ODD, ids=lambda path: path.stem)
def test_odd_logs(path):
    text = path.read_text(encoding="latin-1")
    try:
        assert not disagreements(text)
    except wk.WorkloadError:
        assert path.stem in ("header-only-no-jobs", "malformed-line-and-blank")


#: What is known of whole logs: jobs, and how often a rule is broken.
WHOLE = {
    "KTH-SP2-1996-2": (28489, {"run-requested": 475, "procs-known": 0, "estimate-known": 0}),
    "KTH-SP2-1996-2.1-cln": (28476, {"run-requested": 475, "procs-known": 1}),
    "SDSC-SP2-1998-4.2-cln": (
        59715,
        {"run-known": 5671, "procs-known": 5669, "run-requested": 4134, "estimate-known": 66},
    ),
    "CTC-SP2-1996-3.1-cln": (77222, {"run-requested": 7174, "estimate-known": 6}),
    "SDSC-BLUE-2000-4.2-cln": (
        243306,
        {"run-known": 10744, "procs-known": 19516, "run-requested": 23434},
    ),
    "HPC2N-2002-2.2-cln": (202871, {"wait-known": 1, "run-requested": 14817}),
    "LANL-CM5-1994-4.1-cln": (
        122060,
        {"wait-known": 3, "procs-known": 3, "run-requested": 40180, "estimate-known": 11290},
    ),
    "OSC-Clust-2000-3.1-cln": (36097, {"wait-known": 1, "estimate-known": 36097}),
    "SDSC-DS-2004-2.1-cln": (
        96069,
        {"wait-known": 149, "run-known": 11024, "run-requested": 10658},
    ),
    "SDSC-Par-1996-3.1-cln": (32135, {"wait-known": 805, "estimate-known": 32135}),
    "NASA-iPSC-1993-3": (42264, {"wait-known": 42264, "status-values": 0}),
    "NASA-iPSC-1993-3.1-cln": (18239, {"wait-known": 18239}),
    "lublin_256": (10000, {"wait-known": 10000, "user-known": 10000}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_whole_logs_have_the_counts_that_are_known(name):
    n_jobs, known = WHOLE[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        trace = wk.read_swf(trace_path(name))
    counts = {finding.rule: finding.count for finding in wk.validate(trace).findings}
    overuse = (trace.header.get("AllowOveruse") or "").lower().startswith(("true", "yes"))
    if overuse:
        known = {rule: times for rule, times in known.items() if rule != "run-requested"}
    assert trace.n_jobs == n_jobs
    assert {rule: counts.get(rule, 0) for rule in known} == known
