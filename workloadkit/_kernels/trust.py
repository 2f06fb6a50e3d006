"""Folders and files that only this user or root can have written, so that code in them may run.

The way to a folder is followed from the root, and each folder is examined before anything in it.
What was examined cannot be replaced by other users: they cannot write to the folder around it. Nor
can they in root's sticky folders, such as /tmp: there only its owner moves a folder or link, and
this is the user or root.
"""

import errno
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH  # also with access control lists, whose mask these are
_MOST_LINKS = 40  # on the way to a folder
#: Links are not followed, and pipes do not wait for a writer.
_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
_IS_POSIX = os.name == "posix"  # elsewhere neither owners nor modes show who can write


class UntrustedError(Exception):
    """Others can have written something; the message says what, and what mends it."""


def own_folder(named: Path, inside: str) -> Path:
    """Return the resolved path of a folder inside a named one; what is missing is created.

    Sticky folders are trusted above the named folder only.

    Raises
    ------
    UntrustedError
        Before anything is created in a folder that others can write to.
    OSError
    """
    place = named
    for place, found, n_left in _way(named / inside):
        _check_owner(place, found)
        if stat.S_ISLNK(found.st_mode):
            continue
        is_shared = n_left > 1 and found.st_uid == 0 and found.st_mode & stat.S_ISVTX
        if _IS_POSIX and found.st_mode & _OTHERS and not is_shared:
            mend = f"chmod go-w {shlex.quote(str(place))}"
            raise UntrustedError(f"others can write to {place}; `{mend}` mends this")
    return place


def _way(path: Path) -> Iterator[tuple[Path, os.stat_result, int]]:
    """Yield each folder and link on the way to a folder, and how many names are left.

    What is missing is created, for this user alone.
    """
    left, here, n_links = list(path.parts), Path(), 0
    while left:
        name = left.pop(0)
        if name == "..":
            here = here.parent
            continue
        place = here / name  # the root, where an absolute link begins
        with suppress(FileExistsError):
            if not os.path.lexists(place):
                place.mkdir(mode=0o700)
        found = place.lstat()
        yield place, found, len(left)
        if not stat.S_ISLNK(found.st_mode):
            here = place
            continue
        n_links += 1
        if n_links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        left[:0] = place.readlink().parts


def read_own(path: Path, longest: int) -> bytes:
    """Return the content of a file in a folder of `own_folder`, at most `longest` bytes.

    It is examined after it is opened, because names can change in between.
    """
    if path.is_symlink():
        raise UntrustedError(f"{path} is a link; remove it")
    number = os.open(path, sum(getattr(os, flag, 0) for flag in _FLAGS))
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            raise UntrustedError(f"{path} is not a plain file; remove it")
        _check_owner(path, found)
        if _IS_POSIX and (found.st_mode & _OTHERS or found.st_nlink > 1):
            raise UntrustedError(f"others can write to {path}, or have linked it; remove it")
        with open(number, "rb", closefd=False) as file:
            return file.read(longest)
    finally:
        os.close(number)


def _check_owner(path: Path, found: os.stat_result) -> None:
    if _IS_POSIX and found.st_uid not in (0, os.geteuid()):
        raise UntrustedError(f"{path} belongs to another user")
