"""How users repeat themselves, in nine logs.

For how many users the jobs of one session are more alike than those of successive sessions, and
those more than jobs two sessions apart (Tables II to IV); how deep values are found on a stack
(Table VI); whether sessions are more alike than the same jobs shuffled (Figure 2, there for one
log: here the mean of the users' averages, with the range of 95 % of the shuffles); and whether
"in most cases about 70-85 %" of the users are more alike at the shorter distance, taken for at
least four of a log's six cases between 67.5 and 87.5 %.

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

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.studies import ZAKAY_LOGS, Each, Log, Result, Study, Verdict, read_table

if TYPE_CHECKING:
    import pandas as pd

    from analysis.locality.job_pairs import UserJobs

#: Which way of summing up each table shows.
MEASURES = {"procs": "average", "requested_time": "identical", "run": "median"}

#: The columns of the tables, and what they are here.
COLUMNS = {
    "d0_larger": (0, "nearer_larger"),
    "d01_equal": (0, "equal"),
    "d1_larger": (0, "farther_larger"),
    "d1_larger_than_2": (1, "nearer_larger"),
    "d12_equal": (1, "equal"),
    "d2_larger": (1, "farther_larger"),
}

#: "About 70-85 %", to the nearest twentieth.
ABOUT = (0.675, 0.875)


class Found(NamedTuple):
    """What a log says: number of users, their shares, depths, and the test by shuffling."""

    n_users: int
    users: "pd.DataFrame"
    rounded: dict[tuple[int, str], float]
    depths: dict[str, float]
    test: "pd.DataFrame"


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the published shares and depths beside those of the logs that are here."""
    file = Path(__file__)
    shares = read_table(file.with_suffix(".csv"))
    depths = read_table(file.with_name("zakay_locality_depth.csv"))
    found = dict(zip(logs, each(look, [(log, runs) for log in logs]), strict=True))
    for attribute in MEASURES:
        for row in shares:
            for log, ours in found.items():
                if (row["log"], row["attribute"]) == (log.name, attribute):
                    yield from _shares(log, row, ours)
    for row in depths:
        for log, ours in found.items():
            if row["log"] == log.name:
                yield from _depths(log, row, ours)
    for log, ours in found.items():
        yield from _shuffled(log, ours)
    for log, ours in found.items():
        yield from _most_cases(log, [row for row in shares if row["log"] == log.name], ours)


def look(task: tuple[Log, int], rng: Any) -> Found:
    """Measure the locality of a log."""
    from analysis.locality.job_pairs import user_jobs
    from analysis.locality.similarity import nearer_of, shuffled_of
    from analysis.locality.stack import mean_depths

    log, runs = task
    trace = log.read()
    jobs = user_jobs(trace)
    nearer = nearer_of(jobs)
    return Found(
        nearer.n_users,
        nearer.users,
        rounded_shares(jobs),
        mean_depths(trace),
        shuffled_of(jobs, measures=["average"], n_shuffles=runs, rng=rng).test,
    )


def rounded_shares(jobs: "UserJobs") -> dict[tuple[int, str], float]:
    """Return the shares of users by processors, averages being sums of r/n with their rounding."""
    import numpy as np

    from analysis.locality.similarity import DISTANCES

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
    return float(np.cumsum(pairs / pairs.size)[-1])  # in turn: np.sum would add by halves


def _shares(log: Log, row: dict[str, str], ours: Found) -> Iterator[Result]:
    """Set the shares of users of one table beside ours."""
    from analysis.locality.similarity import ATTRIBUTES, DISTANCES

    attribute = row["attribute"]
    if attribute not in ours.users.index:
        return
    for column, (place, part) in COLUMNS.items():
        near, far = DISTANCES[place]
        exact = float(ours.users.at[(attribute, MEASURES[attribute], near, far), part])
        value = ours.rounded[place, part] if attribute == "procs" else exact
        words = {"nearer_larger": f"{near} larger", "equal": "equal"}.get(part, f"{far} larger")
        quantity = f"{ATTRIBUTES[attribute]}, distance {near} against {far}: {words}"
        note = f"exactly {exact:.4f}" if attribute == "procs" else ""
        yield _figure(log, quantity, row[column], value, note, ours.n_users)


def _depths(log: Log, row: dict[str, str], ours: Found) -> Iterator[Result]:
    from analysis.locality.similarity import ATTRIBUTES

    for attribute, depth in ours.depths.items():
        published = row[f"{attribute}_original"]
        if depth == depth:  # a log may know no value, or none again
            yield _figure(log, f"{ATTRIBUTES[attribute]}, mean stack depth", published, depth)


def _figure(
    log: Log, quantity: str, printed: str, value: float, note: str = "", n_users: int = 0
) -> Result:
    """Compare a figure to the digits that are printed."""
    published, digits = float(printed), len(printed.partition(".")[2])
    equal = abs(value - published) <= 0.5 * 10.0**-digits + 1e-9
    notes = [note] if note else []
    if not equal:
        if n_users:
            apart = round(abs(value - published) * n_users)
            notes.append(f"{apart or 'less than one'} of {n_users} users")
        if log.version != log.published:
            notes.append("another version of the log")
        else:
            notes.append("cause unknown")
    verdict: Verdict = "equal" if equal else "differs"
    return Result(log.name, log.version, quantity, published, value, verdict, note="; ".join(notes))


def _shuffled(log: Log, ours: Found) -> Iterator[Result]:
    from analysis.locality.similarity import ATTRIBUTES

    for name in ours.test.index.unique("attribute"):
        row = ours.test.loc[(name, "average", "mean")]
        value, low, high = (float(row["observed"] - row[x]) for x in ("shuffled", "high", "low"))
        verdict: Verdict = "held" if low > 0 else "direction only" if value > 0 else "not held"
        quantity = f"{ATTRIBUTES[name]}, similarity in sessions less that of shuffled jobs >"
        note = f"{row['observed']:.3f} in the log, {row['shuffled']:.3f} shuffled, p {row['p']:.2g}"
        yield Result(log.name, log.version, quantity, 0, value, verdict, low, high, note)


def _most_cases(log: Log, rows: list[dict[str, str]], ours: Found) -> Iterator[Result]:
    """Count the cases in which about 70 to 85 % of the users are more alike at the shorter."""
    larger = [column for column, (_, part) in COLUMNS.items() if part == "nearer_larger"]
    published = [float(row[column]) for row in rows for column in larger]
    cases = [
        float(share)
        for (name, measure, *_), share in ours.users["nearer_larger"].items()
        if measure == MEASURES[name] and name != "procs"
    ]
    cases += [share for (_, part), share in ours.rounded.items() if part == "nearer_larger"]
    low, high = ABOUT
    n, n_published = (sum(low <= x <= high for x in them) for them in (cases, published))
    verdict: Verdict = (
        "held" if n >= 4 else "direction only" if all(x > 0.5 for x in cases) else "not held"
    )
    note = f"{min(cases):.3f} to {max(cases):.3f}"
    quantity = f"cases of {len(cases)} with about 70-85 % of the users"
    yield Result(log.name, log.version, quantity, n_published, n, verdict, note=note)


STUDY = Study(
    name="zakay-locality",
    text=__doc__,
    source='N. Zakay, "Resampling with feedback: a new paradigm of using workload data for '
    'performance evaluation", thesis, 2018, chapter on resampling, Tables II to IV and VI, '
    "Figure 2",
    logs={name: ZAKAY_LOGS[name] for name in ZAKAY_LOGS if name not in ("SDSC-Par", "PIK-IPLEX")},
    compare=compare,
    runs=1000,
)
