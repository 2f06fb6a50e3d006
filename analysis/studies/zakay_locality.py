"""How users repeat themselves, in nine logs.

For how many users the jobs of one session are more alike than those of successive sessions, and
those more than jobs two sessions apart (Tables II to IV); how deep values are found on a stack
(Table VI); whether sessions are more alike than the same jobs shuffled (Figure 2, there for one
log: here the mean of the users' averages, with the range of 95 % of the shuffles).

"Similarity drops when the distance grows" is taken for more users on that side than on the other,
in each of a log's six cases (three attributes, two pairs of distances). That "in most cases about
70-85 %" of the users are on it is taken for more than half of the six cases between 67.5 and
87.5 %.

Figure 1 is the mean over users of the average and of the median similarity, by the distance of the
sessions, 0 to 10. It falls monotonically in a case (a log, an attribute, one of the two) if no
distance has a larger one than the distance before. Without locality, that is in random order,
values are found "about half" way down the stack if the mean depth is 0.4 to 0.6 of the values on
it; with locality the depth is "small" if it is less than half of that half. Random order does not
come near the half: some values are far more frequent than others, and these stay near the top.

Nothing is random in shares and depths. So those of a log that is here in the version of the source
agree if they have the printed digits. Of another version, which has been cleaned again, shares
agree within 0.02 and depths within 10 %.

The text names three ways to sum up the ratios of a user's pairs, but not which table shows which.
Requested times (Table III) are the shares of identical pairs, run times (Table IV) the upper
medians. Processors (Table II) are averages, taken as the sum of r/n over the n pairs in turn:
where all jobs of a user are alike, n times 1/n is then not always 1, and users whose similarities
are equal count as larger or smaller. Ours is that sum, to compare; the note gives the exact share.

So Table II comes out to the printed digits for KTH-SP2, Table III for KTH-SP2, CTC-SP2 and HPC2N,
Table IV for CTC-SP2 and HPC2N, Table VI for KTH-SP2 and CTC-SP2. KTH-SP2 is the only log here in
the very version of the source; of its 133 users, one is on another side in Table IV, and it is not
known why: neither another median nor other similarities of two run times of 0 do better.

Users are those with at least 6 sessions by arrival and one session of at least two jobs, jobs
those that ran. Where requested times are unknown the pairs are left out. Of Table VI these are the
original logs; the resampled ones are in the study `zakay-resampling`.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Claim,
    Each,
    Log,
    Result,
    Study,
    StudyInput,
    above,
    below,
    between,
    printed,
    read_table,
)
from workloadkit.analysis.reproduction.runs import ZAKAY_LOGS, without

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.analysis.locality.job_pairs import UserJobs

#: The tables, and the statistic of a user's ratios that each shows.
MEASURES = {"procs": "average", "requested_time": "identical", "run": "median"}
TABLES = {"procs": "Table II", "requested_time": "Table III", "run": "Table IV"}

#: The columns of the tables, and the fields of a job.
COLUMNS = {
    "d0_larger": (0, "nearer_larger"),
    "d01_equal": (0, "equal"),
    "d1_larger": (0, "farther_larger"),
    "d1_larger_than_2": (1, "nearer_larger"),
    "d12_equal": (1, "equal"),
    "d2_larger": (1, "farther_larger"),
}

#: "About 70-85 %", to the nearest twentieth, and in how many cases: more than half are most.
ABOUT, MOST = (0.675, 0.875), 0.5

#: Margin of a share in another version of the log.
SHARES = 0.02

#: The largest distance of Figure 1, and the statistics that it shows.
FARTHEST, SHOWN = 10, ("average", "median")

#: "About half" of the stack, a "small" part of it, and the number of random orders.
HALF, SMALL, ORDERS = (0.4, 0.6), 0.25, 20


class _Found(NamedTuple):
    """Measures of a log: number of users, their shares, depths, and the test by shuffling.

    `curves` has the similarity by distance, in a column for each attribute and each kind of mean;
    `stack` has the depths in random order and those of the log.
    """

    n_users: int
    users: "pd.DataFrame"
    rounded: dict[tuple[int, str], float]
    depths: dict[str, float]
    test: "pd.DataFrame"
    curves: "pd.DataFrame"
    stack: "pd.DataFrame"


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the published shares and depths with those of the available logs."""
    file = Path(__file__)
    shares = read_table(file.with_suffix(".csv"))
    depths = {row["log"]: row for row in read_table(file.with_name("zakay_locality_depth.csv"))}
    here = each(look, [(log, plan.runs) for log in plan.logs])
    found = dict(zip(plan.logs, here, strict=True)) | dict.fromkeys(plan.missing)
    for attribute in MEASURES:
        for row in shares:
            for log, ours in found.items():
                if (row["log"], row["attribute"]) == (log.name, attribute):
                    yield from _shares(log, row, ours)
    for log, ours in found.items():
        yield from _depths(log, depths[log.name], ours)
    for log, ours in found.items():
        yield from _shuffled(log, ours)
    for log, ours in found.items():
        yield from _cases(log, [row for row in shares if row["log"] == log.name], ours)
    for log in plan.logs:
        yield from _by_distance(log, here[plan.logs.index(log)])
    if here:
        yield _monotonic(dict(zip(plan.logs, here, strict=True)), without(plan))


def look(task: tuple[Log, int], rng: "np.random.Generator") -> _Found:
    """Measure the locality of a log."""
    from workloadkit.analysis.locality.job_pairs import user_jobs
    from workloadkit.analysis.locality.shuffled import shuffled_of
    from workloadkit.analysis.locality.similarity import nearer_of
    from workloadkit.analysis.locality.stack import mean_depths, stack_depths

    log, runs = task
    trace = log.read()
    jobs = user_jobs(trace)
    nearer = nearer_of(jobs)
    return _Found(
        nearer.n_users,
        nearer.users,
        rounded_shares(jobs),
        mean_depths(trace),
        shuffled_of(jobs, measures=["average"], n_shuffles=runs, rng=rng).test,
        curves_of(jobs),
        stack_depths(trace, n_shuffles=ORDERS, rng=rng).by_attribute,
    )


def curves_of(jobs: "UserJobs") -> "pd.DataFrame":
    """Return the mean similarity over users by distance, for each attribute and statistic."""
    import numpy as np
    import pandas as pd

    from workloadkit.analysis.locality.job_pairs import ratios

    distances, curves = np.arange(FARTHEST + 1), {}
    for attribute in jobs.known:
        found = ratios(jobs, attribute, distances)
        for way in SHOWN:
            curves[attribute, way] = pd.DataFrame(found.measure(way), columns=distances).mean()
    return pd.DataFrame(curves)


def rounded_shares(jobs: "UserJobs") -> dict[tuple[int, str], float]:
    """Return the shares of users by processors, with averages as running sums of r/n."""
    import numpy as np

    from workloadkit.analysis.locality.similarity import DISTANCES

    known = jobs.known["procs"]
    procs = np.full(jobs.session.size, np.nan)
    procs[known.jobs] = known.value
    begins = np.searchsorted(jobs.session, np.arange(jobs.first_session[-1] + 1))
    sessions = np.split(procs, begins[1:-1])  # jobs by user and session
    compared = np.flatnonzero(jobs.compared())
    sums = np.empty((compared.size, 3))
    for i, u in enumerate(compared):
        own = sessions[jobs.first_session[u] : jobs.first_session[u + 1]]
        for distance in range(3):
            sums[i, distance] = _rounded_average(own, distance)
    shares: dict[tuple[int, str], float] = {}
    for place, (near, far) in enumerate(DISTANCES):
        sign = np.sign(sums[:, near] - sums[:, far])
        for name, which in (("nearer_larger", 1), ("equal", 0), ("farther_larger", -1)):
            shares[place, name] = float(np.mean(sign == which)) if compared.size else np.nan
    return shares


def _rounded_average(sessions: list, distance: int) -> float:
    import numpy as np

    ratios = []
    for near, far in zip(sessions, sessions[distance:], strict=False):
        ratio = np.minimum.outer(near, far) / np.maximum.outer(near, far)
        ratios.append(ratio.ravel() if distance else ratio[np.triu_indices(near.size, 1)])
    pairs = np.concatenate(ratios)
    return float(np.cumsum(pairs / pairs.size)[-1])  # running sum: np.sum adds pairwise


def _shares(log: Log, row: Mapping[str, str], ours: _Found | None) -> Iterator[Result]:
    """Compare the shares of users of one table with ours."""
    from workloadkit.analysis.locality.similarity import ATTRIBUTES, DISTANCES

    attribute = row["attribute"]
    for column, (place, part) in COLUMNS.items():
        near, far = DISTANCES[place]
        words = {"nearer_larger": f"{near} larger", "equal": "equal"}.get(part, f"{far} larger")
        quantity = f"{ATTRIBUTES[attribute]}, distance {near} against {far}: {words}"
        claim = _figure(log, quantity, row[column], TABLES[attribute], SHARES)
        if ours is None or attribute not in ours.users.index:  # its values may be unknown
            yield Result(log, claim, nan)
            continue
        exact = float(ours.users.at[(attribute, MEASURES[attribute], near, far), part])
        value = ours.rounded[place, part] if attribute == "procs" else exact
        notes = [f"exactly {exact:.4f}"] if attribute == "procs" else []
        n_apart = round(abs(value - claim.published) * ours.n_users)
        if abs(value - claim.published) > _rounding(row[column]):
            notes.append(f"{n_apart or 'less than one'} of {ours.n_users} users")
        yield Result(log, claim, value, note="; ".join(notes))


def _depths(log: Log, row: Mapping[str, str], ours: _Found | None) -> Iterator[Result]:
    from workloadkit.analysis.locality.similarity import ATTRIBUTES

    for attribute in MEASURES:
        quantity = f"{ATTRIBUTES[attribute]}, mean stack depth"
        claim = _figure(log, quantity, row[f"{attribute}_original"], "Table VI", None)
        yield Result(log, claim, nan if ours is None else ours.depths.get(attribute, nan))


def _figure(log: Log, quantity: str, figure: str, place: str, within: float | None) -> Claim:
    """Return the claim of a printed number: its digits if the log has the source's version."""
    if not log.is_other:
        within = _rounding(figure)
    return printed(quantity, float(figure), place, within=within)


def _rounding(figure: str) -> float:
    """Return the rounding error of a printed number."""
    return 0.5 * 10.0 ** -len(figure.partition(".")[2]) + 1e-9


def _shuffled(log: Log, ours: _Found | None) -> Iterator[Result]:
    """Figure 2: similarity of the jobs within sessions."""
    from workloadkit.analysis.locality.similarity import ATTRIBUTES

    for attribute in MEASURES:
        quantity = f"{ATTRIBUTES[attribute]}, similarity in sessions less that of shuffled jobs"
        claim = above(quantity, 0.0, "Figure 2", "direction")
        if ours is None or attribute not in ours.test.index:
            yield Result(log, claim, nan)
            continue
        row = ours.test.loc[(attribute, "average", "mean")]
        value, low, high = (float(row["observed"] - row[x]) for x in ("shuffled", "high", "low"))
        note = f"{row['observed']:.3f} in the log, {row['shuffled']:.3f} shuffled, p {row['p']:.2g}"
        yield Result(log, claim, value, low, high, note)


def _cases(log: Log, rows: Sequence[Mapping[str, str]], ours: _Found | None) -> Iterator[Result]:
    """Report the shares of users with more similarity at the shorter distance, in six cases."""
    place = "Tables II to IV and section 3"
    words = "users more alike at the shorter distance less those at the longer, the least of the"
    drops = above(f"share of {words} cases", 0.0, place, "direction", main=True)
    words = "share of the cases with about 70-85 % of the users more alike at the shorter distance"
    most = above(words, MOST, place, "ours", main=True)
    if ours is None or not ours.n_users:
        yield from (Result(log, claim, nan) for claim in (drops, most))
        return
    nearer, farther = (_of_cases(ours, part) for part in ("nearer_larger", "farther_larger"))
    least = min(x - y for x, y in zip(nearer, farther, strict=True))
    yield Result(log, drops, least)
    columns = [column for column, (_, part) in COLUMNS.items() if part == "nearer_larger"]
    theirs = [float(row[column]) for row in rows for column in columns]
    n, n_published = (sum(ABOUT[0] <= x <= ABOUT[1] for x in them) for them in (nearer, theirs))
    note = f"{n} of {len(nearer)} here, {n_published} of {len(theirs)} there; "
    note += f"{min(nearer):.3f} to {max(nearer):.3f}"
    yield Result(log, most, n / len(nearer), note=note)


def _by_distance(log: Log, found: _Found) -> Iterator[Result]:
    """Figure 1, and stack depths without locality."""
    from workloadkit.analysis.locality.similarity import ATTRIBUTES

    for attribute in MEASURES:
        if attribute not in found.curves:
            continue
        for way in SHOWN:
            curve = found.curves[attribute, way]
            words = (
                f"{ATTRIBUTES[attribute]}, {way} similarity in a session, less the largest farther"
            )
            claim = above(words, 0, "Figure 1", "direction")
            note = ", ".join(f"{value:.3f}" for value in curve[[0, 1, 2, 5, FARTHEST]])
            note = f"at distances 0, 1, 2, 5 and {FARTHEST}: {note}"
            yield Result(log, claim, float(curve[0] - curve[1:].max()), note=note)
    for attribute, row in found.stack.iterrows():
        words, place = f"{ATTRIBUTES[str(attribute)]}, mean stack depth", "section 5.2"
        stack, depth = float(row["values"]) or nan, float(row["depth"])
        shuffled, low, high = (float(row[x]) for x in ("shuffled", "low", "high"))
        claim = between(f"{words} in random order, relative to the stack: about half", HALF, place)
        note = f"{row['values']:.0f} values on the stack"
        yield Result(log, claim, shuffled / stack, low / stack, high / stack, note)
        claim = below(f"{words}, relative to the stack: small", SMALL, place, "ours")
        yield Result(log, claim, depth / stack, note=note)
        claim = below(f"{words}, relative to that in random order", 1, place, "direction")
        if low > 0:
            yield Result(log, claim, depth / shuffled, depth / high, depth / low)


def _monotonic(found: Mapping[Log, _Found], note: str) -> Result:
    """Report the share of cases in which similarity decreases monotonically."""
    falls = {
        f"{log.name} {attribute} {way}": bool((of.curves[attribute, way].diff()[1:] <= 0).all())
        for log, of in found.items()
        for attribute, way in of.curves
    }
    words = "share of cases in which similarity only falls with the distance: some, not all"
    least = 1 / len(falls) if falls else 0.0
    claim = between(words, (least, 1 - least), "Figure 1", "direction")
    listed = ", ".join(name for name, monotonic in falls.items() if monotonic)
    share = sum(falls.values()) / len(falls) if falls else nan
    return Result(ALL_LOGS, claim, share, note="; ".join(filter(None, (listed, note))))


def _of_cases(ours: _Found, part: str) -> list[float]:
    """Return the share of users in each case, in a fixed order."""
    exact = ours.users[part].items()
    return [
        *(ours.rounded[place, part] for place in (0, 1)),
        *(float(x) for (name, way, *_), x in exact if way == MEASURES[name] and name != "procs"),
    ]


STUDY = Study(
    name="zakay-locality",
    text=__doc__,
    source='N. Zakay, "Resampling with feedback: a new paradigm of using workload data for '
    'performance evaluation", thesis, 2018, chapter on resampling, Tables II to IV and VI, '
    "Figures 1 and 2",
    logs={name: ZAKAY_LOGS[name] for name in ZAKAY_LOGS if name not in ("SDSC-Par", "PIK-IPLEX")},
    compare=compare,
    runs=1000,
)
