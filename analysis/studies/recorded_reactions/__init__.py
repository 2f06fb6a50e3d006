"""Do recorded users react? Outages as experiments.

Both theses rest on the claim that users react to the service that they get, and submit less when
the system is loaded. An outage loads a system independently of its users. So this study predicts
what users of four logs did after inferred outages. The predictions use the weeks before and users
of each behaviour, and are scored against the recorded activity.

Outages are those inferred at a confidence of at least 0.9 that last an hour or longer, with no
other outage a day before or after. Only one kind of evidence counts: jobs waited while none ran. An
outage inferred from missing submissions would bias the test. Submissions during an outage are drawn
in the figures but not scored, because the hosts that accept them may have been down too. An outage
ends with the first start of a waiting job. The 24 h after that are scored, in bins of 3 h:
submissions, sessions that begin, and the jobs that wait at the end of a bin.

Templates are the up to four nearest of the eight weeks before in which the machine was up at the
same hours; at least two are required. The jobs of a template, from three days before the outage on,
represent the submissions without the outage. They are simulated under EASY with and without the
outage, by open, adjusted, distribution based and fluid users, and by users who continue a session
with probability p(r) (`forecasting.ByResponse`), fitted on the log without the days around outages.
All other inputs of the users are in the templates, and those of an outage end before it. The
forecast is the recorded mean of the templates, changed by the effect of the outage in the
simulation. All behaviours have the same base and differ only in their reaction. The change is the
mean over all windows of a log, earlier and later, because four templates are few; with the axis
`change` it is that of each outage. Jobs of unknown users are left out.

The score of a count is the logarithm of its probability under a negative binomial distribution with
the forecast as mean; its size parameter is fitted on the controls. With a given size, the true mean
has the best expected score, whatever the true distribution. A gain is the score summed over the day
minus that of open users, as a mean over outages, with intervals by Student's t (95 %).

The control of an outage is the same hours of the nearest week after it in which the machine was up,
predicted in the same way, as if the machine had been down. No reaction is possible there. A gain in
controls has other causes, such as a falling level of activity, so the test of submissions and
sessions is the gain after outages minus that in controls. For waiting jobs there is no fair
control, because all forecasts include the queue that the outage leaves; their gain also depends on
the hosts that were down and on the site's scheduler, which was not EASY.

The power of the test is its share of findings, intervals above 0, on synthetic logs of known users.
Their users are drawn from each log and moved by whole weeks, so that no recorded reaction is left.
Then they are simulated through the same outages as open, fluid or p(r) users, ten logs of each
kind, predicted with one run per template. Weeks of such logs are more alike than recorded ones, so
the power may be overstated. The gain in them is also compared with the recorded one.

An outage is classified as scheduled if the machine was drained (of five or more jobs that started
in the last 6 h, 90 % were to end by its start) or if another outage within eight weeks has the same
hour of the week. It is a surprise if half of the machine was still in use ten minutes before. The
others are unclear: the load fell slowly while few jobs started, before maintenance or because the
scheduler had stopped. Scheduled outages are simulated as announced a day ahead.

The results, over 116 outages: no model of reacting users predicts submissions after outages better
than open users do, and the loss is as large in controls. On synthetic logs the test finds fluid
users in nine of ten cases, and p(r) users in nine for submissions and ten for sessions; for open
users it has one finding in forty. So a reaction in submissions like that of fluid users, or in
either quantity like that of p(r) users, would most likely show, and the recorded gains are below
those of such users. For sessions the result is open: the gain of fluid users is as near to that of
such users as to none, and in the 24 h after outages sessions are a tenth fewer than the controls
suggest. Users who react predict the queue after unclear outages better, but there is no control for
it. A reaction may be hidden: in HPC2N hardly anything is submitted during outages, and on average
half more than usual in the 3 h after. Users seem to submit later what the hosts did not accept,
which no behaviour predicts.

Two kinds of outages cannot be compared: four are surprises, 75 scheduled and 37 unclear. Pooling,
smoothing and bounds were chosen with the recorded results known, not before.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Axis,
    Claim,
    Drawing,
    Each,
    Log,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    at_most,
    below,
)
from workloadkit.analysis.reproduction.runs import ZAKAY_LOGS, without

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workloadkit.analysis.studies.recorded_reactions.measuring import OutageAndControl

    Gains = NDArray[np.float64]
    Synthetic = dict[tuple[str, str], dict[Log, list[Gains]]]

#: Names of the reacting users in claims.
REACTING = ("adjusted", "distribution", "fluid", "p(r)")

#: Sections of both theses on the assumption that users react.
THESIS = "E. Shmueli, section 1.2.1; N. Zakay, chapter on feedback, section I"

#: Smallest power of the test, and largest share of false findings.
POWER, SIZE = 0.8, 0.05

#: Quantities with a fair control. The queue is not one: an outage leaves a queue without any
#: reaction, and all users predict it, open ones most of all.
CONTROLLED = ("submissions", "sessions")

#: Kinds of outages, in the order of claims; see `windows.kinds_of`.
KINDS = ("scheduled", "surprise", "unclear")

INTERRUPTED = Axis(
    "interrupted",
    "no log reports what happened to the jobs that an outage stopped",
    {"requeue": "they wait again and start over", "lose": "they fail"},
)
CHANGE = Axis(
    "change",
    "the change of users by an outage is known from few templates only",
    {
        "pooled": "the mean change over all outages and controls of the log",
        "own": "the mean change over the templates of the outage",
    },
)


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Forecast the activity after outages, in recorded and synthetic logs."""
    import numpy as np

    from workloadkit.analysis.studies.recorded_reactions import measuring
    from workloadkit.analysis.studies.recorded_reactions.measuring import draw_log, gains

    interrupted, pooled = plan.reading["interrupted"], plan.reading["change"] == "pooled"
    parts = [part for log in plan.logs for part in measuring.parts_of(log, interrupted)]
    found: dict[Log, list[OutageAndControl]] = {}
    for part, played in zip(parts, each(measuring.play_part, parts), strict=True):
        found.setdefault(part.log, []).extend(played)
    known = [
        measuring.SyntheticTask(log, truth, interrupted, pooled)
        for log in found
        for truth in ("open", *measuring.TESTED)
        for _ in range(plan.runs)
    ]
    synthetic: Synthetic = {}
    for task, its in zip(known, each(measuring.gains_if_known, known), strict=True):
        for users, gain in its.items():
            synthetic.setdefault((task.users, users), {}).setdefault(task.log, []).append(gain)
    of_logs = {
        log: {users: gains(its, users, pooled=pooled) for users in REACTING}
        for log, its in found.items()
    }
    for log in (*plan.logs, *plan.missing):
        note = _numbers(found[log]) if log in found else _nothing(log)
        yield from _volumes(log, found.get(log, []), note)
        yield from _gains(log, of_logs.get(log), note)
    if not found:
        return
    everything = [item for its in found.values() for item in its]
    together = {users: np.concatenate([g[users] for g in of_logs.values()]) for users in REACTING}
    note = "; ".join(part for part in (_numbers(everything), without(plan)) if part)
    yield from _volumes(ALL_LOGS, everything, note)
    yield from _gains(ALL_LOGS, together, note)
    yield from _kinds(everything, together)
    for log in found:
        of_log = {case: runs[log] for case, runs in synthetic.items()}
        yield from _power(log, of_log, of_logs[log])
    joined = {
        case: [np.concatenate(gains) for gains in zip(*runs.values(), strict=True)]
        for case, runs in synthetic.items()
    }
    yield from _power(ALL_LOGS, joined, together)
    for log, its in found.items():
        yield draw_log(log, its, pooled=pooled)


def _volumes(log: Log, found: "list[OutageAndControl]", note: str) -> Iterator[Result]:
    """Compare the time after outages with the weeks before: users of a loaded system do less."""
    from workloadkit.analysis.studies.recorded_reactions.forecasting import QUANTITIES, SCORED

    for hours, n_bins in ((6, 2), (24, None)):
        counted = slice(SCORED.start, None if n_bins is None else SCORED.start + n_bins)
        for q, quantity in enumerate(QUANTITIES[:2]):
            words = f"{quantity} in the {hours} h after outages, over the weeks before"
            main = hours == 6 and log is ALL_LOGS
            claim = below(words, 1.0, "E. Shmueli, section 1.2.1", "direction", main=main)
            shares = _shares(found, q, counted)
            yield _mean(log, claim, shares[:, 0], note)
            claim = below(f"{words}; less controls", 0.0, "E. Shmueli, section 1.2.1", "direction")
            yield _mean(log, claim, shares[:, 0] - shares[:, 1], note)


def _shares(found: "list[OutageAndControl]", q: int, counted: slice) -> "Gains":
    """Return the activity over the templates' mean, for outages and for controls."""
    import numpy as np

    shares = np.full((len(found), 2), np.nan)
    base = np.full((len(found), 2), np.nan)
    for place, item in enumerate(found):
        for which, case in enumerate((item.outage, item.placebo)):
            if case is not None:
                shares[place, which] = case.observed[q, counted].sum()
                base[place, which] = case.base[q, counted].sum()
    for which in range(2):
        known = ~np.isnan(base[:, which])
        shares[:, which] /= base[known, which].mean() if known.any() else np.nan
    return shares


def _gains(log: Log, gains: "Mapping[str, Gains] | None", note: str) -> Iterator[Result]:
    """Test whether users who react predict better than open ones, and better than in controls."""
    import numpy as np

    from workloadkit.analysis.studies.recorded_reactions.forecasting import QUANTITIES

    for q, quantity in enumerate(QUANTITIES):
        for users in REACTING:
            gain = np.empty((0, 2, len(QUANTITIES))) if gains is None else gains[users]
            main = users == "fluid" and log is ALL_LOGS
            words = f"{quantity}, {users} users: log score less open users' (nats a day)"
            claim = above(f"{words}, after outages", 0.0, THESIS, "direction", main=main)
            yield _mean(log, claim, gain[:, 0, q], note)
            if quantity in CONTROLLED:
                claim = at_most(f"{words}, in controls", 0.0, "the control", "ours")
                yield _mean(log, claim, gain[:, 1, q], note)
                claim = above(f"{words}, after outages less in controls", 0.0, THESIS,
                              "direction", main=main)  # fmt: skip
                yield _mean(log, claim, _tested(gain, q), note)


def _kinds(found: "list[OutageAndControl]", gains: "Mapping[str, Gains]") -> Iterator[Result]:
    """Report the gains by kind of outage: scheduled, surprise, or unclear."""
    import numpy as np

    from workloadkit.analysis.studies.recorded_reactions.forecasting import QUANTITIES
    from workloadkit.analysis.studies.recorded_reactions.measuring import TESTED

    kinds = np.array([item.kind for item in found])
    for kind in KINDS:
        note = _numbers([item for item in found if item.kind == kind])
        for q, quantity in enumerate(QUANTITIES):
            less = " less controls" if quantity in CONTROLLED else ""
            for users in TESTED:
                words = f"{quantity}, {users} users: log score less open users' (nats a day), "
                claim = above(f"{words}{kind} outages{less}", 0.0, THESIS, "direction")
                yield _mean(ALL_LOGS, claim, _tested(gains[users][kinds == kind], q), note)


def _power(
    log: Log, runs: "Mapping[tuple[str, str], list[Gains]]", recorded: "Mapping[str, Gains]"
) -> Iterator[Result]:
    """Say how often the test finds users where they are so, and where users are open.

    And whether recorded users gain as much as those who are so.
    """
    from workloadkit.analysis.studies.recorded_reactions.forecasting import QUANTITIES
    from workloadkit.experiments.intervals import share_interval

    for q, quantity in enumerate(QUANTITIES):
        for (truth, users), gains in runs.items():
            words = f"{quantity}: share of logs of {truth} users in which {users} ones are found"
            main = log is ALL_LOGS and users == "fluid"
            if truth == "open":
                claim = at_most(words, SIZE, "the size of the test", "ours", main=main)
            else:
                claim = at_least(words, POWER, "the power of the test", "ours", main=main)
            tests = [_mean(log, claim, _tested(gain, q)) for gain in gains]
            n_found = sum(test.low is not None and test.low > 0 for test in tests)
            note = f"{n_found} of {len(gains)} synthetic logs"
            yield Result(log, claim, *share_interval(n_found, len(gains)), note)
            if truth != "open":
                ours = _mean(log, claim, _tested(recorded[users], q))
                yield _as_such(log, f"{quantity}, {users} users", ours, tests)


def _as_such(log: Log, words: str, recorded: Result, tests: list[Result]) -> Result:
    """Compare the gain in a recorded log with those in synthetic logs of known users."""
    import numpy as np

    such = _mean(log, recorded.claim, np.array([test.ours for test in tests]))
    claim = at_least(
        f"{words}: gain in the log less that in logs of such users (nats a day)",
        0.0,
        "the power of the test",
        "ours",
    )
    # the half-widths of the intervals of independent means add in quadrature
    half = np.hypot(recorded.ours - (recorded.low or 0.0), such.ours - (such.low or 0.0))
    apart = recorded.ours - such.ours
    note = f"{recorded.ours:.3g} in the log, {such.ours:.3g} in logs of such users"
    return Result(log, claim, apart, float(apart - half), float(apart + half), note)


def _tested(gain: "Gains", q: int) -> "Gains":
    """Return what is tested: the gain after outages, less that in controls where these are fair."""
    from workloadkit.analysis.studies.recorded_reactions.forecasting import QUANTITIES

    return gain[:, 0, q] - gain[:, 1, q] if QUANTITIES[q] in CONTROLLED else gain[:, 0, q]


def _mean(log: Log, claim: Claim, values: "Gains", note: str = "") -> Result:
    """Return the mean over outages, with its interval by Student's t."""
    import numpy as np

    from workloadkit.experiments.intervals import mean_interval

    return Result(log, claim, *mean_interval(values[~np.isnan(values)]), note)


def _numbers(found: "list[OutageAndControl]") -> str:
    n_controls = sum(item.placebo is not None for item in found)
    return f"{len(found)} outages, {n_controls} with a control"


def _nothing(log: Log) -> str:
    return "" if log.path is None else "no outage that the weeks before and after stand in for"


STUDY = Study(
    name="recorded-reactions",
    text=__doc__,
    source=(
        'E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
        'schedulers", PhD thesis, The Hebrew University of Jerusalem, 2008; N. Zakay, "Improved '
        "realism and representativeness of workloads to improve reliability of performance "
        'evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018'
    ),
    logs={name: ZAKAY_LOGS[name] for name in ("HPC2N", "SDSC-BLUE", "SDSC-DS", "CTC-SP2")},
    compare=compare,
    runs=10,
    axes=(CHANGE, INTERRUPTED),
)
