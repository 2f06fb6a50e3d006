"""Accounting read by compiled code agrees with the same lines read one by one."""

import io
import warnings
from random import Random
from unittest.mock import patch

import pandas as pd
import pytest

import workloadkit as wk
from tests.benchmarks import importing
from tests.data import format_path, needs_formats
from tests.fuzz import mutations
from tests.fuzz.formats import FORMATS
from tests.workloadkit.test_lsf import record
from workloadkit.io import lines
from workloadkit.io.lines import Lines

DUMPS = {
    "slurm": "slurm_xdmod_edgecases.sacct",
    "pbs": "pbs_xdmod_variants.acct",
    "lsf": "lsf_xdmod_lsb.acct",
    "sge": "sge_uge_xdmod.accounting",
}
#: Broken files of each format; `make test` has few.
N_BROKEN = [3, pytest.param(100, marks=pytest.mark.slow)]


def result(name, data, options):
    """All that a reader returns or reports."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            trace = getattr(wk, f"read_{name}")(io.BytesIO(data), **options)
        except wk.WorkloadError as error:
            return None, [str(error)]
    messages = [str(w.message) for w in warned]
    return trace, [*messages, str(trace.intake), *trace.header.lines, trace.digest]


def compiled():
    """Let short texts be read by compiled code, too."""
    return patch.multiple(lines, COMPILED_FROM=0, interpreted=lambda: False)


def agree(name, data, options=None):
    """Check that both ways to read lines give the same; return the log."""
    with compiled():
        trace, reported = result(name, data, options or {})
    one_by_one, expected = result(name, data, options or {})
    assert reported == expected
    if trace is not None:
        pd.testing.assert_frame_equal(trace.jobs, one_by_one.jobs, check_exact=True)
        pd.testing.assert_frame_equal(trace.sidecar, one_by_one.sidecar, check_exact=True)
        pd.testing.assert_frame_equal(trace.bursts, one_by_one.bursts, check_exact=True)
    return trace


@pytest.mark.parametrize("name", DUMPS)
def test_a_long_file(name, tmp_path):
    path = tmp_path / "log"
    getattr(importing, f"write_{name}")(path, 300)
    data = path.read_bytes()
    spy = patch.object(Lines, "text", side_effect=Lines.text, autospec=True)
    with spy as one_by_one, compiled():
        assert result(name, data, {})[0].n_jobs == 300
    assert one_by_one.call_count <= 10  # those that teach the order of fields
    agree(name, data)


@needs_formats
@pytest.mark.parametrize("name", DUMPS)
@pytest.mark.parametrize("n_broken", N_BROKEN)
def test_real_records(name, n_broken):
    data = format_path(DUMPS[name]).read_bytes()
    agree(name, data, {"attempts": True})
    for number in range(n_broken):
        agree(name, mutations.mutated(data, Random(f"{name} {number}")))


@pytest.mark.parametrize("name", DUMPS)
@pytest.mark.parametrize("n_broken", N_BROKEN)
def test_broken_files(name, n_broken):
    n_read = 0
    for number in range(n_broken):
        rng = Random(f"{name} {number}")
        data = FORMATS[name].good(rng)
        options = FORMATS[name].options(rng)
        options.pop("guess", None)
        n_read += agree(name, data, options) is not None
        agree(name, mutations.mutated(data, rng), options)
    assert n_read > n_broken / 2


@pytest.mark.parametrize("host", ['2*a ""b', "2*a b", ""])
def test_hosts_with_odd_names(host):
    trace = agree("lsf", record(hosts=(host, "2*c")).encode())
    assert trace.column("procs").tolist() == [4 if host else 3]
