"""Correlations of jobs' properties against their definitions."""

import math

import pytest
from hypothesis import given

from tests.data import needs_traces
from tests.examples import examples
from tests.oracles import correlations as oracle
from tests.oracles.sessions import ran
from tests.small_logs import first_jobs, logs, trace_of
from workloadkit.analysis.distributions import correlations

FIELDS = {"procs": "procs", "run": "run", "estimate": "requested_time", "wait": "wait"}


def properties(jobs):
    """The properties of each job that ran."""
    its = list(ran(jobs).values())
    rows = [{name: job[field] for name, field in FIELDS.items()} for job in its]
    for k, row in enumerate(rows):
        row["inter_arrival"] = its[k]["submit"] - its[k - 1]["submit"] if k else None
    return rows


def agrees(jobs, trace):
    rows = properties(jobs)
    for found in correlations(trace, rng=1).table.itertuples():
        pairs = [(row[found.first], row[found.second]) for row in rows]
        pairs = [pair for pair in pairs if None not in pair]
        positive = [(math.log(a), math.log(b)) for a, b in pairs if a > 0 and b > 0]
        assert (found.n, found.n_log) == (len(pairs), len(positive))
        if len(pairs) < 10:
            assert math.isnan(found.spearman)
            assert math.isnan(found.kendall)
            continue
        assert found.spearman == pytest.approx(oracle.spearman(pairs), abs=1e-9, nan_ok=True)
        assert found.kendall == pytest.approx(oracle.kendall(pairs), abs=1e-9, nan_ok=True)
        if len(positive) >= 10:
            assert found.pearson_log == pytest.approx(
                oracle.pearson(positive), abs=1e-9, nan_ok=True
            )


@examples(5)
@given(logs(fewest=15))
def test_correlations_agree_with_all_pairs(jobs):
    agrees(jobs, trace_of(jobs))


@needs_traces
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "SDSC-DS-2004-2.1-cln"])
def test_correlations_in_real_logs_agree_with_all_pairs(name):
    agrees(*first_jobs(name, 150))
