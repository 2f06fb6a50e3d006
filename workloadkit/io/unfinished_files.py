"""Files that are being written: they stay hidden until they are complete.

Their names contain the machine and the process that writes them. So the files of a process that was
killed are recognised, and removed by the next process that writes to the folder.
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

_LONGEST = 100  # of the name's characters

# Processes are told apart on one machine only; a folder may be that of several.
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
_UNFINISHED = re.compile(rf"\..*\.{_MACHINE}-(\d+)-[0-9a-f]{{8}}\.part", re.DOTALL)


def unfinished(target: Path) -> Path:
    """Return where a file, or a folder, is written until it is finished.

    Examples
    --------
    >>> re.sub("[0-9a-f]+-[0-9]+-[0-9a-f]+", "...", unfinished(Path("logs/a.swf")).name)
    '.a.swf.....part'
    """
    token = f"{_MACHINE}-{os.getpid()}-{secrets.token_hex(4)}"
    return target.with_name(f".{target.name[:_LONGEST]}.{token}.part")


@cache
def remove_left_over(folder: Path) -> None:
    """Remove the unfinished files and folders of killed processes from a folder, once a process."""
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
    except OSError:  # of another user
        return True
    return True
