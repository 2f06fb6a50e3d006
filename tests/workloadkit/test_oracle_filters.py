"""Filters in the archive's form against Python's own `eval`, and against the archive's own work."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.examples import examples
from tests.oracles import filters as oracle

#: Names, and values that the drawn jobs are near.
FIELDS = {
    "user": (1, 3),
    "job": (1, 30),
    "proc": (1, 4),
    "procs": (1, 4),
    "app": (1, 3),
    "executable": (1, 3),
    "queue": (0, 2),
    "partition": (1, 2),
    "group": (1, 2),
    "status": (0, 5),
    "submit": (0, 99),
    "wait": (0, 9),
    "run": (0, 9),
}

clauses = st.sampled_from(sorted(FIELDS)).flatmap(
    lambda name: st.builds(
        lambda blank, sign, number: f"{name}{blank}{sign}{blank}{number}",
        st.sampled_from(("", " ")),
        st.sampled_from(("=", "==", "!=", "<", "<=", ">", ">=")),
        st.integers(*FIELDS[name]),
    )
)
conditions = st.recursive(
    clauses,
    lambda parts: (
        st.builds("({} and {})".format, parts, parts)
        | st.builds("({} or {})".format, parts, parts)
        | st.builds("({} AND {})".format, parts, parts)
        | st.builds("not ({})".format, parts)
    ),
    max_leaves=6,
)
chains = st.lists(clauses, min_size=2, max_size=4).flatmap(
    lambda parts: st.lists(
        st.sampled_from((" and ", " or ")), min_size=len(parts) - 1, max_size=len(parts) - 1
    ).map(lambda words: "".join(p + w for p, w in zip(parts, [*words, ""], strict=True)))
)


@pytest.fixture(scope="module")
def lines():
    """Thirty jobs, all fields known."""
    rng = np.random.default_rng(1)
    submits = np.sort(rng.integers(0, 100, 30))
    rows = []
    for number, submit in enumerate(submits.tolist(), 1):
        wait, run, procs, status, user, group, app, queue, part = (
            int(rng.integers(low, high))
            for low, high in (
                (0, 10),
                (0, 10),
                (1, 5),
                (0, 2),
                (1, 4),
                (1, 3),
                (1, 4),
                (0, 3),
                (1, 3),
            )
        )
        rows.append(
            f"{number} {submit} {wait} {run} {procs} -1 -1 {procs} 9 -1 {status} "
            f"{user} {group} {app} {queue} {part} -1 -1"
        )
    return rows


@pytest.fixture(scope="module")
def trace(lines, tmp_path_factory):
    path = tmp_path_factory.mktemp("filters") / "log.swf"
    path.write_text("\n".join(["; MaxProcs: 8", "; MaxJobs: 30", *lines]) + "\n")
    return wk.read_swf(path)


@examples(60)
@given(text=conditions | chains)
def test_a_filter_removes_what_its_condition_says(text, lines, trace):
    expected = [oracle.removes(text, [float(word) for word in line.split()]) for line in lines]
    parsed = wk.Filter.parse(text)
    assert parsed.mask(trace).tolist() == expected
    assert wk.Filter.parse(str(parsed)).mask(trace).tolist() == expected


@examples(20)
@given(text=conditions, count=st.integers(1, 99999))
def test_the_count_behind_a_filter_is_kept(text, count, trace):
    reported = wk.Filter.parse(f"{text} ({count} jobs removed)")
    assert reported.mask(trace).tolist() == wk.Filter.parse(text).mask(trace).tolist()
    assert oracle.as_python(str(reported))[1] == count


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in ("user",)])
def test_the_unknown_is_minus_one(name, trace, tmp_path):
    path = tmp_path / "unknown.swf"
    path.write_text("1 0 " + " ".join(["-1"] * 16) + "\n2 0 " + " ".join(["-1"] * 16) + "\n")
    log = wk.read_swf(path)
    for text in (f"{name}=-1", f"{name}<0", f"{name}>=0", f"{name}!=3"):
        expected = [oracle.removes(text, [number, 0.0, *[-1.0] * 16]) for number in (1.0, 2.0)]
        assert wk.Filter.parse(text).mask(log).tolist() == expected, text


def jobs_of(path):
    return [line.split() for line in gzip.open(path, "rt") if not line.startswith(";")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("raw", "cleaned", "alone_in_cleaned", "differs"),
    [
        # the raw log knows queues, the cleaned one does not
        ("NASA-iPSC-1993-3", "NASA-iPSC-1993-3.1-cln", set(), {14}),
        # the raw log, of 28,490 jobs by its header, has 28,489: this one is not in it
        ("KTH-SP2-1996-2", "KTH-SP2-1996-2.1-cln", {"27313"}, set()),
    ],
)
@needs_traces
def test_the_archive_cleaned_so(raw, cleaned, alone_in_cleaned, differs, tmp_path):
    before, after = wk.read_swf(trace_path(raw)), wk.read_swf(trace_path(cleaned))
    filters = wk.filters_of(after.header)
    made = wk.clean(before, filters)
    path = tmp_path / "made.swf.gz"
    wk.write_swf(made, path)
    expected = [job for job in jobs_of(trace_path(cleaned)) if job[0] not in alone_in_cleaned]
    found = jobs_of(path)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert {i for i in range(18) if float(one[i]) != float(other[i])} <= differs
    with gzip.open(path, "rt") as stream:
        written = oracle.of_header([line for line in stream if line.startswith(";")])
    with gzip.open(trace_path(cleaned), "rt") as stream:
        assert written == oracle.of_header([line for line in stream if line.startswith(";")])


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(
    ("name", "n_filters"),
    [("SDSC-SP2-1998-4.2-cln", 5), ("SDSC-Par-1996-3.1-cln", 2), ("OSC-Clust-2000-3.1-cln", 1)],
)
def test_filters_of_cleaned_headers_remove_nothing_more(name, n_filters):
    trace = wk.read_swf(trace_path(name))
    filters = wk.filters_of(trace.header)
    assert len(filters) == n_filters
    for one in filters:
        assert not one.mask(trace).any(), str(one)
