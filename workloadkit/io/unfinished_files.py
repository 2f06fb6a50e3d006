"""Files that are being written: they lie hidden until they take their place.

Their names tell which process writes them, so that what one left that was killed is known, and
removed by the next that writes the same.
"""

import glob
import os
import platform
import re
import secrets
import shutil
import zlib
from contextlib import suppress
from pathlib import Path

_LONGEST = 100  # of the name's characters

# Processes are told apart on one machine only; a folder may be that of several.
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"


def unfinished(target: Path) -> Path:
    """Return where a file, or a folder, is written until it is finished.

    Examples
    --------
    >>> re.sub("[0-9a-f]+-[0-9]+-[0-9a-f]+", "...", unfinished(Path("logs/a.swf")).name)
    '.a.swf.....part'
    """
    token = f"{_MACHINE}-{os.getpid()}-{secrets.token_hex(4)}"
    return target.with_name(f".{target.name[:_LONGEST]}.{token}.part")


def remove_left_over(target: Path) -> None:
    """Remove what processes that were killed left of a file, or a folder, that they wrote."""
    beginning = f".{target.name[:_LONGEST]}.{_MACHINE}-"
    token = re.compile(re.escape(beginning) + r"(\d+)-[0-9a-f]{8}\.part")
    for path in target.parent.glob(f"{glob.escape(beginning)}*.part"):
        match = token.fullmatch(path.name)
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
