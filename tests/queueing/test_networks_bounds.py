"""Bounds of closed networks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloadkit.queueing import QueueingError, QueueingWarning
from workloadkit.queueing.networks import bounds, mva

KINDS = ("asymptotic", "balanced_job", "geometric")

# Casale, Muntz & Serazzi 2008, tables IV and V: demands .1, .1, .09, .08
PUBLISHED = [
    (0, 2, 4.3040, 4.3174),
    (0, 5, 6.6859, 6.7524),
    (0, 10, 8.1521, 8.2690),
    (0, 20, 9.0947, 9.2431),
    (0, 80, 9.8233, 9.8765),
    (1, 5, 3.3432, 3.5582),
    (1, 10, 5.7569, 6.1410),
    (1, 20, 8.0856, 8.6467),
    (1, 80, 9.7147, 9.8594),
]


def test_geometric_bounds_are_the_published_ones():
    for Z, N, lower, upper in PUBLISHED:
        found = bounds([0.1, 0.1, 0.09, 0.08], N, Z).geometric
        assert found.X_lower == pytest.approx(lower, abs=6e-5)
        assert found.X_upper == pytest.approx(upper, abs=6e-5)


@given(
    st.lists(st.floats(0, 1) | st.floats(0.9, 1), min_size=1, max_size=6).filter(
        lambda d: max(d) > 1e-3
    ),
    st.integers(1, 60),
    st.just(0.0) | st.floats(1e-3, 1e4),
)
def test_the_truth_lies_between(demands, N, Z):
    exact, found = mva(demands, N, Z), bounds(demands, N, Z)
    for kind in KINDS:
        within = getattr(found, kind)
        assert within.X_lower <= exact.X * (1 + 1e-12)
        assert within.X_upper >= exact.X * (1 - 1e-12)
        assert within.R_lower <= exact.R * (1 + 1e-12)
        assert within.R_upper >= exact.R * (1 - 1e-12)
        assert within.X_lower >= found.asymptotic.X_lower * (1 - 1e-12)
        assert within.X_upper <= found.asymptotic.X_upper * (1 + 1e-12)


def test_asymptotes_by_hand():
    found = bounds([2.0, 1.0, 1.0], [1, 4, 9], 6.0)
    assert found.D_max == 2
    assert found.bottleneck == 0
    assert found.N_star.tolist() == [5, 5, 5]
    assert found.asymptotic.X_upper == pytest.approx([0.1, 0.4, 0.5])
    assert found.asymptotic.X_lower == pytest.approx([1 / 10, 4 / 22, 9 / 42])
    assert found.asymptotic.R_lower == pytest.approx([4, 4, 12])
    assert found.asymptotic.R_upper == pytest.approx([4, 16, 36])


def test_balanced_jobs_by_hand():
    found = bounds([2.0, 1.0, 1.0], 4, 6.0).balanced_job
    assert found.X_lower == pytest.approx(4 / (10 + 3 * 2 / (1 + 6 / 16)))
    assert found.X_upper == pytest.approx(4 / (10 + 3 * (4 / 3) / (1 + 6 / 4)))


def test_balanced_demands_leave_no_room_without_thinking():
    found = bounds([0.5, 0.5, 0.5], 7).balanced_job
    exact = mva([0.5, 0.5, 0.5], 7)
    assert found.X_lower == pytest.approx(exact.X, rel=1e-14)
    assert found.X_upper == pytest.approx(exact.X, rel=1e-14)


def test_nobody_and_bad_points():
    found = bounds([1.0], [0, 1])
    assert found.geometric.X_lower.tolist() == [0, 1]
    assert np.isnan(found.geometric.R_upper[0])
    with pytest.warns(QueueingWarning, match="1 of 2"):
        assert np.isnan(bounds([1.0], [1.5, 1]).balanced_job.X_lower).tolist() == [True, False]
    for wrong, message in (([], "shape"), ([0.0], "all 0"), ([-1.0], r"demands\[0\] is -1")):
        with pytest.raises(QueueingError, match=message):
            bounds(wrong, 3, 1)
    with pytest.raises(QueueingError, match="Z is nan"):
        bounds([1.0], 3, math.nan)
    with pytest.raises(QueueingError, match=r"Z is 1; it must be at most 1e\+100 times"):
        bounds([0.0, 1e-300], 3, 1)


@pytest.mark.parametrize("measure", ["X", "R"])
def test_plot_draws_bounds_around_the_curve(measure):
    from matplotlib import pyplot as plt

    found = bounds([1.0, 0.5], range(1, 21), 4.0)
    assert len(found.to_frame()) == 20
    fig, ax = plt.subplots()
    assert found.plot(ax, measure) is ax
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["asymptotic", "balanced job", "geometric", "exact", "N*"]
    plt.close(fig)
    with pytest.raises(QueueingError, match="varying N"):
        bounds([1.0], 3).plot()
    with pytest.raises(QueueingError, match="measure is"):
        found.plot(measure="Q")
