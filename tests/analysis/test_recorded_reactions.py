"""The study of outages: its windows and scores by their definitions, and logs of known users."""

import math
from fractions import Fraction

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.integrate import quad

import workloadkit as wk
from tests.data import needs_compiler, slow_to_compile
from workloadkit.analysis import reproduction
from workloadkit.analysis.reproduction import ALL_LOGS
from workloadkit.analysis.studies import recorded_reactions as study
from workloadkit.analysis.studies.recorded_reactions import windows
from workloadkit.analysis.studies.recorded_reactions.forecasting import (
    BIN,
    ByResponse,
    bins_of,
    counts,
    events_of,
    go_on,
    play,
    react,
)
from workloadkit.analysis.studies.recorded_reactions.measuring import (
    OutageAndControl,
    fit_size,
    gains,
    log_score,
)
from workloadkit.analysis.studies.recorded_reactions.windows import (
    OutageWindow,
    Pair,
    Template,
    down,
    one_after_another,
)
from workloadkit.clock import DAY, WEEK
from workloadkit.experiments.intervals import mean_interval
from workloadkit.io.outages import Outage, Outages

HOUR = 3600
PROCS = 12
LENGTH = 6 * HOUR


def busy(n_weeks, rng, users=40):
    """A machine in use at four fifths, by users who wait for each job and think a little."""
    submit, run, user = [], [], []
    for who in range(users):
        for day in range(7 * n_weeks):
            now = day * DAY + rng.integers(0, 16 * HOUR)
            for _ in range(rng.integers(6, 14)):
                submit.append(now)
                run.append(rng.integers(1200, 3000))
                user.append(who)
                now += run[-1] + rng.integers(10, 600)
    columns = {"submit": submit, "run": run, "user": user, "procs": np.ones(len(run))}
    columns |= {"requested_time": np.full(len(run), 3000)}
    header = wk.Header((f"; MaxProcs: {PROCS}", f"; MaxNodes: {PROCS}"))
    trace = wk.Trace.from_columns(columns, header=header)
    return wk.simulate(trace, "easy").trace()


def down_at(weeks):
    """Pairs of outages, on Tuesdays from 7:00 to 13:00, and controls two weeks after them."""
    pairs = []
    for week in weeks:
        start = week * WEEK + DAY + 7 * HOUR
        outage = OutageWindow(start, start + LENGTH, False, (1, 2))
        control = OutageWindow(start + 2 * WEEK, start + 2 * WEEK + LENGTH, False, (1, 3))
        pairs.append(Pair("unclear", outage, control))
    return pairs


def served(trace, pairs, users, rng=1):
    """The log of users through the outages."""
    outages = down([pair.outage for pair in pairs], PROCS)
    schedule = wk.simulate(trace, "easy", users, outages=outages, rng=rng)
    return schedule.trace()


def found_in(trace, pairs):
    behaviours = {"open": "open", "fluid": "fluid"}
    outages, controls = (
        play(trace, windows, behaviours, np.random.default_rng(5), runs=1)
        for windows in zip(*((pair.outage, pair.placebo) for pair in pairs), strict=True)
    )
    return [OutageAndControl("unclear", *cases) for cases in zip(outages, controls, strict=True)]


@pytest.fixture(scope="module")
def synthetic():
    trace, pairs = busy(40, np.random.default_rng(3)), down_at(range(4, 37, 4))
    return {users: found_in(served(trace, pairs, users), pairs) for users in ("open", "fluid")}


@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_score_is_that_of_failures_before_successes(size):
    for count in (0, 1, 5, 40):
        mean = Fraction(7, 2)
        p = size / (size + mean)
        chance = math.comb(count + size - 1, count) * p**size * (1 - p) ** count
        assert log_score(count, float(mean), size) == pytest.approx(math.log(chance))


def test_the_score_is_that_of_poisson_counts_whose_rate_is_gamma():
    size, mean, count = 0.7, 3.0, 4

    def mixed(rate):
        gamma = rate ** (size - 1) * math.exp(-rate * size / mean) * (size / mean) ** size
        return gamma / math.gamma(size) * rate**count * math.exp(-rate) / math.factorial(count)

    assert math.exp(log_score(count, mean, size)) == pytest.approx(quad(mixed, 0, np.inf)[0])


def test_the_true_mean_scores_best_whatever_the_law():
    counts_ = np.random.default_rng(0).choice([0, 0, 0, 0, 50], size=4000)  # the median is 0
    means = np.linspace(1, 30, 59)
    best = means[np.argmax([log_score(counts_, mean, 2.0).mean() for mean in means])]
    assert best == pytest.approx(counts_.mean(), abs=0.5)


def test_the_size_is_found_again():
    rng, mean, size = np.random.default_rng(1), 8.0, 2.5
    drawn = rng.negative_binomial(size, size / (size + mean), 20_000).astype(float)
    assert fit_size(drawn, np.full(drawn.size, mean)) == pytest.approx(size, rel=0.05)


def test_bins_count_what_they_hold():
    rng = np.random.default_rng(2)
    submit = np.sort(rng.integers(0, 3 * DAY, 200))
    user, wait = rng.integers(0, 5, 200), rng.integers(0, 5 * HOUR, 200)
    log = {"submit": submit, "user": user, "wait": wait, "run": np.ones(200), "procs": np.ones(200)}
    bins = bins_of(DAY, DAY + 7 * HOUR)
    found = counts(events_of(wk.Trace.from_columns(log)), bins)
    assert bins[5] == DAY + BIN
    assert bins[6] == DAY + 7 * HOUR
    for place, low in enumerate(bins):
        high = low + BIN
        jobs = [i for i in range(200) if low <= submit[i] < high]
        first = [
            i
            for i in jobs
            if not any(user[j] == user[i] and submit[i] - submit[j] <= 3600 for j in range(i))
        ]
        waiting = [i for i in range(200) if submit[i] < high <= submit[i] + wait[i]]
        assert found[:, place].tolist() == [len(jobs), len(first), len(waiting)]


def test_windows_are_clean_by_the_hour():
    rng = np.random.default_rng(4)
    down = np.sort(rng.integers(0, 40 * WEEK // HOUR, 25)) * HOUR
    down = np.column_stack([down, down + rng.integers(1, 40, 25) * HOUR]).astype(float)
    busy = {int(h) for low, high in down // HOUR for h in range(int(low), int(high))}
    for start in rng.integers(9 * WEEK // HOUR, 30 * WEEK // HOUR, 60):
        end = start + int(rng.integers(1, 30))

        def free(back, start=start, end=end):
            first, last = start - 24 - back * 168, end + 24 - back * 168
            return not busy & set(range(first, last))

        expected = tuple(back for back in range(1, 9) if free(back))[:4]
        weeks = windows._templates(int(start) * HOUR, end * HOUR, down, 0.0)
        assert weeks == expected
        assert windows.is_clean(start * HOUR, end * HOUR, down) == free(0)


def before(jobs, at):
    """The kind of an outage, by jobs (start, run, requested time, processors)."""
    start, run, requested, procs = (np.array(column, float) for column in zip(*jobs, strict=True))
    columns = {"submit": start, "wait": 0 * start, "run": run, "requested_time": requested}
    header = wk.Header(("; MaxProcs: 10",))
    trace = wk.Trace.from_columns(columns | {"procs": procs}, header=header)
    return windows.kinds_of(trace, np.array([[t, t + 2 * HOUR] for t in at], float))


def test_kinds_of_outages():
    t = 3 * WEEK
    drained = [(t - (6 - i) * 1800, 900, 1700, 2) for i in range(5)]
    assert before(drained, [t]) == ["scheduled"]
    stopped = [(t - HOUR, HOUR, 10 * HOUR, 6)]
    assert before(stopped, [t]) == ["surprise"]
    assert before(stopped, [t, t + 2 * WEEK + 1800])[0] == "scheduled"  # the same hour of the week
    assert before(stopped, [t, t + 2 * WEEK + 2 * HOUR])[0] == "surprise"
    assert before([(t - HOUR, HOUR, 10 * HOUR, 4)], [t]) == ["unclear"]


def test_templates_stand_at_the_same_hours_with_other_users():
    trace = busy(8, np.random.default_rng(6))
    window = OutageWindow(6 * WEEK + 9 * HOUR, 6 * WEEK + 15 * HOUR, False, (1, 3))
    both, moved = one_after_another(trace, [Template(window, 1), Template(window, 3)])
    submit, user = both.column("submit"), both.column("user")
    n_found = 0
    for back, copy in zip((1, 3), moved, strict=True):
        assert copy.end - copy.start == 6 * HOUR
        assert copy.start % WEEK == 9 * HOUR
        since_start = trace.column("submit") - (window.start - back * WEEK)
        kept = (since_start >= -3 * DAY) & (since_start < 6 * HOUR + 4 * DAY)
        part = np.abs(submit - copy.start) < WEEK
        assert (submit[part] - copy.start).tolist() == since_start[kept].tolist()
        n_found += kept.sum()
    assert n_found == both.n_jobs
    assert np.unique(user).size == 80


def test_a_template_ends_where_its_window_starts():
    trace = busy(8, np.random.default_rng(6))
    window = OutageWindow(6 * WEEK, 6 * WEEK + 4 * DAY, False, (1,))
    one, _ = one_after_another(trace, [Template(window, 1)])
    submit = trace.column("submit")
    assert one.n_jobs == ((submit >= 5 * WEEK - 3 * DAY) & (submit < 6 * WEEK)).sum()


def test_nothing_changes_where_the_outage_changes_nothing():
    base = np.random.default_rng(7).random((3, 14)) + 0.2
    assert react(base, base, base) == pytest.approx(base)


@slow_to_compile
def test_users_go_on_by_the_response_time():
    # Jobs of 10 min; the second came 100 s after the end of the first, which now takes longer.
    log = {"submit": [0, 700, 90_000], "run": [600, 60, 60], "procs": [1, 1, 1], "user": [1, 1, 1]}
    trace = wk.Trace.from_columns(log | {"wait": [0, 0, 0]})
    until = Outages((Outage(1, 0, 1200, procs=1),))

    def came(b, seed=0):
        jobs = wk.simulate(trace, "fcfs", ByResponse(b), procs=1, outages=until, rng=seed).jobs
        return tuple(sorted(jobs["submit"]))

    assert go_on(1800, 600, 0.1) == 0.5
    assert came(0.0) == (0, 1900, 90_000)
    # p falls to a third where b is large; then the second job is put off by a day
    found = [came(1e9, seed) for seed in range(20)]
    assert set(found) == {(0, 1900, 90_000), (0, 700 + DAY, 90_000)}
    assert 1 <= found.count((0, 1900, 90_000)) <= 14


@pytest.mark.slow
def test_both_engines_let_users_go_on_alike():
    trace = busy(2, np.random.default_rng(8))
    pair = down_at([1])
    outages = Outages((Outage(1, pair[0].outage.start, pair[0].outage.end, procs=PROCS),))
    compiled, plain = (
        wk.simulate(trace, "easy", ByResponse(0.02), outages=outages, rng=1, engine=engine)
        for engine in ("compiled", "python")
    )
    for name in ("submit", "start"):
        assert compiled.jobs[name].tolist() == plain.jobs[name].tolist()
    again = wk.simulate(trace, "recorded", ByResponse(0.02), rng=1)
    assert np.sort(again.jobs["submit"]).tolist() == trace.column("submit").tolist()


def advantage(found):
    gain = gains(found, "fluid")
    assert gain.shape == (len(found), 2, 3)
    return [mean_interval(gain[:, 0, q] - gain[:, 1, q]) for q in range(2)]


@pytest.mark.slow
@needs_compiler
def test_fluid_users_are_found_where_users_are_fluid(synthetic):
    for mean, low, _ in advantage(synthetic["fluid"]):
        assert mean > 0
        assert low > 0


@pytest.mark.slow
@needs_compiler
def test_fluid_users_are_not_found_where_users_are_open(synthetic):
    for _, low, _ in advantage(synthetic["open"]):
        assert not low > 0


@pytest.mark.slow
@needs_compiler
def test_open_users_gain_nothing_over_themselves(synthetic):
    assert (gains(synthetic["open"], "open") == 0).all()
    assert (gains(synthetic["open"], "open", pooled=False) == 0).all()


def test_a_log_without_outages_lacks_its_input(tmp_path):
    trace = busy(12, np.random.default_rng(9), users=4)
    wk.write_swf(trace, tmp_path / "CTC-SP2-1996-2.1-cln.swf")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(study.STUDY.logs, tmp_path)
    found = reproduction.run_study(study.STUDY, logs, runs=1)
    assert {result.verdict for result in found.results} == {"input missing"}
    notes = {result.note for result in found.results if result.log.path}
    assert notes == {"no outage that the weeks before and after stand in for"}
    assert not found.drawings


@pytest.mark.slow
@needs_compiler
def test_the_study_on_a_log_with_outages(tmp_path):
    trace, pairs = busy(17, np.random.default_rng(10)), down_at((8, 12))
    trace = served(trace, pairs, "fluid")
    wk.write_swf(trace, tmp_path / "HPC2N-2002-1.1-cln.swf")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(study.STUDY.logs, tmp_path)
    found = reproduction.run_study(study.STUDY, logs, runs=1)
    here = [result for result in found.results if result.log.path]
    assert {result.note for result in here if "over the weeks" in result.claim.quantity} == {
        "2 outages, 2 with a control"
    }
    together = {r.claim.quantity: r.ours for r in found.results if r.log is ALL_LOGS}
    alone = {result.claim.quantity: result.ours for result in here}
    assert {name: together[name] for name in alone} == pytest.approx(alone, nan_ok=True)
    main = [result.claim for result in found.main if result.claim.kind == "direction"]
    assert {claim.place for claim in main} <= {study.THESIS, "E. Shmueli, section 1.2.1"}
    (drawing,) = found.drawings
    figure, ax = plt.subplots()
    axes = drawing.plot(drawing.data, ax)
    assert len(axes) == 6
    assert [len(axis.lines) for axis in axes] == [6] * 6
    plt.close(figure)
