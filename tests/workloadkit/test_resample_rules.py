"""The steps of resampling, each against the rule in its plainest words."""

from collections import Counter
from concurrent.futures import Future
from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_traces
from tests.examples import examples
from workloadkit.clock import WEEK, Clock
from workloadkit.resample import files
from workloadkit.resample.drawing import _expand, _order, choose, choose_each
from workloadkit.resample.runs import prepare

pytestmark = pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")


@given(st.data())
def test_nobody_is_chosen_twice_at_once(data):
    n = data.draw(st.integers(0, 12))
    counts = np.array(data.draw(st.lists(st.integers(0, n), max_size=6)), dtype=np.int64)
    weights = data.draw(st.none() | st.just(np.arange(1, n + 1)))
    chosen = choose_each(n, counts, np.random.default_rng(data.draw(st.integers(0, 99))), weights)
    for part, count in zip(np.split(chosen, np.cumsum(counts)[:-1]), counts, strict=False):
        assert part.size == count
        assert set(part.tolist()) <= set(range(n))
        assert len(set(part.tolist())) == count


def test_choices_are_as_likely_as_they_should_be():
    rng = np.random.default_rng(1)
    n_draws = 9_000
    uniform = Counter(tuple(choose(4, 2, rng).tolist()) for _ in range(n_draws))
    for pair in permutations(range(4), 2):
        assert uniform[pair] == pytest.approx(n_draws / 12, rel=0.15)
    weights = np.array([1, 2, 3])
    drawn = Counter(tuple(choose(3, 2, rng, weights).tolist()) for _ in range(n_draws))
    for one, other in permutations(range(3), 2):
        chance = weights[one] / 6 * weights[other] / (6 - weights[one])
        assert drawn[one, other] == pytest.approx(n_draws * chance, rel=0.15)


@given(
    st.lists(st.integers(-5, 5) | st.integers(-(10**12), 10**12), max_size=30)
    | st.lists(st.floats(-10, 10) | st.floats(-1e12, 1e12), max_size=30)
)
def test_the_order_of_jobs_is_stable(submit):
    submit = np.array(submit, dtype=np.float64)
    assert _order(submit).tolist() == sorted(range(submit.size), key=submit.tolist().__getitem__)


def test_many_jobs_at_the_same_fractions_of_seconds_keep_their_order():
    submit = np.tile([2.5, 0.5, 1.5], 100)
    expected = [np.arange(first, 300, 3) for first in (1, 2, 0)]
    assert _order(submit).tolist() == np.concatenate(expected).tolist()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=8))
def test_ranges_are_laid_one_after_the_other(ranges):
    low, size = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
    value = np.arange(low.size) * 10
    numbers, place, values = _expand(low, low + size, value)
    expected = [(a + k, i) for i, (a, n) in enumerate(ranges) for k in range(n)]
    assert list(zip(numbers.tolist(), place.tolist(), strict=True)) == expected
    assert values.tolist() == [10 * i for _, i in expected]


users = st.lists(
    st.tuples(st.integers(0, 30 * WEEK), st.integers(0, 25 * WEEK), st.integers(0, 20)),
    min_size=1,
    max_size=6,
)


@examples(40)
@given(users, st.sampled_from([None, "Europe/Berlin"]), st.integers(0, 9), st.data())
def test_every_job_keeps_its_weekday_and_time_of_day(users, zone, seed, data):
    rng = np.random.default_rng(seed)
    jobs = [(0, 99), (56 * WEEK, 99)]
    for user, (first, length, n) in enumerate(users):
        jobs += [(first + int(s), user) for s in [0, length, *rng.integers(0, length + 1, n)]]
    jobs.sort()
    submit, user = zip(*jobs, strict=True)
    lines = ("; UnixStartTime: 1000000000", f"; TimeZoneString: {zone}") if zone else ()
    n = len(jobs)
    trace = wk.Trace.from_columns(
        {"submit": submit, "user": user, "run": [1] * n, "procs": [1] * n, "cpu": range(n)},
        header=wk.Header(lines),
    )
    unit = data.draw(st.sampled_from(["user", "session", "batch", "job"]))
    weeks = data.draw(st.none() | st.integers(1, 150) | st.floats(0.5, 20))
    load = data.draw(st.sampled_from([0.5, 1.0, 3.0]))
    new = wk.resample(trace, weeks=weeks, load=load, rng=seed, move=unit)
    clock = Clock.between(trace.header, 0, max(weeks or 0, 57) * WEEK)
    row = new.column("cpu").astype(int)
    was, now = (clock.local(s) % WEEK for s in (trace.column("submit")[row], new.column("submit")))
    changed = was != now
    if not zone:
        assert not changed.any()
    else:  # but in the hours in which clocks are changed
        sunday = now[changed] - 6 * 86400
        assert ((sunday >= 2 * 3600) & (sunday < 4 * 3600)).all()
    end = 56 * WEEK if weeks is None else weeks * WEEK + 3600
    assert ((new.column("submit") >= 0) & (new.column("submit") <= end)).all()
    # each incarnation is of one user
    assert (new.jobs.assign(was=np.array(user)[row]).groupby("user")["was"].nunique() == 1).all()


@cache
def sample():
    """The sample's jobs that ran; the row of each is its requested memory."""
    log = wk.load_sample()
    log = log.select(log.ran)
    return log.with_columns(requested_memory=np.arange(log.n_jobs))


@pytest.mark.parametrize("seed", range(3))
def test_the_same_users_are_drawn_whatever_stays_whole(seed):
    trace = sample()
    found = []
    for unit in ("user", "session", "job"):
        new = wk.resample(trace, rng=seed, move=unit)
        rows = new.jobs.groupby("user")["requested_memory"]
        found.append(Counter(tuple(sorted(of)) for _, of in rows))
    # Those who lie in the midst of the new log have all their jobs in each.
    n_jobs = trace.jobs.groupby("user").size()
    user = trace.column("user")
    whole = [
        rows for rows in found[0] & found[1] & found[2] if len(rows) == n_jobs[user[int(rows[0])]]
    ]
    assert len(whole) > 5


def test_tasks_wait_in_bounded_number():
    class Pool:
        """Does its tasks one by one, when somebody waits for them."""

        def __init__(self):
            self.most = self.asked = 0

        def submit(self, call, *arguments):
            self.asked += 1
            self.most = max(self.most, self.asked - done)
            future = Future()
            future.set_result(call(*arguments))
            return future

    pool, done = Pool(), 0
    written = []
    runs = files.write_runs(lambda i, path: written.append(i), 1000, files.Path("x"), executor=pool)
    for _ in runs:
        done += 1
    assert written == list(range(1000))
    assert done == 1000
    assert pool.most <= 128


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_that_was_not_there_goes_if_nothing_comes_of_it(tmp_path, exists):
    folder = tmp_path / "many"
    if exists:
        folder.mkdir()
    with pytest.raises(ZeroDivisionError), files.whole_folder(folder, {}):
        raise ZeroDivisionError
    assert folder.exists() == exists
    assert not [*tmp_path.rglob(".*")]


def test_whole_logs_of_a_command_that_fails_stay_hidden(tmp_path):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), files.whole_folder(tmp_path / "many", {}) as place:
            (place / "0001.swf.gz").write_text("whole")
            raise ZeroDivisionError
        assert [path.name for path in (tmp_path / "many").iterdir()] == [".unfinished"]
    with files.whole_folder(tmp_path / "many", {}):
        pass
    assert [path.name for path in (tmp_path / "many").iterdir()] == ["0001.swf.gz"]


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.partition(".")[0])
def test_new_logs_have_as_many_jobs_as_the_old_one_on_average(path):
    trace = wk.read_swf(path)
    try:
        prepared = prepare(trace)
    except wk.WorkloadError as error:
        assert "all users are unknown" in str(error) or "5 at least" in str(error)
        return
    runs = [prepared.run_of(i, 1) for i in range(30)]
    jobs = np.array([new.n_jobs for new in runs])
    error = jobs.std() / np.sqrt(jobs.size)
    # Users at the ends of the log are left out, and long-term ones come again after whole weeks,
    # which matters in a log of thirteen.
    members = prepared.pools.members
    share = np.where(members.kind == 0, prepared.pools.logs[0].weeks / members.period, 1)
    assert jobs.mean() == pytest.approx((members.n_jobs * share).sum(), rel=0.05, abs=3 * error)
    new = runs[0]
    zone = trace.header.time_zone
    if trace.header.start and zone is not None:
        hours = [
            pd.to_datetime(t.column("submit") + trace.header.start, unit="s", utc=True)
            .tz_convert(zone)
            .hour
            for t in (trace.select(trace.ran), new)
        ]
        shares = [np.bincount(hour, minlength=24) / hour.size for hour in hours]
        assert np.abs(shares[0] - shares[1]).max() < 0.03
