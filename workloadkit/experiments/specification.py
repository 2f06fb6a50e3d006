"""Read experiments from TOML files."""

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workloadkit.errors import ParameterError, WorkloadWarning, among, check_count, quoted
from workloadkit.experiments.custom_parts import (
    built_in_alone,
    metric_named,
    metrics_named,
    scheduler_named,
    users_named,
)
from workloadkit.experiments.experiment import Experiment
from workloadkit.io.formats import read_native
from workloadkit.io.machine import read_machine
from workloadkit.io.strict_json import read_toml
from workloadkit.parameters import Duration, read_duration
from workloadkit.settings import ExperimentSettings
from workloadkit.settings.setting import Declared, settings_of
from workloadkit.trace import Trace

#: Keys of an experiment that are not settings.
_AXES = ("logs", "schedulers", "users", "loads", "readings")

#: Keys that choose jobs of the logs, see `Trace.where`, and its parameters.
_CHOICE = {"where": "expression", "since": "since", "until": "until"}

#: Settings with another name in the file than in Python.
_RENAMED = {"seed": "rng"}

#: Settings that are whole numbers in a file, with the least; in Python they may be others.
_COUNTS = {"rng": 0, "procs": 1}


def read_experiment(
    path: str | os.PathLike[str], *, strict: bool = False, trust: bool = True
) -> Experiment:
    r"""Read an experiment from a TOML file.

    The keys are `logs`, a list of paths relative to the folder of the file, or a table of these by
    name; `where`, `since` and `until`, which choose jobs of the logs; `schedulers` and `users`,
    lists as for `simulate`, or tables by name; `loads`, a list; `readings`, a table of settings for
    each reading; `seed`; and the settings of `workloadkit.settings.ExperimentSettings`, with times
    in seconds or such as "1w", and `machine` relative to that folder, or "log".

    Parameters
    ----------
    path : path
    strict : bool, default False
        Whether to stop at the first violation of the SWF standard in a log.
    trust : bool, default True
        Whether to import the modules of custom parts that the file names, which runs their code.

    Raises
    ------
    WorkloadError
        If a file cannot be read.
    ParameterError
        For an unknown key or an invalid value, with the file.

    Warns
    -----
    WorkloadWarning
        For each repair made while reading a log.

    Examples
    --------
    >>> import tempfile
    >>> import workloadkit as wk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = wk.write_swf(wk.load_sample().take(range(50)), f"{folder}/log.swf")
    ...     path = Path(folder, "compare.toml")
    ...     _ = path.write_text('logs = ["log.swf"]\nschedulers = ["easy", "fcfs"]\n')
    ...     read_experiment(path).run().table["scheduler"].tolist()
    ['easy', 'fcfs']
    """
    place = Path(path)
    keys = read_toml(place)
    try:
        with built_in_alone(trust=trust):
            return _experiment(keys, place.parent, strict=strict)
    except ParameterError as error:
        raise ParameterError(f"{place}: {error}") from None


def _experiment(keys: dict[str, Any], folder: Path, *, strict: bool) -> Experiment:
    axes = {name: keys.pop(name) for name in _AXES if name in keys}
    choice = {name: keys.pop(key) for key, name in _CHOICE.items() if key in keys}
    for needed in ("logs", "schedulers"):
        if needed not in axes:
            raise ParameterError(f"no {needed} given")
    if not isinstance(axes.get("loads", []), list):
        raise ParameterError(f"the key loads is {quoted(axes['loads'])}; it must be a list")
    readings = axes.pop("readings", {"": {}})
    if not isinstance(readings, dict) or not all(isinstance(x, dict) for x in readings.values()):
        raise ParameterError("readings are tables: [readings.NAME]")
    readings = {name: _settings(reading, folder) for name, reading in readings.items()}
    if "metrics" in keys:
        words = _words("metrics", keys["metrics"])
        metrics = (
            {name: metric_named(word) for name, word in words.items()}
            if isinstance(words, dict)
            else metrics_named(words)
        )
        keys = keys | {"metrics": metrics}
    settings = ExperimentSettings(**_settings(keys, folder, known=(*_AXES, *_CHOICE)))
    others = {
        name: _words(name, axes.pop(name)) for name in ("schedulers", "users") if name in axes
    }
    for name, part in (("schedulers", scheduler_named), ("users", users_named)):
        if name in others:
            words = others[name]
            named = words if isinstance(words, dict) else dict(zip(words, words, strict=True))
            if len(named) == len(words):  # otherwise a name is repeated, which is reported later
                others[name] = {key: part(word) for key, word in named.items()}
    logs = _logs(_words("logs", axes.pop("logs")), folder, choice, strict=strict)
    return Experiment(logs, readings=readings, settings=settings, **others, **axes)


def _logs(paths: Any, folder: Path, choice: dict[str, Any], *, strict: bool) -> dict[str, Trace]:
    """Read logs; those in a list have the names of their files."""

    def read(path: str) -> Trace:
        trace = _read(folder / path, strict=strict)
        return trace.where(**choice) if choice else trace

    if isinstance(paths, dict):
        return {name: read(path) for name, path in paths.items()}
    traces = [read(path) for path in paths]
    found = {trace.name: trace for trace in traces}
    if len(found) < len(traces):
        raise ParameterError("two logs have the same name; use a table to name them")
    return found


def _words(key: str, value: Any) -> Any:
    """Check that a value is a list or a table of strings."""
    words = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ParameterError(
            f"{key} is {quoted(value)}; it must be a list of strings, or a table of them"
        )
    return value


def _read(path: Path, *, strict: bool) -> Trace:
    trace = read_native(path, strict=strict)
    for repair in trace.repairs:
        warnings.warn(f"{trace.name}: {repair}", WorkloadWarning, stacklevel=2)
    return trace


def _settings(
    values: Mapping[str, Any], folder: Path, known: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return settings by their names in Python."""
    declared = {name: s for name, s in settings_of(ExperimentSettings).items() if _is_written(s)}
    names = {**{name: name for name in declared}, **_RENAMED}
    found = {}
    for key, value in values.items():
        name = names.get(key)
        if name is None:
            raise ParameterError(
                f"unknown key {quoted(key, 40)}; {among(key, sorted((*known, *names)))}"
            )
        if name in declared and declared[name].type is Duration and isinstance(value, str):
            try:
                value = read_duration(value)
            except ValueError:
                raise ParameterError(
                    f"{key} is {quoted(value)}; it must be a time, such as 90, 20min, 1.5h or 2d"
                ) from None
        if name in _COUNTS:
            check_count(key, value, least=_COUNTS[name])
        if name == "machine" and isinstance(value, str) and value != "log":
            value = read_machine(folder / value)
        found[name] = value
    return found


def _is_written(setting: Declared) -> bool:
    """Whether a setting can be written in a file; Python objects cannot."""
    return setting.name not in ("uncounted", "engine", "rng")
