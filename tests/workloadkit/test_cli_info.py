"""`workloadkit info` describes the installation, without names of users, hosts or folders."""

import getpass
import json
import platform
import socket

import numpy as np

import workloadkit as wk
from tests.commands import run_command
from workloadkit.cli import info


def test_versions_engine_and_extras_are_shown(capsys):
    assert run_command("info") == 0
    shown = capsys.readouterr().out
    lines = dict(line.split(maxsplit=1) for line in shown.splitlines() if line[0] != " ")
    assert lines["workloadkit"] == wk.__version__
    assert lines["Python"].startswith(platform.python_version())
    assert f"numpy         {np.__version__}" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_json_is_the_same(capsys):
    assert run_command("info", "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["packages"]["numpy"] == np.__version__
    assert found["extras"].keys() >= {"dask", "gym", "tables"}
    assert not found["extras"].keys() & {"dev", "docs"}


def test_it_names_no_user_host_or_folder(capsys):
    run_command("info")
    shown = capsys.readouterr().out
    assert getpass.getuser() not in shown.split()
    assert socket.gethostname() not in shown.split()
    assert "/" not in shown


def test_an_extra_that_is_not_installed_says_how(capsys, monkeypatch):
    monkeypatch.setattr(info, "_version", {"numpy": "2"}.get)
    run_command("info")
    shown = capsys.readouterr().out
    assert "not installed: pip install 'workloadkit[tables]'" in shown


def test_without_metadata_there_are_no_packages(capsys, monkeypatch):
    def missing(_):
        raise info.PackageNotFoundError

    monkeypatch.setattr(info, "requires", missing)
    assert run_command("info") == 0
    assert "numpy" not in capsys.readouterr().out


def test_variables_are_named_without_their_values(capsys, monkeypatch):
    monkeypatch.setenv("WORKLOADKIT_DATA", "/secret")
    run_command("info")
    shown = capsys.readouterr().out
    assert "WORKLOADKIT_DATA" in shown
    assert "secret" not in shown
