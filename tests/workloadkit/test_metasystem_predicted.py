"""Predicted starts at sites: those of the site's scheduler if all jobs run for their estimates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import ENGINES
from tests.data import slow_to_compile
from tests.examples import examples
from workloadkit.metasystem import (
    JobSource,
    Link,
    MetaPolicy,
    MetaScheduler,
    Metasystem,
    Publishes,
    Site,
    simulate_metasystem,
)
from workloadkit.simulation.engine import Scheduler

#: Orders without backfilling in which predictions are exact, in both engines.
IN_ORDER = (
    "fcfs",
    *(f"{name}:backfill=none" for name in ("easy", "sjf", "ljf", "smallest", "largest", "f1")),
    "f1:backfill=none,since=first",
)

#: The scheduler itself is simulated, in plain Python.
REHEARSED = (
    *("order:score=procs * estimate,backfill=none", "order:score=-wait,backfill=none"),
    *("wfp3", "unicef", "lookahead", "selective", "slack", "creasy", "user-priority"),
    "multi-queue",
)


class LastComeFirst(Scheduler):
    """Starts the job that arrived last, if it fits."""

    name = "last-come-first"

    def allocate(self):
        while self.queue and self.fits(self.queue[-1]):
            self.start(self.queue[-1])


def log(rows):
    names = ("submit", "run", "procs", "requested_time", "job")
    return wk.Trace.from_columns(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


class Predicting(MetaPolicy):
    """Sends all jobs to the first site, and keeps the predicted starts there."""

    name = "predicting"
    needs = ("plan",)

    def __init__(self):
        self.predicted = {}

    def choose(self, job, sites):
        self.predicted[job.number] = sites[0].start(job)
        return sites[:1]


times = st.integers(0, 12)
jobs_of = st.lists(st.tuples(times, st.integers(1, 8), st.integers(1, 4)), min_size=1, max_size=8)


def predicted_and_started(scheduler, local, meta, *, every=0, stage_in=(0, 0)):
    """Predicted and actual start of each meta job, in the order of submission.

    Local jobs are submitted at 0 if information is fresh; otherwise before the only publication.
    Estimates are exact. Meta jobs of odd places arrive later than those of even ones.
    """
    local = [(s if every else 0, run, procs, run, i) for i, (s, run, procs) in enumerate(local)]
    meta = [(s + max(every, 1), run, procs) for s, run, procs in sorted(meta)]
    rows = [(*job, job[1], 10 + i) for i, job in enumerate(meta)]
    sources = [
        JobSource(log=log(rows[place::2]), home="b", stage_in=stage_in[place])
        for place in (0, 1)
        if rows[place::2]
    ]
    site = Site("a", 4, scheduler, JobSource(log=log(sorted(local))), publishes=Publishes(every))
    found = simulate_metasystem(
        Metasystem(
            [site, Site("b", 4)],
            [MetaScheduler("m", Predicting(), sources)],
            links=[Link(("a", "b"), bandwidth=1.0)],
        ),
    )
    predicted = found.policies[0].predicted
    start = found.jobs.set_index("job")["start"].to_dict()
    return [(predicted[job], start[job]) for *_, job in rows]


@given(jobs_of, jobs_of, st.sampled_from(IN_ORDER), st.sampled_from([0, 13]), st.booleans())
@examples(200)
def test_the_last_job_starts_as_predicted_without_backfilling(local, meta, scheduler, every, far):
    """The jobs that wait count, those that were sent before, and those that are still under way."""
    found = predicted_and_started(scheduler, local, meta, every=every, stage_in=(7 * far, 0))
    if not far or len(meta) % 2 == 1:  # otherwise the last to be sent is not the last to arrive
        predicted, start = found[-1]
        assert predicted == start


@given(jobs_of, jobs_of, st.sampled_from(["fcfs", "conservative"]), st.sampled_from([0, 13]))
@examples(100)
def test_later_jobs_change_no_prediction_in_the_order_of_arrival(local, meta, scheduler, every):
    found = predicted_and_started(scheduler, local, meta, every=every)
    assert all(predicted == start for predicted, start in found)


@given(jobs_of, jobs_of, st.sampled_from(REHEARSED), st.sampled_from([0, 13]))
@examples(100)
def test_other_schedulers_are_simulated_for_a_prediction(local, meta, scheduler, every):
    predicted, start = predicted_and_started(scheduler, local, meta, every=every)[-1]
    assert predicted == start


def test_a_custom_scheduler_is_simulated_for_a_prediction():
    local, meta = [(0, 10, 4), (0, 5, 4), (0, 7, 4)], [(1, 3, 4), (2, 4, 4)]
    found = predicted_and_started(LastComeFirst(), local, meta)
    assert found == [(7, 11), (7, 7)]  # the first one is overtaken by the second


CASES = {  # by scheduler: local jobs, the start of a job of one processor for 10 s that comes at 5
    "fcfs": ([(0, 100, 3), (1, 100, 2)], 100),
    "easy:backfill=none": ([(0, 100, 3), (1, 100, 2)], 100),
    "sjf:backfill=none": ([(0, 100, 3), (1, 100, 2), (2, 5, 4)], 105),
    "ljf:backfill=none": ([(0, 100, 3), (1, 100, 2), (2, 5, 4)], 100),
    "largest:backfill=none": ([(0, 100, 3), (1, 100, 2), (2, 5, 4)], 105),
    "smallest:backfill=none": ([(0, 100, 4), (1, 100, 2), (2, 5, 4)], 100),
    "sjf": ([(0, 100, 4), (1, 100, 4)], 100),
}


@pytest.mark.parametrize("scheduler", CASES)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_job_is_sent_where_it_starts_first(scheduler, engine):
    """The other site would start it one second earlier, or later, than it starts at the first."""
    local, start = CASES[scheduler]
    for other, expected in ((start - 1, "b"), (start + 1, "a")):
        rows = [(s, run, procs, run, i) for i, (s, run, procs) in enumerate(local)]
        sites = [
            Site("a", 4, scheduler, JobSource(log=log(rows))),
            Site("b", 1, jobs=JobSource(log=log([(0, other, 1, other, 0)]))),
        ]
        meta = MetaScheduler("m", "shortest-wait", [JobSource(log=log([(5, 10, 1, 10, 9)]))])
        jobs = simulate_metasystem(Metasystem(sites, [meta]), engine=engine).jobs
        assert jobs[["site", "start"]].to_numpy().tolist() == [[expected, min(start, other)]]


orders = st.sampled_from((*IN_ORDER, "sjf", "f1", "f1:since=first", "conservative"))


@slow_to_compile
@given(jobs_of, jobs_of, orders, st.sampled_from([0, 1, 5]), st.booleans())
@examples(60)
def test_both_engines_choose_the_same_sites(local, meta, scheduler, every, far):
    rows = [(s, run, procs, run + s % 3, i) for i, (s, run, procs) in enumerate(sorted(local))]
    sources = [
        JobSource(
            log=log([(s, run, n, run + i % 2, i) for i, (s, run, n) in enumerate(sorted(meta))]),
            home="b",
            stage_in=volume,
        )
        for volume in (0, 7 * far)
    ]
    system = Metasystem(
        [
            Site("a", 4, scheduler, JobSource(log=log(rows)), publishes=Publishes(every)),
            Site("b", 4, "fcfs", JobSource(log=log(rows)), publishes=Publishes(every)),
        ],
        [MetaScheduler("m", "shortest-wait", sources)],
        links=[Link(("a", "b"), bandwidth=1.0)],
    )
    plain, compiled = (simulate_metasystem(system, engine=engine).jobs for engine in ENGINES)
    assert plain.equals(compiled)


def test_accepted_reservations_count_in_predictions():
    """Another meta-scheduler has reserved the whole site from 10 to 20."""
    found = simulate_metasystem(
        Metasystem(
            [Site("a", 4, "easy", JobSource(log=log([(0, 10, 4, 10, 1)])))],
            [
                MetaScheduler("parts", "co-allocate", [JobSource(log=log([(1, 10, 4, 10, 5)]))]),
                MetaScheduler("m", Predicting(), [JobSource(log=log([(2, 10, 1, 10, 6)]))]),
            ],
        )
    )
    assert found.policies[1].predicted == {6: 20}
    assert found.jobs["start"].tolist() == [10, 20]
