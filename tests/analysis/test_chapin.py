"""What the standard promises and metrics that contradict each other, on small logs."""

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.analysis import reproduction, studies
from workloadkit.analysis.reproduction import Log
from workloadkit.analysis.studies import chapin


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
        "share of the processor time that batch jobs take": pytest.approx(2 / 3),
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


@pytest.mark.slow
def test_the_study_on_a_small_log(tmp_path):
    sample = wk.load_sample()
    begin = sample.take(np.flatnonzero(sample.column("submit") < 3 * 86400))
    wk.write_swf(begin, tmp_path / "KTH-SP2-1996-2.1-cln.swf")
    study = studies.load_study("chapin")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(study.logs, tmp_path)
    results = reproduction.run_study(study, logs).results
    together = [r for r in results if r.log is reproduction.ALL_LOGS]
    assert len(together) == 21 + 1 + 2 * 7 + 3
    conflicts, total, others = together[:21], together[21], together[22:]
    assert sum(r.claim.main for r in conflicts) == 2
    assert total.ours >= sum(r.ours for r in conflicts) - 1e-9 > 0
    for result in conflicts:
        assert (result.ours > 0) == ("KTH-SP2" in result.note)
        assert result.note.endswith("interval of chaos, not of sampling")
        assert result.low <= result.ours <= result.high
    # one log disagrees with no other, and some scheduler is its best
    assert [r.ours for r in others[:14]] == [0, 1] * 7
    assert others[14].ours == 1
    (same,) = [r for r in results if r.claim.quantity.startswith("largest difference of the util")]
    assert 0 <= same.ours < 1


def test_logs_disagree_about_two_schedulers():
    one, other = ([dict.fromkeys(chapin.METRICS, 1.0) for _ in chapin.SCHEDULERS] for _ in "ab")
    one[0]["mean wait"], other[1]["mean wait"], other[2]["mean wait"] = 0.5, 0.9, 1.005
    one[1] |= {"mean slowdown": 0.5, "mean bounded slowdown": 3.0}
    found = {
        r.claim.quantity: r for r in chapin._workloads({Made("A", ""): one, Made("B", ""): other})
    }
    fcfs, easy = chapin.SCHEDULERS[:2]
    disagree = found["pairs of schedulers, of 28, about which logs disagree by mean wait"]
    assert (disagree.ours, disagree.note) == (1, f"{fcfs} and {easy}")
    best = found["logs, of 2, in which one and the same scheduler is the best by mean wait"]
    assert (best.ours, best.verdict, best.note) == (1, "reproduced", fcfs)
    best = found["logs, of 2, in which one and the same scheduler is the best by throughput"]
    assert (best.ours, best.verdict) == (2, "contradicted")
    shorter = found["logs, of 2, with a shorter mean slowdown under EASY than under FCFS"]
    assert (shorter.ours, shorter.verdict) == (1, "contradicted")


def test_utilization_and_outages():
    of_log = [{"utilization": x} for x in (0.5, 0.6, *[0.55] * 6)]
    same = chapin._same_utilization(Made("A", ""), of_log)
    assert same.ours == pytest.approx(1 / 6)
    assert same.note == "fcfs 0.500, easy 0.600"
    pair = {"mean wait": 100.0, "outages": 0}, {"mean wait": 102.0, "outages": 3}
    (counts,) = chapin._outages(Made("A", ""), *pair)
    assert (counts.ours, counts.note) == (pytest.approx(0.02), "3 outages")
    assert not [*chapin._outages(Made("A", ""), *pair[::-1])]
