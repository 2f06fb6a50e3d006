"""Compiled code is loaded only from where no other user can have written."""

import contextlib
import os
import socket
import stat
from pathlib import Path

import pytest

from tests.data import needs_compiler
from workloadkit._kernels import compile as compiling
from workloadkit._kernels import object_code, trust
from workloadkit._kernels.memory import lay_out
from workloadkit.errors import WorkloadWarning

if os.name != "posix":
    pytest.skip("modes do not show who can write", allow_module_level=True)


ANOTHER = 54321  # a user


def double(x):
    return 2 * x


def given_away(path):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(path, ANOTHER, ANOTHER, follow_symlinks=False)


def moved_behind_a_link(path):
    """Move a file or folder, and put a link in its place."""
    target = path.with_name(f"moved {len([*path.parent.iterdir()])}")
    path.rename(target)
    path.symlink_to(target)


def behind_a_link_of_another(path):
    moved_behind_a_link(path)
    given_away(path)


def behind_two_links(path):
    """The first link is ours, the second is not."""
    behind_a_link_of_another(path)
    moved_behind_a_link(path)


def mode(bits):
    return lambda path: path.chmod(bits)


def replaced_by(make):
    def replace(path):
        path.unlink()
        make(path)

    return replace


def listening(path):
    # names of sockets are short
    with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(path.parent):
        made.bind(path.name)


def device(path):
    if os.geteuid() != 0:
        pytest.skip("only root can make devices")
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # endless zeros


def forget():
    object_code.cache_directory.cache_clear()
    object_code._has_warned = False


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """The content of a file of the cache."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(folder))
        forget()
        compiling.kernel(double)(4)
    (file,) = folder.rglob("*.kernel")
    return file.name, file.read_bytes()


@pytest.fixture
def planted(code, tmp_path, monkeypatch):
    """A file of the cache that others may have written."""
    named = tmp_path / "above" / "named"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(named))
    forget()
    file = trust.own_folder(named, Path(object_code.cache_directory()).name) / code[0]
    file.write_bytes(code[1])
    yield file
    forget()


def is_loaded():
    """Whether the code of `double` comes from the cache."""
    layout, _ = lay_out((4,))
    return object_code.cached(double, layout, lambda: None) is not None


WAYS = [given_away, behind_a_link_of_another, behind_two_links]
WAYS += map(mode, (0o770, 0o775, 0o757, 0o777))
STICKY = [mode(0o1777), mode(0o1770)]
FILES = [
    given_away,
    mode(0o620),
    mode(0o602),
    moved_behind_a_link,
    behind_a_link_of_another,
    lambda file: os.link(file, file.with_suffix(".another")),
    *map(replaced_by, (os.mkfifo, os.mkdir, listening, device)),
]


@needs_compiler
@pytest.mark.parametrize(
    ("change", "place"),
    [(change, "folder") for change in WAYS + STICKY]
    + [(change, "named") for change in WAYS + STICKY]
    + [(change, "above") for change in WAYS]
    + [(change, "file") for change in FILES],
)
def test_code_is_not_loaded_where_others_can_have_written(change, place, planted):
    places = dict(zip(("folder", "named", "above"), planted.parents, strict=False))
    change(places.get(place, planted))
    before = {path: path.lstat().st_ino for path in planted.parents[3].rglob("*")}
    with pytest.warns(WorkloadWarning, match="compiled code is not cached, and each") as warned:
        assert not is_loaded()
        assert not is_loaded()
    assert len(warned) == 1
    # nor is anything written there
    assert {path: path.lstat().st_ino for path in planted.parents[3].rglob("*")} == before


@needs_compiler
@pytest.mark.parametrize("place", ["folder", "named", "above"])
def test_own_links_to_own_folders_are_followed(place, planted):
    places = dict(zip(("folder", "named", "above"), planted.parents, strict=False))
    moved_behind_a_link(places[place])
    assert is_loaded()


@needs_compiler
def test_a_sticky_folder_of_root_is_trusted_above_the_named_one(planted):
    if os.geteuid() != 0:
        pytest.skip("only root owns what root made")
    planted.parents[2].chmod(0o1777)
    assert is_loaded()


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels"):
        trust.own_folder(tmp_path / "a", "inside")


def test_parents_and_relative_links_lead_where_the_system_goes(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").symlink_to(Path("a") / "b")
    place = trust.own_folder(tmp_path / "c" / ".." / "d", "inside")
    assert place == tmp_path / "a" / "d" / "inside"
    assert place.is_dir()


def test_folders_that_are_created_are_for_their_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        folder = trust.own_folder(tmp_path / "a" / "b", "c")
    finally:
        os.umask(before)
    for place in (folder, folder.parent, folder.parent.parent):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_folders_of_root_are_trusted_by_other_users(tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root owns what root made")
    monkeypatch.setattr(os, "geteuid", lambda: ANOTHER)
    assert trust.own_folder(tmp_path, "a") == tmp_path / "a"
    (tmp_path / "a" / "file").write_text("code")
    assert trust.read_own(tmp_path / "a" / "file", 3) == b"cod"
    os.chown(tmp_path / "a", ANOTHER, ANOTHER)
    trust.own_folder(tmp_path, "a")
    monkeypatch.setattr(os, "geteuid", lambda: ANOTHER + 1)
    with pytest.raises(trust.UntrustedError, match="/a belongs to another user"):
        trust.own_folder(tmp_path, "a")
