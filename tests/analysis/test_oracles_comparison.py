"""Distances between the distributions of two logs against their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data import needs_traces
from tests.examples import examples
from tests.oracles import comparison as oracle
from tests.oracles.sessions import largest_difference, ran
from tests.small_logs import first_jobs, jobs_of, logs, trace_of
from workloadkit.analysis import compare

small = logs(
    fewest=15,
    submit=st.integers(0, 40).map(lambda k: 1200 * k),
    user=st.sampled_from([1, 2, 2, 3]),
).filter(ran)


def agrees(one, other, traces):
    found = compare(*traces, sections=["users"]).distances.set_index("distribution")
    first, second = oracle.samples(one), oracle.samples(other)
    for name in first:
        if not first[name] or not second[name]:
            continue
        row = found.loc[name]
        assert (row["n_first"], row["n"]) == (len(first[name]), len(second[name])), name
        ks = largest_difference(first[name], second[name])
        assert row["ks"] == pytest.approx(ks, abs=1e-9), name
        if len(set(first[name])) > 1:
            distance = oracle.wasserstein(first[name], second[name])
            scale = oracle.standard_deviation(first[name])
            assert row["wasserstein"] == pytest.approx(distance / scale, rel=1e-6, abs=1e-9), name


@examples(7)
@given(small, small)
def test_distances_agree_with_the_definition(one, other):
    agrees(one, other, (trace_of(one), trace_of(other)))


@needs_traces
def test_distances_of_real_logs_agree_with_the_definition():
    """Of jobs submitted within the window."""
    logs = [first_jobs("KTH-SP2-1996-2", 300)[1], first_jobs("SDSC-DS-2004-2.1-cln", 400)[1]]
    agrees(*(jobs_of(log.within_window()) for log in logs), logs)
