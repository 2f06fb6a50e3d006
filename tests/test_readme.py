"""The README's commands and code, run as a reader would: what it shows is what comes out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_speed_is_a_table_with_its_machine():
    speed = README.read_text(encoding="utf-8").partition("## Speed")[2].partition("\n## ")[0]
    assert "Measured by `make bench` on" in speed
    assert speed.count("\n| ") > 10


def run(command, folder, **keywords):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
        **keywords,
    )
    return done.stdout


def test_the_session_shows_what_the_commands_print(tmp_path):
    shown = "".join(text for kind, text in BLOCKS if kind == "console")
    commands = [part for part in re.split(r"^\$ ", shown, flags=re.MULTILINE) if part]
    ours = [part for part in commands if not part.startswith("make")]
    assert ours
    for part in ours:
        command, _, output = part.partition("\n")
        assert run(["bash", "-c", command], tmp_path) == output, command


@pytest.mark.parametrize("i", [i for i, (kind, _) in enumerate(BLOCKS) if kind == "python"])
def test_the_code_runs_and_prints_what_is_shown(i, tmp_path):
    output = run([sys.executable, "-c", BLOCKS[i][1]], tmp_path)
    after = BLOCKS[i + 1] if i + 1 < len(BLOCKS) else ("", "")
    assert output == (after[1] if after[0] == "text" else "")
