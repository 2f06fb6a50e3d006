from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import load
from workloadkit import Header, Trace

JOBS = st.lists(
    st.tuples(
        st.integers(0, 40),  # submit
        st.one_of(st.just(np.nan), st.integers(0, 10)),  # wait
        st.one_of(st.just(np.nan), st.integers(0, 30)),  # run
        st.integers(0, 4),  # procs
    ),
    min_size=1,
)
EDGES = st.lists(st.integers(-5, 90), min_size=2, unique=True).map(sorted)


def trace_of(jobs, **options):
    names = ("submit", "wait", "run", "procs")
    return Trace.from_columns(dict(zip(names, zip(*jobs, strict=True), strict=True)), **options)


@given(JOBS, EDGES)
def test_load_and_utilization_agree_with_counting_seconds(jobs, edges):
    result = load.load_over_time(trace_of(jobs), edges, machine=3)
    for i, (begin, until) in enumerate(pairwise(edges)):
        used = offered = 0
        for submit, wait, run, procs in jobs:
            if np.isnan(run) or procs <= 0:
                continue  # never ran
            start = submit + (0 if np.isnan(wait) else wait)
            used += procs * sum(start <= second < start + run for second in range(begin, until))
            offered += run * procs * (begin <= submit < until)
        assert result["utilization"][i] == pytest.approx(used / (3 * (until - begin)))
        assert result["offered_load"][i] == pytest.approx(offered / (3 * (until - begin)))


@given(JOBS, EDGES)
def test_jobs_are_counted_once(jobs, edges):
    counted = load.jobs_over_time(trace_of(jobs), edges)["jobs"].tolist()
    expected = [sum(begin <= job[0] < until for job in jobs) for begin, until in pairwise(edges)]
    assert counted == expected


def test_the_whole_log_agrees_with_its_parts():
    """As long as jobs are submitted; afterwards what is left is worked off."""
    header = Header(("; MaxProcs: 8",))
    jobs = [(0, 0, 50, 8), (50, 25, 100, 4), (100, 100, 200, 2)]
    trace = trace_of(jobs, header=header)
    whole = load.summarize_load(trace)
    parts = load.load_over_time(trace, [0, 60, 100], machine=8)
    assert whole["work"] == 1200
    assert whole["submit_span"] == whole["window"] == 100
    assert whole["makespan"] == 400
    assert whole["offered_load"] == 1.5
    assert whole["utilization"] == (8 * 50 + 4 * 25) / 800
    assert np.average(parts["utilization"], weights=[60, 40]) == pytest.approx(0.625)


@pytest.mark.parametrize(
    ("lines", "machine"),
    [
        (("; MaxProcs: 1664 (72, 1368, 224)", "; MaxNodes: 184"), 1664),
        (("; MaxNodes: 184",), 184),
        (("; MaxProcs: -1", "; MaxNodes: 16"), 16),
        (("; MaxProcs: 0",), None),
        ((), None),
    ],
)
def test_the_machine_is_what_the_header_says(lines, machine):
    trace = Trace.from_columns({"submit": [0]}, header=Header(lines))
    assert trace.header.procs == machine


def test_without_waits_there_is_no_utilization():
    log = {"submit": [0, 100_000], "run": [100_000, 50_000], "procs": [4, 2]}
    section = load.section(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    assert section.values["utilization"] is None
    assert section.values["offered_load"] == 1.25
    assert "utilization" not in section.figures[0].data
    assert any("No wait time is known" in note for note in section.notes)


def test_a_machine_of_unknown_size_is_measured_in_processors():
    log = {"submit": [0, 43200, 86400], "wait": [0] * 3, "run": [86400, 43200, 1]}
    log["procs"] = [4, 2, 1]
    section = load.section(Trace.from_columns(log))
    assert section.figures[0].data["utilization"].tolist()[0] == 5.0
    assert any("in processors" in note for note in section.notes)
    assert section.values["offered_load"] is None


def test_less_than_a_day_has_no_course_of_time():
    log = {"submit": [0, 100], "wait": [0, 0], "run": [100, 50], "procs": [4, 2]}
    section = load.section(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    assert not section.figures
    assert section.notes == ("The log spans less than a day, so nothing is shown over time.",)
    assert section.finding == (
        "The machine was 100 % utilized. The jobs asked for 125 % of the machine."
    )


def test_centuries_still_fit_a_figure():
    log = {"submit": [0, 10**12], "wait": [0, 0], "run": [1, 1], "procs": [1, 1]}
    section = load.section(Trace.from_columns(log))
    assert all(len(figure.data) <= 1501 for figure in section.figures)


def test_what_cannot_be_is_said():
    log = {"submit": [0, 100_000], "wait": [0, 0], "run": [100_000, 100_000], "procs": [8, 8]}
    trace = Trace.from_columns(log, header=Header(("; MaxProcs: 2",)))
    notes = " ".join(load.section(trace).notes)
    assert "the machine has 2 processors, but 2 jobs used more" in notes
    assert "More than the whole machine was used" in notes
