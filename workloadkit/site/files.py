"""Read files of site distributions."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import FormatError
from workloadkit.io.files import Source, source_path
from workloadkit.io.strict_json import read_json_file
from workloadkit.site.classes import BEFORE, CLASSES, OF_CLASS, PERIODS, UNKNOWN_PERIOD, JobClass
from workloadkit.site.distributions import (
    CYCLES,
    DISTRIBUTIONS,
    FORMAT,
    VERSION,
    SiteDistributions,
    combine,
)
from workloadkit.site.empirical import Empirical, Workpool

_LARGEST = 1 << 30  # [bytes]
_MAY_BE_NEGATIVE = ("since_end",)


def read_site_distributions(source: Source) -> SiteDistributions:
    """Read distributions written by `SiteDistributions.save`.

    Parameters
    ----------
    source : str, path or binary file
        Compressed or not; ``-`` is standard input.

    Raises
    ------
    FormatError
        If the file cannot be read or has another format; with the file and the field.

    Examples
    --------
    >>> import tempfile
    >>> import workloadkit as wk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wk.site.site_distributions(wk.load_sample()).save(f"{folder}/site.json")
    ...     read_site_distributions(f"{folder}/site.json").n_users
    60
    """
    path = source_path(source)
    content = read_json_file(source, most=_LARGEST)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(path, f"is not a file of {FORMAT}")
    if content.get("version") != VERSION:
        text = json.dumps(content.get("version"))
        raise FormatError(path, f"unsupported version, not {VERSION}", field="version", text=text)
    logs = _Field(path, "", content).get("logs", list)
    sites = [_read_log(_Field(path, f"logs[{i}]", log)) for i, log in enumerate(logs.value)]
    names = [site.logs[0] for site in sites]
    if not names:
        raise FormatError(path, "is empty; at least one log is required", field="logs")
    if twice := [name for name in names if names.count(name) > 1]:
        raise FormatError(path, "has two logs with the same name", field="logs", text=twice[0])
    return combine(sites)


class _Field:
    """A value in the file, with its position for messages."""

    def __init__(self, path: str, name: str, value: Any) -> None:
        self.path, self.name, self.value = path, name, value

    def get(self, name: str, kind: type | tuple[type, ...]) -> "_Field":
        """Return a member of the given type."""
        place = f"{self.name}.{name}".lstrip(".")
        if not isinstance(self.value, dict) or name not in self.value:
            raise FormatError(self.path, "is missing", field=place)
        found = _Field(self.path, place, self.value[name])
        if not isinstance(found.value, kind) or isinstance(found.value, bool):
            found.refuse("has the wrong type")
        return found

    def numbers(self, name: str, *, least: float = -np.inf) -> NDArray[np.float64]:
        """Return a list of numbers, all at least `least`."""
        found = self.get(name, list)
        for x in found.value:
            if type(x) not in (int, float) or not least <= x <= 1e300:
                raise FormatError(self.path, "not a valid number", field=found.name, text=repr(x))
        return np.array(found.value, dtype=np.float64)

    def counts(self, name: str, *, least: int, n: int) -> NDArray[np.int64]:
        """Return `n` whole numbers, all at least `least`."""
        values = self.numbers(name, least=least)
        if values.size != n:
            self.get(name, list).refuse(f"has {values.size} numbers, not {n}")
        if (values % 1).any() or (values > 2**53).any():
            self.get(name, list).refuse("counts must be whole numbers")
        return values.astype(np.int64)

    def refuse(self, message: str) -> None:
        """Raise an error about this field."""
        raise FormatError(self.path, message, field=self.name)


def _read_workpool(pool: _Field) -> Workpool:
    size, run = (pool.numbers(name, least=0) for name in ("sizes", "runs"))
    counts = pool.counts("counts", least=1, n=size.size)
    if run.size != size.size:
        pool.get("runs", list).refuse(f"has {run.size} numbers, not {size.size}")
    return Workpool.of(
        size, run, repetition=_read_empirical(pool.get("repetition", dict)), weights=counts
    )


def _read_class(of: _Field) -> JobClass:
    return JobClass(
        **{name: _read_empirical(of.get(name, dict)) for name in OF_CLASS},
        jobs=_read_workpool(of.get("jobs", dict)),
        after=of.counts("after", least=0, n=len(BEFORE)),
    )


def _read_empirical(part: _Field, *, least: float = 0) -> Empirical:
    values = part.numbers("values", least=least)
    if not (np.diff(values) > 0).all():
        part.get("values", list).refuse("values must ascend")
    return Empirical(values, part.counts("counts", least=1, n=values.size))


def _read_log(log: _Field) -> SiteDistributions:
    digest = log.get("sha256", (str, type(None))).value
    made_from = {"log": log.get("log", str).value, "sha256": digest}
    users, jobs = (log.get(name, int) for name in ("users", "jobs"))
    for number in (users, jobs):
        if number.value < 1:
            number.refuse("must be 1 or more")
    found: dict[str, Any] = {}
    for name in DISTRIBUTIONS:
        least = -np.inf if name in _MAY_BE_NEGATIVE else 0
        found[name] = _read_empirical(log.get(name, dict), least=least)
    found |= {f"{name}_jobs": log.counts(name, least=0, n=n) for name, n in CYCLES.items()}
    if "workpools" in log.value:  # missing in older files
        pools = log.get("workpools", dict)
        known = [p for p in (*PERIODS, UNKNOWN_PERIOD) if p in pools.value]
        found["workpools"] = {p: _read_workpool(pools.get(p, dict)) for p in known}
    if "classes" in log.value:  # missing in older files
        classes = log.get("classes", dict)
        known = [name for name in CLASSES if name in classes.value]
        found["classes"] = {name: _read_class(classes.get(name, dict)) for name in known}
        found["interactive"] = log.get("interactive", str).value
    return SiteDistributions((made_from,), users.value, jobs.value, **found, by_log={})
