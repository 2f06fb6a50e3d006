"""What a site model needs against its definition."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from tests.data import needs_traces
from tests.examples import examples
from tests.oracles import site as oracle
from tests.oracles.sessions import ran
from tests.small_logs import first_jobs, logs, trace_of
from workloadkit.site import site_distributions

# In steps of 10 min: think times of 20 min and breaks of 8 h are frequent.
STEPS = st.integers(0, 60).map(lambda k: 600 * k)
sites = logs(
    fewest=8,
    submit=st.integers(0, 200).map(lambda k: 600 * k),
    wait=st.none() | STEPS,
    run=STEPS | st.just(-1) | st.just(0.25),
    user=st.sampled_from([1, 2, 2, -1]),
)


def agrees(logs_of_jobs, traces):
    found = site_distributions(traces)
    together = {}
    for jobs in logs_of_jobs:
        for name, values in oracle.distributions(jobs).items():
            together.setdefault(name, Counter()).update(values)
    for name, counts in together.items():
        ours = getattr(found, name)
        values, numbers = ours.values.tolist(), ours.counts.tolist()
        assert dict(zip(values, numbers, strict=True)) == counts
        assert values == sorted(values)
    return found


def knows_a_job(jobs):
    return any(job["user"] != -1 for job in ran(jobs).values())


@examples(40)
@given(sites.filter(knows_a_job))
def test_distributions_agree_with_the_definition(jobs):
    agrees([jobs], trace_of(jobs))


@needs_traces
def test_distributions_of_real_logs_agree_with_the_definition():
    names = ["KTH-SP2-1996-2", "SDSC-DS-2004-2.1-cln"]
    jobs, traces = zip(*(first_jobs(name) for name in names), strict=True)
    for its, trace in zip(jobs, traces, strict=True):
        agrees([its], trace)
    agrees(jobs, traces)


@needs_traces
def test_hours_and_weekdays_are_those_of_the_site():
    jobs, trace = first_jobs("KTH-SP2-1996-2", 3000)
    start, zone = datetime.fromtimestamp(trace.header.start, UTC), ZoneInfo("Europe/Stockholm")
    times = [(start + timedelta(seconds=job["submit"])).astimezone(zone) for job in jobs]
    found = site_distributions(trace)
    assert found.hour_jobs.tolist() == [sum(t.hour == h for t in times) for h in range(24)]
    assert found.weekday_jobs.tolist() == [sum(t.weekday() == d for t in times) for d in range(7)]
