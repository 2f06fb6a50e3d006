"""What the log of the utility functions looks like: by hand, and the study on the sample."""

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.analysis.reproduction import Drawing, Log, StudyInput
from workloadkit.analysis.studies import lee_logs

HOUR = 3600


class Made(Log):
    """A log that is in no file, long enough for the jobs on lines 5,000 to 10,000."""

    def read(self):
        sample = wk.load_sample()
        rows = np.arange(6500) % sample.n_jobs
        jobs = sample.take(np.sort(rows))
        return jobs.with_columns(submit=np.arange(6500) * 600.0)


def test_load_by_hour_is_the_work_submitted():
    columns = {"submit": [0, 1, HOUR, 25 * HOUR], "run": [10, 20, 30, 30], "procs": [1, 1, 1, 2]}
    by_hour = lee_logs._by(wk.Trace.from_columns(columns), HOUR, 24)
    assert by_hour.sum() == pytest.approx(24)
    assert by_hour[:3].tolist() == pytest.approx([24 * 0.25, 24 * 0.75, 0])


def test_waits_that_go_with_sizes_and_queues():
    columns = {
        "submit": [0, 1, 2, 3],
        "wait": [5, 10, 20, 40],
        "run": [4, 3, 2, 1],
        "procs": [1, 2, 4, 9],
        "queue": [0, 1, 3, 7],
    }
    found = {c.quantity: ours for c, ours in lee_logs._waits(wk.Trace.from_columns(columns))}
    assert found["rank correlation of wait and processors"] == pytest.approx(1)
    assert found["rank correlation of wait and run time"] == pytest.approx(-1)
    words = "rank correlation of wait and queue, from the most urgent to the least"
    assert found[words] == pytest.approx(1)  # queue 7 is none of those with a name


@pytest.mark.slow
def test_the_study_on_the_sample(tmp_path):
    log = Made("SDSC-BLUE", "")
    found = [
        *lee_logs.STUDY.compare(
            StudyInput([log], [], 1, {}), lambda f, xs: [f(x, np.random.default_rng(1)) for x in xs]
        )
    ]
    drawings = [item for item in found if isinstance(item, Drawing)]
    assert len(found) - len(drawings) == 9
    shaken = [x for x in found if "interval of chaos" in getattr(x, "note", "")]
    assert len(shaken) == 2  # those of EASY
    assert all(result.low <= result.ours <= result.high for result in shaken)
    decays = drawings[0].data
    assert decays.iloc[0].tolist() == [1, 1, 1]
    assert decays.loc[0.5, "exponential"] < decays.loc[0.5, "linear"] < decays.loc[0.5, "step"]
    for drawing in drawings:
        assert all(file.stat().st_size for file in drawing.save(tmp_path))
