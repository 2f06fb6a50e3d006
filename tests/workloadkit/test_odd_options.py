"""Every option of every command with odd values: a result, or one short line, never a traceback."""

from random import Random

import pytest

import workloadkit as wk
from tests.commands import program, run_command

ODD = [
    *("nan", "inf", "-inf", "-1", "0", "0.5", "1e400", "1e30", "9" * 400, "9" * 5000, str(2**63)),
    *("x" * 3000, "\udcff", "a\nb", "1_0", "\u0663", "a=b", "a:b=c", "2024", "2024-13-01", "1-"),
    *("x:" + "y" * 500, "\u00e9,\u00e9", "1=1,1=1", "log", "9" * 400 + "d", "=", ":", ","),
    *("easy:=", "easy:backfill=" + "z" * 500, "order:score=" + "(" * 300),
    *("fluid:" + "q" * 900 + "=1", "think:users=1e30", "1..", "{}", "[1]", "*", "None"),
    *("a" * 90 + "=" + "b" * 90,),
]  # fmt: skip

#: Values of one option in `make test`, and in `make test-all`.
N_VALUES = [1, pytest.param(6, marks=pytest.mark.slow)]

#: Commands that end soon on a log of three jobs; the others get a log that does not exist.
SHORT = ("convert", "validate", "clean", "sessions", "dependencies", "augment", "shake")

#: What makes a command without a log short, unless it is the option that is tried.
LESS = {
    "site": {"--users": "2", "--weeks": "0.1"},
    "benchmark": {"--only": "lublin", "--runs": "1"},
}


def options():
    """All options that take a value: words of the command, the option, words that it needs."""

    def walk(command, words):
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, (*words, name))
        for option in command.params:
            takes_value = option.param_type_name == "option" and not option.is_flag
            if takes_value and words and words[0] not in ("help", "study"):
                log = "log.swf" if words[0] in SHORT else "none.swf"
                tried = max(option.opts, key=len)
                needed = [log for x in command.params if x.param_type_name == "argument"]
                known = {name for x in command.params for name in x.opts} - {tried}
                less = LESS.get(words[0], {}).items()
                yield words, tried, [*needed, *(f"{k}={v}" for k, v in less if k in known)]

    return sorted(walk(program(), ()), key=lambda each: each[:2])


@pytest.mark.parametrize("n_values", N_VALUES)
def test_odd_values_of_options(n_values, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    wk.write_swf(wk.Trace.from_columns({"submit": [0, 5, 9], "run": [1, 2, 3]}), "log.swf")
    found = options()
    assert len(found) > 200
    for words, option, arguments in found:
        values = Random(f"{words} {option}").sample(ODD, n_values)
        for value in values:
            shown = f"{' '.join(words)} {option}={value[:60]!r}"
            try:
                code = run_command(*words, f"{option}={value}", *arguments)
            except BaseException as error:
                raise AssertionError(shown) from error
            message = capsys.readouterr().err
            assert code in (0, 1, 2), (shown, code)
            assert "Traceback" not in message, (shown, message)
            assert all(len(line) <= 400 for line in message.splitlines()), (shown, message)
