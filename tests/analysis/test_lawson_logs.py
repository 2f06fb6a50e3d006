"""Logs week by week and fixed numbers of queues: by hand, and on the sample."""

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.analysis.reproduction import Log, find_logs, run_study
from workloadkit.analysis.studies import lawson_logs, lawson_queues
from workloadkit.analysis.studies.lawson import WEEK
from workloadkit.analysis.studies.lawson_queues import QueueRatios


def test_run_times_and_estimates():
    trace = wk.Trace.from_columns(
        {
            "submit": [0, 1, 2, 3, 4],
            "run": [1, 1, 1, 9, 100],
            "procs": [1, 1, 1, 1, 6],
            "requested_time": [10, 100, 2, 9, 100],
            "status": [1, 0, 0, 0, 1],
        }
    )
    found = {claim.quantity: ours for claim, ours in lawson_logs._estimates(trace)}
    assert found == {
        "share of jobs that end before their estimate": 3 / 5,
        "share of crashed jobs that end in the first tenth of their estimate": 1 / 2,
        "median run time over estimate, crashed jobs less others": pytest.approx(0.255 - 1),
    }
    found = {claim.quantity: ours for claim, ours in lawson_logs._jobs(trace)}
    assert found["coefficient of variation of processors"] == pytest.approx(5**0.5 / 2)
    run = np.array([1, 1, 1, 9, 100])
    skewed = np.mean((run - run.mean()) ** 3) / run.std() ** 3
    assert found["skewness of run times"] == pytest.approx(skewed)


def test_classes_of_the_whole_log_miss_the_equal_split_of_a_week():
    """The first week has all jobs of the shorter half, the second the others; the third is cut."""
    run = [*range(1, 41), *range(41, 81), 1]
    week = [0] * 40 + [1] * 40 + [2]
    columns = {"submit": [WEEK * w for w in week], "run": run, "procs": [1] * 81}
    weeks = lawson_logs._weeks(wk.Trace.from_columns(columns))
    assert weeks["jobs"].tolist() == [40, 40]
    assert weeks["mean run time"].tolist() == [20.5, 60.5]
    shares = weeks[["class 1", "class 2", "class 3", "class 4"]].to_numpy()
    assert shares.sum(axis=1).tolist() == [1, 1]
    assert shares[0, 2:].sum() == shares[1, 0] == 0
    found = {claim.quantity: ours for claim, ours in lawson_logs._of_weeks(weeks)}
    words = "share of weeks in which classes by run times of the whole log miss the equal split"
    assert found[words] == 1


def test_numbers_of_queues_week_by_week():
    weeks = {2: [1.0, 2.0, -1.0, 0.0], 3: [0.5, 2.0, 1.0, 0.0], 4: [3.0, 0.0, -2.0, 0.0],
             8: [0.0, 0.0, 0.0, 0.0]}  # fmt: skip
    found = QueueRatios(weeks, [2.0, 2.0, 1.0, -1.0], 0.25, 0.5, -60.0)
    kth = Log("KTH", "", None)
    rows = {r.claim.quantity: r for r in lawson_queues._of_log(kth, found, gains=True)}
    words = "share of weeks in which the number of queues that is best most often is the best"
    assert (rows[words].ours, rows[words].note) == (0.75, "3 queues")
    assert rows["share of weeks in which two queues are better than three"].ours == 0.25
    assert rows["share of weeks in which four queues are the best"].ours == 0.25
    words = "mean R of the weeks with R > 0, users' estimates less exact ones"
    assert rows[words].ours == pytest.approx(3 - 5 / 3)
    assert rows["R with crashed jobs less R without them"].ours == 0.25
    assert rows["mean wait of short jobs, four queues less EASY, where R > 0 (s)"].ours == -60
    ctc = QueueRatios({4: [-1.0, -1.0]}, [1.0, 1.0], 0, 0, 0)
    together = {Log("CTC", ""): ctc, Log("KTH", ""): found}
    assert lawson_queues._most_at_ctc(together, "").ours == 1.0  # KTH has as many as before


@pytest.mark.slow
@pytest.mark.parametrize("study", [lawson_logs.STUDY, lawson_queues.STUDY], ids=lambda s: s.name)
def test_the_studies_on_the_sample(study, tmp_path):
    wk.write_swf(wk.load_sample(), tmp_path / "KTH-SP2-1996-2.swf")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = find_logs(study.logs, tmp_path)
    found = run_study(study, logs)
    of_log = [r for r in found.results if r.log.name == "KTH"]
    assert len(of_log) >= 5
    assert all(np.isfinite(r.ours) for r in of_log)
    for drawing in found.drawings:
        assert all(file.stat().st_size for file in drawing.save(tmp_path))
