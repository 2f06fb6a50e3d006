"""The study of multiple queues: what becomes of published figures, and the study on a small log."""

import math

import numpy as np
import pytest

import workloadkit as wk
from analysis import studies
from analysis.studies import lawson
from analysis.studies.lawson import Found


def found(ratio, low, high):
    return Found(ratio, low, high, {})


@pytest.mark.parametrize(
    ("published", "verdict"),
    [(1.0, "held"), (3.0, "held"), (3.1, "direction only"), (-0.1, "not held")],
)
def test_a_published_ratio_is_held_within_our_interval(published, verdict):
    assert lawson._near(found(2.0, 1.0, 3.0), published) == verdict


@pytest.mark.parametrize(
    ("ours", "bound", "sign", "verdict"),
    [
        ((2.0, 1.5, 2.5), 1.2, 1, "held"),
        ((2.0, 1.0, 3.0), 1.2, 1, "direction only"),
        ((1.0, 0.5, 1.5), 1.2, 1, "direction only"),
        ((-0.5, -1.0, 0.5), 0.0, 1, "not held"),
        ((-0.5, -0.6, -0.4), 0.0, -1, "held"),
        ((-0.5, -1.0, 0.1), 0.0, -1, "direction only"),
        ((0.5, 0.4, 0.6), 0.0, -1, "not held"),
    ],
)
def test_a_bound_is_held_if_our_interval_is_beyond_it(ours, bound, sign, verdict):
    assert lawson._beyond(found(*ours), bound, sign) == verdict


def test_the_published_tables_are_whole():
    ratios = lawson._published_ratios()
    assert len(ratios) == 64
    assert sum(ratio < 0 for ratio in ratios.values()) == 3
    assert all((row["log"], row["T"], int(row["L"])) in ratios for row in lawson._table("changes"))


def test_the_study_on_a_small_log(tmp_path):
    sample = wk.load_sample()
    begin = sample.take(np.flatnonzero(sample.column("submit") < 3 * lawson.WEEK))
    wk.write_swf(begin, tmp_path / "KTH-SP2-1996-2.swf")
    study = studies.load_study("lawson")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = studies.find_logs(study, tmp_path)
    results = studies.run_study(study, logs).results
    # both estimates; 16 pairs and 7 counts under each forecast; losses and distances of each
    assert len(results) == 2 + 3 * (16 + 7) + 3 * 2
    ratios = [result for result in results if result.quantity.startswith("R")]
    assert all(math.isfinite(result.ours) and result.low <= result.ours for result in ratios)
    counts = {r.quantity: r.ours for r in results if "T 100, L 2, replay" in r.quantity}
    assert counts["weeks, T 100, L 2, replay"] >= 3
    changes = sum(counts[f"changes to P = {queues}, T 100, L 2, replay"] for queues in (1, 2, 3, 4))
    assert changes == counts["changes, T 100, L 2, replay"]
