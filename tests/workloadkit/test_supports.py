"""What parts support: declared on their classes, and found wherever parts are listed."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import workloadkit as wk
from tests.commands import run_command
from tests.external.last_two import LastTwo
from tests.external.patient import Patient
from tests.external.shortest import Shortest
from tests.small_logs import random_log
from workloadkit import built_in
from workloadkit.benchmark.entries import built_in as entries
from workloadkit.built_in import META_SCHEDULERS, PREDICTORS, SCHEDULERS, USERS
from workloadkit.cli import configuration
from workloadkit.cli.topics import TOPICS
from workloadkit.errors import ParameterError
from workloadkit.simulation.check.replaying.predictions import proof_of
from workloadkit.simulation.supports import OF_SCHEDULERS, PROOFS, supporting, supports

REFERENCE = Path(__file__).parents[2] / "docs" / "site_reference.py"


def test_an_unknown_word_is_an_error_as_a_class_is_defined():
    with pytest.raises(ParameterError, match=r"unknown word 'outage'; did you mean outages"):
        supporting("outage")
    with pytest.raises(ParameterError, match=r"unknown word 'node'; did you mean nodes"):

        class Mine(wk.schedulers.Scheduler):
            supports = frozenset({"node"})


def test_a_policy_and_its_scheduler_in_plain_python_support_the_same():
    for name, kind in SCHEDULERS.items():
        plain = kind().plain()
        for what in ("outages", "outages of users", "parts"):
            assert supports(kind, what) == supports(plain, what), (name, what)


def test_a_custom_form_is_declared_by_its_own_class():
    class Easy(wk.schedulers.Easy):
        """Inherits all."""

    class ByUser(wk.schedulers.Easy):
        """Inherits all, but may depend on the users."""

        def key(self, job):
            return job.user

    class Other(wk.schedulers.Easy):
        """Says nothing."""

        def plain(self):
            return wk.schedulers.OrderedScheduler()

    class Said(Other):
        """Declares it."""

        supports = wk.schedulers.Easy.supports

    for what, those in {
        "reservations": (True, False, False, True),
        "each pass": (True, True, False, True),
        "metasystem": (True, True, False, True),
        "nodes": (True, True, True, True),
        "parts": (True, True, True, True),
    }.items():
        assert tuple(supports(kind(), what) for kind in (Easy, ByUser, Other, Said)) == those, what


@dataclass(frozen=True)
class Declared(Shortest):
    """Starts what fits, with one more parameter.

    Parameters
    ----------
    depth : {"all", "some"}
    """

    name: ClassVar[str] = "declared"
    supports: ClassVar = supporting(
        "no empty machine", "benchmark", "reservations", without=("nodes", "outages")
    )

    depth: str = "all"


@pytest.fixture
def registered(monkeypatch):
    """The external parts as if they were built in: by name and place only."""
    for known, name, kind in (
        (SCHEDULERS, "declared", Declared),
        (SCHEDULERS, "shortest", Shortest),
        (PREDICTORS, "mean-of-two", LastTwo),
        (USERS, "patient", Patient),
    ):
        monkeypatch.setitem(known._places, name, f"{kind.__module__}:{kind.__name__}")


@pytest.fixture
def pages(registered):
    spec = importlib.util.spec_from_file_location("site_reference", REFERENCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_external_part_is_in_help_and_completion(registered):
    listed = {
        "schedulers": ("declared:depth=all|some", "Starts what fits, with one more parameter"),
        "predictors": ("mean-of-two", "At most what was requested, which also stands"),
        "users": ("patient", "So many users, each with so many jobs"),
    }
    for topic, texts in listed.items():
        assert all(text in TOPICS[topic].text() for text in texts), topic
    assert {"declared", "shortest"} <= {*configuration.schedulers()}
    assert "patient" in configuration.users()


def test_an_external_scheduler_is_in_the_tables_of_the_reference(pages):
    supporting_row = {what: pages._supporting(what)[1] for what in OF_SCHEDULERS}
    for what, row in supporting_row.items():
        is_listed = supports(Declared, what) != row.startswith("all but")
        assert ("`declared`" in row) == is_listed, what
    assert ("no job waits while the machine is empty", "`multi-queue`, `genetic`, `declared`") in [
        pages._proof(row) for row in pages.proofs()
    ]
    assert "## declared" in "\n".join(pages._choices(wk.schedulers))


def test_an_external_scheduler_is_an_entry_of_the_benchmark_if_it_says_so(registered):
    names = [entry.name for entry in entries()]
    assert "declared" in names
    assert "shortest" not in names


def test_the_check_proves_of_an_external_scheduler_what_it_says(registered):
    trace = random_log(1)
    schedule = wk.simulate(trace, Declared(), procs=16, engine="python")
    for policy in ("declared", Declared()):
        report = wk.check_schedule(trace, schedule, policy=policy)
        assert PROOFS["no empty machine"] in [claim.text for claim in report.claims], policy
    *_, claim = wk.check_schedule(trace, schedule, policy="shortest").claims
    assert claim.why.startswith("the order of shortest cannot be checked")
    assert proof_of("shortest") == "the rules for every schedule"
    report = wk.check_schedule(trace, schedule, policy="easy", predictor=LastTwo())
    assert "LastTwo is not built in" in str(report)


def test_refusals_follow_from_what_an_external_scheduler_says(registered, tmp_path, capsys):
    trace, outages = random_log(1), wk.Outages((wk.Outage(1, 5, 9, 2),))
    for scheduler in ("declared", Declared()):
        with pytest.raises(ParameterError, match="declared: it does not support outages"):
            wk.simulate(trace, scheduler, procs=16, outages=outages)
    with pytest.raises(ParameterError, match=r"does not support reservations; .*, f1, declared$"):
        wk.simulate(trace, "shortest", procs=16, reservations=wk.ReservationRequests(()))
    wk.write_swf(trace, tmp_path / "log.swf")
    (tmp_path / "off.txt").write_text(outages.text())
    assert 2 == run_command(
        *("simulate", tmp_path / "log.swf", "--procs", 16, "--outages", tmp_path / "off.txt"),
        *("--scheduler", f"{__name__}:Declared"),
    )
    assert "declared: it does not support outages" in capsys.readouterr().err


def test_each_built_in_part_has_a_first_sentence_for_the_help():
    for known in (SCHEDULERS, PREDICTORS, USERS, META_SCHEDULERS):
        for name in known:
            assert built_in.ast.get_docstring(known.source(name)), name
