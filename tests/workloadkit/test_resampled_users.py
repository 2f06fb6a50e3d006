"""Users drawn anew from a log, who react: how they begin, and again, and what comes out."""

import pickle
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.oracles.resampling import Calendar
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.resample import drawing
from workloadkit.resample.drawing import Placements
from workloadkit.simulation.populations import Resampled
from workloadkit.simulation.populations.pooled import log_of
from workloadkit.simulation.users.batches import simulated_users

ENGINES = ("python", "compiled")
PLAIN = wk.Header(("; MaxProcs: 8",))
#: Second 0 is a Monday, 0:00; clocks are set forward 9.9 weeks, or back 7 weeks later.
SPRING, AUTUMN = (
    wk.Header((*PLAIN.lines, f"; UnixStartTime: {start}", "; TimeZoneString: Europe/Berlin"))
    for start in (979_513_200, 1_000_072_800)
)

# user, submit and run time in 20 weeks; users 1 and 2 are long-term
JOBS = [
    (2, 0, 50),
    (1, 30, 100),
    (1, 5 * WEEK - 600, 3000),
    (1, 5 * WEEK + 600, 100),  # the same batch, in another week
    (1, 5 * WEEK + 4000, 200),  # thinks for 1600 s; the next, 8 weeks less 4200 s
    (3, 6 * WEEK + 7000, 10),
    (3, 6 * WEEK + 7005, 20),
    (3, 7 * WEEK + 9000, 30),
    (1, 13 * WEEK, 100),
    (2, 20 * WEEK, 50),
]


def make_log(header=PLAIN, jobs=JOBS, **columns):
    user, submit, run = zip(*jobs, strict=True)
    columns = {"wait": [0] * len(jobs), "procs": [1] * len(jobs)} | columns
    return wk.Trace.from_columns(
        {"submit": submit, "run": run, "user": user} | columns, header=header
    )


def crowded_log(weeks=16, header=PLAIN):
    """Five long-term users and nine temporary ones, with many batches, on a busy machine."""
    rng = np.random.default_rng(4)
    jobs = []
    for user in range(14):
        first, last = (0, weeks) if user < 5 else (int(rng.integers(4, weeks - 6)),) * 2
        last = max(last, first + 2)
        for day in range(7 * first, 7 * last):
            time = 86400 * day + int(rng.integers(8, 16)) * 3600
            for _ in range(int(rng.integers(4))):
                time += int(rng.integers(4000))
                jobs.append((user, time, int(rng.integers(30_000))))
    jobs.sort(key=lambda job: job[1])
    procs = rng.integers(1, 6, len(jobs))
    before = [int(rng.integers(max(n - 9, 0), n)) for n in range(1, len(jobs) + 1)]
    return make_log(header, jobs, procs=procs, preceding_job=[b or -1 for b in before],
                    think_time=[60] * len(jobs), requested_memory=range(len(jobs)))  # fmt: skip


@pytest.fixture(scope="module")
def log():
    return crowded_log()


@pytest.fixture
def place(monkeypatch):
    """Place users of a log, each in a week, instead of drawing them."""

    def place(*placed):
        def populate(pools, plan, rng):
            user, week = zip(*placed, strict=True)
            member = [np.flatnonzero(pools.members.user == u)[0] for u in user]
            each = dict.fromkeys(user)
            incarnation = [list(each).index(u) for u in user]
            return Placements(*(np.array(x) for x in (member, incarnation, week)))

        monkeypatch.setattr(drawing, "populate", populate)

    return place


def submits(schedule, user=1):
    jobs = schedule.source.jobs
    return jobs["submit"][jobs["user"] == user].tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cut_batch_keeps_its_rest_and_users_who_have_finished_pause(place, engine):
    place((1, -5), (1, 15))
    schedule = wk.simulate(
        make_log(), "easy", "adjusted", population="resampled", engine=engine, rng=1
    )
    # done at 8 weeks - 1600 s; pauses for 7 weeks + 30 s
    expected = [600, 2300, 8 * WEEK - 1700, 15 * WEEK + 30, 20 * WEEK - 600]
    assert submits(schedule) == expected
    assert schedule.jobs["run"].tolist() == [100, 200, 100, 100, 3000]
    assert schedule.jobs["job"].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("engine", ENGINES)
def test_without_a_pause_the_next_monday_will_do(place, engine):
    place((1, -5))
    population = Resampled(pause=False)
    schedule = wk.simulate(
        make_log(), "easy", "adjusted", population=population, engine=engine, rng=1
    )
    first = [600, 2300, 8 * WEEK - 1700]
    again = [8 * WEEK + 30, 13 * WEEK - 600, 13 * WEEK + 600, 13 * WEEK + 4000]
    assert submits(schedule) == first + again
    assert schedule.source.header.get_all("Note")[-1].endswith("seed 1, pause False")


#: User 3 stays for two weeks, by the submissions; the first job waits for 1.5 of them.
STAY = [(1, 0, 50), (2, 0, 50), (3, 6 * WEEK, 10), (3, 8 * WEEK, 10), (1, 20 * WEEK, 50)]
STAY = [*STAY[:-1], (2, 20 * WEEK, 50), STAY[-1]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("waits", [3 * WEEK // 2, 0])
def test_temporary_users_may_stay_for_their_time(place, waits, engine):
    place((3, 0))
    trace = make_log(jobs=STAY, wait=[0, 0, waits, 0, 0, 0])
    found = {}
    for stay in ("jobs", "time"):
        population = Resampled(stay=stay)
        schedule = wk.simulate(
            trace, "easy", "adjusted", population=population, engine=engine, rng=1
        )
        found[stay] = submits(schedule)
        note = schedule.source.header.get_all("Note")[-1]
        assert note.endswith("seed 1" if stay == "jobs" else "seed 1, stay time")
    begin = found["jobs"][0]
    weeks = {name: [(t - begin) / WEEK for t in times] for name, times in found.items()}
    if waits:  # served at once, he is done in half of the time and begins again
        assert weeks == {"jobs": [0, 0.5], "time": [0, 0.5, 1, 1.5, 2]}
    else:
        assert weeks == {"jobs": [0, 2], "time": [0, 2]}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_time_of_a_temporary_user_ends_with_his_last_submission(place, engine):
    """Not with the end of that job, by which he would go on for another job after two weeks."""
    place((3, 0))
    longer = [*STAY[:3], (3, 8 * WEEK, 7 * WEEK // 10), *STAY[4:]]
    trace = make_log(jobs=longer, wait=[0, 0, 3 * WEEK // 2, 0, 0, 0])
    schedule = wk.simulate(
        trace, "easy", "adjusted", population=Resampled(stay="time"), engine=engine, rng=1
    )
    times = submits(schedule)
    assert [(t - times[0]) / WEEK for t in times] == [0, 0.5, 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_users_who_finish_in_no_time_do_not_begin_again_in_that_second(place, engine):
    """Else one whose jobs take 0 s would do so for ever."""
    place((3, 0))
    trace = make_log(jobs=[*STAY[:2], (3, 6 * WEEK, 0), *STAY[4:]])
    schedule = wk.simulate(
        trace, "easy", "adjusted", population=Resampled(stay="time"), engine=engine, rng=1
    )
    assert len(submits(schedule)) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_temporary_users_leave_the_rest_when_their_time_is_over(place, engine):
    place((1, 0), (3, 0))
    work = [(3, 6 * WEEK + 10, 100), (3, 6 * WEEK + 210, 10)]
    jobs = [(1, 0, 5000), (2, 5, 50), *work, (2, 20 * WEEK, 50), (1, 20 * WEEK, 50)]
    trace = make_log(jobs=jobs, procs=[8, 1, 1, 1, 1, 1])
    for stay, submitted in (("jobs", [10, 5200]), ("time", [10])):  # first he waits for user 1
        schedule = wk.simulate(
            trace, "easy", "adjusted", population=f"resampled:stay={stay}", engine=engine, rng=1
        )
        assert submits(schedule, 2) == submitted


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("header", "again"), [(SPRING, 16 * WEEK + 30 - 3600), (AUTUMN, 15 * WEEK + 30 + 3600)]
)
def test_one_begins_again_at_the_hour_that_clocks_show(place, header, again, engine):
    place((1, -5))
    schedule = wk.simulate(
        make_log(header), "easy", "adjusted", population="resampled", engine=engine, rng=1
    )
    # done at 8 weeks - 1600 s, and ready 7 weeks + 30 s later, when clocks show another hour
    assert submits(schedule) == [600, 2300, 8 * WEEK - 1700, again]
    calendar = Calendar(header.start, ZoneInfo("Europe/Berlin"))
    assert calendar.weekday_and_time(again) == calendar.weekday_and_time(30)


@pytest.mark.parametrize("engine", ENGINES)
def test_temporary_users_come_once(place, engine):
    place((3, 2), (2, -1))
    schedule = wk.simulate(
        make_log(), "easy", "adjusted", population="resampled", engine=engine, rng=1
    )
    assert submits(schedule) == [2 * WEEK + 7000, 2 * WEEK + 7005, 3 * WEEK + 9000]
    # the long-term one, whose whole log is his activity, has his last job after 19 weeks
    assert submits(schedule, 2) == [19 * WEEK, 20 * WEEK]
    assert schedule.jobs["submit"].tolist() == sorted(schedule.jobs["submit"])


def test_closed_users_drawn_anew_begin_when_they_come(place):
    place((1, 0), (3, 2))
    schedule = wk.simulate(
        make_log(), "easy", "closed", population="resampled", engine="python", rng=1
    )
    assert submits(schedule)[0] == 30
    assert submits(schedule, 2) == [2 * WEEK + 7000, 2 * WEEK + 7010, 2 * WEEK + 7030]


@pytest.mark.parametrize("engine", ENGINES)
def test_one_who_came_before_the_begin_goes_on_where_he_was(place, engine):
    place((3, -1))
    schedule = wk.simulate(
        make_log(), "easy", "adjusted", population="resampled", engine=engine, rng=1
    )
    assert submits(schedule) == [9000]


@pytest.mark.parametrize("engine", ENGINES)
def test_no_user_comes_before_the_begin_where_an_hour_comes_twice(place, engine):
    begin = "; UnixStartTime: 1004232600"  # 2:30, for the second time in that night
    header = wk.Header((*PLAIN.lines, begin, "; TimeZoneString: Europe/Berlin"))
    place((2, 0))
    schedule = wk.simulate(
        make_log(header), "easy", "adjusted", population="resampled", engine=engine, rng=1
    )
    assert submits(schedule)[0] == 0


def test_a_long_term_user_who_pauses_as_the_log_begins_comes_with_his_next_cycle(place):
    place((1, -15), (1, 5))
    schedule = wk.simulate(make_log(), "easy", "adjusted", population="resampled", rng=1)
    assert submits(schedule)[0] == 5 * WEEK + 30


def test_no_user_submits_after_the_last_week(place):
    place((3, 2))
    population = Resampled(weeks=3)
    schedule = wk.simulate(make_log(), "easy", "adjusted", population=population, rng=1)
    assert submits(schedule) == [2 * WEEK + 7000, 2 * WEEK + 7005]


@pytest.mark.parametrize("users", ["adjusted", "closed:recorded", "distribution", "fluid"])
def test_both_engines_agree(log, users):
    ready = Resampled(load=1.3).prepare(log)
    told = [
        wk.simulate(log, "easy", users, population=ready, engine=engine, rng=3)
        for engine in ENGINES
    ]
    assert told[0].jobs.equals(told[1].jobs)
    assert told[0].source.jobs.equals(told[1].source.jobs)
    assert told[0].source.header == told[1].source.header
    assert told[0].history == told[1].history


def test_everybody_comes_when_resampling_has_him_come(log):
    for seed in range(3):
        new = wk.resample(log, rng=seed)
        schedule = wk.simulate(log, "easy", "adjusted", population="resampled", rng=seed)
        came, comes = (
            sorted(trace.jobs.groupby("user")["submit"].min()) for trace in (schedule.source, new)
        )
        assert came == comes


@pytest.mark.filterwarnings("ignore:the log uses up to")
def test_under_the_recorded_waits_temporary_users_do_what_they_did(log):
    ready = Resampled().prepare(log)
    n_weeks = 0
    for seed in range(3):
        new = wk.resample(log, rng=seed).jobs
        how = {"population": ready, "engine": "python", "rng": seed}
        again = wk.simulate(log, "recorded", "adjusted", **how).source.jobs
        temporary = np.unique(log.column("user"))[5:]
        of_temporary = log.column("requested_memory")[np.isin(log.column("user"), temporary)]
        for jobs in (new, again):
            jobs["temporary"] = jobs["requested_memory"].isin(of_temporary)
        names = ["submit", "requested_memory", "run", "wait", "procs"]
        # those who come after the begin, so that no batch of theirs is cut
        parts = [
            jobs[jobs["temporary"] & (jobs.groupby("user")["submit"].transform("min") > WEEK)]
            .sort_values(names)[names]
            .to_numpy()
            for jobs in (new, again)
        ]
        assert np.array_equal(*parts)
        n_weeks += len(parts[0])
    assert n_weeks > 50


@pytest.mark.slow
def test_a_better_scheduler_gets_more_done(log):
    ready = Resampled(weeks=30, load=1.5).prepare(log)
    jobs = {
        name: [
            wk.simulate(log, name, "fluid", population=ready, rng=seed).source.n_jobs
            for seed in range(5)
        ]
        for name in ("fcfs", "easy")
    }
    assert sum(jobs["easy"]) > 1.02 * sum(jobs["fcfs"])


def test_the_same_seed_gives_the_same_again(log):
    first, again, other = (
        wk.simulate(log, "easy", "fluid", population="resampled", rng=seed) for seed in (5, 5, 6)
    )
    assert first.jobs.equals(again.jobs)
    assert first.trace().header == again.trace().header
    assert not first.jobs.equals(other.jobs)
    assert first.parameters["seed"] == 5


def test_tables_that_turn_out_too_small_make_no_difference(log, monkeypatch):
    expected = wk.simulate(log, "easy", "fluid", population="resampled", rng=5)
    monkeypatch.setattr(simulated_users.SimulatedBatchUsers, "n_jobs", 3)
    found = wk.simulate(log, "easy", "fluid", population="resampled", rng=5)
    assert found.jobs.equals(expected.jobs)
    assert found.source.jobs.equals(expected.source.jobs)


def test_prepared_populations_give_the_same_schedules(log):
    ready = Resampled(weeks=8).prepare(log).at_load(1.2)
    prepared = wk.simulate(None, "easy", "adjusted", population=ready, rng=2)
    ready = pickle.loads(pickle.dumps(ready))
    sent = wk.simulate(log, "easy", "adjusted", population=ready, rng=2)
    fresh = wk.simulate(log, "easy", "adjusted", population="resampled:weeks=8,load=1.2", rng=2)
    for schedule in (prepared, sent):
        assert schedule.jobs.equals(fresh.jobs)
        assert schedule.source.jobs.equals(fresh.source.jobs)
        assert schedule.source.header == fresh.source.header


def test_schedules_record_the_population():
    trace, how = make_log(), {"engine": "python", "rng": 1}
    choice = Resampled(stay="time")
    for staying in ("resampled:stay=time", choice, choice.prepare(trace)):
        schedule = wk.simulate(trace, "easy", "adjusted", population=staying, **how)
        assert schedule.parameters["population"] == "resampled:stay=time"
    assert "population" not in wk.simulate(trace, "easy", "adjusted", **how).parameters


def test_open_users_of_a_resampled_population_are_those_of_resample(log):
    new = wk.resample(log, weeks=8, load=1.2, rng=2)
    expected = wk.simulate(new, "easy")
    schedule = wk.simulate(log, "easy", population="resampled:weeks=8,load=1.2", rng=2)
    assert schedule.jobs.equals(expected.jobs)
    assert schedule.source.header == new.header


def test_the_log_of_submitted_jobs(log):
    schedule = wk.simulate(log, "easy", "adjusted", population=Resampled(weeks=12), rng=7)
    new = schedule.source
    rows = new.column("requested_memory").astype(int)
    for name in ("run", "procs", "wait", "requested_time"):
        assert np.array_equal(new.column(name), log.column(name)[rows], equal_nan=True)
    assert new.column("job").tolist() == list(range(1, new.n_jobs + 1))
    assert np.array_equal(schedule.workload.user, new.column("user"))
    assert new.header.get_all("Note") == [
        f"resampled: workloadkit 0.2.0, log trace ({log.identity}), seed 7, weeks 12"
    ]
    assert new.name == "trace, resampled by seed 7"
    # the preceding job is the user's own, and came before in the same cycle
    before = new.column("preceding_job")
    known = np.flatnonzero(before > 0)
    assert known.size > 100
    place = before[known] - 1
    assert (place < known).all()
    assert np.array_equal(new.column("user")[place], new.column("user")[known])
    assert np.array_equal(rows[place] + 1, log.column("preceding_job")[rows[known]])


def test_a_job_of_a_new_cycle_follows_one_of_that_cycle(place):
    jobs = make_log(preceding_job=[-1, -1, 2, 3, 4, -1, 6, -1, 5, 1])
    place((2, 0), (1, -5))
    schedule = wk.simulate(
        jobs, "easy", "adjusted", population=Resampled(pause=False), procs=8, rng=1
    )
    mine = schedule.source.jobs[schedule.source.jobs["user"] == 2]
    number = mine["job"].tolist()
    # the first cycle begins with the fourth job, whose predecessor is left out
    expected = [-1, number[0], number[1], -1, number[3], number[4], number[5]]
    assert mine["preceding_job"].tolist() == expected


def test_a_user_drawn_twice_follows_the_same_jobs_each_time(monkeypatch):
    def populate(pools, plan, rng):
        (member,) = np.flatnonzero(pools.members.user == 1)
        return Placements(np.array([member, member]), np.array([0, 1]), np.array([-5, 0]))

    monkeypatch.setattr(drawing, "populate", populate)
    jobs = make_log(preceding_job=[-1, -1, 2, 3, 4, -1, 6, -1, 5, 1])
    schedule = wk.simulate(
        jobs, "easy", "adjusted", population=Resampled(pause=False), procs=8, rng=1
    )
    new = schedule.source.jobs.set_index("job")
    follows = new[new["preceding_job"] > 0]
    assert set(follows["user"]) == {1, 2}
    assert new.loc[follows["preceding_job"], "user"].tolist() == follows["user"].tolist()


@pytest.mark.parametrize("engine", ["python", pytest.param("compiled", marks=pytest.mark.slow)])
def test_times_with_decimals(place, engine):
    jobs = [(user, submit + 0.25, run) for user, submit, run in JOBS]
    place((1, -5))
    schedule = wk.simulate(
        make_log(jobs=jobs), "easy", "adjusted", population="resampled", engine=engine, rng=1
    )
    expected = [600, 2300, 8 * WEEK - 1700, 15 * WEEK + 30, 20 * WEEK - 600]
    assert submits(schedule) == [time + 0.25 for time in expected]


def test_jobs_of_one_second_keep_their_order():
    jobs = [(user, week * WEEK, 60) for week in range(20) for user in range(1, 31)]
    jobs[300] = (31, *jobs[300][1:])
    log = make_log(jobs=jobs)
    trace, order = log_of(Resampled().prepare(log).resampling.pools)
    assert trace.jobs["submit"].is_monotonic_increasing
    assert np.all(np.diff(order)[np.diff(trace.jobs["submit"]) == 0] > 0)


@pytest.mark.slow
def test_several_logs_are_mixed(log):
    other = crowded_log(15, SPRING)
    ready = Resampled(weeks=10).prepare([log, other])
    told = [
        wk.simulate(None, "easy", "fluid", population=ready, engine=engine, rng=3)
        for engine in ENGINES
    ]
    assert told[0].jobs.equals(told[1].jobs)
    assert told[0].metrics["jobs"] > log.n_jobs / 2


def test_wrong_parameters_are_refused(log):
    with pytest.raises(
        ParameterError, match=r"^move is 'batch'; users who react are drawn as 'user'"
    ):
        wk.simulate(log, "easy", "adjusted", population="resampled:move=batch")
    with pytest.raises(ParameterError, match="load 99 requires more than the"):
        wk.simulate(log, "easy", "adjusted", population="resampled:load=99")
    with pytest.raises(ParameterError, match=r"^weeks is 'two'; it is a n"):
        Resampled(weeks="two")
    with pytest.raises(ParameterError, match="pause is 1; it is True or False"):
        Resampled(pause=1)
    with pytest.raises(ParameterError, match="stay is 'weeks'; known: jobs, time"):
        wk.simulate(log, "easy", "adjusted", population="resampled:stay=weeks")
    with pytest.raises(ParameterError, match="there is no log to simulate"):
        wk.simulate(None, "easy", "fluid", population="resampled")
    with pytest.raises(ParameterError, match="the users of trace are not those of other"):
        other = wk.Trace(log.jobs, log.header, name="other")
        wk.simulate(other, "easy", "fluid", population=Resampled().prepare(log))
    with pytest.raises(WorkloadError, match="all users are unknown"):
        unknown = log.with_columns(user=np.full(log.n_jobs, -1))
        wk.simulate(unknown, "easy", "fluid", population="resampled")
    with pytest.raises(ParameterError, match="population is 3; give a name or an object of"):
        wk.simulate(log, "easy", "fluid", population=3)


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln"])
@pytest.mark.filterwarnings("ignore:.*left out of the pools")
def test_both_engines_agree_on_real_logs(name):
    trace = wk.with_dependencies(wk.read_swf(trace_path(name)))
    ready = Resampled(weeks=12).prepare(trace)
    for users in ("adjusted", "fluid", "distribution", "closed", "dependent"):
        told = [
            wk.simulate(trace, "easy", users, population=ready, engine=engine, rng=1)
            for engine in ENGINES
        ]
        assert told[0].jobs.equals(told[1].jobs)
