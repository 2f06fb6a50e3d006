"""Multiple-queue backfilling: its two engines, cases worked by hand, and what must always hold."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.compiled import decimals
from tests.data import TRACES, each_log_with, needs_traces
from tests.examples import examples
from tests.oracles import scheduling as oracle
from tests.oracles.check import check_schedule
from tests.small_logs import head_of, random_log
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError
from workloadkit.simulation.policies.multi_queue import MultiQueue

ENGINES = ("compiled", "python")
DAY = 86_400

rules = st.fixed_dictionaries(
    {
        "overrun": st.sampled_from(["kill", "raise", "late"]),
        "passes": st.sampled_from(["instant", "event"]),
    }
)


def busy_log(seed, *, machine, n_jobs=30, exact=False, units=(1, 7_777, 60_480)):
    """Many jobs at once, of seconds, or of days, so that weeks pass."""
    rng = np.random.default_rng(seed)
    unit = rng.choice(units)
    columns = {
        "job": np.arange(1, n_jobs + 1),
        "submit": np.sort(rng.integers(0, 45, n_jobs)) * unit,
        "run": rng.integers(0, 20, n_jobs) * unit,
        "requested_time": rng.integers(0, 30, n_jobs) * unit,
        "procs": np.minimum(*rng.integers(1, machine + 1, (2, n_jobs))),
    }
    if exact:
        del columns["requested_time"]
    return wk.Trace.from_columns(columns)


def jobs(*rows, scale=1):
    """Return a log of (submit, run, processors), exactly estimated."""
    submit, run, procs = np.transpose(rows)
    return wk.Trace.from_columns({"submit": submit * scale, "run": run * scale, "procs": procs})


def agree(trace, partitions, **options):
    """Assert that both engines make the same schedule, and a valid one; return it."""
    policy = MultiQueue(partitions)
    compiled, plain = (wk.simulate(trace, policy, engine=e, **options) for e in ENGINES)
    assert compiled.start.dtype == plain.start.dtype
    both = compiled.jobs[["job", "start", "partition"]]
    differ = (both != plain.jobs[both.columns]).any(axis=1)
    assert not differ.any(), both[differ].iloc[0].to_dict() | plain.jobs[differ].iloc[0].to_dict()
    assert both["partition"].between(1, partitions).all()
    work = compiled.workload
    check_schedule(work.submit, compiled.start, compiled.end, work.procs, compiled.machine)
    return compiled


@decimals
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 5), rules)
def test_engines_agree(decimals, seed, machine, partitions, rules):
    units = [0.1, 7_777.7] if decimals else [1, 7_777, 60_480]
    agree(busy_log(seed, machine=machine, units=units), partitions, procs=machine, **rules)


@given(st.integers(0, 2**32), st.integers(1, 12), rules)
def test_one_partition_is_easy(seed, machine, rules):
    trace = busy_log(seed, machine=machine)
    one, easy = (
        wk.simulate(trace, policy, procs=machine, **rules) for policy in (MultiQueue(1), "easy")
    )
    assert one.start.tolist() == easy.start.tolist()


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 5))
def test_the_oldest_job_starts_at_the_latest_when_all_running_jobs_have_ended(
    seed, machine, partitions
):
    # Not even a job of the whole machine waits longer, whatever arrives behind it. One that had
    # been promised a start may wait until then.
    schedule = wk.simulate(
        busy_log(seed, machine=machine, exact=True), MultiQueue(partitions), procs=machine
    )
    submit, start, end = schedule.workload.submit, schedule.start, schedule.end
    for job in np.flatnonzero(schedule.workload.procs == machine):
        oldest_from = max(submit[job], *start[:job]) if job else submit[job]
        running = end[start <= oldest_from]
        assert start[job] <= max(oldest_from, running.max(initial=oldest_from))


@pytest.mark.parametrize("engine", ENGINES)
def test_short_jobs_do_not_wait_for_a_long_pivot(engine):
    # By the criteria of the first week jobs of less than a day belong to the first partition. On
    # day 8 one job holds the processors of each; then come a long and a short one.
    past = [(0, 1, 1), (0, 3, 1), (0, 1, 1), (0, 3, 1)]
    now = [(8, 12, 2), (8, 0.75, 2), (8.25, 5, 2), (8.5, 0.5, 2)]
    trace = jobs(*past, *now, scale=DAY)
    easy = wk.simulate(trace, "easy", procs=4, engine=engine)
    assert (easy.start[6:] / DAY).tolist() == [8.75, 13.75]
    schedule = wk.simulate(trace, MultiQueue(2), procs=4, engine=engine)
    assert schedule.jobs["partition"].tolist() == [1, 1, 1, 1, 2, 1, 2, 1]
    # the long one takes over what the short one leaves
    assert (schedule.start[6:] / DAY).tolist() == [9.25, 8.75]


@pytest.mark.parametrize(
    ("head", "last", "starts"),
    [
        (4, 14, [179, 189, 174]),
        (4, 15, [179, 189, 174]),
        (4, 16, [179, 189, 229]),
        (3, 16, [179, 189, 189]),
        (2, 16, [179, 180, 189]),
    ],
)
def test_lent_processors_delay_the_pivot_of_no_partition(head, last, starts):
    # In units of 1/20 day, on two partitions of two processors. By the first week jobs of less than
    # 20 belong to the first. At 160 a job takes one processor of the second until 180, another all
    # of the first until 179. At 163 comes a short job of two processors, the pivot of the first:
    # it is promised 179, and ends at 189. The long one of 166, the pivot of the second, is promised
    # 189 if it needs more than two, else 180. The last one, at 174, would be lent the processor
    # that is idle in the second partition: if it ends by then. Else the second has none to lend, as
    # its pivot requires them all (x in step 5 of the algorithm), also where it leaves one in the
    # first. So the last one waits until its own partition, or all of the machine, has room.
    past = [(0, 20, 1), (0, 60, 1)]
    now = [(160, 20, 1), (160, 19, 2), (163, 10, 2), (166, 40, head), (174, last, 1)]
    trace = jobs(*past, *now, scale=DAY // 20)
    for passes in ("instant", "event"):
        schedule = agree(trace, 2, procs=4, passes=passes)
        assert schedule.jobs["partition"].tolist() == [1, 1, 2, 1, 1, 2, 1]
        assert (schedule.start[4:] / (DAY // 20)).tolist() == starts
        columns = (trace.column(name).tolist() for name in ("submit", "run", "run", "procs"))
        found = oracle.schedule(*columns, 4, policy="multi-queue:partitions=2", passes=passes)
        assert [start for start, *_ in found] == schedule.start.tolist()


def test_the_last_partition_has_no_remainder_to_give():
    # 8 processors on three partitions are 3, 3 and 2. By the first week, jobs of less than 1 and 2
    # days belong to the first two. A job of the last one holds its 2 processors until day 13, when
    # the pivot of the second is to have 7: its own 3, the 3 of the first, and 1 of these. Until
    # then nothing is left to lend to the last job, though 6 processors are idle.
    past, now = [(0, 1, 1), (0, 2, 1), (0, 3, 1)], [(9, 4, 2), (9.5, 1.5, 7), (10.5, 2.6, 1)]
    trace = jobs(*past, *now, scale=DAY)
    schedule = agree(trace, 3, procs=8)
    assert schedule.jobs["partition"].tolist() == [1, 1, 1, 3, 2, 3]
    assert (schedule.start[3:] / DAY).tolist() == [9, 13, 13]
    columns = (trace.column(name).tolist() for name in ("submit", "run", "run", "procs"))
    found = oracle.schedule(*columns, 8, policy="multi-queue:partitions=3")
    assert [start for start, *_ in found] == schedule.start.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_criteria_are_of_those_that_ended_in_the_past_week_and_hold_for_arrivals_after_it(engine):
    ended = [(0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 4, 1)]
    arriving = [(7, 0.5, 1), (7.1, 1.9, 1), (7.1, 2, 1), (7.1, 9, 1)]
    later = [(14.1, 1.9, 1), (15, 1.9, 1), (22, 1.9, 1)]  # 1.9 and 2 days ended in the week after
    trace = jobs(*ended, *arriving, *later, scale=DAY)
    schedule = wk.simulate(trace, MultiQueue(2), procs=10, engine=engine)
    # until day 7 all go to the first; then the median of 1, 2, 3, 4 days is 2 days; of 0.5, 1.9
    # and 2 days it is 1.9; two jobs of 1.9 days and one of 9 ended in the third week
    assert schedule.jobs["partition"].tolist() == [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_weeks_without_jobs_take_no_time_and_leave_the_criteria_as_they_are(engine):
    log = busy_log(4, machine=6, units=(60_480,))

    def after(weeks):
        columns = {
            name: np.tile(log.column(name), 2)
            for name in ("submit", "run", "requested_time", "procs")
        }
        columns["submit"][log.n_jobs :] += weeks * WEEK
        trace = wk.Trace.from_columns(columns)
        return wk.simulate(trace, MultiQueue(2), engine=engine, procs=6)

    soon, late = after(200), after(10**6)
    assert late.jobs["partition"].tolist() == soon.jobs["partition"].tolist()
    waits = [(run.start - run.workload.submit).tolist() for run in (soon, late)]
    assert waits[0] == waits[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_too_few_ends_leave_the_criteria_as_they_are(engine):
    trace = jobs((0, 1, 1), (0, 2, 1), (8, 1, 1), (8, 2, 1), (20, 1, 1), scale=DAY)
    schedule = wk.simulate(trace, MultiQueue(3), procs=3, engine=engine)
    assert schedule.jobs["partition"].tolist() == [1] * 5


@pytest.mark.parametrize("machine", [10, 13])
def test_the_first_partitions_have_the_remainder_in_both_engines(machine):
    agree(random_log(3, 200), 4, procs=machine, oversize="drop")


def test_partitions_are_few():
    for partitions in (0, 65):
        with pytest.raises(ParameterError, match=f"partitions is {partitions}; from 1 to 64"):
            MultiQueue(partitions)
    trace = jobs((0, 5, 1), (0, 5, 2))  # more partitions than processors
    assert agree(trace, 64, procs=2).start.tolist() == [0, 5]


def machine_of(trace):
    return {"procs": None if trace.header.number("MaxProcs") else 256, "oversize": "drop"}


@needs_traces
@pytest.mark.parametrize(("path", "overrun"), each_log_with(("raise",), ("late",)))
def test_one_partition_is_easy_on_real_logs(path, overrun):
    trace = head_of(path)
    one, easy = (
        wk.simulate(trace, policy, overrun=overrun, **machine_of(trace))
        for policy in (MultiQueue(1), "easy")
    )
    assert np.array_equal(one.start, easy.start)


@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_engines_agree_on_the_beginning_of_real_logs(path):
    trace = head_of(path, 500)
    agree(trace, 4, **machine_of(trace))


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(
    ("overrun", "passes"), [("kill", "instant"), ("raise", "event"), ("late", "instant")]
)
def test_engines_agree_on_much_of_real_logs(whole_log, overrun, passes):
    beginning = whole_log.take(np.arange(5000))
    agree(beginning, 4, overrun=overrun, passes=passes, **machine_of(whole_log))


def test_weeks_are_weeks():
    assert WEEK == 7 * DAY


#: The kernel takes seconds to compile.
engines_with_outages = pytest.mark.parametrize(
    "engine", ["python", pytest.param("compiled", marks=pytest.mark.slow)]
)


@st.composite
def outages(draw, machine, unit):
    """A few outages within the log, announced or not, each with an end."""
    numbers = range(1, draw(st.integers(1, 5)) + 1)
    found = []
    for number in numbers:
        start, length = draw(st.integers(0, 60)), draw(st.integers(1, 20))
        announced = draw(st.none() | st.integers(0, start))
        which = draw(st.sets(st.integers(1, machine), min_size=1))
        notice = -1 if announced is None else announced * unit
        times = (start * unit, (start + length) * unit)
        found.append(wk.Outage(number, *times, -1, tuple(sorted(which)), notice))
    return found


@pytest.mark.filterwarnings(r"ignore:.*(1 outage is|outages are each) ")
@engines_with_outages
@examples(40)
@given(
    st.data(), st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 4),
    st.sampled_from(["requeue", "lose"]), st.sampled_from(["instant", "event"]),
)  # fmt: skip
def test_partitions_bear_outages(engine, data, seed, machine, partitions, interrupted, passes):
    unit = 60_480  # so that weeks pass
    trace = long_jobs(seed, machine, unit)
    down = data.draw(outages(machine, unit))
    how = {"procs": machine, "interrupted": interrupted, "passes": passes}
    how["engine"] = engine
    schedule = wk.simulate(trace, MultiQueue(partitions), outages=wk.Outages(tuple(down)), **how)
    table = schedule.jobs
    assert table["partition"].between(1, partitions).all()
    ended = {run.job for run in schedule.runs if not run.interrupted}
    assert ended == {*table["job"][~table["lost"]]}
    for processor in range(1, machine + 1):
        runs = sorted((r.start, r.end) for r in schedule.runs if processor in r.processors)
        assert all(end <= start for (_, end), (start, _) in pairwise(runs))
        for outage in down:
            if processor in outage.components:
                assert all(end <= outage.start or start >= outage.end for start, end in runs)
    for run in schedule.runs:  # what was announced is planned around
        for outage in down:
            if outage.announced != -1 and run.interrupted and run.end == outage.start:
                others = [other for other in down if other.start == run.end and other != outage]
                assert run.start <= outage.announced or others


def long_jobs(seed, machine, unit):
    """Many jobs at once, of lengths that are exactly known."""
    rng = np.random.default_rng(seed)
    columns = {
        "job": np.arange(1, 31),
        "submit": np.sort(rng.integers(0, 45, 30)) * unit,
        "run": rng.integers(1, 20, 30) * unit,
        "procs": np.minimum(*rng.integers(1, machine + 1, (2, 30))),
    }
    return wk.Trace.from_columns(columns)


@engines_with_outages
def test_while_processors_are_down_the_first_job_that_fits_starts(engine):
    # The pivot needs all four; two of them are down for a long time.
    trace = jobs((0, 5, 4), (1, 10, 4), (2, 10, 2), (3, 10, 2))
    for announced in (-1, 0):
        outages = wk.Outages((wk.Outage(1, 5, 100, -1, (1, 2), announced),))
        schedule = wk.simulate(trace, MultiQueue(2), procs=4, outages=outages, engine=engine)
        assert schedule.start.tolist() == [0, 100, 5, 15], announced
