"""Users of a site: what they draw and when they submit, in both engines."""

from dataclasses import replace
from math import floor, inf

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_compiler
from tests.examples import examples
from workloadkit import Header, ParameterError, Trace, WorkloadError
from workloadkit._kernels.site_samples import Samples, continues, period_of
from workloadkit.clock import WEEK
from workloadkit.simulation.engine import Job
from workloadkit.simulation.machine.plain import Machine
from workloadkit.simulation.plain.simulation import Simulation
from workloadkit.simulation.schedulers import parse
from workloadkit.simulation.users import DynamicSite, StaticSite
from workloadkit.simulation.users.sites.simulated_users import SiteContext, overtaken
from workloadkit.simulation.workload import Rules
from workloadkit.site import Empirical, SiteDistributions, Workpool, site_distributions
from workloadkit.site.samples import samples
from workloadkit.site.taking import period

MINUTE, HOUR, DAY = 60, 3600, 86400


class Scripted:
    """A generator that gives the numbers it was told to, then a single one for ever."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


def made(**lists):
    """Samples of these values; of one pool."""
    one = {"width": [1], "gap": [0], "think": [600], "pause": [10800]}
    pool = {"size": [1], "run": [300], "repetition": [1]}
    values = {k: np.array(v) for k, v in ({**one, **pool} | lists).items()}
    firsts = {f"first_{name}": np.array([0, values[name].size]) for name in values}
    curve = {"a": np.array([0.8]), "b": np.array([0.05])}
    return Samples(**values, **firsts, **curve, by_hours=False, interactive=np.empty((0, 3)))


def play(site, numbers, of, *, until, machine=128, pairs=False, repeats_run=True):
    """Jobs that users in plain Python submit who draw these numbers."""
    setting = SiteContext(of, Scripted(numbers), until=until, pairs=pairs, repeats_run=repeats_run)
    users = site.users_in_python(setting)
    policy, rng = parse("easy").plain(), np.random.default_rng(0)
    simulation = Simulation(Machine(machine), policy, users, Rules(machine), rng=rng)
    return simulation.go(), setting


A_DAY_WORKER = [0.5, 0.5, 0.5]  # by day, on weekdays, not moved
SAME = [0.0, 0.0]  # the width and the size there are
ONCE = [0.0]


def test_a_morning_of_the_source():
    """The first example of section 5.3.2.4: thoughts of 10 and 15 minutes, a break of 3 hours."""
    of = made(think=[600, 900], run=[300, 600, 3600])
    numbers = [
        *A_DAY_WORKER,
        *SAME, 0.0, *ONCE, 0.63, 0.0,  # 5 min: goes on with 0.8 / 1.25 = 0.64, after 10 min
        *SAME, 0.4, *ONCE, 0.53, 0.9,  # 10 min: 0.8 / 1.5, after 15 min
        *SAME, 0.9, *ONCE, 0.2, 0.0,  # 1 hour: 0.8 / 4 is not above it
        *SAME, 0.0, *ONCE, 0.64, 0.0,  # the job of 12:10
    ]  # fmt: skip
    jobs, setting = play(DynamicSite(users=1), numbers, of, until=13 * HOUR)
    clock = [7 * HOUR + 30 * MINUTE, 7 * HOUR + 45 * MINUTE, 8 * HOUR + 10 * MINUTE]
    assert [job.submit for job in jobs] == [*clock, 12 * HOUR + 10 * MINUTE]
    assert [job.run for job in jobs] == [300, 600, 3600, 300]
    assert [job.notes["session"] for job in jobs] == [0, 0, 0, 1]
    assert [job.notes["batch"] for job in jobs] == [0, 1, 2, 3]
    assert [job.notes["preceding_job"] for job in jobs] == [-1, 1, 2, 3]
    assert [job.notes["think_time"] for job in jobs] == [-1, 600, 900, 10800]
    assert dict(setting.counts) == {"sessions": 2, "batches": 4, "continued": 2, "aborted": 2}
    assert not setting.rng.numbers


@pytest.mark.parametrize(("day", "nights"), [(0, 0), (4, 2)])
def test_an_evening_of_the_source(day, nights):
    """The second example: what responds at 17:35 sends its user to sleep until 7:30."""
    of = made(think=[600], pause=[900, 4 * DAY + 900], run=[300, 600, 565 * MINUTE])
    first = [*SAME, 0.9, *ONCE, 0.9, 0.0 if day == 0 else 0.9]  # until 16:55, a break to 17:10
    numbers = [
        *A_DAY_WORKER, *first,
        *SAME, 0.0, *ONCE, 0.1, 0.0,  # 17:10 to 17:15, a thought of 10 min
        *SAME, 0.4, *ONCE,  # 17:25 to 17:35
        *SAME, 0.0, *ONCE, 0.1, 0.0,
    ]  # fmt: skip
    until = (day + nights + 1) * DAY + 7 * HOUR + 36 * MINUTE
    jobs, setting = play(DynamicSite(users=1), numbers, of, until=until)
    evening = [day * DAY + 17 * HOUR + m * MINUTE for m in (10, 25)]
    morning = (day + nights + 1) * DAY + 7 * HOUR + 30 * MINUTE
    assert [job.submit for job in jobs][1:] == [*evening, morning]
    if day == 0:
        assert jobs[3].notes["think_time"] == 13 * HOUR + 55 * MINUTE
    assert [job.notes["session"] for job in jobs] == [0, 1, 1, 2]
    assert setting.counts["slept"] == 1
    assert not setting.rng.numbers


def test_a_break_that_ends_by_night_goes_on_as_sleep():
    of = made(run=[300], pause=[12 * HOUR])
    numbers = [*A_DAY_WORKER, *SAME, 0.0, *ONCE, 0.9, 0.0, *SAME, 0.0, *ONCE, 0.9, 0.0]
    jobs, setting = play(DynamicSite(users=1), numbers, of, until=DAY + 7 * HOUR + 31 * MINUTE)
    assert [job.submit for job in jobs] == [7 * HOUR + 30 * MINUTE, DAY + 7 * HOUR + 30 * MINUTE]
    assert [job.notes["session"] for job in jobs] == [0, 1]
    assert (setting.counts["aborted"], setting.counts["slept"]) == (2, 1)


def test_the_job_submitted_last_in_a_batch_is_waited_for():
    """A batch of two with a gap of 60 s, of which the first runs longer."""
    of = made(width=[2], gap=[60], run=[50, 1000], think=[20])
    numbers = [
        0.0,  # think
        0.0, 0.0, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0,  # width; size, run, repetition; twice; gap
        0.0,  # think, after the end of the second
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    ]  # fmt: skip
    jobs, _ = play(StaticSite(sessions=1), numbers, of, until=190)
    assert [job.submit for job in jobs] == [20, 80, 150]
    assert [job.run for job in jobs] == [1000, 50, 50]
    assert [job.notes["preceding_job"] for job in jobs] == [-1, -1, 2]
    assert [job.notes["think_time"] for job in jobs] == [-1, -1, 20]
    assert [job.notes["session"] for job in jobs] == [0, 0, 0]  # that of 210 is too late


@pytest.mark.parametrize(("repeats_run", "runs"), [(True, [7, 7, 7, 9]), (False, [7, 9, 7, 9])])
def test_jobs_come_again(repeats_run, runs):
    of = made(size=[4, 8], run=[7, 9], repetition=[1, 3], think=[1])
    again = [[], []] if repeats_run else [[0.9], [0.0]]
    numbers = [
        0.0,
        0.0, 0.0, 0.0, 0.9, 0.0,  # width; 4 processors, 7 s, three times; think
        0.0, *again[0], 0.0,
        0.0, *again[1], 0.0,
        0.0, 0.9, 0.9, 0.0, 0.0,  # 8 processors, 9 s, once
    ]  # fmt: skip
    jobs, setting = play(
        StaticSite(sessions=1),
        numbers,
        of,
        until=33 if repeats_run else 35,
        repeats_run=repeats_run,
    )
    assert [job.procs for job in jobs] == [4, 4, 4, 8]
    assert [job.run for job in jobs] == runs
    assert not setting.rng.numbers


def test_size_and_run_time_may_be_a_pair():
    of = made(size=[1, 2, 4], run=[30, 20, 10], think=[1])
    numbers = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.9, 0.0, 0.0]
    jobs, _ = play(StaticSite(sessions=1), numbers, of, until=64, pairs=True)
    assert [(job.procs, job.run) for job in jobs] == [(1, 30), (2, 20), (4, 10)]


def test_users_who_wait_too_long_take_a_break_or_leave():
    of = made(run=[300, 600], pause=[1200])
    impatient = DynamicSite(users=1, patience=300, leave=599)
    numbers = [
        *A_DAY_WORKER,
        *SAME, 0.0, *ONCE, 0.0, 0.0,  # 300 s is borne
        *SAME, 0.9, *ONCE,
    ]  # fmt: skip
    jobs, setting = play(impatient, numbers, of, until=DAY)
    assert len(jobs) == 2
    assert setting.counts["left"] == 1
    numbers = [*A_DAY_WORKER, *SAME, 0.9, *ONCE, 0.0, *SAME, 0.0, *ONCE, 0.0, 0.0]
    until = 7 * HOUR + 30 * MINUTE + 1801
    jobs, setting = play(replace(impatient, leave=600), numbers, of, until=until)
    assert [job.submit for job in jobs] == [7 * HOUR + 30 * MINUTE, until - 1]
    assert setting.counts["aborted"] == 1


def test_the_parts_of_the_week_are_those_of_the_logs():
    for hour in (
        0,
        7.49,
        7.5,
        17.49,
        17.5,
        24,
        4 * 24 + 20,
        5 * 24 + 7.4,
    ):
        for week in (0, 3):
            time = floor((week * 168 + hour) * HOUR)
            assert period_of(time) == period(time)


def test_a_session_goes_on_with_the_probability_of_the_source():
    assert continues(made(), 0, 0) == 0.8
    assert continues(made(), 0, 20 * MINUTE) == pytest.approx(0.4)


def small_site(**changes):
    """Distributions that let much happen at the same second."""
    few = {
        "batch_width": [1, 1, 2, 3], "gap": [0, 0, 5], "think_time": [0, 60, 300],
        "break_time": [1300, 7200], "size": [1, 2, 4, 8], "run": [0, 10, 60, 600, 4000],
        "repetition": [1, 2, 5], "since_end": [0],
    } | changes  # fmt: skip
    pools = {
        name: Workpool.of(few["size"], few["run"][-4:], repetition=few["repetition"])
        for name in ("day", "night", "weekend")
    }
    return SiteDistributions(
        ({"log": "small", "sha256": None},), 1, 1,
        **{name: Empirical.of(values) for name, values in few.items()},
        hour_jobs=np.zeros(24, np.int64), weekday_jobs=np.zeros(7, np.int64),
        by_log={}, workpools=pools,
    )  # fmt: skip


def both(site, scheduler="easy", **how):
    """The same simulation in both engines, and that they agree."""
    compiled = wk.simulate(None, scheduler, site, rng=3, **how)
    plain = wk.simulate(None, scheduler, site, rng=3, engine="python", **how)
    pd.testing.assert_frame_equal(compiled.jobs, plain.jobs)
    assert compiled.history == plain.history
    for name in ("preceding_job", "think_time", "user"):
        theirs = plain.trace().column(name)
        np.testing.assert_array_equal(compiled.trace().column(name), theirs)
    return compiled


SITES = [
    StaticSite(sessions=4, weeks=0.5),
    StaticSite(sessions=6, weeks=0.2, repeat="size"),
    DynamicSite(users=15, weeks=1),
    DynamicSite(users=9, weeks=1.01, workpool="joint", pools="three"),
    DynamicSite(users=9, weeks=1, pools="three", repeat="size", patience=900, leave=9000),
    DynamicSite(users=15, weeks=1, fairness=0.7),
]


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_engines_agree(site):
    site = replace(site, distributions=small_site())
    schedule = both(site, procs=10)
    assert schedule.jobs["submit"].max() < site.weeks * WEEK
    wk.check_schedule(schedule.trace(), schedule.trace())


@pytest.mark.parametrize(
    ("starts", "share"), [([0, 50, 50], 0), ([0, 50, 40], 1), ([0, 50, None], 0)]
)
def test_overtaken_users(starts, share):
    """Of three jobs, the second is the one asked about; what came with it does not count."""
    jobs = [Job(None, 1, 1, 9, 9, submit) for submit in (0, 10, 30)]
    for job, start in zip(jobs, starts, strict=True):
        job.start = start
    assert overtaken(jobs[1], jobs) == share
    twin = Job(None, 1, 1, 9, 9, 10, start=20)
    late = Job(None, 1, 1, 9, 9, 50, start=50)
    assert overtaken(jobs[1], [jobs[0], twin, *jobs[1:], late]) == share
    assert overtaken(jobs[0], jobs) == 0  # it did not wait


def test_no_user_is_overtaken_under_fcfs():
    fair, minding = (
        both(DynamicSite(15, 1, fairness=weight, distributions=small_site()), "fcfs", procs=10)
        for weight in (0.0, 1.0)
    )
    pd.testing.assert_frame_equal(fair.jobs, minding.jobs)


@pytest.mark.slow
def test_users_who_mind_being_overtaken_break_off_more_often():
    broken_off = []
    for weight in (0.0, 1.0):
        counts = wk.simulate(None, "easy", DynamicSite(60, 4, fairness=weight), rng=1).history
        broken_off.append(counts["aborted"] / (counts["aborted"] + counts["continued"]))
    assert broken_off[1] > broken_off[0]


def test_the_last_second_of_a_site_is_a_whole_one():
    site = DynamicSite(users=2, weeks=74_666.8 / WEEK, distributions=small_site())
    assert wk.simulate(None, "easy", site, rng=1).history["until"] == 74_666


def test_tables_that_are_too_small_are_made_larger(monkeypatch):
    from workloadkit.simulation.users.sites.simulated_users import SimulatedSiteUsers

    site = DynamicSite(users=5, weeks=1, distributions=small_site())
    expected = wk.simulate(None, "easy", site, rng=3).jobs
    monkeypatch.setattr(SimulatedSiteUsers, "n_jobs", 3)
    pd.testing.assert_frame_equal(wk.simulate(None, "easy", site, rng=3).jobs, expected)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "creasy:1500", "conservative", "sjf"])
@pytest.mark.parametrize("passes", ["instant", "event"])
def test_engines_agree_under_every_scheduler(scheduler, passes):
    for site in (*SITES, DynamicSite(users=40, weeks=3), StaticSite(sessions=8, weeks=2)):
        both(site, scheduler, passes=passes)


@pytest.mark.slow
def test_engines_agree_on_small_machines():
    for site in SITES:
        both(replace(site, distributions=small_site()), "creasy", procs=8)


@examples(25)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_the_job_submitted_last_precedes_a_batch(seed, users):
    site = DynamicSite(users=users, weeks=1, distributions=small_site())
    schedule = wk.simulate(None, "easy", site, procs=8, rng=seed)
    log = schedule.trace()
    jobs = schedule.jobs.assign(
        user=log.column("user"),
        preceding=log.column("preceding_job"),
        think_time=log.column("think_time"),
    )
    for _, own in jobs.groupby("user"):
        batches = [batch for _, batch in own.groupby("batch")]
        for before, batch in zip([None, *batches[:-1]], batches, strict=True):
            first = batch.iloc[0]
            assert (batch["preceding"].iloc[1:] == -1).all()
            if before is None:
                assert first["preceding"] == -1
                continue
            last = before.iloc[-1]
            assert first["preceding"] == last["job"]
            assert first["think_time"] == first["submit"] - last["end"] >= 0
            assert batch["session"].nunique() == 1


def test_jobs_are_drawn_from_the_log():
    trace = Trace.from_columns(
        {
            "submit": [0, 0, 100, 20_000, 90_000],
            "run": [10.5, 20, 30, 40, 50],
            "procs": [2, 4, 2, 16, 8],
            "user": [1, 1, 1, 1, 1],
        },
        header=Header(("; UnixStartTime: 843429600", "; TimeZoneString: Europe/Stockholm")),
    )
    site = site_distributions(trace)
    drawn = samples(site, 8)
    assert drawn.size.tolist() == [2, 2, 4, 8]  # 16 do not fit
    assert drawn.run.tolist() == [11, 20, 30, 40, 50]
    pairs = samples(site, 8, workpool="joint")
    assert [*zip(pairs.size.tolist(), pairs.run.tolist(), strict=True)] == [
        (2, 11), (2, 30), (4, 20), (8, 50),
    ]  # fmt: skip
    assert samples(site, 8, longest=30).run.tolist() == [11, 20, 30]
    short = samples(site, 8, workpool="joint", longest=30)
    assert [*zip(short.size.tolist(), short.run.tolist(), strict=True)] == [
        (2, 11),
        (2, 30),
        (4, 20),
    ]
    with pytest.raises(ParameterError, match="no job fits into a machine of 1 processor"):
        samples(site, 1)
    with pytest.raises(ParameterError, match="which pools='three' requires"):
        samples(site, 8, pools="three")
    with pytest.raises(ParameterError, match="saved without joint sizes and run times"):
        samples(replace(site, workpools={}), 8, workpool="joint")
    lonely = Trace.from_columns({"submit": [0], "run": [1], "procs": [1], "user": [1]}, name="a")
    with pytest.raises(WorkloadError, match=r"^a: the distribution of think times is empty"):
        samples(site_distributions(lonely), 8)


def test_a_pool_without_first_jobs_repeats_jobs_like_all():
    pools = {
        "day": Workpool.of([1], [60], repetition=[2, 3]),
        "night": Workpool.of([1], [60], repetition=[1]),
        "weekend": Workpool.of([1], [60], repetition=[]),
    }
    drawn = samples(replace(small_site(), workpools=pools), 8, pools="three")
    assert drawn.repetition.tolist() == [2, 3, 1, 1, 2, 3]
    assert drawn.first_repetition.tolist() == [0, 2, 3, 6]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(1, 9))))
def test_a_workpool_counts_equal_jobs(jobs):
    size, run, weights = np.array(jobs, np.int64).reshape(-1, 3).T
    pool = Workpool.of(size, run, repetition=[], weights=weights)
    expected = {}
    for *pair, weight in sorted(jobs):
        expected[tuple(pair)] = expected.get(tuple(pair), 0) + weight
    assert dict(zip(zip(pool.size, pool.run, strict=True), pool.counts, strict=True)) == expected
    assert list(zip(pool.size, pool.run, strict=True)) == list(expected)


@pytest.mark.parametrize("workpool", ["independent", "joint"])
def test_the_longest_job_and_that_of_the_whole_machine_are_drawn_from_each_pool(workpool):
    pool = Workpool.of([4, 8, 9], [60, 61, 60], repetition=[1])
    site = replace(small_site(), workpools=dict.fromkeys(("day", "night", "weekend"), pool))
    drawn = samples(site, 9, pools="three", workpool=workpool, longest=60)
    assert drawn.run.tolist() == 3 * [60, 60]
    assert set(drawn.size.tolist()) == ({4, 9} if workpool == "joint" else {4, 8, 9})


def test_sessions_that_never_end_need_no_breaks():
    site = small_site(break_time=[])
    with pytest.raises(WorkloadError, match="small: the distribution of breaks is empty"):
        wk.simulate(None, "easy", DynamicSite(users=2, weeks=1, distributions=site))
    schedule = wk.simulate(None, "easy", StaticSite(2, 0.1, distributions=site), rng=1)
    assert schedule.jobs["session"].nunique() == 2


@pytest.mark.slow
def test_three_pools_are_drawn_from_by_the_part_of_the_week():
    pools = {
        name: Workpool.of([size], [60 * size], repetition=[1])
        for size, name in enumerate(("day", "night", "weekend"), 1)
    }
    site = replace(small_site(gap=[0]), workpools=pools)
    for workpool in ("independent", "joint"):
        users = DynamicSite(users=30, weeks=1, pools="three", workpool=workpool, distributions=site)
        jobs = wk.simulate(None, "easy", users, procs=64, rng=1).jobs
        assert (jobs["procs"] == period(jobs["submit"]) + 1).all()
        assert jobs["procs"].nunique() == 3


def test_wrong_parameters_are_refused():
    for make, message in (
        (lambda: StaticSite(sessions=0), "sessions is 0; it is a whole number, 1 or more"),
        (lambda: DynamicSite(users=2.5), "users is 2.5"),
        (lambda: DynamicSite(weeks=0), "weeks is 0; it must be positive"),
        (lambda: DynamicSite(weeks=inf), "weeks is inf"),
        (lambda: DynamicSite(patience=-1), "patience is -1 s; it is 0 or more"),
        (lambda: DynamicSite(leave="soon"), "leave is 'soon'; write 90 or 90s"),
        (lambda: DynamicSite(fairness=1.1), "fairness is 1.1; it is from 0 to 1"),
        (lambda: DynamicSite(fairness="yes"), "fairness is 'yes'; it is a number"),
        (lambda: DynamicSite(workpool="both"), "workpool is 'both'; known: independent, joint"),
        (lambda: DynamicSite(pools="two"), "pools is 'two'; known: one, three"),
        (lambda: StaticSite(repeat="never"), "repeat is 'never'; known: job, size"),
        (
            lambda: StaticSite(repeat="size", workpool="joint"),
            "repeat='size' draws the run time of each job independently, workpool='joint' together",
        ),
        (lambda: StaticSite(distributions="a.swf"), "distributions is 'a.swf'; use workloadkit"),
    ):
        with pytest.raises(ParameterError, match=message):
            make()


def test_a_site_without_users_is_refused():
    with pytest.raises(WorkloadError, match="the users submitted no job"):
        wk.simulate(None, "easy", DynamicSite(users=1, weeks=1e-6), procs=8)


@pytest.mark.parametrize("users", ["site:users=2,weeks=0.1", "static-site:sessions=2,weeks=0.1"])
def test_the_seed_of_users_of_a_site_is_recorded(users):
    for seed in (3, 4):
        done = wk.simulate(None, "fcfs", users, rng=seed, engine="python")
        assert done.parameters["seed"] == seed


@pytest.mark.parametrize("users", ["site", "static-site", "poisson:rate=1"])
def test_without_a_log_there_are_no_recorded_waits_to_follow(users):
    with pytest.raises(wk.ParameterError, match="recorded follows the waits of a log, and users "):
        wk.simulate(None, "recorded", users)
