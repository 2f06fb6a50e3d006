"""What the users of a site do has the laws that it was drawn from, and the source's effects."""

import numpy as np
import pytest
from scipy import stats

import workloadkit as wk
from tests.data import needs_compiler, needs_traces, trace_path
from tests.workloadkit.test_site_users import small_site
from workloadkit._kernels.local_time import is_active
from workloadkit.clock import WEEK
from workloadkit.simulation.users import DynamicSite, StaticSite
from workloadkit.site import built_in, site_distributions

FIVE = (
    *("CTC-SP2-1996-3.1-cln", "KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln"),
    *("SDSC-BLUE-2000-4.2-cln", "SDSC-Par-1996-3.1-cln"),
)


def agrees(sample, law):
    """Whether a sample comes from an empirical law, by Pearson's chi-square at a safe level."""
    edges = law.values[:1] - 1
    least, total = 0.02, law.counts.sum()
    bounds, share = [*edges], 0.0
    for value, count in zip(law.values, law.counts / total, strict=True):
        share += count
        if share >= least:
            bounds.append(value)
            share = 0.0
    bounds[-1] = law.values[-1]
    expected = np.diff(law.share_at_most(bounds)) * len(sample)
    found, _ = np.histogram(sample, np.array(bounds) + 0.25)  # closed above, as the shares are
    assert found.sum() == len(sample)
    return stats.chisquare(found, expected * len(sample) / expected.sum()).pvalue > 1e-5


@pytest.fixture(scope="module")
def sessions():
    """Static sessions on a machine on which nobody waits, without those of the last weeks.

    No two jobs in a row are alike unless one comes again: run times are drawn from many.
    """
    law = built_in()
    site = StaticSite(sessions=60, weeks=30, distributions=law, longest=20_000, repeat="job")
    schedule = wk.simulate(None, "fcfs", site, procs=10_000, rng=5)
    log = schedule.trace()
    jobs = schedule.jobs.assign(user=log.column("user"), think_time=log.column("think_time"))
    assert (jobs["wait"] == 0).all()
    begins = jobs.groupby("batch")["submit"].transform("min")
    return law, jobs[begins < 20 * WEEK]


@pytest.mark.slow
@needs_compiler
def test_widths_gaps_and_thoughts_are_those_drawn_from(sessions):
    law, jobs = sessions
    assert agrees(jobs.groupby("batch").size().to_numpy(), law.batch_width)
    ordered = jobs.sort_values(["batch", "job"])
    same = np.diff(ordered["batch"]) == 0
    assert agrees(np.diff(ordered["submit"])[same], law.gap)
    assert agrees(jobs["think_time"].dropna().to_numpy(), law.think_time)


@pytest.mark.slow
@needs_compiler
def test_repetitions_are_those_drawn_from(sessions):
    law, jobs = sessions
    rows = []
    for _, own in jobs.sort_values(["user", "job"]).groupby("user"):
        key = own[["procs", "run"]].to_numpy()
        ends = np.flatnonzero((key[1:] != key[:-1]).any(axis=1)) + 1
        rows.append(np.diff(ends))  # but the last, which was cut
    found = np.concatenate(rows)
    # two draws may be alike by chance, which lengthens few of them
    assert abs(found.mean() / law.repetition.mean - 1) < 0.06
    alone = (found == 1).mean()
    assert abs(alone - law.repetition.share(1)) < 0.03


@pytest.mark.slow
@needs_compiler
def test_users_keep_their_hours():
    site = DynamicSite(users=4000, weeks=1, distributions=small_site())
    simulated_users = site.simulated_users(100_000)
    rng = np.random.default_rng(7).spawn(1)[0]
    user_table = simulated_users.compiled(
        rng, simulated_users.n_jobs, by_event=False
    ).users.user_table
    for found, share in ((user_table.by_day, 0.7), (user_table.on_weekdays, 0.8)):
        assert abs(found.mean() - share) < 4 * np.sqrt(share * (1 - share) / 4000)
    assert user_table.moved.min() < -3500
    assert user_table.moved.max() > 3500
    assert np.abs(user_table.moved).max() <= 3600
    schedule = wk.simulate(None, "easy", site, procs=100_000, rng=7)
    first = ~schedule.jobs["batch"].duplicated()
    user = schedule.trace().column("user")[first] - 1
    for time, who in zip(schedule.jobs["submit"][first].tolist(), user.tolist(), strict=True):
        assert is_active(
            time, user_table.by_day[who], user_table.on_weekdays[who], user_table.moved[who]
        )


@pytest.mark.slow
@needs_compiler
@needs_traces
def test_creasy_keeps_users_at_work():
    """Shmueli (2008), Figure 5.10, with run times of up to an hour."""
    law = site_distributions([wk.read_swf(trace_path(name)) for name in FIVE])

    def served(users, scheduler):
        site = DynamicSite(users, 26, longest=3600, distributions=law, repeat="job")
        found = [wk.simulate(None, scheduler, site, procs=128, rng=seed) for seed in (1, 2, 3)]
        jobs = np.mean([x.metrics["throughput_per_hour"] for x in found])
        return jobs, np.mean([x.metrics["jobs"] / x.history["sessions"] for x in found])

    few, many, kept = served(50, "easy"), served(250, "easy"), served(250, "creasy:6000")
    assert many[1] < 0.75 * few[1]  # sessions grow shorter under load
    assert kept[1] > 1.05 * many[1]
    assert kept[0] > many[0]
