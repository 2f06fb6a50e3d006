"""What the standard promises and metrics that contradict each other, on small logs."""

import numpy as np
import pytest

import workloadkit as wk
from analysis import reproduction, studies
from analysis.reproduction import Log
from analysis.studies import chapin


class Made(Log):
    """A log that is in no file."""

    def read(self):
        return TRACE


COLUMNS = {
    "job": [1, 2, 4],
    "submit": [0, 5, 9],
    "run": [10, 10, 10],
    "cpu": [10, 11, -1],
    "procs": [1, 1, 1],
    "memory": [-3, -1, 0],
    "status": [1, 5, 0],
    "user": [1, 3, 3],
    "queue": [0, 1, 2],
    "preceding_job": [-1, 1, -1],
}
TRACE = wk.Trace.from_columns(COLUMNS, header=wk.Header(("; Version: 2.2", "; MaxProcs: 4")))


def test_what_departs_from_the_standard_is_counted():
    found = {claim.quantity: ours for claim, ours in chapin.exceptions(Made("A", "A-1"), None)}
    assert found == {
        "submit time of the first job (s)": 0,
        "lines of comment at the begin": 2,
        "share of jobs with a negative value that is not -1": pytest.approx(1 / 3),
        "share of jobs whose number is not that of their line": pytest.approx(1 / 3),
        "share of jobs with more CPU time than run time": pytest.approx(1 / 3),
        "share of jobs of a status above 4": pytest.approx(1 / 3),
        "share of jobs that say which job they follow": pytest.approx(1 / 3),
        "largest user number less the count of them": 1,
        "largest queue number less the count of them": 0,
    }


@pytest.mark.parametrize(
    ("one", "other", "more", "better"),
    [
        (1.0, 2.0, False, 1),
        (1.0, 2.0, True, -1),
        (2.0, 1.0, True, 1),
        (1.0, 1.01, False, 0),  # hardly differ
        (1.0, 1.02, False, 1),
        (0.0, 0.0, True, 0),
    ],
)
def test_which_is_better(one, other, more, better):
    assert chapin._better(one, other, more) == better


def test_metrics_contradict_each_other_about_two_schedulers():
    values = [dict.fromkeys(chapin.METRICS, 1.0) for _ in range(3)]
    values[1] |= {"mean response": 2.0, "mean slowdown": 0.5, "throughput": 2.0}
    names = [f"{chapin.SCHEDULERS[i]} and {chapin.SCHEDULERS[j]}" for i, j in ((0, 1), (1, 2))]
    assert chapin._against(values, "mean response", "mean slowdown") == names
    assert chapin._against(values, "mean response", "throughput") == names
    assert chapin._against(values, "mean slowdown", "throughput") == []
    assert chapin._against(values, "mean response", "mean wait") == []


def test_the_study_on_a_small_log(tmp_path):
    sample = wk.load_sample()
    begin = sample.take(np.flatnonzero(sample.column("submit") < 3 * 86400))
    wk.write_swf(begin, tmp_path / "KTH-SP2-1996-2.1-cln.swf")
    study = studies.load_study("chapin")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(study.logs, tmp_path)
    results = reproduction.run_study(study, logs).results
    together = [r for r in results if r.log is reproduction.ALL_LOGS]
    assert len(together) == 21 + 1
    assert sum(r.claim.main for r in together) == 2
    assert together[-1].ours >= sum(r.ours for r in together[:-1]) > 0
    for result in together[:-1]:
        assert (result.ours > 0) == bool(result.note)
