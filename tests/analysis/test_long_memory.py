import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from tests.data import needs_traces, trace_path
from workloadkit import Header, ParameterError, Trace, WorkloadWarning, read_swf
from workloadkit.analysis.memory import (
    arrivals_per_unit,
    fractional_gaussian_noise,
    hurst,
    hurst_of,
)
from workloadkit.analysis.memory import summary as long_memory
from workloadkit.analysis.memory.arrivals import without_cycle, without_trend
from workloadkit.analysis.memory.estimators import methods, time_domain
from workloadkit.analysis.memory.estimators.methods import METHODS, check_series, periodogram
from workloadkit.analysis.memory.estimators.time_domain import fit_line, sizes
from workloadkit.analysis.memory.hurst_parameter import plot_slopes
from workloadkit.analysis.memory.of_log import (
    TREATMENTS,
    LongRangeDependence,
    find_doubts,
    plot_hurst_estimates,
)
from workloadkit.analysis.reactions.continuation import Continuation
from workloadkit.clock import DAY, WEEK, Clock

HOUR = 3600
SPECTRAL = ("periodogram", "gph", "local_whittle", "whittle")
every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def noise():
    return fractional_gaussian_noise(1500, 0.8, rng=8)


def arrivals(counts, rng, unit=HOUR):
    """A log with so many submissions in each unit; one more tells its end."""
    begin = np.repeat(np.arange(len(counts)) * unit, counts)
    submit = np.sort(begin + rng.integers(1, unit, begin.size))
    return Trace.from_columns({"submit": [0, *submit, len(counts) * unit]})


# The estimators


@every_method
def test_neither_mean_nor_scale_matters(method, noise):
    expected = hurst(noise, method).estimate
    for series in (noise * 1e-9, noise * -3 + 40, noise * 1e200, noise + 1e5):
        assert hurst(series, method).estimate == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("method", SPECTRAL)
def test_a_spectrum_knows_no_direction_of_time(method, noise):
    expected = hurst(noise, method).estimate
    assert hurst(noise[::-1], method).estimate == pytest.approx(expected, abs=1e-6)


def test_wavelets_are_blind_to_a_trend(noise):
    tilted = noise + np.linspace(0, 50, noise.size)
    assert hurst(tilted, "wavelet").estimate == pytest.approx(hurst(noise, "wavelet").estimate)
    with pytest.warns(WorkloadWarning, match="at or beyond a bound"):
        assert hurst(tilted, "rs").estimate > hurst(noise, "rs").estimate + 0.1


@every_method
def test_an_estimate_lies_near_the_truth_and_its_interval_holds_it(method):
    for seed, H in enumerate((0.3, 0.5, 0.7, 0.9)):
        found = hurst(fractional_gaussian_noise(8192, H, rng=seed), method)
        assert found.interval[0] <= H + 0.02
        assert found.interval[1] >= H - 0.02
        assert abs(found.estimate - H) < 0.12


@every_method
def test_what_is_returned(method, noise):
    found = hurst(noise, method)
    assert found.n == 1500
    assert found.method == method
    assert not found.at_bound
    assert list(found.points) == ["scale", "value", "line"]
    assert json.dumps(found.to_dict(), allow_nan=False)
    # The line has the slope that the estimate was read from.
    ends = found.points.iloc[[0, -1]]
    slope = np.diff(np.log(ends["line"]))[0] / np.diff(np.log(ends["scale"]))[0]
    read = {
        "rs": slope,
        "dfa": slope,
        "aggregated_variance": 1 + slope / 2,
        "absolute_moments": 1 + slope,
        "wavelet": (1 + slope) / 2,
        "periodogram": (1 - slope) / 2,
        "local_whittle": (1 - slope) / 2,
    }
    if method in read:
        assert found.estimate == pytest.approx(read[method])


def test_the_line_through_points():
    slope, points = fit_line([1, 2, 4, 8], [3, 12, 48, 0])
    assert slope == pytest.approx(2)
    assert points["line"].tolist() == pytest.approx([3, 12, 48])  # 0 has no logarithm
    weighted, _ = fit_line([1, 2, 4], [1, 2, 8], [1, 1, 1e-12])
    assert weighted == pytest.approx(1)
    with pytest.raises(ParameterError, match="3 scales or more, not at 2"):
        fit_line([1, 2, 2], [1, 1, 2])


def test_sizes_lie_a_factor_apart():
    assert sizes(5, 5).tolist() == [5]
    assert sizes(5, 4.9).size == 0
    assert sizes(2, 8).tolist() == [2, 3, 4, 5, 6, 7]
    ratio = sizes(100, 10**6)[1:] / sizes(100, 10**6)[:-1]
    assert ratio == pytest.approx(1.2, abs=0.01)


def test_rescaled_ranges_by_hand():
    from workloadkit._kernels.statistics import rescaled_ranges

    # Deviations of 1 2 6 from 3: -2 -1 3, summed -2 -3 0: range 3; S² = 14 / 3. Alike: unknown.
    series = np.array([1.0, 2, 6, 5, 5, 5, 5])
    begin, size = np.array([0, 3, 0]), np.array([3, 4, 2])
    ranges = rescaled_ranges(series, begin, size)
    assert ranges == pytest.approx([3 / np.sqrt(14 / 3), np.nan, 1], nan_ok=True)


def test_windows_are_spread_evenly_and_overlap_where_they_are_large():
    begin, size = time_domain.windows(1000, 10)
    by_size = pd.Series(begin).groupby(size)
    assert by_size.size().max() == 10
    assert by_size.get_group(10).tolist() == [k * 990 // 9 for k in range(10)]
    assert (begin + size <= 1000).all()
    last = by_size.get_group(size.max())
    assert last.max() < size.max()  # overlapping
    assert len(set(zip(begin, size, strict=True))) == begin.size


def test_block_means_leave_out_what_is_no_whole_block():
    assert time_domain.block_means(np.array([1.0, 2, 3, 4, 100]), 2).tolist() == [1.5, 3.5]


def test_fluctuations_by_hand():
    from workloadkit._kernels.statistics import fluctuations

    # 0 1 0 around its line, which is level at 1/3: squares 1/9, 4/9, 1/9. A line leaves nothing.
    profile = np.array([0.0, 1, 0, 2, 4, 6, 99])
    found = fluctuations(profile, np.array([3]))
    assert found == pytest.approx([np.sqrt((6 / 9) / 6)])
    assert time_domain.detrended_fluctuation(np.tile([1.0, -1.0], 500), 10).estimate < 0.1


def test_the_wavelet_filter_is_orthonormal_with_two_vanishing_moments():
    smooth, detail = time_domain.SMOOTH, time_domain.DETAIL
    assert smooth @ smooth == pytest.approx(1)
    assert smooth[:2] @ smooth[2:] == pytest.approx(0)
    assert smooth @ detail == pytest.approx(0)
    assert smooth.sum() == pytest.approx(np.sqrt(2))
    assert [detail @ np.arange(4.0) ** k for k in (0, 1)] == pytest.approx([0, 0])
    assert abs(detail @ np.arange(4.0) ** 2) > 1


# Parameters, bounds, errors


def test_a_custom_parameter(noise):
    wide, narrow = hurst(noise, bandwidth=40), hurst(noise, bandwidth=400)
    assert wide.parameters == {"bandwidth": 40}
    assert len(wide.points) == 40
    # Robinson (1995): the standard deviation is near 1 / (2 sqrt(bandwidth)).
    assert np.ptp(wide.interval) == pytest.approx(1.96 / np.sqrt(40), rel=0.5)
    assert np.ptp(narrow.interval) == pytest.approx(1.96 / np.sqrt(400), rel=0.25)
    assert hurst(noise, bandwidth=40).interval == wide.interval
    variances = hurst(noise, "aggregated_variance", smallest=5)
    assert variances.points["scale"].min() == 5
    assert hurst(noise, "wavelet", smallest=4).points["scale"].min() == 4


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("hurst", {}, "unknown method 'hurst' of the Hurst parameter; known: rs, aggregated"),
        ("rs", {"bandwidth": 5}, "the method 'rs' has no parameter bandwidth"),
        ("whittle", {"smallest": 5}, "has no parameter smallest"),
        ("gph", {"bandwidth": 1}, "bandwidth must be a whole number of 2 or more, not 1"),
        ("gph", {"bandwidth": 9.5}, "not 9.5"),
        ("dfa", {"smallest": 149}, "needs points at 3 scales or more, not at 1"),
        ("rs", {"smallest": 10**9}, "not at 0"),
    ],
)
def test_parameters_that_make_no_sense(method, given, message, noise):
    with pytest.raises(ParameterError, match=message):
        hurst(noise, method, **given)


def test_series_that_have_no_hurst_parameter():
    for series, message in (
        (np.zeros((300, 2)), "one dimension, not 2"),
        (np.arange(255.0), "256 values or more, not 255"),
        ([], "not 0"),
        ([7.3] * 400, "all 400 values of the series are equal"),
        ([*range(300), np.nan], "value 300 is nan"),
        ([np.inf] * 300, "value 0 is inf"),
        ("log.swf", "must hold numbers, not 'log.swf'"),
        ({"a": 1}, "must hold numbers, not {'a': 1}"),
    ):
        for method in METHODS:
            with pytest.raises(ParameterError, match=message):
                hurst(series, method)


def test_a_series_that_wanders_off_is_at_a_bound():
    walk = np.cumsum(np.random.default_rng(0).standard_normal(4096))
    for method in ("local_whittle", "whittle"):
        with pytest.warns(WorkloadWarning, match=r"H is ≥ 0\.99 \[0\.9\d, ≥ 1\.00\], at or beyond"):
            found = hurst(walk, method)
        assert found.estimate == 0.99
        assert found.at_bound
        assert found.interval[1] == 1
        assert found.to_dict()["interval_at_bound"] == [False, True]
    with pytest.warns(WorkloadWarning, match=r"H is 1\.\d\d, at or beyond a bound"):
        found = hurst(walk, "dfa")
    assert found.estimate == pytest.approx(1.5, abs=0.15)
    assert found.at_bound
    assert np.isnan(found.interval).all()
    back_and_forth = np.diff(np.random.default_rng(0).standard_normal(4096), n=2)
    with pytest.warns(WorkloadWarning, match=r"H is ≤ 0\.01"):
        found = hurst(back_and_forth)
    assert found.estimate == 0.01
    assert found.at_bound
    assert found.interval_at_bound[0]


def test_a_curve_fitted_at_a_bound_says_so():
    steep = Continuation(pd.DataFrame(), 1.0, 1e3, (0.9, 1.0), (5.0, 1e3), 0.1, 0.2)
    assert steep.at_bound == ("a", "b")
    assert steep.in_words("a") == "≥ 1 [0.9, ≥ 1]"
    assert steep.to_dict()["at_bound"] == ["a", "b"]
    inside = Continuation(pd.DataFrame(), 0.8, 0.05, (0.7, 0.9), (0.04, 0.06), 0.1, 0.2)
    assert not inside.at_bound
    assert inside.in_words("b") == "0.05 [0.04, 0.06]"


# How the estimators err


def test_the_table_of_errors_is_whole():
    table = pd.read_csv(Path(methods.__file__).with_name("sampling.csv"))
    assert len(table) == len(METHODS) * len(methods.LENGTHS) * len(methods.PARAMETERS)
    assert (table["sd"] > 0).all()
    assert (table["n_series"] >= 300).all()
    at = table[(table["n"] == 16384) & table["H"].between(0.5, 0.9)].set_index(["method", "H"])
    for method, bias, sd in (
        ("local_whittle", 0.005, 0.023),
        ("periodogram", 0.005, 0.026),
        ("gph", 0.005, 0.031),
        ("wavelet", 0.007, 0.0145),
        ("dfa", 0.01, 0.026),
        ("whittle", 0.002, 0.006),
    ):
        assert at.loc[method, "bias"].abs().max() <= bias
        assert at.loc[method, "sd"].max() <= sd
    # The known bias.
    for method, known in (
        ("rs", {0.5: 0.03, 0.7: 0.005, 0.9: -0.05}),
        ("aggregated_variance", {0.5: 0, 0.7: -0.015, 0.9: -0.06}),
        ("absolute_moments", {0.5: 0, 0.7: -0.015, 0.9: -0.06}),
    ):
        for H, bias in known.items():
            assert at.loc[(method, H), "bias"] == pytest.approx(bias, abs=0.012)


@every_method
def test_intervals_narrow_with_the_length(method):
    widths = [np.ptp(methods.interval(method, 0.7, n)) for n in (256, 1000, 5000, 65536, 200_000)]
    assert widths == sorted(widths, reverse=True)


def test_an_interval_is_what_the_estimate_could_have_come_from():
    n, H, error = 16384, 0.9, 0.02
    bias, sd = (x[9000] for x in methods.errors("rs", n))
    low, high = methods.interval("rs", H + bias + error, n)
    assert low < H + error < high
    assert low > H + bias - error  # the estimate itself is too low
    # The estimates of different H lie closer together than these: the interval is the wider.
    assert 1 < (high - low) / (2 * 1.96 * sd) < 1.5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:H is .* beyond a bound:workloadkit.errors.WorkloadWarning")
@every_method
def test_errors_and_intervals_on_many_series(method):
    goals = {
        "local_whittle": (0.01, 0.026),
        "periodogram": (0.015, 0.035),
        "gph": (0.015, 0.035),
        "wavelet": (0.012, 0.016),
        "dfa": (0.012, 0.03),
    }
    covered = []
    for H in (0.5, 0.6, 0.7, 0.8, 0.9):
        rng = np.random.default_rng(int(10 * H))
        found = [hurst(fractional_gaussian_noise(2**14, H, rng), method) for _ in range(90)]
        estimates = [h.estimate for h in found]
        covered += [h.interval[0] <= H <= h.interval[1] for h in found]
        if method in goals:
            assert abs(np.mean(estimates) - H) <= goals[method][0]
            assert np.std(estimates, ddof=1) <= goals[method][1]
    assert 0.92 <= np.mean(covered) <= 0.98


# Arrivals


def test_only_whole_units_count():
    trace = Trace.from_columns({"submit": [100, 159, 160, 219, 220, 279]})
    assert arrivals_per_unit(trace, 60).to_dict() == {100.0: 2, 160.0: 2}
    assert arrivals_per_unit(trace, 59.5).tolist() == [2, 1, 2]
    assert arrivals_per_unit(Trace.from_columns({"submit": [5]})).empty
    assert arrivals_per_unit(Trace.from_columns({"submit": []})).empty
    for unit in (0, -5, np.nan, np.inf):
        with pytest.raises(ParameterError, match="unit must be positive"):
            arrivals_per_unit(trace, unit)
    with pytest.raises(ParameterError, match="spans 2,777,777 units of 3600 s; at most 262,144"):
        arrivals_per_unit(Trace.from_columns({"submit": [0, 10**10]}))


def test_the_cycle_is_removed_in_local_time():
    # At 9 o'clock in Stockholm, also when the clocks change.
    header = Header(("; UnixStartTime: 843480000", "; TimeZoneString: Europe/Stockholm"))
    dates = pd.date_range("1996-09-24 09:00", periods=90, tz="Europe/Stockholm")
    seconds = [(date.timestamp() - 843480000) for date in dates for _ in range(date.weekday() + 1)]
    trace = Trace.from_columns({"submit": [0, *seconds]}, header=header)
    counts = arrivals_per_unit(trace)
    left = without_cycle(counts, Clock.of(trace))
    assert left[counts.index > DAY].abs().max() < 0.2  # but for the first job
    hours = ((counts.index + 843480000) // HOUR).astype(int) % 24  # UTC
    utc = counts.to_numpy() - pd.Series(counts.to_numpy()).groupby(hours).transform("mean")
    assert np.abs(utc).max() > 1


def test_hours_of_the_day_where_there_are_too_few_weeks():
    rng = np.random.default_rng(1)
    for days, period in ((27, DAY), (28, WEEK)):
        counts = rng.poisson(5, days * 24)
        trace = arrivals(counts, rng)
        left = without_cycle(arrivals_per_unit(trace), Clock.of(trace))
        kind = (left.index.to_numpy() // HOUR) % (period // HOUR)
        assert left.groupby(kind).mean().abs().max() < 1e-9
    with pytest.raises(ParameterError, match="less than four days"):
        without_cycle(left.iloc[:95], Clock.of(trace))


def test_the_trend_that_is_removed_is_the_best_line():
    counts = pd.Series(np.random.default_rng(2).poisson(9, 300).astype(float))
    left = without_trend(counts)
    line = np.polyval(np.polyfit(np.arange(300), counts, 1), np.arange(300))
    np.testing.assert_allclose(left, counts - line, atol=1e-9)


# Logs


def bursty(rng, *, H=0.9, weeks=20, cycle=0.0, n_per_hour=12):
    n = weeks * 7 * 24
    rhythm = cycle * np.sin(2 * np.pi * np.arange(n) / 24)
    rate = np.exp(0.6 * fractional_gaussian_noise(n, H, rng) + rhythm)
    return arrivals(rng.poisson(n_per_hour * rate), rng)


def test_all_methods_and_treatments_of_a_log(rng):
    trace = bursty(rng)
    found = hurst_of(trace, rng=1)
    counts = arrivals_per_unit(trace).to_numpy()
    assert found.n_units == counts.size
    assert set(found.table["treatment"]) == {"raw", "cycle_removed", "detrended", "shuffled"}
    assert len(found.table) == 4 * len(METHODS)
    for method in METHODS:
        row, alone = found.of("raw", method), hurst(counts, method)
        assert (row["estimate"], row["low"], row["high"]) == (alone.estimate, *alone.interval)
    assert found.estimate == hurst(counts).estimate == found.headline.estimate
    assert found.interval == hurst(counts).interval
    pd.testing.assert_frame_equal(found.table, hurst_of(trace, rng=1).table)
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_long_memory_that_is_real(rng):
    found = hurst_of(bursty(rng), rng=1)
    assert found.verdict == "real"
    assert long_memory.finding(found).startswith("The arrivals are long-range dependent: H = 0.")
    shuffled = found.of("shuffled")
    assert shuffled["low"] <= 0.5 <= shuffled["high"]


def test_a_cycle_is_no_long_memory(rng):
    hours = np.arange(20 * 168)
    rate = 9 * (1 + 0.9 * np.sin(2 * np.pi * hours / 24)) * np.where(hours % 168 < 120, 1, 0.2)
    found = hurst_of(arrivals(rng.poisson(rate), rng), rng=1)
    assert found.verdict in ("cycle", "none")
    assert any("disagree" in warning for warning in found.warnings)
    without = found.table[found.table["treatment"] == "cycle_removed"]["estimate"]
    assert without.between(0.38, 0.62).all()


def test_a_week_alone_is_a_cycle(rng):
    rate = np.where(np.arange(40 * 168) % 168 < 120, 15, 2)
    found = hurst_of(arrivals(rng.poisson(rate), rng), rng=1)
    assert found.verdict == "cycle"
    assert "is due to the daily and weekly cycle: H ≥ 0.99 [" in long_memory.finding(found)


def test_a_trend_is_no_long_memory(rng):
    found = hurst_of(arrivals(rng.poisson(np.linspace(1, 20, 5000)), rng), rng=1)
    assert found.verdict == "trend"
    assert found.of("raw")["estimate"] > 0.6
    assert abs(found.of("detrended")["estimate"] - 0.5) < 0.1


def test_arrivals_that_drift(rng):
    walk = np.cumsum(rng.standard_normal(3000)) / 20
    found = hurst_of(arrivals(rng.poisson(np.exp(walk - walk.max() + 5)), rng), rng=1)
    assert found.verdict == "drift"
    assert "not stationary" in long_memory.finding(found)
    assert any("at a bound" in warning for warning in found.warnings)
    assert found.longest["estimate"] == 0.99
    assert found.warnings[-1].startswith("Over the longest periods only, the estimate")


def test_memory_that_does_not_last(rng):
    noise = rng.standard_normal(8000)
    waves = np.convolve(noise, np.full(20, 20**-0.5), "valid")  # correlated over 20 hours, no more
    found = hurst_of(arrivals(rng.poisson(np.exp(2 + waves / 2)), rng), rng=1)
    assert found.of("raw")["low"] > 0.6
    assert found.verdict == "short"
    assert found.longest["low"] < 0.5 < found.of("cycle_removed")["low"]
    assert found.longest["period"] == pytest.approx(HOUR * found.n_units**0.5, rel=0.02)
    assert "but are not long-range dependent" in long_memory.finding(found)


def test_memory_beneath_a_strong_cycle(rng):
    found = hurst_of(bursty(rng, H=0.75, weeks=46, cycle=1.6), rng=1)
    assert found.verdict == "hidden"
    assert "which the daily cycle hides" in long_memory.finding(found)


def test_doubts_are_reported():
    rows = [("raw", "rs", 0.6, False), ("raw", "dfa", 0.7, False), ("shuffled", "rs", 1.2, True)]
    table = pd.DataFrame(rows, columns=["treatment", "method", "estimate", "at_bound"])
    assert find_doubts(table) == ["Shuffled: at a bound, so not stationary: R/S."]
    table.loc[1, "estimate"] = 0.71
    assert find_doubts(table)[0] == ("Raw: the estimators disagree, from 0.60 (R/S) to 0.71 (DFA).")


def test_logs_without_a_hurst_parameter_say_why():
    with pytest.raises(
        ParameterError, match=r"a.swf, in units of 1 h: .*256 values or more, not 2"
    ):
        hurst_of(Trace.from_columns({"submit": [0, 3700, 7300]}, name="a.swf"))
    even = Trace.from_columns({"submit": np.arange(300) * 3600})
    with pytest.raises(ParameterError, match="all 299 values of the series are equal"):
        hurst_of(even)


def test_a_log_that_is_nothing_but_a_cycle():
    trace = Trace.from_columns({"submit": np.arange(60) * DAY})
    found = hurst_of(trace, rng=1)
    assert any("Cycle removed" in warning and "equal" in warning for warning in found.warnings)
    assert np.isnan(found.of("cycle_removed")["estimate"])
    assert np.isnan(found.longest["estimate"])
    assert json.dumps(long_memory.section(trace).to_dict(), allow_nan=False)


@pytest.mark.parametrize(("n", "waves"), [(4, 1), (5, 2), (6, 2), (7, 3)])
def test_a_periodogram_has_all_frequencies_between_none_and_the_highest(n, waves):
    series = np.cos(2 * np.pi * waves * np.arange(n) / n)  # as the last of them
    frequency, power = periodogram(series)
    assert frequency == pytest.approx(2 * np.pi * np.arange(1, waves + 1) / n)
    assert power == pytest.approx([0.0] * (waves - 1) + [n / (8 * np.pi)], abs=1e-12)


@pytest.mark.parametrize("method", ["periodogram", "gph", "local_whittle", "whittle"])
def test_a_series_without_power_at_the_frequencies_has_no_spectral_estimate(method):
    with pytest.raises(ParameterError, match=r"no power at|needs points at 3 scales"):
        hurst([1, 2] * 200, method)


# The section


@pytest.mark.parametrize(
    ("submit", "said"),
    [
        ([7], "span 0 s"),
        ([7] * 60, "span 0 s"),
        (np.linspace(0, 0.9, 60), "span 0.9 s"),
        ([*range(59), 10**10], "at most 262,144 are counted"),
        ([*range(59), 10**12], "at most 262,144 are counted"),
        (np.arange(700) * 3600, "are equal"),
        (np.arange(5) ** 3 * DAY, "5 jobs are too few: 256 or more are required"),
    ],
)
def test_a_section_without_a_number_says_why(submit, said):
    section = long_memory.section(Trace.from_columns({"submit": submit}))
    assert said in section.notes[0]
    assert not section.finding
    assert not section.tables


def test_the_section_shows_the_headline_next_to_the_treated_series(rng):
    trace = bursty(rng)
    section = long_memory.section(trace)
    for words in ("hourly arrivals", "cycle removed", "without the trend", "shuffled"):
        assert words in section.finding
    assert list(section.tables[0].shown) == [
        "raw", "cycle removed", "detrended", "shuffled"
    ]  # fmt: skip
    assert section.tables[0].shown.shape == (len(METHODS), 4)
    assert [figure.name for figure in section.figures] == [
        "estimates", "pox", "spectrum", "octaves"
    ]  # fmt: skip
    assert section.to_dict() == long_memory.section(trace).to_dict()
    for figure in section.figures:
        ax = Figure().add_subplot()
        assert figure.plot(figure.data, ax=ax) is ax
        assert ax.get_xlabel()
        assert ax.get_ylabel()


@every_method
def test_every_estimate_draws_itself(method, noise):
    ax = Figure().add_subplot()
    assert hurst(noise, method).plot(ax) is ax
    assert ax.get_legend_handles_labels()[1][0].startswith("H = 0.")
    assert len(ax.get_legend_handles_labels()[1]) == (3 if method == "rs" else 1)


def test_a_log_draws_itself_on_the_current_axes(rng):
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    _, ax = plt.subplots()
    try:
        assert hurst_of(bursty(rng, weeks=5), rng=1).plot() is ax
    finally:
        plt.close("all")


def test_check_series_standardises():
    values = check_series([*range(300)])
    assert values.mean() == pytest.approx(0)
    assert values.std() == pytest.approx(1)


@needs_traces
def test_a_real_log():
    found = hurst_of(read_swf(trace_path("KTH-SP2-1996-2")), rng=1)
    assert found.n_units == 8156
    assert found.of("raw", "rs")["estimate"] == pytest.approx(0.666, abs=0.05)  # published
    assert found.verdict == "hidden"


@pytest.mark.parametrize("method", METHODS)
def test_errors_of_longer_series_than_were_simulated(method):
    """The mean error stays that of the longest; the deviation falls on as between the last two."""
    at = np.searchsorted(np.linspace(0, 1, 10001), methods.PARAMETERS)
    (_, before), (bias, sd), (same, beyond) = (
        [errors[at] for errors in methods.errors(method, n)] for n in (16384, 65536, 4 * 65536)
    )
    assert same == pytest.approx(bias)
    assert beyond == pytest.approx(sd**2 / before, rel=1e-6)
    estimate = 0.7 + float(np.interp(0.7, methods.PARAMETERS, bias))
    low, high = methods.interval(method, estimate, 4 * 65536)
    assert low < 0.7 < high


def test_as_many_units_as_are_counted_at_most():
    most = 262_144
    assert arrivals_per_unit(Trace.from_columns({"submit": [0, most]}), 1).size == most
    with pytest.raises(ParameterError, match="spans 262,145 units of 1 s"):
        arrivals_per_unit(Trace.from_columns({"submit": [0, most + 1]}), 1)


def test_only_arrivals_in_the_window_count():
    header = Header(("; Window: 3600 10800",))
    trace = Trace.from_columns({"submit": [0, 3600, 5000, 7200, 10_800, 99_999]}, header=header)
    assert arrivals_per_unit(trace).to_dict() == {3600.0: 2, 7200.0: 1}


def test_four_days_are_enough_for_a_daily_cycle():
    trace = Trace.from_columns({"submit": [0, 96 * HOUR]})
    counts = arrivals_per_unit(trace)
    left = without_cycle(counts, Clock.of(trace))
    assert left[left != 0].to_dict() == {
        0: 0.75,
        24 * HOUR: -0.25,
        48 * HOUR: -0.25,
        72 * HOUR: -0.25,
    }


def test_two_is_the_least_that_can_be_chosen(noise):
    with pytest.warns(WorkloadWarning, match=r"H is ≤ 0\.01 \[≤ 0\.00"):
        assert hurst(noise, bandwidth=2).parameters == {"bandwidth": 2}
    chosen = hurst(noise, "aggregated_variance", smallest=2)
    assert chosen.estimate == hurst(noise, "aggregated_variance").estimate
    assert hurst(noise, "whittle").parameters == {}


@pytest.mark.parametrize(
    ("raw", "without_cycle", "without_trend", "longest", "estimate", "verdict"),
    [
        (0.6, 0.6, 0.6, 0.6, 0.98, "real"),
        (0.6, 0.6, 0.6, 0.6, 0.99, "drift"),
        (0.5, 0.6, 0.6, 0.6, 0.8, "hidden"),
        (0.6, 0.5, 0.6, 0.6, 0.8, "cycle"),
        (0.5, 0.5, 0.6, 0.6, 0.8, "none"),
        (0.6, 0.6, 0.5, 0.6, 0.8, "trend"),
        (0.6, 0.6, 0.6, 0.5, 0.8, "short"),
        (0.6, 0.6, 0.6, np.nan, 0.8, "short"),
        (0.6, np.nan, 0.6, 0.6, 0.8, "unknown"),
        (0.5, np.nan, 0.6, 0.6, 0.8, "none"),
    ],
)
def test_the_verdict_by_the_lower_ends(
    raw, without_cycle, without_trend, longest, estimate, verdict
):
    """An interval that only begins at 0.5 is not above it."""
    low = {"raw": raw, "cycle_removed": without_cycle, "detrended": without_trend, "shuffled": 0.4}
    table = pd.DataFrame({"treatment": list(low), "low": list(low.values())})
    table = table.assign(method="local_whittle", estimate=estimate, high=1.0, at_bound=False)
    headline = hurst(fractional_gaussian_noise(256, 0.7, rng=1))
    beyond = {"estimate": 0.7, "low": longest, "high": 1.0, "period": 9e4}
    found = LongRangeDependence("log", 3600.0, 999, headline, table, beyond, ())
    assert found.verdict == verdict
    assert long_memory.finding(found)


def test_the_longest_periods_are_those_of_the_series_without_cycle(rng):
    trace = bursty(rng, weeks=6, H=0.6)
    found = hurst_of(trace, rng=1)
    left = without_cycle(arrivals_per_unit(trace), Clock.of(trace))
    m = int(left.size**0.5)
    assert 0.01 < found.longest["estimate"] < 0.99
    alone = hurst(left, bandwidth=m)
    reach = 1.96 / (2 * m**0.5)
    low, high = max(alone.estimate - reach, 0), min(alone.estimate + reach, 1)
    assert found.longest == pytest.approx(
        {"estimate": alone.estimate, "low": low, "high": high, "period": HOUR * left.size / m}
    )


@pytest.mark.parametrize(("seconds", "enough"), [(28 * DAY - 1, False), (28 * DAY, True)])
def test_a_log_of_less_than_four_weeks_has_no_estimate_but_a_line(rng, seconds, enough):
    submit = [0, *np.sort(rng.integers(1, seconds, 300)), seconds]
    section = long_memory.section(Trace.from_columns({"submit": submit}))
    assert bool(section.values) == bool(section.tables) == enough
    if enough:
        assert section.values["n_units"] == 28 * 24
        assert section.parameters["long_memory_unit"] == HOUR
    else:
        assert "fewer than 4 weeks, long-range dependence cannot" in section.notes[0]
        assert section.gaps == section.notes


@pytest.mark.parametrize(("n_jobs", "enough"), [(255, False), (256, True)])
def test_as_many_jobs_as_it_takes(rng, n_jobs, enough):
    submit = [0, *np.sort(rng.integers(1, 700 * HOUR, n_jobs - 2)), 700 * HOUR]
    section = long_memory.section(Trace.from_columns({"submit": submit}))
    assert bool(section.values) == enough


def test_the_section_reports_what_was_found(rng):
    trace = bursty(rng, weeks=5)
    section, found = long_memory.section(trace), hurst_of(trace, rng=1)
    of = {treatment: found.of(treatment) for treatment in ("raw", "cycle_removed", "detrended")}
    values = section.values
    assert (values["hurst"], values["hurst_low"], values["hurst_high"]) == tuple(
        of["raw"][["estimate", "low", "high"]]
    )
    assert values["hurst_cycle_removed"] == of["cycle_removed"]["estimate"]
    assert values["hurst_detrended"] == of["detrended"]["estimate"]
    assert section.tables[0].data.loc["dfa", "raw_low"] == found.of("raw", "dfa")["low"]
    assert section.tables[0].data.loc["rs", "detrended_high"] == found.of("detrended", "rs")["high"]


def test_figures_of_a_log_are_over_times_in_seconds(rng):
    section = long_memory.section(bursty(rng, weeks=5))
    scale = {figure.name: figure.data.get("scale") for figure in section.figures}
    assert scale["pox"].min() == 10 * HOUR
    assert scale["octaves"].min() == 8 * HOUR
    assert scale["spectrum"].max() == pytest.approx(section.values["n_units"] * HOUR)


def test_the_estimators_at_a_bound_are_named_among_those_that_are_not():
    rows = [("raw", "rs", 0.98, False), ("raw", "dfa", 1.0, True), ("raw", "gph", np.nan, False)]
    table = pd.DataFrame(rows, columns=["treatment", "method", "estimate", "at_bound"])
    assert find_doubts(table) == ["Raw: at a bound, so not stationary: DFA."]


def test_an_estimate_beyond_the_table_is_compared_with_the_last_noise_of_it():
    assert methods.interval("local_whittle", 1.2, 512, 40) == pytest.approx(
        (np.nan,) * 2, nan_ok=True
    )
    low, high = methods.interval("local_whittle", 0.99, 512, 40)
    assert 0.5 < low < 0.98 < high <= 1


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("rs", {"smallest": 10}),
        ("aggregated_variance", {"smallest": 2}),
        ("absolute_moments", {"smallest": 2}),
        ("periodogram", {"bandwidth": 204}),  # 4096 / 20
        ("gph", {"bandwidth": 222}),  # 4096^0.65 is 222.9
        ("wavelet", {"smallest": 8}),
        ("dfa", {"smallest": 10}),
    ],
)
def test_what_each_method_takes_by_default(method, parameters):
    found = hurst(fractional_gaussian_noise(4096, 0.7, rng=1), method)
    assert found.parameters == parameters
    least = parameters.get("smallest")
    assert found.points["scale"].min() == least or len(found.points) == parameters["bandwidth"]


@pytest.mark.parametrize(
    ("method", "largest"),
    [
        ("rs", 1374),  # 10 x 1.2^27; the next is longer than the series of 1500
        ("aggregated_variance", 64),  # 20 blocks are left, of the next size there are 19
        ("absolute_moments", 64),
        ("dfa", 128),  # 10 boxes
    ],
)
def test_so_many_blocks_and_boxes_are_left(method, largest, noise):
    assert hurst(noise, method).points["scale"].max() == largest


def test_an_hour_is_that_of_the_middle_of_its_unit():
    # Second 0 is half past an hour less a second: the middle of a unit is in the next hour.
    header = Header((f"; UnixStartTime: {345600 + 1801}", "; TimeZone: 0"))
    submit = np.append(np.arange(8) * DAY, 8 * DAY)
    trace = Trace.from_columns({"submit": submit}, header=header)
    left = without_cycle(arrivals_per_unit(trace, 12 * HOUR), Clock.of(trace))
    assert left.tolist() == [0] * 16  # one job each morning, none in the afternoon


# Figures


def test_estimates_are_drawn_from_the_top_with_their_intervals_a_colour_each_treatment():
    data = pd.DataFrame(
        {
            "treatment": ["raw", "raw", "shuffled"],
            "method": ["gph", "periodogram", "gph"],
            "estimate": [0.75, 0.5, 1.25],
            "low": [0.5, np.nan, 1.125],
            "high": [0.875, np.nan, 1.375],
        }
    )
    ax = plot_hurst_estimates(data, Figure().add_subplot())
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert rows == [METHODS[name].title for name in METHODS if name in ("gph", "periodogram")]
    place = rows.index(METHODS["gph"].title)
    lines = dict(zip(TREATMENTS, ax.lines, strict=False))
    assert [lines[name].get_label() for name in TREATMENTS] == list(TREATMENTS.values())
    raw, shuffled = (lines[name].get_xydata() for name in ("raw", "shuffled"))
    assert raw[:, 0].tolist() == ([0.75, 0.5] if place == 0 else [0.5, 0.75])
    assert shuffled[place, 0] == 1.25
    assert abs(raw[place, 1] - place) < 0.5
    bars = dict(zip(TREATMENTS, ax.collections, strict=True))
    drawn = [bar for bar in bars["raw"].get_segments() if bar.size]
    assert [bar[:, 0].tolist() for bar in drawn] == [[0.5, 0.875]]
    assert ax.lines[-1].get_xdata() == [0.5, 0.5]  # where nothing is remembered
    assert ax.get_xlim() == pytest.approx((0.38, 1.395))
    low, high = ax.get_ylim()
    assert low > high


def test_slopes_begin_where_the_fitted_line_does():
    points = pd.DataFrame({"scale": [400.0, 100.0], "line": [50.0, 20.0]})
    ax = Figure().add_subplot()
    plot_slopes(points, ax)
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert drawn == {"slope 1/2": [[100, 20], [400, 40]], "slope 1": [[100, 20], [400, 80]]}
