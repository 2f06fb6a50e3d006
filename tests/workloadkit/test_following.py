"""What a log knows beyond the standard follows its jobs, as far as it is true of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from workloadkit import Header, Trace, resample, shake, simulate
from workloadkit.machine.description import MachineDescription, NodeType
from workloadkit.models import offered_load, scale_load
from workloadkit.models.tsafrir import add_estimates
from workloadkit.record_fields import SIDECAR_FIELDS
from workloadkit.resample.locality import enhance_locality
from workloadkit.simulation.workload.scaling import scaled_log

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*the pool of temporary users is empty", "ignore:.*are raised to the longest"
)

WEEK = 7 * 86400
BEGIN = 1_700_000_000
MACHINE = MachineDescription(nodes=(NodeType(count=4, cores=8, gpus=2),))
INSTANTS = {"eligible", "start", "end"}
OF_EXECUTION = {field.name for field in SIDECAR_FIELDS if field.follows == "execution"}


def known_log(n_jobs=300, weeks=13):
    """A log with all that a side-car can hold, each value computed from the job it belongs to."""
    i = np.arange(n_jobs)
    submit = i * (weeks * WEEK // n_jobs) // 10 * 10
    run, wait, procs = 600 + 10 * (i % 40), 10 * (i % 7), 2 ** (i % 4)
    jobs = {"submit": submit, "wait": wait, "run": run, "procs": procs, "requested_procs": procs}
    jobs |= {"requested_time": run + 60, "cpu": run - 100, "user": i % 5 + 1, "status": 1}
    jobs = {name: np.broadcast_to(column, n_jobs) for name, column in jobs.items()}
    start = BEGIN + submit + wait
    known = {
        "id": [f"s{x}" for x in i],
        "submit": BEGIN + submit,
        "eligible": BEGIN + submit + wait // 2,
        "start": start,
        "end": start + run,
        "run": run,
        "procs": procs,
        "nodes": np.where(procs > 4, 2, 1),
        "gpus": procs // 4,
        "requested_gpus": procs // 4,
        "node_list": [f"n{x % 4 + 1}" for x in i],
        "cpu": run - 100,
        "energy": run * procs * 5,
        "requested_time": run + 60,
        "state": "COMPLETED",
        "exit_code": "0:0",
        "reason": "None",
        "attempts": 1,
        "user": [f"user-{x % 5}" for x in i],
        "account": [("bio", "art", "sea")[x % 5 % 3] for x in i],
    }
    kinds = {field.name: field.kind for field in SIDECAR_FIELDS}
    table = pd.DataFrame({name: np.broadcast_to(column, n_jobs) for name, column in known.items()})
    table = table.astype({n: float for n in known if kinds[n] == "number"})
    table = table.astype({n: "category" for n in known if kinds[n] == "word"})
    header = Header(("; MaxProcs: 32", f"; UnixStartTime: {BEGIN}", "; TimeZone: 0"))
    trace = Trace.from_columns(jobs, header=header)
    return replace(trace, sidecar=table, machine=MACHINE)


LOG = known_log()
LOAD = offered_load(LOG)


def original(made):
    """Return the row in `LOG` of each job of a made log, by the site's id."""
    return made.sidecar["id"].str.removeprefix("s").astype(int).to_numpy()


def check_true(made):
    """Check each column against the jobs of the made log, by its definition."""
    row, table = original(made), made.sidecar
    second_0 = made.header.start
    start = made.column("submit") + made.column("wait") + second_0
    truths = {
        "submit": made.column("submit") + second_0,
        "start": start,
        "end": start + made.column("run"),
        "eligible": made.column("submit") + LOG.column("wait")[row] // 2 + second_0,
        **{n: made.column(n) for n in ("run", "procs", "requested_time", "status") if n in table},
    }
    for name in table.columns.intersection(list(truths)):
        assert np.array_equal(table[name], truths[name]), name
    for name in ("account", "user"):
        assert table[name].tolist() == LOG.sidecar[name].astype(object)[row].tolist()
    assert np.allclose(table["energy"], made.column("run") * made.used_procs * 5)


def kept(made):
    return set(made.sidecar.columns)


MOVED = {
    "shaken": lambda log: shake(log, "job", 3600, rng=1),
    "resampled": lambda log: resample(log, rng=1),
    "regularly": lambda log: scale_load(log, 0.3, "arrivals"),
    "doubled": lambda log: scale_load(log, 1.5 * LOAD, "users", rng=1),
}


@pytest.mark.parametrize("how", MOVED)
def test_where_jobs_move_their_execution_moves_and_only_its_place_is_untrue(how):
    made = MOVED[how](LOG)
    assert kept(made) == set(LOG.sidecar) - {"node_list"}
    assert made.dropped == ("node_list",)
    assert "no longer true, left out" in (last := made.header.get_all("Note")[-1])
    assert last.endswith(": node_list")
    assert made.machine == MACHINE
    check_true(made)
    assert made.where("account=bio").n_jobs == np.isin(original(made) % 5 % 3, [0]).sum()


def test_chosen_jobs_keep_everything():
    made = LOG.where("account=bio")
    assert (kept(made), made.dropped) == (set(LOG.sidecar), ())
    check_true(made)


def test_what_describes_an_execution_does_not_describe_another():
    made = simulate(LOG, "fcfs", scale_runs=0.5).trace()
    assert kept(made) == set(LOG.sidecar) - {"node_list"} - INSTANTS - OF_EXECUTION
    assert set(made.dropped) == set(LOG.sidecar) - kept(made)
    check_true(made)
    assert made.machine == MACHINE


def test_shares_of_the_machine_scale_with_the_processors():
    made = scaled_log(LOG, 32, sizes=2)
    grown = LOG.column("procs") * 2
    assert made.column("procs").tolist() == grown.tolist()
    for name in ("nodes", "gpus", "requested_gpus"):
        assert made.column(name).tolist() == (2 * LOG.column(name)).tolist()
    check_true(made)
    assert scaled_log(LOG, 32, sizes=0.25).column("gpus").max() == 1  # never less than one


def test_other_requests_and_another_machine():
    made = add_estimates(LOG, 1)
    assert (kept(made), made.dropped) == (set(LOG.sidecar), ())
    check_true(made)
    other = scale_load(LOG, LOAD / 2, "machine")
    assert (other.machine, other.dropped, kept(other)) == (None, ("machine",), set(LOG.sidecar))


def test_jobs_that_are_exchanged_leave_their_user_behind():
    made = enhance_locality(LOG, period="week", rng=1)
    row = original(made)
    assert row.tolist() != list(range(LOG.n_jobs))
    assert made.column("gpus").tolist() == LOG.column("gpus")[row].tolist()
    for name in ("user", "account"):
        assert made.sidecar[name].tolist() == LOG.sidecar[name].tolist()
    assert np.array_equal(made.column("start"), made.column("submit") + made.column("wait"))


def test_mixed_logs_keep_what_each_knows_in_the_time_of_the_first():
    later = replace(
        LOG,
        header=LOG.header.replaced("UnixStartTime", str(BEGIN + WEEK)),
        sidecar=LOG.sidecar.assign(
            qos=pd.Categorical(["day"] * LOG.n_jobs),
            **{name: LOG.sidecar[name] + WEEK for name in ("submit", *INSTANTS)},
        ),
    )
    made = resample([LOG, later], rng=1)
    check_true(made)
    assert made.machine == MACHINE
    known = made.sidecar["qos"] == "day"
    assert 0 < known.sum() < made.n_jobs
    assert set(made.sidecar["qos"]) == {"", "day"}
    plain = resample([LOG, replace(LOG, sidecar=None, machine=None)], rng=1)
    assert plain.machine is None
    assert np.isnan(plain.sidecar["gpus"]).any()
    assert set(plain.dropped) == {"node_list", "machine"}


def test_sizes_that_are_rescaled_rescale_what_they_hold():
    made = resample(LOG, rng=1, procs=64, rescale=True)
    assert made.column("procs").tolist() == (2 * LOG.column("procs")[original(made)]).tolist()
    assert made.column("gpus").tolist() == (2 * LOG.column("gpus")[original(made)]).tolist()
    assert (made.machine, "machine" in made.dropped) == (None, True)
    check_true(made)
