"""The model of Lublin and Feitelson: targets, the clock, and machines of other sizes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

import workloadkit as wk
from tests.data import trace_path
from workloadkit.clock import DAY
from workloadkit.models.lublin import ALL_JOBS, BATCH, INTERACTIVE, lublin
from workloadkit.models.made import DailyCycle

# Of 400,000 jobs of the authors' program on 128 processors: shares of serial jobs and of powers of
# two, mean size, mean and standard deviation of the logarithm of the run time.
TARGETS = {
    "one": (0.244, 0.869, 12.15, 5.487, 2.94),
    "batch": (0.294, 0.969, 13.82, 6.941, 2.74),
    "interactive": (0.155, 0.845, 8.05, 2.944, 1.65),
}


def figures(procs, run):
    logs = np.log(run)
    return (
        (procs == 1).mean(),
        (np.log2(procs) % 1 == 0).mean(),
        procs.mean(),
        *(
            logs.mean(),
            logs.std(),
        ),
    )


def check_targets(found, wanted, times=1.0):
    assert found[:2] == pytest.approx(wanted[:2], abs=0.01 * times)
    assert found[2:] == pytest.approx(wanted[2:], rel=0.01 * times)


@pytest.mark.slow
@pytest.mark.parametrize("types", TARGETS)
def test_400_000_jobs_are_within_a_hundredth_of_the_targets(types):
    trace = lublin(400_000, rng=1, types=types)
    check_targets(figures(trace.column("procs"), trace.column("run")), TARGETS[types])


@pytest.mark.slow
def test_two_types_together_keep_their_targets():
    trace = lublin(400_000, rng=2, types="two")
    queue = trace.column("queue")
    for number, kind in ((0, "interactive"), (1, "batch")):
        of_type = queue == number
        found = figures(trace.column("procs")[of_type], trace.column("run")[of_type])
        check_targets(found, TARGETS[kind], times=1.5)


@pytest.mark.parametrize("types", TARGETS)
def test_fewer_jobs_are_near_the_targets(types):
    trace = lublin(40_000, rng=3, types=types)
    check_targets(figures(trace.column("procs"), trace.column("run")), TARGETS[types], times=3)


@pytest.mark.parametrize("kind", [BATCH, INTERACTIVE, ALL_JOBS])
def test_the_mean_gap_is_that_of_its_distribution(kind):
    law = stats.gamma(kind.gap[0] * kind.arar, scale=kind.gap[1])
    mean, _ = integrate.quad(lambda x: np.exp(x) * law.pdf(x), 0, 13, limit=200)
    assert kind.mean_gap() == pytest.approx(mean / law.cdf(13), rel=1e-9)


@pytest.mark.parametrize(("types", "kind"), [("one", ALL_JOBS), ("batch", BATCH)])
def test_jobs_arrive_at_that_rate(types, kind):
    trace = lublin(60_000, rng=4, types=types)
    assert np.ptp(trace.column("submit")) / 59_999 == pytest.approx(kind.mean_gap(), rel=0.03)


def hours(submit):
    return np.bincount((submit % DAY // 3600).astype(int), minlength=24) / submit.size


@pytest.mark.parametrize("how", [{}, {"types": "two"}, {"load": 0.2}, {"load": 1.5}])
def test_the_daily_cycle_does_not_drift(how):
    submit = lublin(300_000, rng=5, **how).column("submit")
    first, last = submit[:100_000], submit[-100_000:]
    assert np.abs(hours(first) - hours(last)).max() < 0.012  # the gaps vary so much
    middle = [np.angle(np.exp(2j * np.pi * third / DAY).mean()) for third in (first, last)]
    # in hours; whole seconds in the clock would shift it by more than a day
    assert abs(middle[1] - middle[0]) / (2 * np.pi) * 24 < 0.2


def test_hours_have_the_shares_of_the_cycle():
    weights = np.array(ALL_JOBS.cycle().weights)
    expected = (weights / weights.sum()).reshape(24, 2).sum(axis=1)
    assert expected.argmax() in range(11, 15)
    assert hours(lublin(60_000, rng=6).column("submit")) == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize("kind", [BATCH, INTERACTIVE, ALL_JOBS])
def test_the_day_of_the_cycle_begins_at_5(kind):
    """With half hour 11; the half hours from midnight on are those numbered from 49."""
    law = stats.gamma(kind.day[0], scale=kind.day[1])
    weights = np.array(kind.cycle().weights)
    for place, number in ((10, 11), (11, 12), (47, 48), (0, 49), (9, 58)):
        expected = law.cdf(number + 0.5) - law.cdf(number - 0.5)
        assert weights[place] == pytest.approx(expected, rel=1e-9)


def test_a_cycle_passes_a_day_in_a_day():
    cycle = DailyCycle((1.0, 2.0, 5.0, 0.5))
    passed = np.linspace(0, 3 * DAY, 1000)
    assert cycle.time(np.arange(4) * DAY).tolist() == [0, DAY, 2 * DAY, 3 * DAY]
    assert (np.diff(cycle.time(passed)) > 0).all()
    # the third quarter of a day has 5 of 8.5 of its arrivals
    assert np.diff(cycle.time(np.array([3.0, 8.0]) / 8.5 * DAY)) == pytest.approx(DAY / 4)


def test_types_are_in_queues_and_the_header_says_which():
    trace = lublin(2000, rng=7, types="two")
    assert trace.header.get_all("Queue") == ["0 interactive", "1 batch"]
    assert set(trace.column("queue").tolist()) == {0, 1}
    # 24.6 batch and 139.5 interactive jobs a day
    assert trace.column("queue").mean() == pytest.approx(0.15, abs=0.03)
    assert set(lublin(50, rng=7, types="batch").column("queue").tolist()) == {1}
    assert set(lublin(50, rng=7).column("queue").tolist()) == {-1}


def test_two_types_are_the_first_arrivals_of_both():
    # of each type there are as many as come before the last job, so none of its gaps is cut off
    trace = lublin(200_000, rng=8, types="two")
    submit, queue = trace.column("submit"), trace.column("queue")
    for number, kind in ((0, INTERACTIVE), (1, BATCH)):
        n = (queue == number).sum()
        assert submit[-1] / n == pytest.approx(kind.mean_gap(), rel=0.05)


def test_neither_type_ends_before_the_log():
    # so many of each type as its rate says end days before or after so many of the other
    silent = []
    for seed in range(30):
        trace = lublin(1000, rng=seed, types="two")
        last = trace.column("submit")[trace.column("queue") == 0][-1]
        silent.append(trace.column("submit")[-1] - last > DAY / 4)
    assert np.mean(silent) < 0.15


def test_the_log_begins_on_a_monday_at_midnight():
    header = lublin(10, rng=1).header
    assert header.date(0) == "Mon Jan 02 00:00:00 UTC 1995"


def test_sizes_fit_the_machine():
    for types in ("one", "two"):
        for procs in (1, 2, 3, 8, 100, 128, 1000, 10**6):
            size = lublin(4000, procs, rng=9, types=types).column("procs")
            assert size.min() == 1
            assert size.max() <= procs
            if 1 < procs <= 1000:  # and use it
                assert size.max() > procs / 2 or procs == 3


def test_on_eight_processors_the_authors_example_holds():
    # u_low 0.8, u_med 1.5, u_hi 3: the rounded logarithm is 1 in (0.8, 1.5), 2 and 3 above
    kind = replace(ALL_JOBS, serial=0.0, power2=1.0)
    size = lublin(20_000, 8, rng=10, all_jobs=kind).column("procs")
    assert (size == 2).mean() == pytest.approx(0.86, abs=0.01)
    assert (size == 4).mean() == pytest.approx(0.14 * 2 / 3, abs=0.01)
    assert (size == 8).mean() == pytest.approx(0.14 / 3, abs=0.01)


def test_larger_jobs_run_longer():
    trace = lublin(40_000, rng=11)
    size, logs = trace.column("procs"), np.log(trace.column("run"))
    assert logs[size >= 64].mean() > logs[size == 8].mean() + 0.5 > logs[size == 1].mean() + 0.5


def test_run_times_and_gaps_are_cut_off():
    kind = replace(ALL_JOBS, run_1=(100.0, 0.1), pa=0.0, pb=1.0)  # 10 ± 1
    run = lublin(20_000, rng=12, all_jobs=kind).column("run")
    assert run.max() <= np.rint(np.exp(12))
    law = stats.gamma(100, scale=0.1)
    below = law.expect(lambda x: x, ub=12) / law.cdf(12)
    assert np.log(run).mean() == pytest.approx(below, abs=0.02)


@pytest.mark.parametrize(
    "how", [{"types": "both"}, {"types": None}, {"all_jobs": {"serial": 0.3}}, {"all_jobs": None}]
)
def test_wrong_types_are_refused(how):
    with pytest.raises(wk.ParameterError):
        lublin(10, rng=1, **how)


def test_parameters_of_a_type_are_checked():
    for change in (
        {"serial": 1.2},
        {"serial": -0.1},
        {"power2": -0.1},
        {"u_prob": 1.1},
        {"power2": 0.9},
        {"run_1": (0.0, 1.0)},
        {"gap": (10.0, 1.0)},
        {"day": (8.0, -1.0)},
        {"u_prob": float("nan")},
        {"u_med": 9.0},
    ):
        with pytest.raises(wk.ParameterError, match=next(iter(change))):
            replace(ALL_JOBS, **change)


@pytest.mark.parametrize(("types", "kind"), [("batch", BATCH), ("interactive", INTERACTIVE)])
def test_the_header_records_what_jobs_were_changed_to(types, kind):
    plain = lublin(5, types=types, rng=1).header.get("Note")
    changed = lublin(5, types=types, rng=1, **{types: replace(kind, serial=0.125)}).header.get(
        "Note"
    )
    assert "serial" not in plain
    assert f", {types} " in changed
    assert "serial=0.125" in changed


def test_the_sample_of_the_authors_program_looks_the_same():
    sample = wk.read_swf(trace_path("lublin_256"))
    made = lublin(10_000, 256, rng=13)
    limit = 1.95 * np.sqrt(2 / 10_000)  # exceeded once in a thousand times
    for column in ("procs", "run"):
        ks = stats.ks_2samp(sample.column(column), made.column(column))
        assert ks.statistic < limit, column
    gaps = [np.diff(trace.column("submit")) for trace in (sample, made)]
    assert stats.ks_2samp(*gaps).statistic < limit
