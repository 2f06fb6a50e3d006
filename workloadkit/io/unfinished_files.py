"""Files that are being written, hidden until they are complete.

Their names contain the machine and the process, so that files left behind by a killed process are
recognized, and removed by the next process that writes to the folder.
"""

import os
import platform
import re
import secrets
import shutil
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

_LONGEST = 100  # maximum number of characters of the original name

# Process ids are unique on one machine only, and a folder may be shared by several.
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
_UNFINISHED = re.compile(rf"\..*\.{_MACHINE}-(\d+)-[0-9a-f]{{8}}\.part", re.DOTALL)


def unfinished(target: Path) -> Path:
    """Return the temporary path of a file or folder until it is complete.

    Examples
    --------
    >>> re.sub("[0-9a-f]+-[0-9]+-[0-9a-f]+", "...", unfinished(Path("logs/a.swf")).name)
    '.a.swf.....part'
    """
    token = f"{_MACHINE}-{os.getpid()}-{secrets.token_hex(4)}"
    return target.with_name(f".{target.name[:_LONGEST]}.{token}.part")


@cache
def remove_left_over(folder: Path) -> None:
    """Remove files and folders left behind by killed processes from a folder, once per process."""
    for path in folder.glob(f".*.{_MACHINE}-*.part"):
        match = _UNFINISHED.fullmatch(path.name)
        if match and not _lives(int(match[1])):
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process belongs to another user
        return True
    return True
