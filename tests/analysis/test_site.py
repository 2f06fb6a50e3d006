"""What a model of a site needs from logs: batches, pauses, jobs, and the file that keeps them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from tests.data import needs_traces, trace_path
from tests.oracles import site as oracle
from tests.small_logs import logs, trace_of
from workloadkit import FormatError, Header, ParameterError, Trace, WorkloadError, read_swf
from workloadkit.analysis import site as of_site
from workloadkit.analysis.site import plot_empirical, plot_site, site_curves, site_cycle
from workloadkit.site import Empirical, read_site_distributions, site_distributions
from workloadkit.site.distributions import CYCLES, DISTRIBUTIONS, combine

MINUTE, HOUR, DAY = 60, 3600, 86400

# A Monday, 0:00 in Stockholm.
HEADER = Header(("; UnixStartTime: 843429600", "; TimeZoneString: Europe/Stockholm"))


def listed(of):
    return np.repeat(of.values, of.counts).tolist()


def two_users():
    """User 5: a batch of two, a thought of 30 s, a break of 1 h, a pause of a day; user 8: a job.

    The job of user 5 submitted last in the batch ends first.
    """
    jobs = {
        "submit": [0, 10, 20, 150, 150 + 100 + HOUR, 2 * DAY],
        "wait": [0, 20, 0, 5, 0, 0],
        "run": [1000, 90, 7, 95, 60, 60],
        "procs": [4, 4, 2, 4, 1, 1],
        "user": [5, 5, 8, 5, 5, 5],
    }
    return Trace.from_columns(jobs, header=HEADER, name="two.swf")


def test_worked_by_hand():
    site = site_distributions(two_users())
    assert (site.n_users, site.n_jobs, site.logs) == (2, 6, ("two.swf",))
    assert listed(site.batch_width) == [1, 1, 1, 1, 2]
    assert listed(site.gap) == [10]
    assert listed(site.think_time) == [30]
    assert listed(site.break_time) == [HOUR]
    assert listed(site.since_end) == [-990, 30, HOUR, 2 * DAY - 150 - 100 - HOUR - 60]
    assert listed(site.size) == [1, 1, 2, 4, 4, 4]
    assert listed(site.run) == [7, 60, 60, 90, 95, 1000]
    assert listed(site.repetition) == [1, 2, 3]
    assert site.hour_jobs.tolist() == [5, 1, *[0] * 22]
    assert site.weekday_jobs.tolist() == [5, 0, 1, 0, 0, 0, 0]
    assert site.hour.sum() == pytest.approx(1)
    assert site.weekday.tolist() == pytest.approx([5 / 6, 0, 1 / 6, 0, 0, 0, 0])
    row = site.summary().loc["two.swf"]
    assert row["width_1"] == 4 / 5
    assert row["width_2"] == 1 / 5
    assert row["negative"] == 1 / 4


def test_the_summary_worked_by_hand():
    """Of the two users and a third, whose second job, on Saturday, comes as the first ends."""
    whole = two_users()
    columns = {name: [*whole.column(name)] for name in ("submit", "wait", "run", "procs", "user")}
    more = {"submit": [5 * DAY, 5 * DAY + 50], "wait": [0, 0], "run": [50, 80]}
    more |= {"procs": [2, 2], "user": [9, 9]}
    columns = {name: values + more[name] for name, values in columns.items()}
    site = site_distributions(Trace.from_columns(columns, header=HEADER, name="three.swf"))
    assert site.summary().loc["three.swf"].to_dict() == pytest.approx(
        {
            "users": 3,
            "jobs": 8,
            "batches": 6,
            "width_1": 4 / 6,
            "width_2": 2 / 6,
            "gap": 50,  # the upper one of 10 and 50
            "think_time": 30,
            "break_time": HOUR,
            "run": 80,  # of 7, 50, 60, 60, 80, 90, 95 and 1000
            "repetition": 2,  # 3, 2, 1 and 2
            "negative": 1 / 5,  # that of 0 is not
            "weekdays": 6 / 8,
        }
    )


@pytest.mark.parametrize(
    ("silence", "think", "pause"),
    [
        (0, [], []),  # still the same batch
        (1, [1], []),
        (20 * MINUTE, [20 * MINUTE], []),
        (20 * MINUTE + 1, [], [20 * MINUTE + 1]),
        (8 * HOUR, [], [8 * HOUR]),
        (8 * HOUR + 1, [], []),
    ],
)
def test_edges_of_thoughts_and_breaks(silence, think, pause):
    trace = Trace.from_columns(
        {"submit": [0, 60 + silence], "run": [60, 5], "procs": [1, 1], "user": [1, 1]}
    )
    site = site_distributions(trace)
    assert listed(site.think_time) == think
    assert listed(site.break_time) == pause
    assert listed(site.gap) == ([60] if silence == 0 else [])


def test_jobs_of_unknown_users_and_those_that_never_ran_are_left_out():
    whole = two_users()
    columns = {name: [*whole.column(name), 3 * DAY, 3 * DAY] for name in ("submit", "run", "user")}
    columns["run"][-1] = -1
    columns["user"][-2:] = [-1, 5]
    columns["procs"] = [*whole.column("procs"), 8, 8]
    columns["wait"] = [*whole.column("wait"), 0, 0]
    site = site_distributions(Trace.from_columns(columns, header=HEADER))
    for name in DISTRIBUTIONS:
        assert listed(getattr(site, name)) == listed(getattr(site_distributions(whole), name))
    assert site.hour_jobs.sum() == 6


def test_local_time_that_is_unknown_is_not_made_up():
    trace = Trace.from_columns({"submit": [0], "run": [1], "procs": [1], "user": [1]}, name="b")
    site = site_distributions(trace)
    assert np.isnan(site.hour).all()
    assert np.isnan(site.weekday).all()
    both = site_distributions([trace, two_users()])
    assert both.hour.tolist() == site_distributions(two_users()).hour.tolist()


def test_several_logs_are_counted_together():
    other = Trace.from_columns(
        {"submit": [0, 0], "run": [60, 60], "procs": [1, 2], "user": [5, 5]}, name="other.swf"
    )
    one, two = site_distributions(two_users()), site_distributions(other)
    both = site_distributions([two_users(), other])
    assert both.logs == ("two.swf", "other.swf")
    assert (both.n_users, both.n_jobs) == (3, 8)
    for name in DISTRIBUTIONS:
        parts = listed(getattr(one, name)) + listed(getattr(two, name))
        assert listed(getattr(both, name)) == sorted(parts)
        assert listed(getattr(both.by_log["other.swf"], name)) == listed(getattr(two, name))
    assert both.summary().index.tolist() == ["two.swf", "other.swf", "combined"]


def test_what_cannot_be_taken_is_refused():
    with pytest.raises(ParameterError, match="no log given"):
        site_distributions([])
    with pytest.raises(ParameterError, match=r"two logs have the name two\.swf"):
        site_distributions([two_users(), two_users()])
    without_users = Trace.from_columns({"submit": [0], "run": [1], "procs": [1]}, name="lublin.swf")
    with pytest.raises(WorkloadError, match=r"^lublin\.swf: no job of a known user ran"):
        site_distributions(without_users)


@given(logs())
def test_agrees_with_the_definition(jobs):
    trace = trace_of(jobs)
    if not (trace.ran & (trace.column("user") != -1)).any():
        return
    site = site_distributions(trace)
    for name, expected in oracle.distributions(jobs).items():
        assert listed(getattr(site, name)) == pytest.approx(expected)


@given(st.lists(st.integers(0, 6), max_size=30))
def test_an_empirical_distribution_is_its_sample(sample):
    of = Empirical.of(sample)
    assert listed(of) == sorted(sample)
    assert of.n == len(sample)
    points = np.arange(-1, 8)
    if sample:
        assert of.mean == pytest.approx(np.mean(sample))
        assert of.median == sorted(sample)[len(sample) // 2]
        expected = [np.mean(np.array(sample) <= x) for x in points]
        assert of.share_at_most(points).tolist() == pytest.approx(expected)
    else:
        assert np.isnan([of.mean, of.median, of.share(1), *of.share_at_most(points)]).all()


@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".json.zst"])
def test_saved_and_read_again(tmp_path, suffix):
    fractions = Trace.from_columns(
        {"submit": [0, 0.5, 9.25], "run": [0.25, 2.5, 1e9], "procs": [1, 2, 3], "user": [1, 1, 2]},
        name="fractions",
    )
    for chosen in ([two_users()], [two_users(), fractions]):
        site = site_distributions(chosen)
        path = tmp_path / f"site{suffix}"
        site.save(path)
        again = read_site_distributions(path)
        assert again.made_from == site.made_from
        for ours, read in zip(site.each().values(), again.each().values(), strict=True):
            assert (read.n_users, read.n_jobs, read.logs) == (ours.n_users, ours.n_jobs, ours.logs)
            for name in DISTRIBUTIONS:
                assert listed(getattr(read, name)) == listed(getattr(ours, name))
            assert read.hour_jobs.tolist() == ours.hour_jobs.tolist()
            assert read.weekday_jobs.tolist() == ours.weekday_jobs.tolist()
        second = tmp_path / f"again{suffix}"
        again.save(second)
        assert second.read_bytes() == path.read_bytes()


def test_the_file_records_what_made_it(tmp_path):
    site_distributions(two_users()).save(tmp_path / "site.json")
    content = json.loads((tmp_path / "site.json").read_text())
    assert content["provenance"]["workloadkit"]
    assert content["provenance"]["logs"] == [{"log": "two.swf", "sha256": None}]
    assert content["provenance"]["parameters"]["session_threshold"] == 1200
    assert str(tmp_path) not in (tmp_path / "site.json").read_text()


def changed(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_bad_file_is_refused_with_its_field(tmp_path):
    for change, message in (
        (lambda c: c.update(format="swf"), "not a file of workloadkit site"),
        (lambda c: c.update(version=2), r"field version: unsupported version, not 1: '2'"),
        (lambda c: c.pop("logs"), "field logs: is missing"),
        (lambda c: c["logs"].clear(), "field logs: is empty; at least one log"),
        (
            lambda c: c["logs"].append(c["logs"][0]),
            "logs: has two logs with the same name: '",
        ),
        (lambda c: c["logs"][0].pop("gap"), r"field logs\[0\]\.gap: is missing"),
        (lambda c: c["logs"][0]["gap"].pop("counts"), r"logs\[0\]\.gap\.counts: is missing"),
        (lambda c: c["logs"][0].update(users="two"), r"logs\[0\]\.users: has the wrong type"),
        (lambda c: c["logs"][0].update(jobs=0), r"logs\[0\]\.jobs: must be 1 or more"),
        (lambda c: c["logs"][0].update(jobs=True), r"logs\[0\]\.jobs: has the wrong type"),
        (lambda c: c["logs"][0]["run"]["values"].reverse(), r"run\.values: values must ascend"),
        (lambda c: c["logs"][0]["run"]["values"].pop(), r"run\.counts: has 5 numbers, not 4"),
        (lambda c: c["logs"][0]["run"]["values"].__setitem__(0, -1), "not a valid number: '-1'"),
        (lambda c: c["logs"][0]["run"]["values"].__setitem__(0, None), "not a valid number"),
        (
            lambda c: c["logs"][0]["run"]["values"].__setitem__(-1, 10**400),
            "a number is out of range",
        ),
        (
            lambda c: c["logs"][0]["run"]["values"].__setitem__(-1, float("nan")),
            "not a JSON number",
        ),
        (lambda c: c["logs"][0]["run"]["counts"].__setitem__(0, 0), "not a valid number: '0'"),
        (
            lambda c: c["logs"][0]["run"]["counts"].__setitem__(0, 1.5),
            "counts must be whole numbers",
        ),
        (lambda c: c["logs"][0]["hour"].pop(), r"logs\[0\]\.hour: has 23 numbers, not 24"),
        (lambda c: c["logs"].__setitem__(0, 7), r"logs\[0\]\.sha256: is missing"),
        (
            lambda c: c["logs"][0]["workpools"]["night"]["runs"].pop(),
            r"workpools\.night\.runs: has 0 numbers, not 1",
        ),
        (
            lambda c: c["logs"][0]["workpools"]["night"]["counts"].append(1),
            r"workpools\.night\.counts: has 2 numbers, not 1",
        ),
        (lambda c: c["logs"][0].update(workpools=[]), r"workpools: has the wrong type"),
    ):
        path = tmp_path / "site.json"
        site_distributions(two_users()).save(path)
        changed(path, change)
        with pytest.raises(FormatError, match=message) as error:
            read_site_distributions(path)
        assert str(error.value).startswith(str(path))


def test_what_is_no_such_file_is_refused(tmp_path):
    for text in ("", "{", "[]", "null", "7", "\xff", "[" * 100_000):
        path = tmp_path / "site.json"
        path.write_text(text, encoding="latin-1")
        with pytest.raises(FormatError, match=r"^.*site\.json"):
            read_site_distributions(path)
        with pytest.raises(FormatError, match="no such file"):
            read_site_distributions(tmp_path / "nosuch.json")


def test_a_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(WorkloadError):
        site_distributions(two_users()).save(tmp_path / "nosuch" / "site.json")
    assert not list(Path(tmp_path).iterdir())


@pytest.mark.parametrize("what", [*DISTRIBUTIONS, *CYCLES])
def test_every_distribution_is_drawn(what):
    other = Trace.from_columns({"submit": [0], "run": [0], "procs": [1], "user": [1]}, name="b")
    for chosen in ([two_users()], [two_users(), other], [other]):
        ax = Figure().add_subplot()
        assert plot_site(site_distributions(chosen), ax, what=what) is ax
        assert ax.get_ylabel().startswith("share")
        ax.figure.canvas.draw()


def test_one_distribution_is_drawn_by_itself():
    ax = Figure().add_subplot()
    assert plot_empirical(Empirical.of([1, 1, 2]), ax) is ax
    message = "unknown distribution 'waits' of a site; known: batch_wid"
    with pytest.raises(ParameterError, match=message):
        plot_site(site_distributions(two_users()), ax, what="waits")


def test_cycles_are_drawn_of_logs_that_know_their_local_time():
    nowhere = Trace.from_columns({"submit": [0], "run": [1], "procs": [1], "user": [1]}, name="b")
    found = site_cycle(site_distributions([nowhere, two_users()]), "weekday")
    assert [*found] == ["two.swf", "combined"]
    assert found["combined"].tolist() == pytest.approx([5 / 6, 0, 1 / 6, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("what", "labels"),
    [("think_time", ["0 min", "5 min", "20 min"]), ("break_time", ["2 h", "4 h", "8 h"])],
)
def test_thoughts_are_drawn_in_minutes_and_breaks_in_hours(what, labels):
    ax = plot_site(site_distributions(two_users()), Figure().add_subplot(), what=what)
    assert {*labels} <= {label.get_text() for label in ax.get_xticklabels()}
    (line,) = ax.lines
    reached = line.get_xdata()[line.get_ydata() >= 1].min()
    assert reached == pytest.approx({"think_time": 30, "break_time": HOUR}[what], abs=70)


@pytest.mark.parametrize(
    ("what", "labels", "title"),
    [
        ("hour", ["0:00", "3:00", "21:00"], "local time"),
        ("weekday", ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], ""),
    ],
)
def test_shares_of_jobs_are_drawn_by_hour_and_by_weekday(what, labels, title):
    logs = [replace(two_users(), name=name) for name in ("one.swf.gz", "two.swf")]
    site = site_distributions(logs)
    ax = plot_site(site, Figure().add_subplot(), what=what)
    drawn = {steps.get_label(): steps.get_data() for steps in ax.patches}
    assert [*drawn] == ["one.swf.gz", "two.swf", "combined"]
    for steps in drawn.values():
        assert steps.values.tolist() == getattr(site, what).tolist()
        assert steps.edges.tolist() == [*range(CYCLES[what] + 1)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two", "combined"]
    assert set(labels) <= {label.get_text() for label in ax.get_xticklabels()}
    assert ax.get_xlabel() == title
    assert ax.get_xlim() == (0, CYCLES[what])
    assert len({steps.get_edgecolor() for steps in ax.patches}) == 3


def test_curves_are_cumulative_shares():
    curves = site_curves(site_distributions(two_users()), "size")
    assert curves["two.swf"].loc[[1, 2, 4]].tolist() == pytest.approx([2 / 6, 3 / 6, 1])


@needs_traces
def test_batches_of_a_real_log():
    site = site_distributions(read_swf(trace_path("KTH-SP2-1996-2")))
    row = site.summary().iloc[0]
    assert site.batch_width.values @ site.batch_width.counts == site.n_jobs == 28_489
    # Shmueli (2008), Figure 3.5 and the text: most batches have one job, about 10 % have two.
    assert 0.6 < row["width_1"] < 0.9
    assert 0.08 < row["width_2"] < 0.15


def test_the_section_shows_what_is_taken():
    section = of_site.section(two_users())
    assert section.finding.startswith("By Last, a batch has ")
    assert "The median think time within sessions is " in section.finding
    taken = site_distributions(two_users())
    assert section.values["think_time"]["count"] == taken.think_time.n
    assert section.values["batch_width"]["mean"] == pytest.approx(taken.batch_width.mean)
    assert [figure.name for figure in section.figures][:2] == ["batch_width", "gap"]
    for figure in section.figures:
        ax = Figure().add_subplot()
        assert figure.plot(figure.data, ax=ax) is ax
    assert json.dumps(section.to_dict(), allow_nan=False)


def test_the_section_says_what_a_log_lacks():
    without_users = Trace.from_columns({"submit": [0], "run": [1], "procs": [1]})
    assert of_site.section(without_users).notes[0].startswith("No user is known")
    none = Trace.from_columns({"submit": [0], "run": [-1], "procs": [1], "user": [1]})
    assert of_site.section(none).notes[0].startswith("No job of this log ran")
    columns = {"submit": [0, 9, 12], "run": [1, 1, 1], "procs": [1] * 3, "user": [1, 1, -1]}
    notes = of_site.section(Trace.from_columns(columns)).notes
    assert "Left out: 1 job of unknown users." in notes
    assert any("No wait time is known" in note for note in notes)


def test_a_user_who_never_paused_is_reported_to_have_batches_only():
    alone = Trace.from_columns({"submit": [0, 1], "run": [9, 9], "procs": [1, 1], "user": [1, 1]})
    section = of_site.section(alone)
    assert section.finding == "By Last, a batch has 2 jobs on average."
    assert (section.values["n_users"], section.values["n_jobs"]) == (1, 2)


def test_workpools_are_those_of_the_part_of_the_week():
    # user 5: 4 processors at 9:00 on Monday, again at 20:00, then 2; user 8 on Saturday night
    hours = [9, 20, 20, 5 * 24 + 3, 5 * 24 + 9, 7 * 24 + 7]
    trace = Trace.from_columns(
        {
            "submit": [hour * HOUR for hour in hours],
            "run": [60, 60, 10, 5, 6, 7],
            "procs": [4, 4, 2, 1, 1, 1],
            "user": [5, 5, 5, 8, 8, 8],
        },
        header=HEADER,
    )
    pools = site_distributions(trace).workpools
    assert [*pools] == ["day", "night", "weekend"]
    assert {name: pool.run.tolist() for name, pool in pools.items()} == {
        "day": [60],
        "night": [5, 10, 60],
        "weekend": [6, 7],
    }
    assert pools["night"].size.tolist() == [1, 2, 4]
    assert listed(pools["day"].repetition) == [2]
    assert listed(pools["night"].repetition) == [1, 3]
    assert pools["weekend"].repetition.n == 0


def test_a_file_without_workpools_is_read(tmp_path):
    path = tmp_path / "site.json"
    site_distributions(two_users()).save(path)
    changed(path, lambda c: c["logs"][0].pop("workpools"))
    old = read_site_distributions(path)
    assert old.workpools == {}
    assert old.n_jobs == 6


def test_workpools_need_those_of_all_logs(tmp_path):
    path = tmp_path / "site.json"
    site_distributions(two_users()).save(path)
    changed(path, lambda c: c["logs"][0].pop("workpools"))
    newer = Trace.from_columns({"submit": [0], "run": [3], "procs": [1], "user": [1]}, name="b")
    both = combine([read_site_distributions(path), site_distributions(newer)])
    assert (both.n_jobs, both.workpools) == (7, {})
    assert both.by_log["b"].workpools


def test_workpools_are_combined_and_kept(tmp_path):
    nowhere = Trace.from_columns({"submit": [0], "run": [3], "procs": [1], "user": [1]}, name="b")
    both = site_distributions([two_users(), nowhere])
    assert [*both.workpools] == ["night", "weekend", "unknown"]
    both.save(tmp_path / "site.json")
    again = read_site_distributions(tmp_path / "site.json").workpools
    for name, pool in both.workpools.items():
        assert again[name].size.tolist() == pool.size.tolist()
        assert again[name].run.tolist() == pool.run.tolist()
        assert again[name].counts.tolist() == pool.counts.tolist()
        assert listed(again[name].repetition) == listed(pool.repetition)


@pytest.mark.parametrize(
    ("run", "user", "reason"),
    [
        ([5, -1], [-1, -1], "No user is known"),
        ([5, -1], [-1, 3], "No user is known"),
        ([-1, -1], [-1, 3], "No job of this log ran"),
    ],
)
def test_why_a_site_has_no_section(run, user, reason):
    log = {"submit": [0, 1], "run": run, "procs": [1, 1], "user": user}
    assert of_site.section(Trace.from_columns(log)).notes == (
        f"{reason}, so users cannot be modelled.",
    )


def test_jobs_of_no_known_user_are_counted_if_they_ran():
    log = {"submit": range(4), "run": [5, 5, -1, 5], "procs": [1] * 4, "user": [1, -1, -1, 1]}
    section = of_site.section(Trace.from_columns(log))
    assert "Left out: 1 job of unknown users." in section.notes


def test_the_finding_of_the_section_by_hand():
    # A batch of five, and three of one job: 100 s, 110 s and 200 s after the end of the one before.
    columns = {"submit": [0, 1, 2, 3, 4, 204, 414, 714], "wait": [0] * 8, "run": [100] * 8}
    section = of_site.section(Trace.from_columns(columns | {"procs": [1] * 8, "user": [4] * 8}))
    assert section.finding == (
        "By Last, a batch has 2 jobs on average. The median think time within sessions is "
        "1 min 50 s."
    )
    assert (section.values["n_users"], section.values["n_jobs"]) == (1, 8)
    assert section.values["batch_width"]["p50"] == 1
    assert section.parameters == {"site_session_threshold": 1200, "site_longest_break": 28_800}
