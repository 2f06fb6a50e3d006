"""The order of what happens within a second, as `docs/explanation/events.md` states it."""

import pytest

import workloadkit as wk
from workloadkit.io.reservations import ReservationRequest, ReservationRequests
from workloadkit.metasystem import JobSource, MetaScheduler, Metasystem, Site, simulate_metasystem


def log(**columns):
    """A log whose estimates are its run times, unless given."""
    return wk.Trace.from_columns({"requested_time": columns["run"], **columns})


def plain(trace, scheduler, **how):
    return wk.simulate(trace, scheduler, engine="python", **how).start.tolist()


@pytest.mark.parametrize("asked", [0, 5])
def test_reserved_jobs_start_before_the_others_of_that_second(asked):
    # job 1 ends at 5; jobs 2 and 3 need the whole machine from then on, and job 3 has reserved it
    trace = log(submit=[0, 5, 5], run=[5, 10, 10], procs=[4, 4, 4])
    request = ReservationRequest(1, asked, 5, 5, 10, 4, kind=0, jobs=(3,))
    for scheduler in ("fcfs", "easy", "conservative"):
        found = plain(trace, scheduler, procs=4, reservations=ReservationRequests((request,)))
        assert found == [0, 15, 5]


def test_requests_of_a_second_are_answered_in_their_order():
    trace = log(submit=[5, 5], run=[10, 10], procs=[4, 4])
    for first, second in ((1, 2), (2, 1)):
        asked = ReservationRequests(
            tuple(
                ReservationRequest(number, 5, 5, -1, 10, 4, kind=0, jobs=(job,))
                for number, job in enumerate((first, second), 1)
            )
        )
        found = plain(trace, "easy", procs=4, reservations=asked)
        assert (found[first - 1], found[second - 1]) == (5, 15)


def test_a_reserved_job_of_0_s_ends_before_the_pass():
    trace = log(submit=[0, 5, 5], run=[5, 10, 0], procs=[4, 4, 4], requested_time=[5, 10, 3])
    request = ReservationRequest(1, 0, 5, 5, 3, 4, kind=0, jobs=(3,))
    found = plain(trace, "easy", procs=4, reservations=ReservationRequests((request,)))
    assert found == [0, 5, 5]


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_of_two_sites_that_could_start_a_job_in_one_second_the_first_in_the_list_does(names):
    # the first site has more load, so that the request to the second one is the first
    local = log(submit=[0], run=[100], procs=[2])
    system = Metasystem(
        sites=[
            Site(names[0], 8, "easy", jobs=JobSource(log=local)),
            Site(names[1], 8, "easy"),
        ],
        meta_schedulers=[
            MetaScheduler(
                "grid", "redundant:sites=2", [JobSource(log=log(submit=[5], run=[9], procs=[4]))]
            )
        ],
    )
    schedule = simulate_metasystem(system, engine="python")
    assert schedule.jobs[["site", "start"]].to_numpy().tolist() == [[names[0], 5]]


@pytest.mark.parametrize(("number", "found"), [(1, 15), (2, 5)])
def test_of_equal_numbers_the_local_job_comes_before_the_meta_job(number, found):
    job = {"submit": [5], "run": [10], "procs": [4]}
    grid = MetaScheduler("grid", "redundant:sites=1", [JobSource(log=log(**job))])
    site = Site("a", 4, "fcfs", jobs=JobSource(log=log(**job, job=[number])))
    system = Metasystem(sites=[site], meta_schedulers=[grid])
    assert simulate_metasystem(system, engine="python").jobs["start"].tolist() == [found]


def test_the_oldest_come_first_in_backfilling_in_the_order_of_the_queue_alone():
    # At 70 a processor comes free; job 3, of 4, has the shadow time 100. Only one of jobs 4 and 5
    # ends by then
    trace = log(submit=[0, 0, 1, 2, 60], run=[100, 70, 200, 28, 20], procs=[3, 1, 4, 1, 1])
    score = "order:score=where(procs == 4, 0, estimate)"
    for more, found in (
        ("", [300, 70]),
        (",oldest_first=50", [70, 300]),
        (",oldest_first=50,backfill=estimate", [300, 70]),
    ):
        assert plain(trace, score + more, procs=4) == [0, 0, 100, *found]


def test_overdue_jobs_count_as_ending_now_but_keep_their_processors():
    # from 11 s on job 1 is overdue: the shadow time of job 2 is the present second
    trace = log(
        submit=[0, 1, 5, 12],
        run=[30, 10, 5, 3],
        procs=[1, 2, 1, 1],
        requested_time=[10, 10, 5, 3],
    )
    assert plain(trace, "easy", procs=2, overrun="late") == [0, 30, 5, 40]


@pytest.mark.parametrize("policy", ["easy", "conservative", "reservations:2"])
def test_more_jobs_may_end_in_a_second_than_run_at_once(policy):
    log = wk.Trace.from_columns(
        {"submit": [0] * 30, "run": [0] * 30, "requested_time": [0] * 30, "procs": [1, 3] * 15}
    )
    for engine in ("python", "compiled"):
        schedule = wk.simulate(log, policy, procs=4, passes="event", engine=engine)
        assert not schedule.jobs["start"].any(), engine
