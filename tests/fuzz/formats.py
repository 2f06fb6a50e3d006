"""What is broken, and who reads it."""

import io
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import pandas as pd

import workloadkit as wk
from tests.fuzz import (
    certificates,
    experiments,
    good,
    good_schedulers,
    good_slurm_json,
    good_tables,
    uses,
)
from tests.fuzz import good_settings as settings
from tests.fuzz.expressions import OF_EXPRESSIONS
from tests.fuzz.mutations import MUTATIONS, Mutation
from tests.fuzz.tables import OF_PARQUET
from tests.fuzz.trees import OF_JSON, OF_TOML
from workloadkit.analysis.operations.groups import read_shares
from workloadkit.cleaning.cleaned import read_filters
from workloadkit.io import lines
from workloadkit.io.sidecar import read_sidecar
from workloadkit.io.swf import reading
from workloadkit.metasystem import Graph, Metasystem, read_graph, read_metasystem
from workloadkit.select import Choice, choose
from workloadkit.simulation import schedulers
from workloadkit.utility_tables import UtilityTable, read_table

_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")


class Format(NamedTuple):
    """A format: good files of it, and its reader.

    Parameters
    ----------
    good : function of Random
        Makes the bytes of a good file.
    read : function of (bytes, dict, Path)
        Reads bytes as `options` ask; the folder is for readers that need a file.
    options : function of Random
        Draws options of the reader.
    weight : float
        How often it is drawn, compared with the others.
    mutations : mapping of mutations to their weights
        What breaks it: `trees.OF_JSON`, `trees.OF_TOML` and `tables.OF_PARQUET` know the structure
        of such files.
    use : function of (result, Random, Path), optional
        What users do with each result, and what it promises; raises WorkloadErrors at most.
    is_word : bool
        Whether it is an argument of a command rather than a file.
    """

    good: Callable[[Random], bytes]
    read: Callable[[bytes, dict[str, Any], Path], Any]
    options: Callable[[Random], dict[str, Any]]
    weight: float
    mutations: Mapping[Mutation, float] = MUTATIONS
    use: Callable[[Any, Random, Path], None] | None = None
    is_word: bool = False


def _none(rng: Random) -> dict[str, Any]:
    return {}


def _of_swf(rng: Random) -> dict[str, Any]:
    """Both parsers, strictly and not."""
    return {"strict": rng.random() < 0.1, "compiled": rng.random() < 0.5}


def _of_accounting(rng: Random) -> dict[str, Any]:
    if rng.random() < 0.2:  # the content may tell another format, which has fewer options
        return {"guess": True}
    anonymize = rng.random() < 0.3
    return {
        "tz": rng.choice(_ZONES),
        "procs": rng.choice([None, 96]),
        "attempts": rng.random() < 0.3,
        "anonymize": anonymize,
        "key": b"secret" if anonymize and rng.random() < 0.5 else None,
    }


def _of_unnamed(rng: Random) -> dict[str, Any]:
    """With the names of the columns, or as they are recognised."""
    options = _of_accounting(rng)
    return (
        options if "guess" in options else options | {"columns": rng.choice([good.UNNAMED, None])}
    )


def _of_guessing(rng: Random) -> dict[str, Any]:
    return {"guess": True} if rng.random() < 0.2 else {}


def _read_swf(data: bytes, options: dict[str, Any], folder: Path) -> wk.Trace:
    compiled_from = 0 if options["compiled"] else 1 << 40
    with patch.object(reading, "COMPILED_FROM", compiled_from):
        return wk.read_swf(io.BytesIO(data), strict=options["strict"])


def _read(name: str, data: bytes, options: dict[str, Any], folder: Path) -> wk.Trace:
    """Read by the reader of this name, or by the one that the content suggests.

    Every second file is read by compiled code, where it is used for long ones.
    """
    begin = 0 if len(data) % 2 else 1 << 40
    with patch.multiple(lines, COMPILED_FROM=begin, COMPILED_AT_ONCE=begin):
        if options.get("guess"):
            return wk.read_log(io.BytesIO(data))
        return getattr(wk, f"read_{name}")(io.BytesIO(data), **options)


def _read_mapped(data: bytes, options: dict[str, Any], folder: Path) -> wk.Trace:
    """Read a table by its mapping."""
    path = folder / f"jobs.{options['kind']}"
    path.write_bytes(data)
    return wk.read_table(path, good_tables.MAPPING)


def _read_outages(data: bytes, options: dict[str, Any], folder: Path) -> wk.Outages:
    return wk.read_outages(io.BytesIO(data))


def _read_reservations(
    data: bytes, options: dict[str, Any], folder: Path
) -> wk.ReservationRequests:
    return wk.read_reservations(io.BytesIO(data))


def _read_machine(data: bytes, options: dict[str, Any], folder: Path) -> wk.MachineDescription:
    return wk.read_machine(io.BytesIO(data))


def _read_conf(data: bytes, options: dict[str, Any], folder: Path) -> wk.MachineDescription:
    return wk.read_slurm_conf(io.BytesIO(data)).machine


def _read_site(data: bytes, options: dict[str, Any], folder: Path) -> Any:
    return wk.site.read_site_distributions(io.BytesIO(data))


def _read_filters(data: bytes, options: dict[str, Any], folder: Path) -> tuple[wk.Filter, ...]:
    return read_filters(io.BytesIO(data))


def _read_sidecar(data: bytes, options: dict[str, Any], folder: Path) -> pd.DataFrame:
    """Read it alone, and as what stands beside the log that it was made for."""
    log = folder / "log.swf"
    log.write_bytes(good.log_beside())
    (folder / "log.swf.parquet").write_bytes(data)
    wk.read_swf(log)
    return read_sidecar(folder / "log.swf.parquet")[0]


def _read_metasystem(data: bytes, options: dict[str, Any], folder: Path) -> Metasystem:
    (folder / "log.swf").write_bytes(good.log_beside())
    (folder / "grid.json").write_bytes(data)
    return read_metasystem(folder / "grid.json")


def _read_graph(data: bytes, options: dict[str, Any], folder: Path) -> Graph:
    return read_graph(io.BytesIO(data))


def _read_table(data: bytes, options: dict[str, Any], folder: Path) -> UtilityTable:
    (folder / "table.csv").write_bytes(data)
    return read_table(folder / "table.csv")


def _read_shares(data: bytes, options: dict[str, Any], folder: Path) -> dict[str, float]:
    (folder / "shares.csv").write_bytes(data)
    return read_shares(folder / "shares.csv")


def _word(data: bytes) -> str:
    """Return an argument as Python gets it from the system."""
    return data.replace(b"\0", b"").decode(errors="surrogateescape")


def _read_where(data: bytes, options: dict[str, Any], folder: Path) -> Choice:
    return choose(good.first_jobs(), _word(data))


def _read_score(data: bytes, options: dict[str, Any], folder: Path) -> Any:
    return schedulers.parse(f"order:score={_word(data)}")


FORMATS = {
    "swf": Format(good.swf, _read_swf, _of_swf, 7),
    **{
        name: Format(getattr(good, name), partial(_read, name), options, weight)
        for name, options, weight in (
            ("slurm", _of_accounting, 0.6),
            ("pbs", _of_accounting, 0.8),
            ("lsf", _of_accounting, 0.8),
            ("sge", _of_accounting, 0.8),
            ("gwf", _of_guessing, 2),
        )
    },
    "slurm_json": Format(
        good_slurm_json.slurm_json, partial(_read, "slurm_json"), _of_accounting, 1, OF_JSON
    ),
    **{
        name: Format(getattr(good_schedulers, name), partial(_read, reader), options, 0.7)
        for name, reader, options in (
            ("slurm_jobcomp", "slurm_jobcomp", _of_accounting),
            ("cobalt", "pbs", _of_accounting),
            ("fixed_width", "slurm", _of_accounting),
            ("batsim_jobs", "batsim_jobs", _of_guessing),
            ("accasim", "accasim", _of_guessing),
            ("htcondor", "htcondor", _of_accounting),
            ("reporting", "sge", _of_accounting),
        )
    },
    **{
        name: Format(
            getattr(good_schedulers, name), partial(_read, name), _of_accounting, 0.4, OF_JSON
        )
        for name in ("flux", "oar", "clustercockpit", "htcondor_json")
    },
    "batsim": Format(good.batsim, partial(_read, "batsim"), _of_guessing, 3, OF_JSON),
    "wkt": Format(good.wkt, partial(_read, "wkt"), _of_guessing, 1, OF_PARQUET),
    "unnamed": Format(good.unnamed, partial(_read, "slurm"), _of_unnamed, 0.6),
    "csv": Format(good_tables.as_csv, _read_mapped, lambda _: {"kind": "csv"}, 0.3),
    "jsonl": Format(good_tables.as_lines, _read_mapped, lambda _: {"kind": "jsonl"}, 0.2),
    "outages": Format(good.outages, _read_outages, _none, 6),
    "reservations": Format(good.reservations, _read_reservations, _none, 3),
    "machine": Format(good.machine, _read_machine, _none, 3, OF_JSON),
    "slurm.conf": Format(good.conf, _read_conf, _none, 3),
    "site": Format(good.site, _read_site, _none, 4, OF_JSON),
    "certificate": Format(
        certificates.good_certificate, certificates.read, certificates.sealed_or_not, 2, OF_JSON
    ),
    "filters": Format(good.filters, _read_filters, _none, 5),
    "sidecar": Format(good.sidecar, _read_sidecar, _none, 1, OF_PARQUET),
    "experiment": Format(experiments.experiment, experiments.read_experiments, _none, 0.2, OF_TOML),
    "defaults": Format(experiments.defaults, experiments.read_defaults, _none, 0.2, OF_TOML),
    "results": Format(experiments.results, experiments.read_results, _none, 0.2, OF_PARQUET),
    "unfinished": Format(
        experiments.unfinished, experiments.read_unfinished, _none, 0.2, OF_PARQUET
    ),
    "metasystem": Format(
        settings.metasystem, _read_metasystem, _none, 2, OF_JSON, uses.use_metasystem
    ),
    "graph": Format(settings.graph, _read_graph, _none, 1, OF_JSON, uses.use_graph),
    "table": Format(settings.table, _read_table, _none, 2, use=uses.use_table),
    "shares": Format(settings.shares, _read_shares, _none, 2, use=uses.use_shares),
    "where": Format(settings.where, _read_where, _none, 2, OF_EXPRESSIONS, uses.use_where, True),
    "score": Format(settings.score, _read_score, _none, 2, OF_EXPRESSIONS, uses.use_score, True),
}
