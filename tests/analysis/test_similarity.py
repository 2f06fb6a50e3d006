"""How alike a user's jobs are, worked by hand, and what must not change it."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from tests.data import needs_compiler, needs_traces, trace_path
from tests.examples import examples
from workloadkit import ParameterError, Trace, WorkloadError, read_swf
from workloadkit.analysis.locality.job_pairs import Ratios, compare_distances, user_jobs
from workloadkit.analysis.locality.shuffled import plot_shuffled, shuffled_similarity
from workloadkit.analysis.locality.similarity import (
    nearer_is_more_alike,
    plot_by_distance,
    plot_shares_of_users,
    side_by_side,
    similarity_by_distance,
)
from workloadkit.experiments.intervals import share_interval

ATTRIBUTES = ["procs", "requested_time", "run"]
APART = 4000  # more than an hour between sessions


def of_sessions(*sessions, user=1, **columns):
    """A log of one user's sessions, each a list of run times."""
    run = [x for session in sessions for x in session]
    submit = [APART * k for k, session in enumerate(sessions) for _ in session]
    n = len(run)
    jobs = {"submit": submit, "run": run, "procs": [1] * n, "user": [user] * n}
    return Trace.from_columns({**jobs, **columns})


def row_of(trace, distance, **options):
    found = similarity_by_distance(trace, attribute="run", max_distance=2, rng=1, **options)
    return found.of_users.xs(distance, level="distance").iloc[0].tolist()


def test_worked_by_hand():
    trace = of_sessions([60, 30, 60], [60], [10, 20])
    # 60:30, 60:60, 30:60 and 10:20; then 60:60, 30:60, 60:60 and 60:10, 60:20; then three by two.
    assert row_of(trace, 0) == pytest.approx([4, 2.5 / 4, 0.5, 1 / 4])
    assert row_of(trace, 1) == pytest.approx([5, (2.5 + 1 / 6 + 1 / 3) / 5, 0.5, 2 / 5])
    ratios = sorted([1 / 6, 1 / 3, 1 / 3, 2 / 3, 1 / 6, 1 / 3])
    assert row_of(trace, 2) == pytest.approx([6, sum(ratios) / 6, ratios[3], 0])


def test_nothing_against_nothing_is_the_same_and_something_is_not():
    assert row_of(of_sessions([0, 0]), 0) == [1, 1, 1, 1]
    assert row_of(of_sessions([0, 0, 5]), 0) == pytest.approx([3, 1 / 3, 0, 1 / 3])


def test_the_median_is_the_upper_one():
    # Ratios 1/2, 1/4, 1/2 of three jobs; a second session of one pair, 1/8: the middle of four.
    assert row_of(of_sessions([1, 2, 4], [1, 8]), 0)[2] == 0.5
    assert row_of(of_sessions([1, 8], [1, 2]), 0)[2] == 0.5


def test_pooled_values_and_means_of_users():
    first = of_sessions([60, 60, 60])
    second = of_sessions([10, 40], user=2)
    columns = {
        name: [*first.column(name), *second.column(name)]
        for name in ("submit", "run", "procs", "user")
    }
    found = similarity_by_distance(Trace.from_columns(columns), attribute="run", rng=1)
    average = found.by_distance.loc[(0, "average")]
    assert average["users"] == 2
    assert average["pairs"] == 4
    assert average["mean"] == pytest.approx((1 + 0.25) / 2)
    assert average["pooled"] == pytest.approx((3 + 0.25) / 4)
    assert found.by_distance.loc[(0, "median"), "pooled"] == 1
    assert average["low"] <= average["mean"] <= average["high"]
    at_one = found.by_distance.loc[(1, "average")]
    assert at_one["users"] == 0
    assert np.isnan(at_one["mean"])


def test_unknown_values_and_users_are_left_out():
    trace = of_sessions([60, 30, 60, 7], requested_time=[60, np.nan, 30, 15])
    found = similarity_by_distance(trace, attribute="requested_time", rng=1)
    assert found.of_users.loc[(1, 0), "pairs"] == 3
    unknown = of_sessions([60, 30, 60], [5], user=-1)
    with pytest.raises(WorkloadError, match="no job of a known user ran"):
        similarity_by_distance(unknown)
    with pytest.raises(WorkloadError, match="no requested time is known"):
        similarity_by_distance(of_sessions([60, 30]))
    with pytest.raises(WorkloadError, match="no requested time is known"):
        nearer_is_more_alike(of_sessions([60, 30]), attributes=["requested_time"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda t: similarity_by_distance(t, attribute="wait"),
            "unknown attribute 'wait'; known: procs",
        ),
        (lambda t: similarity_by_distance(t, attribute="run", max_distance=-1), "not -1"),
        (lambda t: nearer_is_more_alike(t, attributes=["wait"]), "unknown attribute 'wait'"),
        (
            lambda t: shuffled_similarity(t, measures=["mode"]),
            "unknown measure 'mode'; known: average",
        ),
        (lambda t: shuffled_similarity(t, n_shuffles=0), "n_shuffles must be 1 or more, not 0"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call(of_sessions([60, 30]))


def test_users_are_those_of_six_sessions_and_one_of_two_jobs():
    assert nearer_is_more_alike(of_sessions([1, 1], [1], [1], [1], [1])).n_users == 0
    assert nearer_is_more_alike(of_sessions([1], [1], [1], [1], [1], [1])).n_users == 0
    found = nearer_is_more_alike(of_sessions([1, 1], [2], [1], [2], [1], [2]))
    assert found.n_users == 1
    rows = found.users.loc["run"]
    assert rows.loc[("average", 0, 1), "nearer_larger"] == 1
    assert rows.loc[("average", 1, 2), "farther_larger"] == 1
    assert found.users.loc[("procs", "average", 0, 1), "equal"] == 1


def test_any_two_distances_are_set_against_each_other():
    # Sessions in turn of 1 s and of 2 s: those two apart are alike, neighbours are not.
    trace = of_sessions([1, 1], [2, 2], [1], [2], [1], [2])
    found = nearer_is_more_alike(trace, attributes=["run"], distances=[(0, 2), (1, 2)])
    rows = found.users.loc[("run", "average")]
    assert rows.index.tolist() == [(0, 2), (1, 2)]
    assert rows["equal"].tolist() == [1, 0]
    assert rows["farther_larger"].tolist() == [0, 1]
    ends = share_interval(0, 1)[1:]
    assert rows[["low", "high"]].to_numpy().tolist() == [pytest.approx(ends)] * 2


def test_what_is_drawn_is_of_the_measure_requested():
    # In a session jobs are nearly the same; in neighbouring ones some are the same, most are not.
    sessions = [[100, 101], [100], [10], [100], [10], [100]]
    found = nearer_is_more_alike(of_sessions(*sessions))
    for measure in ("average", "identical"):
        bars = found.bars(measure)
        assert bars.index.tolist() == [
            *("processors, 0 against 1", "processors, 1 against 2"),
            *("run time, 0 against 1", "run time, 1 against 2"),
        ]
        row = bars.loc["run time, 0 against 1"]
        assert row.tolist() == found.users.loc[("run", measure, 0, 1)].tolist()
        assert row[{"average": "nearer_larger", "identical": "farther_larger"}[measure]] == 1
    test = shuffled_similarity(of_sessions(*sessions), n_shuffles=3, rng=1)
    for measure in ("average", "identical"):
        means = test.means(measure)["run time"]
        assert means.index.tolist() == ["log", 1, 2, 3]
        assert means["log"] == test.test.loc[("run", measure, "mean"), "observed"]
        assert means.tolist()[1:] == test.shuffles[("run", measure, "mean")].tolist()


def test_the_largest_distance_may_be_none():
    found = similarity_by_distance(of_sessions([60, 30], [60]), attribute="run", max_distance=0)
    assert found.of_users.to_dict("index") == {
        (1, 0): {"pairs": 1, "average": 0.5, "median": 0.5, "identical": 0}
    }


def test_equal_averages_are_equal_however_many_pairs():
    # Sums of many equal ratios round; the users below have ratios 1/3 only, and 1 only.
    thirds = of_sessions(*[[1, 3]] + [[1, 3], [3, 1]] * 3, requested_time=[49] * 14)
    found = nearer_is_more_alike(thirds).users
    assert found.loc[("requested_time", "average", 0, 1), "equal"] == 1
    assert found.loc[("procs", "identical", 1, 2), "equal"] == 1


def test_users_without_pairs_are_counted_apart():
    times = [7, 7, *[np.nan] * 5]
    found = nearer_is_more_alike(of_sessions([1, 1], [1], [1], [1], [1], [1], requested_time=times))
    row = found.users.loc[("requested_time", "average", 0, 1)]
    assert row["without_pairs"] == 1
    assert row[["nearer_larger", "equal", "farther_larger"]].tolist() == [0, 0, 0]


some_jobs = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([0, 1, 2, 3, 60, 61.5]), st.integers(1, 2)),
    min_size=2,
    max_size=40,
).map(sorted)


def log_of(jobs, scale=1, order=None):
    submit, run, user = (np.array(x) for x in zip(*jobs, strict=True))
    return Trace.from_columns(
        {"submit": submit * 1800, "run": run * scale, "procs": [1] * len(jobs), "user": user}
    )


@examples(30)
@given(some_jobs)
def test_only_ratios_count(jobs):
    ours = similarity_by_distance(log_of(jobs), attribute="run", max_distance=3, rng=1)
    scaled = similarity_by_distance(log_of(jobs, 8), attribute="run", max_distance=3, rng=1)
    assert ours.by_distance.equals(scaled.by_distance)
    values = ours.of_users[["average", "median", "identical"]]
    assert ((values >= 0) | values.isna()).all(axis=None)
    assert ((values <= 1 + 1e-12) | values.isna()).all(axis=None)


@examples(30)
@given(some_jobs, st.randoms(use_true_random=False))
def test_the_order_within_a_second_does_not_matter(jobs, random):
    mixed = jobs.copy()
    random.shuffle(mixed)
    mixed.sort(key=lambda job: job[0])
    a, b = (
        similarity_by_distance(log_of(x), attribute="run", rng=1).of_users for x in (jobs, mixed)
    )
    assert a.sort_index().round(12).equals(b.sort_index().round(12))


def test_shuffles_are_the_same_for_the_same_seed_and_keep_what_they_must():
    trace = of_sessions([1, 1, 1], [2, 2], [3, 3, 3, 3], requested_time=[5, np.nan, *[9] * 7])
    first = shuffled_similarity(trace, n_shuffles=50, rng=3)
    second = shuffled_similarity(trace, n_shuffles=50, rng=3)
    assert first.shuffles.equals(second.shuffles)
    assert first.seed == 3
    assert not first.shuffles.equals(shuffled_similarity(trace, n_shuffles=50, rng=4).shuffles)
    run = first.test.loc[("run", "average", "mean")]
    assert run["observed"] == 1
    assert run["p"] <= 5 / 51
    assert run["low"] <= run["shuffled"] <= run["high"] < 1
    same = first.test.loc[("procs", "average", "mean")]  # all alike: no shuffle changes it
    assert same[["observed", "shuffled", "low", "high", "p"]].tolist() == [1] * 5


def test_medians_of_shuffles_on_demand():
    trace = of_sessions([1, 1], [2, 2], [3, 3], [4, 4], [1, 1], [2, 2])
    test = shuffled_similarity(trace, measures=["median"], n_shuffles=30, rng=1).test
    assert set(test.index.get_level_values("measure")) == {"median"}
    assert test.loc[("run", "median", "mean"), "observed"] == 1
    assert test.loc[("run", "median", "users"), "observed"] == 1
    assert test.loc[("run", "median", "mean"), "p"] < 0.2


def test_results_are_drawn_and_written():
    trace = of_sessions([1, 1], [2, 3], [3, 3], [4, 4], [1, 1], [2, 2])
    test = shuffled_similarity(trace, n_shuffles=20, rng=1)
    for result in (
        similarity_by_distance(trace, attribute="run", rng=1),
        nearer_is_more_alike(trace),
        test,
    ):
        ax = Figure().add_subplot()
        assert result.plot(ax) is ax
        assert ax.get_ylabel()
        ax.figure.canvas.draw()
        json.dumps(result.to_dict(), allow_nan=False)
    assert test.plot(Figure().add_subplot(), measure="identical")


def test_sessions_of_a_user_follow_one_another():
    jobs = user_jobs(log_of([(0, 1, 1), (0, 1, 2), (5, 1, 2), (5, 1, 1), (12, 1, 1)]))
    assert jobs.user.tolist() == [0, 0, 0, 1, 1]
    assert jobs.session.tolist() == [0, 1, 2, 3, 4]
    assert jobs.first_session.tolist() == [0, 3, 5]


def digits(log, attribute, measure):
    users = nearer_is_more_alike(read_swf(trace_path(log)), attributes=[attribute])
    rows = users.users.loc[(attribute, measure)]
    parts = rows[["nearer_larger", "equal", "farther_larger"]]
    return users.n_users, (parts * users.n_users).round(9).to_numpy().ravel().tolist()


@needs_traces
@needs_compiler
@pytest.mark.parametrize(
    ("log", "n_users", "published"),
    [
        # Zakay (2018), Table III: shares of identical pairs, requested time.
        ("KTH-SP2-1996-2", 133, [0.895, 0.0075, 0.098, 0.789, 0.0150, 0.195]),
        ("CTC-SP2-1996-3.1-cln", 461, [0.757, 0.1041, 0.139, 0.705, 0.1085, 0.187]),
        ("HPC2N-2002-2.2-cln", 215, [0.907, 0.0279, 0.065, 0.781, 0.0233, 0.195]),
    ],
)
def test_requested_times_as_published(log, n_users, published):
    n, counts = digits(log, "requested_time", "identical")
    assert n == n_users
    assert [round(x / n, d) for x, d in zip(counts, [3, 4, 3] * 2, strict=True)] == pytest.approx(
        published, abs=1e-12
    )


@needs_traces
@needs_compiler
@pytest.mark.parametrize(
    ("log", "off", "published"),
    [
        # Table IV: upper medians, run time; off by users.
        ("HPC2N-2002-2.2-cln", 0, [0.879, 0.0326, 0.088, 0.721, 0.0279, 0.251]),
        ("CTC-SP2-1996-3.1-cln", 2, [0.829, 0.0043, 0.167, 0.722, 0.0065, 0.271]),
        ("KTH-SP2-1996-2", 2, [0.827, 0.0075, 0.165, 0.684, 0.0000, 0.316]),
    ],
)
def test_run_times_as_published(log, off, published):
    n, counts = digits(log, "run", "median")
    assert all(
        abs(x - n * share) < off + n * 0.0005 + 1e-9
        for x, share in zip(counts, published, strict=True)
    )


def test_distances_are_compared_of_users_who_have_pairs_at_both():
    pairs = np.array([[2, 1], [0, 1], [1, 0]])
    ratios = np.array([[1.0, 0.5], [0.0, 0.5], [0.5, 0.0]])
    found = Ratios(pairs, ratios, (pairs > 0).astype(np.int64), np.full((3, 2), np.nan))
    for measure, sign in (("average", 0), ("identical", -1)):  # 1/2 and 0.5; 1/2 and 1
        signs, paired = compare_distances(found, measure, 0, 1)
        assert paired.tolist() == [True, False, False]
        assert signs[0] == sign


def together(*logs):
    """The jobs of several logs in one."""
    jobs = pd.concat([log.jobs for log in logs]).sort_values("submit", kind="stable")
    return Trace.from_columns({name: jobs[name] for name in ("submit", "run", "procs", "user")})


def test_shuffles_are_compared_with_users_who_have_pairs_and_those_who_are_compared():
    # User 2 has no two jobs in a session; of user 3, of two sessions, nothing is compared.
    trace = together(
        of_sessions([1, 2], [1], [1], [1], [1], [1]),
        of_sessions([5], user=2),
        of_sessions([4, 4], [8], user=3),
    )
    test = shuffled_similarity(trace, n_shuffles=2, rng=1).test["observed"]
    assert test[("run", "average", "mean")] == (0.5 + 1) / 2
    assert test[("run", "average", "pooled")] == (0.5 + 1) / 2
    # user 1: 0.5 in a session, and from one to the next 1, 1/2 and 1 four times
    assert test[("run", "average", "users")] == 0


def test_similarities_are_drawn_with_their_intervals_by_distance():
    distance = pd.RangeIndex(3, name="distance")
    run = pd.DataFrame(
        {"mean": [0.75, 0.5, 0.25], "low": [0.5, 0.375, 0.125], "high": [0.875, 0.625, 0.5]},
        index=distance,
    )
    both = side_by_side({"run": run, "procs": run / 2})
    assert list(both) == ["run", "run low", "run high", "procs", "procs low", "procs high"]
    ax = plot_by_distance(both, Figure().add_subplot())
    assert [line.get_label() for line in ax.lines] == ["run", "procs"]
    assert ax.lines[0].get_ydata().tolist() == [0.75, 0.5, 0.25]
    assert ax.lines[1].get_ydata().tolist() == [0.375, 0.25, 0.125]
    assert ax.lines[0].get_xdata().tolist() == [0, 1, 2]
    ends = ax.collections[0].get_paths()[0].get_extents()
    assert (ends.ymin, ends.ymax) == (0.125, 0.875)


def test_the_log_is_drawn_as_a_line_next_to_its_shuffled_logs():
    data = pd.DataFrame({"run": [0.9, 0.2, 0.3, 0.4], "user": [0.8, 0.5, 0.5, 0.5]})
    ax = plot_shuffled(data, Figure().add_subplot())
    lines = [segment.tolist() for lines in ax.collections for segment in lines.get_segments()]
    assert lines == [[[0.9, 0], [0.9, 0.75]], [[0.8, 1], [0.8, 1.75]]]
    first, second = (patch.get_data() for patch in ax.patches)
    # Three shuffles, each in a bar as high as the highest; the log itself is in none.
    assert np.count_nonzero(first.values - first.baseline) == 3
    assert first.values.max() == 0.75
    assert first.edges[[0, -1]] == pytest.approx([0.3 - 0.14, 0.3 + 0.14])
    assert np.count_nonzero(second.values - second.baseline) == 1
    assert second.values.max() == 1.75
    assert [label.get_text() for label in ax.get_yticklabels()] == ["run", "user"]
    legend = {text.get_text() for text in ax.get_legend().get_texts()}
    assert legend == {"shuffled", "log"}


def test_the_parts_of_the_users_lie_side_by_side_in_bars():
    data = pd.DataFrame(
        {
            "nearer_larger": [0.5, 0.625],
            "equal": [0.25, 0.125],
            "farther_larger": [0.25, 0.25],
            "low": [0.375, 0.5],
            "high": [0.75, 0.75],
        },
        index=["0 to 1", "1 to 2"],
    )
    ax = plot_shares_of_users(data, Figure().add_subplot())
    drawn = {
        bars.get_label(): [(bar.get_x(), bar.get_width()) for bar in bars] for bars in ax.containers
    }
    assert drawn == {
        "nearer": [(0, 0.5), (0, 0.625)],
        "equal": [(0.5, 0.25), (0.625, 0.125)],
        "farther": [(0.75, 0.25), (0.75, 0.25)],
    }
    (intervals,) = (lines.get_segments() for lines in ax.collections)
    assert [segment[:, 0].tolist() for segment in intervals] == [[0.375, 0.75], [0.5, 0.75]]
