"""Logs that the toolkit writes follow the standard as well as those that they were made from."""

import io

import pytest

import workloadkit as wk

USERS = ("open", "closed", "dependent", "adjusted", "distribution", "fluid")


@pytest.fixture(scope="module")
def source():
    return wk.load_sample().take(range(600))


def broken(trace):
    """The rules that are broken, what is only noted apart."""
    found = wk.validate(trace).findings
    return {finding.rule for finding in found if finding.severity != "note"}


def written(trace, folder):
    path = folder / "log.swf"
    wk.write_swf(trace, path)
    return wk.read_swf(path)


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize("users", USERS)
def test_simulated_jobs_keep_their_numbers_and_follow_the_rules(users, source, tmp_path):
    """Some jobs never ran, and who reacts submits in another order: the header says so."""
    assert not source.ran.all()
    if users == "dependent":
        source = wk.with_dependencies(source)
    schedule = wk.simulate(source, "easy", users, engine="python", rng=1)
    made = written(schedule.trace(), tmp_path)
    assert broken(made) <= broken(source)
    numbers = made.column("job")
    if users in ("closed", "fluid"):
        assert (numbers[1:] < numbers[:-1]).any()
    assert set(numbers) == set(source.column("job")[source.ran])


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_logs_that_say_nothing_of_it_are_out_of_order(source, tmp_path):
    schedule = wk.simulate(source, "easy", "closed", engine="python", rng=1)
    made = wk.Trace(schedule.trace().jobs, source.header)
    assert broken(made) - broken(source) >= {"job-order"}


MADE = {
    "resampled": lambda log: wk.resample(wk.load_sample(), weeks=3, rng=1),
    "shaken": lambda log: wk.shake(log, rng=1),
    "with utilities": lambda log: wk.add_utility(log, rng=1),
    "with dependencies": wk.with_dependencies,
    "a model's": lambda log: wk.models.lublin(300, 64, rng=1),
}


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize("how", MADE)
def test_new_logs_follow_the_rules(how, source, tmp_path):
    made = written(MADE[how](source), tmp_path)
    assert broken(made) <= broken(source) | broken(wk.load_sample())


def test_an_import_follows_the_rules(tmp_path):
    from tests.workloadkit.test_slurm import export

    text = export(*({"JobIDRaw": str(i), "JobID": str(i)} for i in range(1, 9)))
    made = wk.read_slurm(io.BytesIO(text.encode()), procs=96)
    assert not broken(written(made, tmp_path))
