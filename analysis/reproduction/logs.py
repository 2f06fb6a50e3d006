"""Logs that sources used, and the available versions."""

import csv
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from workloadkit.errors import WorkloadError, WorkloadWarning
from workloadkit.io.files import is_folder

if TYPE_CHECKING:
    from workloadkit.trace import Trace


def data_folder() -> Path:
    """Return the data folder, whose subfolder `traces` contains the real logs.

    Examples
    --------
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, {"WORKLOADKIT_DATA": "logs"}):
    ...     data_folder().name
    'logs'
    """
    return Path(os.environ.get("WORKLOADKIT_DATA", "../shared"))


@dataclass(frozen=True)
class Log:
    """A log that a study uses.

    Parameters
    ----------
    name : str
        Name in the source.
    published : str
        Version that the source used.
    path : Path, optional
        The available file; None if the log is missing.
    strict : bool
        Whether to stop at the first violation of the SWF standard.
    """

    name: str
    published: str
    path: Path | None = None
    strict: bool = False

    @property
    def version(self) -> str:
        """The available version; an empty string if the log is missing."""
        return "" if self.path is None else _version(self.path)

    @property
    def is_other(self) -> bool:
        """Whether the available version differs from the one that the source used."""
        return self.path is not None and self.version != self.published

    def read(self) -> "Trace":
        """Read the log; the last four are cached, because many tasks read the same log."""
        if self.path is None:
            raise WorkloadError(f"{self.name}: {self.published} is missing")
        return _read(self.path, self.strict)


#: The log of results about several logs together, or about none.
ALL_LOGS = Log("all", "")


def find_logs(names: Mapping[str, str], folder: Path, *, strict: bool = False) -> list[Log]:
    """Find logs in a folder; of several versions, the one most similar to the published one.

    Parameters
    ----------
    names : mapping of str to str
        Names of the logs in the source, and the versions that it used.
    folder : Path
    strict : bool, default False

    Returns
    -------
    list of Log
        All logs; a missing log has no path.

    Raises
    ------
    WorkloadError
        If the folder does not exist, or contains none of the logs.

    Warns
    -----
    WorkloadWarning
        For each missing log.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "KTH-SP2-1996-2.1-cln.swf.gz").touch()
    ...     [log] = find_logs({"KTH": "KTH-SP2-1996-2"}, Path(folder))
    >>> log.version, log.is_other
    ('KTH-SP2-1996-2.1-cln', True)
    """
    if not names:
        return []
    if not is_folder(folder):
        raise WorkloadError(
            f"{folder}: no such folder of logs; specify it with --traces or WORKLOADKIT_DATA"
        )
    logs = []
    for name, published in names.items():
        versions = {_version(path): path for path in sorted(folder.glob(_any_version(published)))}
        nearest = get_close_matches(published, versions, n=1, cutoff=0)
        logs.append(Log(name, published, versions[nearest[0]] if nearest else None, strict))
    missing = [log for log in logs if log.path is None]
    if len(missing) == len(logs):
        looked_for = ", ".join(_any_version(log.published) for log in logs)
        raise WorkloadError(f"{folder}: no log of this study; looked for {looked_for}")
    for log in missing:
        pattern = _any_version(log.published)
        warnings.warn(f"{folder}: no {pattern}, left out", WorkloadWarning, stacklevel=2)
    return logs


def read_table(path: Path) -> list[dict[str, str]]:
    r"""Return the rows of a CSV table of published numbers.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "table.csv")
    ...     _ = path.write_text("log,jobs\nKTH-SP2,28489\n")
    ...     read_table(path)
    [{'log': 'KTH-SP2', 'jobs': '28489'}]
    """
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _any_version(published: str) -> str:
    """Return the file pattern of all versions of a log: the name up to the year.

    Examples
    --------
    >>> _any_version("SDSC-Par-1995-3.1-cln")
    'SDSC-Par-1995-*.swf*'
    """
    return "-".join(published.removesuffix("-cln").split("-")[:-1]) + "-*.swf*"


def _version(path: Path) -> str:
    return path.name.split(".swf")[0]


@lru_cache(maxsize=4)
def _read(path: Path, strict: bool) -> "Trace":
    import workloadkit as wk

    return wk.read_swf(path, strict=strict)
