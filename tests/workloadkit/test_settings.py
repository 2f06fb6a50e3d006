"""Settings are declared once: checks, keywords, options and records follow from them."""

import inspect
import re
from dataclasses import fields, replace

import numpy as np
import pytest
from typer.testing import CliRunner

import workloadkit as wk
from workloadkit import analysis, settings
from workloadkit.cli import app
from workloadkit.errors import ParameterError
from workloadkit.settings.setting import settings_of

CLASSES = [getattr(settings, name) for name in settings.__all__]
FUNCTIONS = {
    wk.simulate: settings.Simulate,
    wk.check_schedule: settings.Check,
    wk.sweep: settings.Sweep,
    wk.resample: settings.Resample,
    wk.classify_users: settings.Classify,
    wk.add_utility: settings.Augment,
    analysis.characterize: settings.Characterize,
    analysis.compare_two: settings.Compare,
    analysis.crosscheck: settings.Crosscheck,
}
COMMANDS = {
    "simulate": settings.Simulate,
    "check": settings.Check,
    "sweep": settings.Sweep,
    "resample": settings.Resample,
    "augment": settings.Augment,
    "characterize": settings.Characterize,
    "compare": settings.Compare,
    "generate": settings.Generate,
    "site": settings.Site,
    "queueing": settings.Queueing,
    "crosscheck": settings.Crosscheck,
}


def log():
    """Four jobs of two users."""
    times = {"submit": [0, 10, 20, 30], "run": [5, 5, 5, 5]}
    return wk.Trace.from_columns(times | {"procs": [1, 2, 1, 1], "user": [3, 4, 3, 4]})


def test_defaults_are_valid_and_settings_cannot_be_changed():
    for cls in CLASSES:
        given = cls()
        assert given == cls.of(None, {}) == cls.of(given, {})
        assert given.changed == {}, cls
        with pytest.raises(AttributeError):
            given.procs = 3


ODD = (0, 0.0, False, True, 1, 2.5, "", (), [])


def test_every_value_but_the_default_counts_as_changed():
    """Also values like nothing: no users of a kind, second 0, an empty list."""
    for cls, (name, declared) in ((c, item) for c in CLASSES for item in settings_of(c).items()):
        for value in (*ODD, *declared.choices):
            try:
                declared.check(value)
            except ParameterError:
                continue
            default = declared.default
            nothing = default == () and value in ("", (), [])  # ways to name none of many
            same = nothing or (default is not None and value == default)
            assert declared.differs(value) == (not same), (cls, name, value)
        assert not declared.differs(declared.default), (cls, name)


def test_zero_is_recorded_where_none_is_the_default():
    for cls, name, value in (
        (settings.Resample, "long_term_users", 0),
        (settings.Resample, "temporary_users", 0),
        (settings.Resample, "arrivals", 0.0),
        (settings.Resample, "begin", 0),
        (settings.Classify, "begin", 0.0),
    ):
        assert cls(**{name: value}).recorded.keys() - cls().recorded.keys() == {name}


def test_each_setting_has_a_description():
    for cls in CLASSES:
        assert list(settings_of(cls)) == [field.name for field in fields(cls)]
        for name, declared in settings_of(cls).items():
            assert declared.setting.help.endswith("."), (cls, name)
            assert declared.kind, (cls, name)


WRONG = [
    (settings.Simulate, {"oversize": "shrink"}, "oversize is 'shrink'; known: error, drop"),
    (settings.Simulate, {"overrun": None}, "overrun is None; known: raise, kill, late, header"),
    (settings.Simulate, {"warmup": -1}, "warmup is -1; it must be 0 or more, and finite"),
    (settings.Simulate, {"warmup": [1]}, "warmup is [1]; it is a number"),
    (settings.Simulate, {"scale_runs": 0}, "scale_runs is 0; it must be positive"),
    (settings.Simulate, {"engine": "fast"}, "engine is 'fast'; known: compiled, python"),
    (settings.Simulate, {"interrupted": "lose"}, "interrupted requires outages"),
    (
        settings.Simulate,
        {"offered_load": 0.5, "scale_arrivals": 2},
        "offered_load and scale_arrivals both set the submit times",
    ),
    (settings.Sweep, {"runs": 0}, "runs is 0; it is a whole number, 1 or more"),
    (settings.Sweep, {"runs": 2.5}, "runs is 2.5; it is a whole number"),
    (settings.Sweep, {"confidence": 1}, "confidence is 1; it lies between 0 and 1"),
    (settings.Resample, {"load": 0}, "load is 0; it must be positive"),
    (settings.Resample, {"rare_per_week": -0.1}, "rare_per_week is -0.1; it must be 0 or more"),
    (settings.Resample, {"long_term_users": 1.5}, "long_term_users is 1.5; it is a whole number"),
    (settings.Resample, {"rescale": "yes"}, "rescale is 'yes'; it is True or False"),
    (settings.Classify, {"edge": -1}, "edge is -1 s; it is 0 or more"),
    (settings.Classify, {"begin": "now"}, "begin is 'now'; write 90 or 90s, 20min, 1.5h, 2d or 1w"),
    (settings.Augment, {"points": 1001}, "points is 1001; it is a whole number from 0 to 1,000"),
    (settings.Augment, {"sd": -1}, "sd is -1; it must be 0 or more"),
    (settings.Generate, {"load_by": "users"}, "load_by requires load, which is not given"),
    (settings.Site, {"leave": -1}, "leave is -1 s; it is 0 or more"),
    (settings.Site, {"weeks": 52_001}, "a site is simulated for a thousand years"),
    (settings.Queueing, {"quantiles": (0.5, 1)}, "quantiles is 1; it lies between 0 and 1"),
    (settings.Queueing, {"quantiles": 0.5}, "quantiles is 0.5; give a list of shares"),
    (settings.Crosscheck, {"quantiles": "0.5"}, "quantiles is '0.5'; give a list of shares"),
    (settings.Crosscheck, {"runs": 1}, "runs is 1; it is a whole number, 2 or more"),
    (settings.Crosscheck, {"jobs": 99}, "jobs is 99; it is a whole number, 100 or more"),
    (settings.StaticSiteSettings, {"sessions": 0}, "sessions is 0; it is a whole number, 1"),
]


def test_wrong_values_are_refused_by_name():
    for cls, given, message in WRONG:
        with pytest.raises(ParameterError, match=re.escape(message)):
            cls(**given)


def test_limits_are_allowed():
    settings.Augment(points=1000, sd=0)
    settings.Augment(points=0)
    settings.Site(weeks=52_000, leave=0)
    settings.Classify(edge=0, long_term=float("inf"))
    settings.Resample(long_term_users=0, rare_per_week=0.0, temporary_users=0, arrivals=0)
    settings.Simulate(warmup=0, cooldown=0)
    settings.Sweep(runs=1)


def test_functions_take_keywords_an_object_or_both():
    for function, cls in FUNCTIONS.items():
        parameters = inspect.signature(function).parameters
        assert parameters["settings"].default is None
        for name, declared in settings_of(cls).items():
            where = (function.__name__, name)
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY, where
            assert parameters[name].default == declared.default, where
            assert f"\n    {name} : {declared.kind}" in function.__doc__, where
        with pytest.raises(ParameterError, match="unknown setting 'colour'; known: "):
            cls.of(None, {"colour": 1})
        with pytest.raises(ParameterError, match="settings is 'kill'; give a "):
            cls.of("kill", {})


def test_durations_are_words_too():
    given = settings.Simulate(warmup="1w", cooldown="2d")
    assert (given.warmup, given.cooldown) == (604_800, 172_800)
    log = wk.load_sample()
    assert wk.simulate(log, warmup="1w").metrics == wk.simulate(log, warmup=604_800).metrics
    with pytest.raises(ParameterError, match=r"warmup is 'soon'; write 90 or 90s, 20min, 1\.5h"):
        settings.Simulate(warmup="soon")


def test_a_seed_is_answered_with_rng():
    for draw in (wk.resample, wk.simulate, wk.shake, wk.models.lublin, analysis.memory.hurst_of):
        with pytest.raises(ParameterError, match="seed is not a parameter; give rng=3"):
            draw(log(), seed=3)


def test_keywords_count_before_the_object():
    trace = log()
    given = settings.Simulate(overrun="kill", passes="event")
    schedule = wk.simulate(trace, "easy", settings=given, overrun="late", procs=4)
    assert schedule.parameters["overrun"] == "late"
    assert schedule.parameters["passes"] == "event"
    assert wk.simulate(
        trace, "easy", settings=replace(given, procs=4, overrun="late")
    ).parameters == (schedule.parameters)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_have_an_option_for_each_setting(command):
    shown = CliRunner().invoke(app, [command, "--help-all"]).output
    unfolded = "".join(shown.split())
    for name, declared in settings_of(COMMANDS[command]).items():
        option, usual = declared.setting.option, f"--{name.replace('_', '-')}"
        if option is None:
            assert f"  {usual} " not in shown
        elif (command, name) != ("site", "users"):  # there, a range
            assert f"  {option or usual} " in shown
            assert "".join(declared.setting.help.split()) in unfolded


#: A value that is not the default of each setting that changes a simulation of a log.
OTHERS = {
    "procs": 5,
    "oversize": "drop",
    "estimates": "exact",
    "overrun": "kill",
    "passes": "event",
    "scale_runs": 2.0,
    "scale_sizes": 2.0,
    "scale_machine": 2.0,
    "warmup": 1.0,
    "cooldown": 1.0,
    "uncounted": [3],
    "engine": "python",
    "rng": 7,
    "offered_load": 0.5,
    "scale_arrivals": 2.0,
}


def test_headers_record_the_settings_that_are_declared_so():
    usual = wk.simulate(log(), "easy", procs=4)
    for name, value in OTHERS.items():
        schedule = wk.simulate(log(), "easy", **({"procs": 4} | {name: value}))
        when = settings_of(settings.Simulate)[name].setting.recorded
        (note,) = schedule.trace().header.get_all("Note")
        assert (name in schedule.parameters) == (when != "never"), name
        assert (f", {name} " in note) == (when != "never"), name
        assert (name in usual.parameters) == (when == "always"), name


def test_words_are_read_as_values():
    taken = settings.Resample(rare=settings_of(settings.Resample)["rare"].setting.read("3:1w-2w"))
    assert taken.rare == [(3, 604800.0, 1209600.0)]
    read = settings_of(settings.Augment)
    assert read["priority"].setting.read("1=2, 3=0") == {1: 2, 3: 0}
    assert read["priority"].setting.read("-1=5") == {-1: 5}
    alike = {"linear": 1, "exponential": 1, "step": 1}
    assert read["decay"].setting.read("linear,exponential,step") == alike
    assert read["decay"].setting.read("linear=2, step") == {"linear": 2.0, "step": 1.0}
    for name, text, message in (
        ("priority", "1", "write QUEUE=PRIORITY"),
        ("priority", "a=1", "queues are whole numbers"),
        ("priority", "1=b", "values are whole numbers"),
        ("decay", "linear=x", "values are numbers"),
        ("decay", "linear,linear", "linear is given twice"),
        ("decay", "=2", "is neither NAME nor NAME=NUMBER"),
    ):
        with pytest.raises(ParameterError, match=message):
            read[name].setting.read(text)


def test_settings_of_another_operation_are_taken_over():
    given = settings.Sweep(overrun="kill", runs=3, uncounted=np.array([1, 2]))
    made = given.into(settings.Simulate, procs=9)
    assert (made.overrun, made.procs) == ("kill", 9)
    assert made.uncounted is given.uncounted
