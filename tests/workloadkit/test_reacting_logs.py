"""The log of what users who react have submitted."""

import numpy as np
import pytest

import workloadkit as wk

pytestmark = pytest.mark.filterwarnings("ignore:.*left out of the pools")

OF_A_LOG = ("closed", "adjusted", "distribution", "fluid", "dependent")
MADE_UP = (
    "site:users=4,weeks=1",
    "static-site:sessions=2,weeks=1",
    "think:users=3,think=5,jobs=40",
)


@pytest.fixture(scope="module")
def log():
    return wk.with_dependencies(wk.load_sample().take(range(400)))


def simulate(trace, users, **options):
    return wk.simulate(trace, "easy", users, rng=1, engine="python", **options)


def replayed(schedule, folder):
    """The schedule of the log that a schedule leaves, by its timestamps."""
    wk.write_swf(schedule.trace(), folder / "made.swf")
    trace = wk.read_swf(folder / "made.swf")
    return trace, wk.simulate(trace, "easy", procs=schedule.machine, engine="python")


@pytest.mark.parametrize("users", OF_A_LOG)
def test_it_is_the_log_whose_replay_gives_the_same_schedule(log, users, tmp_path):
    schedule = simulate(log, users)
    trace, again = replayed(schedule, tmp_path)
    assert again.start.tolist() == schedule.start.tolist()
    assert trace.column("wait").tolist() == schedule.wait.tolist()
    assert trace.column("job").tolist() == schedule.jobs["job"].tolist()
    of_log = dict(zip(log.column("job").tolist(), log.column("user").tolist(), strict=True))
    users_of = [of_log[job] for job in trace.column("job").tolist()]
    assert trace.column("user").tolist() == users_of
    assert f"users {users}, procs 96" in " ".join(trace.header.get_all("Note"))


def test_of_dependent_users_fields_17_and_18_hold(log):
    made = simulate(log, "dependent").trace()
    end = dict(zip(made.column("job").tolist(), made.end.tolist(), strict=True))
    before = made.column("preceding_job")
    known = np.array([job in end for job in before.tolist()])
    waited_for = np.array([end[job] for job in before[known].tolist()])
    assert known.any()
    assert (made.column("submit")[known] - waited_for == made.column("think_time")[known]).all()


@pytest.mark.parametrize("users", MADE_UP)
def test_users_who_need_no_log_leave_one(users, tmp_path):
    schedule = simulate(None, users)
    trace, again = replayed(schedule, tmp_path)
    assert again.start.tolist() == pytest.approx(schedule.start.tolist())
    assert trace.column("job").tolist() == list(range(1, trace.n_jobs + 1))
    assert trace.header.procs == schedule.machine
    assert set(trace.column("user").tolist()) <= set(range(1, 5))


def test_incarnations_of_resampled_users_are_its_users(tmp_path):
    population = wk.populations.Resampled(weeks=2, load=0.3)
    schedule = simulate(wk.load_sample(), "fluid", population=population)
    trace, again = replayed(schedule, tmp_path)
    assert again.start.tolist() == schedule.start.tolist()
    assert trace.column("job").tolist() == list(range(1, trace.n_jobs + 1))
    assert len(set(trace.column("user").tolist())) == schedule.describe()["users"]
    assert trace.column("submit").max() < schedule.history["until"]
