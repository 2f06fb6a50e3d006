"""Classes of jobs in the distributions of a site: their definition, files, and what is drawn."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy.optimize import curve_fit

import workloadkit as wk
from tests.analysis.test_oracles_site import knows_a_job, sites
from tests.examples import examples
from tests.oracles import site as oracle
from tests.oracles.site_users import part_of_the_week
from tests.small_logs import trace_of
from workloadkit import FormatError, Header, ParameterError, Trace, WorkloadError
from workloadkit.site import built_in, read_site_distributions, site_distributions
from workloadkit.site.classes import OF_CLASS, classes_by, merged, names_by
from workloadkit.site.distributions import combine
from workloadkit.site.empirical import Empirical, Workpool
from workloadkit.site.samples import samples

pytestmark = pytest.mark.slow

#: A Monday, 0:00, so that second 0 of the log is that of a site.
MONDAY = Header(("; UnixStartTime: 345600", "; TimeZoneString: UTC"))


def counts_of(found):
    """What a class has, as it can be compared: values and how often they occur."""
    its = {
        name: dict(zip(of.values.tolist(), of.counts.tolist(), strict=True))
        for name in OF_CLASS
        if (of := getattr(found, name)).n
    }
    jobs = found.jobs
    pairs = zip(jobs.size.tolist(), jobs.run.tolist(), strict=True)
    its["pair"] = dict(zip(pairs, jobs.counts.tolist(), strict=True))
    if jobs.repetition.n:
        values = jobs.repetition.values.tolist()
        its["repetition"] = dict(zip(values, jobs.repetition.counts.tolist(), strict=True))
    its["after"] = dict(zip(("none", "interactive", "batch"), found.after.tolist(), strict=True))
    its["after"] = {name: count for name, count in its["after"].items() if count}
    return its


@examples(40)
@given(sites.filter(knows_a_job))
def test_classes_agree_with_the_definition(jobs):
    for header, part_of in ((None, lambda _: "unknown"), (MONDAY, part_of_the_week)):
        trace = trace_of(jobs)
        trace = trace if header is None else replace(trace, header=header)
        found = site_distributions(trace, interactive="run", short=600)
        expected = oracle.classes(jobs, lambda job: job["run"] <= 600, part_of)
        theirs = {
            name: {what: dict(Counter(values)) for what, values in its.items()}
            for name, its in expected.items()
        }
        assert {name: counts_of(its) for name, its in found.classes.items()} == theirs


def some_jobs(**more):
    columns = {
        "submit": [0, 2, 2000, 9000], "run": [5, 400, 30, 299], "procs": [1, 1, 64, 2],
        "wait": [0, 0, 0, 0], "user": [1, 1, 1, 2], "requested_time": [600, 600, 60, -1],
    }  # fmt: skip
    return Trace.from_columns(columns | more)


@pytest.mark.parametrize(
    ("queue", "how", "interactive", "words"),
    [
        ([-1, -1, -1, -1], {}, 2, "run up to 300 s"),
        ([0, 1, 2, 1], {}, 0, "queue 0"),  # the job of queue 0 shares its batch with another one
        ([1, 1, 0, 0], {"interactive": "auto"}, 2, "queue 0"),
        ([1, 1, 0, 1], {"interactive": "run"}, 2, "run up to 300 s"),
        ([1, 1, 0, 0], {"interactive": "run", "short": 400}, 3, "run up to 400 s"),
        ([1, 1, 0, 0], {"narrow": 8, "interactive": "run"}, 1, "run up to 300 s on up to 8 proc"),
        ([-1] * 4, {"interactive": "requested_time"}, 1, "requested_time up to 300 s"),
    ],
)
def test_interactive_jobs_are_recognised(queue, how, interactive, words):
    """User 1 has a batch of two and one of a job, user 2 one of a job."""
    site = site_distributions(some_jobs(queue=queue), **how)
    widths = {name: its.batch_width.n for name, its in classes_by(site.classes, "kinds").items()}
    assert widths.get("interactive", 0) == interactive
    assert sum(widths.values()) == 3
    assert site.interactive.startswith(words)


def test_the_queue_of_interactive_jobs_must_be_there_where_it_is_to_tell():
    with pytest.raises(WorkloadError, match="queue 0 of interactive jobs is empty"):
        site_distributions(some_jobs(), interactive="queue")
    with pytest.raises(ParameterError, match="interactive is 'width'; known: auto, queue, run"):
        site_distributions(some_jobs(), interactive="width")
    with pytest.raises(ParameterError, match="short is -1 s"):
        site_distributions(some_jobs(), short=-1)
    with pytest.raises(ParameterError, match="narrow is 0"):
        site_distributions(some_jobs(), narrow=0)


def test_all_classes_together_are_the_whole():
    site = built_in()
    for by in ("hours", "kinds", "both"):
        every = merged(classes_by(site.classes, by).values())
        for name in ("batch_width", "gap", "think_time", "break_time"):
            ours, whole = getattr(every, name), getattr(site, name)
            np.testing.assert_array_equal(ours.values, whole.values)
            np.testing.assert_array_equal(ours.counts, whole.counts)
        run = Empirical.of(every.jobs.run, every.jobs.counts)
        np.testing.assert_array_equal(run.counts, site.run.counts)
        assert every.jobs.repetition.counts.tolist() == site.repetition.counts.tolist()


def test_the_curve_of_a_class_is_the_one_that_fits_its_bins():
    rng = np.random.default_rng(3)
    response = rng.exponential(3000, 4000).round()
    stays = rng.random(4000) < 0.7 / (0.03 * response / 60 + 1)
    some = built_in().classes["day batch"]
    its = replace(
        some, continued=Empirical.of(response[stays]), aborted=Empirical.of(response[~stays])
    )
    which = np.searchsorted([300, 900, 2700, 8100], response)
    points = [(np.median(response[which == i]) / 60, stays[which == i].mean()) for i in range(5)]
    (a, b), _ = curve_fit(lambda r, a, b: a / (b * r + 1), *zip(*points, strict=True), (0.5, 0.1))
    assert its.curve == pytest.approx((a, b), rel=0.01)
    one_bin = replace(some, continued=Empirical.of([5]), aborted=Empirical.of([]))
    assert np.isnan(one_bin.curve).all()


def test_a_file_keeps_classes(tmp_path):
    other = site_distributions(some_jobs())
    site = combine([built_in(), other])
    site.save(tmp_path / "site.json")
    again = read_site_distributions(tmp_path / "site.json")
    assert again.interactive == "queue 0 or run up to 300 s"
    assert again.by_log["sample.swf.gz"].interactive == "queue 0"
    assert list(again.classes) == list(site.classes)
    for name, its in site.classes.items():
        assert counts_of(again.classes[name]) == counts_of(its)
        assert again.classes[name].curve == pytest.approx(its.curve, nan_ok=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: log.pop("interactive"), r"logs\[0\]\.interactive: is missing"),
        (lambda log: log.update(classes=3), r"logs\[0\]\.classes: has the wrong type"),
        (lambda log: log["classes"]["unknown batch"].pop("jobs"), r"unknown batch\.jobs: is miss"),
        (
            lambda log: log["classes"]["unknown batch"]["after"].pop(),
            r"after: has 2 numbers, not 3",
        ),
        (
            lambda log: log["classes"]["unknown batch"]["aborted"].update(values=[-1], counts=[1]),
            "not a valid number: '-1'",
        ),
    ],
)
def test_a_bad_class_is_refused_with_its_field(tmp_path, change, message):
    path = tmp_path / "site.json"
    site_distributions(some_jobs()).save(path)
    content = json.loads(path.read_text())
    change(content["logs"][0])
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=message):
        read_site_distributions(path)


def test_files_of_older_versions_have_no_classes(tmp_path):
    path = tmp_path / "site.json"
    built_in().save(path)
    content = json.loads(path.read_text())
    del content["logs"][0]["classes"]
    path.write_text(json.dumps(content))
    old = read_site_distributions(path)
    assert old.classes == {}
    for asked in ({"classes": "kinds"}, {"going_on": "fitted"}):
        with pytest.raises(ParameterError, match="were saved without classes"):
            samples(old, 64, **asked)
    assert not combine([old, site_distributions(some_jobs())]).classes


def alike(names, **shares):
    """A site whose classes all draw from the same."""
    one = merged(built_in().classes.values())
    whole = replace(
        built_in(), **{name: getattr(one, name) for name in ("gap", "think_time", "break_time")}
    )
    return replace(whole, classes={name: replace(one, **shares) for name in names})


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_hours_that_are_alike_change_nothing(engine):
    site = alike(["day batch", "night batch", "weekend batch"])
    done = [
        wk.simulate(
            None,
            "easy",
            wk.users.DynamicSite(8, 1, distributions=site, classes=classes),
            rng=5,
            engine=engine,
        )
        for classes in ("one", "hours")
    ]
    pd.testing.assert_frame_equal(done[0].jobs, done[1].jobs)
    assert done[0].history == done[1].history


def test_kinds_come_as_often_after_each_other_as_in_the_log():
    """Interactive jobs are small, the others large, so that the kind is seen."""

    def of(size, after):
        one = merged(built_in().classes.values())
        return replace(
            one,
            batch_width=Empirical.of([1]),
            jobs=Workpool.of([size], [60], repetition=[1]),
            after=np.array(after),
        )

    site = replace(
        built_in(), classes={"day interactive": of(1, [3, 30, 5]), "day batch": of(2, [1, 10, 45])}
    )
    users = wk.users.StaticSite(20, 1, distributions=site, classes="kinds")
    schedule = wk.simulate(None, "easy", users, rng=2)
    jobs = schedule.jobs.assign(user=schedule.trace().column("user"))
    before = jobs.groupby("user")["procs"].shift()
    for size, share in ((1, 0.75), (2, 0.1)):
        small = jobs["procs"][before == size] == 1
        assert small.mean() == pytest.approx(
            share, abs=4 * np.sqrt(share * (1 - share) / len(small))
        )


def test_what_is_missing_in_a_class_is_that_of_all():
    site = built_in()
    bare = replace(
        site.classes["day interactive"], gap=Empirical.of([]), think_time=Empirical.of([])
    )
    only = {name: its for name, its in site.classes.items() if name != "night interactive"}
    drawn = samples(replace(site, classes=only | {"day interactive": bare}), 64, classes="both")
    every = merged((only | {"day interactive": bare}).values())
    places = drawn.first_think[:2]
    assert drawn.think[slice(*places)].size == every.think_time.n
    night = names_by("both").index("night interactive") // 2
    assert drawn.interactive[night].tolist() == [0, 0, 0]
    assert ((0 < drawn.interactive[[0, 2]]) & (drawn.interactive[[0, 2]] < 1)).all()
    with pytest.raises(
        ParameterError, match="part of the week 'weekend', which classes='hours' requires"
    ):
        samples(
            replace(site, classes={n: x for n, x in only.items() if "weekend" not in n}),
            64,
            classes="hours",
        )


def test_classes_have_pools_of_their_own():
    with pytest.raises(
        ParameterError, match="classes='both' defines its own pools; leave out pools='three'"
    ):
        wk.users.DynamicSite(classes="both", pools="three")
    with pytest.raises(ParameterError, match="classes is 'two'; known: one, hours, kinds, both"):
        wk.users.StaticSite(classes="two")
    with pytest.raises(ParameterError, match="going_on is 'drawn'; known: published, fitted"):
        wk.users.DynamicSite(going_on="drawn")
