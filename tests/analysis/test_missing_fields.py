"""Each section of the report on logs that lack a field: it shows something, or says what it lacks.

No section fails, and numpy warns of nothing, as warnings are errors in all tests.
"""

import json

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import workloadkit as wk
from workloadkit import MachineDescription, NodeType, analysis
from workloadkit.analysis import report
from workloadkit.analysis.section import in_words_of
from workloadkit.units import in_unit

FIELDS = {
    "requested_time": np.nan,
    "user": -1,
    "wait": np.nan,
    "run": np.nan,
    "procs": np.nan,
    "cpu": np.nan,
    "status": -1,
    "queue": -1,
    "partition": -1,
}

#: Words of which a section names some if it lacks this field and shows nothing.
NAMED = {
    "requested_time": ("requested time", "estimate"),
    "user": ("user",),
    "wait": ("wait",),
    "run": ("ran", "run time"),
    "procs": ("ran", "processor"),
    "cpu": ("CPU",),
    "status": ("status", "outcome", "ended", "state"),
}


def accounted(n=200):
    """Ten days of jobs on nodes of GPUs: three users, some outcomes, everything known."""
    i = np.arange(n)
    jobs = {
        "submit": 4000 * i,
        "wait": 60 * (i % 7),
        "run": 600 + 300 * (i % 11),
        "procs": 4 * (1 + i % 4),
        "cpu": 500 + 100 * (i % 5),
        "requested_time": 7200 + 0 * i,
        "requested_procs": 4 * (1 + i % 4),
        "memory": 1000 + i,
        "requested_memory": 2000 + i,
        "status": np.where(i % 9, 1, 0),
        "user": 1 + i % 3,
        "group": 1 + i % 2,
        "queue": 1 + i % 2,
        "partition": 1 + i % 2,
    }
    header = wk.Header(("; MaxNodes: 4", "; MaxProcs: 64", "; UnixStartTime: 1700000000"))
    log = wk.Trace.from_columns(jobs, header=header)
    sidecar = pd.DataFrame(
        {"submit": 1.7e9 + 4000 * i, "nodes": 1.0 + i % 2, "gpus": (i % 3) / 2, "account": "bio"}
    )
    machine = MachineDescription(nodes=(NodeType(count=4, cores=16, gpus=2),))
    return log.replaced(sidecar=sidecar, machine=machine)


def without(log, field):
    """The log without a field; a log without processors has neither of its fields."""
    names = (field, "requested_procs") if field == "procs" else (field,)
    blank = {name: np.full(log.n_jobs, FIELDS[field]) for name in names}
    return log.with_columns(**blank)


LOGS = {
    "sample": lambda: wk.load_sample().take(np.arange(400)),
    "accounted": accounted,
}


def check(section, field):
    data = section.to_dict()
    json.dumps(data, allow_nan=False)
    words = " ".join([section.finding, *section.notes])
    assert words or section.tables, section.name
    for text in (words, str(data["values"])):
        assert "nan" not in text.split(), (section.name, text)
    for figure in section.figures:
        assert len(figure.data), (section.name, figure.name)
    if not (section.finding or section.tables or section.figures):
        named = NAMED.get(field, ())
        assert section.notes, section.name
        known = ("unknown", "No ", "no ", "require", "too ", "Fewer", "cannot", "less", "not")
        assert any(word in words for word in (*named, *known)), (section.name, words)


#: Sections that shuffle, fit or simulate: `make test-all` runs them, too.
LONG = {
    *("locality", "fits", "reactions", "correlations", "session_methods", "long_memory"),
    *("capacity", "site", "utilities", "signature"),
}


@pytest.mark.parametrize("field", FIELDS)
def test_quick_sections_show_something_or_say_what_is_missing(field):
    trace = without(accounted(), field)
    for name, section in (report.SECTIONS | report.OPERATIONS).items():
        if name not in LONG and (found := section(trace)) is not None:
            check(found, field)


@pytest.mark.slow
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("log", LOGS)
def test_sections_show_something_or_say_what_is_missing(log, field):
    found = analysis.characterize(without(LOGS[log](), field), profile="full")
    assert len(found.sections) > 20
    for section in found.sections:
        check(section, field)


@pytest.mark.slow
@pytest.mark.parametrize("field", ["requested_time", "user", "wait"])
@pytest.mark.parametrize("unit", ["nodes", "gpus"])
def test_so_do_sections_that_count_in_another_unit(unit, field):
    found = analysis.characterize(without(accounted(), field), profile="full", unit=unit)
    for section in found.sections:
        check(section, field)


def words_in(section):
    """All that a reader sees of a section."""
    tables = [table.shown for table in section.tables]
    labels = [
        str(label)
        for text in tables
        for label in (*text.index, *text.columns, *text.to_numpy().ravel())
    ]
    captions = [one.caption for one in (*section.tables, *section.figures)]
    titles = [figure.title for figure in section.figures]
    return " ".join([section.finding, *section.notes, *labels, *captions, *titles])


@pytest.mark.parametrize("profile", ["operations", pytest.param("full", marks=pytest.mark.slow)])
def test_a_report_in_gpus_has_their_words_and_numbers(profile):
    log = accounted()
    found = analysis.characterize(log, profile=profile, unit="gpus")
    sections = {section.name: section for section in found.sections}
    gpus, run = log.column("gpus"), log.column("run")
    hours = float((gpus * run).sum() / 3600)
    assert sections["usage"].values["core_hours"] == pytest.approx(hours)
    assert sections["usage"].values["hours_unit"] == "GPU-hours"
    assert sections["gpus"].values["gpu_hours"] == pytest.approx(hours)
    assert sections["gpus"].values["jobs_with_parts"] == int((gpus == 0.5).sum())
    assert "GPUs held but idle cannot be shown" in " ".join(sections["gpus"].gaps)
    assert dict(found.lead)["Machine"] == "8 GPUs"
    for name in ("usage", "capacity", "load", "marginals", "users", "correlations"):
        if name in sections:
            assert "rocessor" not in words_in(sections[name]), name
            assert "Sizes are counted in GPUs, held by 133 of 200 jobs" in sections[name].notes[-1]
    assert sections["capacity"].tables[0].shown.columns.is_unique
    board = found.dashboard
    numbers = [one.meaning for one in board.numbers]
    assert "GPUs of the median job" in numbers
    assert not [one for one in numbers if "processor" in one]
    assert "GPUs (columns)" in board.maps[-1].caption
    assert board.bars[0].title == "Who used it: GPU-hours by account"
    [use] = [one for one in sections["capacity"].figures if one.name == "use"]
    assert use.plot(use.data, Figure().add_subplot()).get_ylabel() == "GPUs"
    if profile == "full":
        assert sections["load"].values["work"] / 3600 == pytest.approx(hours)


def test_what_a_section_in_gpus_lacks_is_its_last_note():
    found = analysis.characterize(without(accounted(), "user"), profile="research", unit="gpus")
    for section in found.sections:
        if section.name in ("users", "automatic", "sessions"):
            assert section.notes[-1].startswith("No user is known")


def test_ticks_of_a_figure_are_in_the_words_of_the_unit():
    seen = in_unit(accounted(), "gpus")
    figure = analysis.section.Figure("a", "Processors", "", pd.DataFrame(), drawn)
    made = in_words_of(analysis.section.Section("a", "A", figures=(figure,)), seen).figures[0]
    ax = made.plot(made.data, Figure().add_subplot())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["GPUs", "run time"]


def drawn(data, ax):
    ax.set_xticks([0, 1], ["processors", "run time"])
    return ax


def test_hours_of_unknown_outcome_are_not_those_of_completed_jobs():
    log = accounted()
    status = log.column("status")
    section = report.OPERATIONS["failures"](log.with_columns(status=np.where(status, -1, 0)))
    [figure] = [one for one in section.figures if one.name == "by_time"]
    assert figure.data["completed"].sum() == 0
    work = log.column("run") * log.column("procs") / 3600
    drawn_ones = (status == 1) & (log.end <= log.window.until)
    assert figure.data["other"].sum() == pytest.approx(work[drawn_ones].sum())
    gap = "How 177 of 200 jobs (88 %) ended is unknown: they count as having a result."
    assert section.gaps == (gap,)
    every = report.OPERATIONS["failures"](log.with_columns(status=np.where(status, 1, -1)))
    assert every.finding.startswith("No job is known to have failed")
    [figure] = [one for one in report.OPERATIONS["failures"](log).figures if one.name == "by_time"]
    assert "other" not in figure.data


def test_gpus_held_but_idle_are_shown_where_their_use_is_measured():
    log = accounted()
    use = np.where(np.arange(200) % 2, 0.25, np.nan)
    seen = log.replaced(sidecar=log.sidecar.assign(gpu_use=use))
    section = report.OPERATIONS["gpus"](seen)
    held = log.column("gpus") * log.column("run") / 3600
    measured = held[np.arange(200) % 2 == 1].sum()
    assert section.values["measured_gpu_hours"] == pytest.approx(measured)
    assert section.values["idle_gpu_hours"] == pytest.approx(0.75 * measured)
    assert "held but idle" in section.finding
    assert any(
        f"measured for {measured / held.sum():.0%}".replace("%", " %") in note
        for note in section.notes
    )
    assert not [gap for gap in section.gaps if "idle" in gap]


def test_sections_that_do_not_count_sizes_are_those_of_the_whole_log():
    log = accounted()
    seen = in_unit(log, "gpus")
    logs = ((log, log.within_window()), (seen, seen.within_window()))
    for name in ("sessions", "accuracy", "waits", "cycles"):
        found = report._section((name, logs, None))
        assert found.to_dict() == report.SECTIONS[name](log.within_window()).to_dict()
