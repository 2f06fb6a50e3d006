"""The chapter's claims on closed and mixed users, and on re-open users with a constant p."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from workloadkit.analysis.reproduction import ALL_LOGS, Claim, Result, above, below, between
from workloadkit.analysis.reproduction.study import Kind
from workloadkit.analysis.studies.zakay_queueing import theory as at
from workloadkit.analysis.studies.zakay_queueing.theory import Point, predict

if TYPE_CHECKING:
    import pandas as pd


# What the chapter states, as claims on the mean of simulated runs.

#: Margin of a reached value; factor of a large difference; largest relative growth of a settled
#: number at the server, from the first half of a run to the second.
NEAR, MUCH, SETTLED = 0.05, 2.0, 0.25

Side = Literal["above", "below"]


def reaches(
    place: str,
    words: str,
    value: float,
    ours: "pd.Series",
    note: str = "",
    *,
    within: float | None = None,
    kind: Kind = "ours",
    main: bool = False,
) -> Result:
    """Return the result for a quantity that has a value, with the margin `NEAR` by default."""
    width = NEAR * abs(value) if within is None else within
    agrees = (value - width, value + width)
    claim = between(words, agrees, place, kind, published=value, main=main)
    return of_runs(claim, ours, note)


def lies(
    place: str,
    words: str,
    side: Side,
    bound: float,
    ours: "pd.Series",
    note: str = "",
    *,
    kind: Kind = "direction",
    main: bool = False,
) -> Result:
    """Return the result for a quantity above or below a value."""
    make = above if side == "above" else below
    return of_runs(make(words, bound, place, kind, main=main), ours, note)


def lies_far(
    place: str, words: str, side: Side, ours: "pd.Series", note: str = ""
) -> Iterator[Result]:
    """Return the results for a factor above or below 1, and much above or below."""
    yield lies(place, words, side, 1.0, ours, note)
    bound = MUCH if side == "above" else 1 / MUCH
    yield lies(place, f"{words}: much", side, bound, ours, note, kind="ours")


def of_runs(claim: Claim, ours: "pd.Series", note: str = "") -> Result:
    """Return the result for the mean over the runs, with its 95 % interval."""
    from workloadkit.experiments.intervals import mean_interval

    return Result(ALL_LOGS, claim, *mean_interval(ours), note)


Runs = Mapping[Point, "pd.DataFrame"]

#: Measures that the think time may affect.
_RESULTS = {
    "X": "throughput",
    "U": "utilization",
    "jobs_per_user": "jobs per user",
    "L": "queue length",
    "W": "mean wait",
    "X_per_user": "throughput per user",
}

_SMALL, _MIDDLE, _LARGE = at.GROWING[0], at.GROWING[at.CHANCES.index(0.24)], at.GROWING[-1]


def compare_closed(runs: Runs) -> Iterator[Result]:
    """Figure 3, and the text on mixed and batch users."""
    place = "Figure 3 and section III.B"
    theory = predict(at.CLOSED)
    ours = {name: _columns(runs, at.CLOSED, name) for name in ("Xc", "Rc")}
    rising = at.CLOSED[: at.USERS.index(10) + 1]
    for name, words in (("Rc", "response"), ("Xc", "throughput")):
        rises = (_columns(runs, rising, name).diff(axis=1).iloc[:, 1:] > 0).mean(axis=1)
        rising_by_theory = 100 * (theory[name].diff()[1:] > 0).mean()
        note = f"by theory {rising_by_theory:.0f} % of those up to {at.USERS[-1]}"
        words = f"{words} rises with the number of users: share of steps up to 10"
        yield reaches(place, words, 1.0, rises, note, kind="direction")
    last, before = at.USERS[-1], at.USERS[-3]
    slope = (ours["Rc"][last] - ours["Rc"][before]) / (last - before)
    by_theory = (theory["Rc"].iloc[-1] - theory["Rc"].iloc[-3]) / (last - before)
    words = f"response rises linearly in the end: slope from {before} to {last} users"
    yield reaches(place, words, 1.0, slope, _theory(by_theory), kind="printed")
    words = f"throughput saturates at the capacity: with {last} users"
    note = _theory(theory["Xc"].iloc[-1])
    yield reaches(place, words, 1.0, ours["Xc"][last], note, kind="printed", main=True)
    words = f"full utilization, {last} users: response, by N / µ − Z"
    note = _theory(theory["Rc"].iloc[-1])
    yield reaches("section III.C", words, last - 5.0, ours["Rc"][last], note, kind="printed")
    slope = {(a, b): _slope(ours, a, b) for a, b in ((1, 4), (6, 10))}
    words = (
        "response over throughput, highly non-linear: slope from 6 to 10 users over that from 1 "
        "to 4"
    )
    yield lies(place, words, "above", MUCH, slope[6, 10] / slope[1, 4], kind="ours")
    place = "section III.B"
    mixed = predict(at.FEW_AND_MANY)
    for row, point in enumerate(at.FEW_AND_MANY):
        apart = runs[point]["Ro"] / runs[point]["Rc"]
        note = _theory(mixed["Ro"].iloc[row] / mixed["Rc"].iloc[row])
        words = f"mixed, λ = 0.5, Z = 5: response of open over closed users, {point.N} closed"
        if row:
            yield reaches(place, f"{words}: hardly differs", 1.0, apart, note)
        else:
            yield lies(place, f"{words}: differs", "above", 1.0, apart, note, kind="ours")
    total = runs[at.FEW_AND_MANY[1]]["X"]
    words = "mixed, λ = 0.5, Z = 5: throughput converges to the capacity, 30 closed users"
    note = _theory(mixed["X"].iloc[1])
    yield reaches("section V", words, 1.0, total, note, kind="printed", main=True)
    words = "batch, Z = 0: utilization with 5 closed users"
    yield reaches("section II", words, 1.0, runs[at.BATCH]["U"], kind="printed")


def compare_think_time(runs: Runs) -> Iterator[Result]:
    """Figure 4: the impact of the think time for constant p."""
    for p, sweep in at.THINKING.items():
        short, long = runs[sweep[0]], runs[sweep[-1]]
        theory = predict([sweep[0], sweep[-1]])
        for name, title in _RESULTS.items():
            words = (
                f"p = {p}: {title} without impact, Z = {at.THINK[-1]:g} over Z = {at.THINK[0]:g}"
            )
            ratio = long[name] / short[name]
            note = _theory(theory[name].iloc[1] / theory[name].iloc[0])
            yield reaches("Figure 4 and section IV.A", words, 1.0, ratio, note)


def compare_growing(runs: Runs) -> Iterator[Result]:
    """Figure 5: the impact of p."""
    place, lam = "Figure 5 and section IV.A", 0.5
    share = (_columns(runs, at.GROWING, "X") * [1 - p for p in at.CHANCES] / lam).mean(axis=1)
    words = "throughput over λ / (1 − p), mean over p"
    yield reaches("section IV.A", words, 1.0, share, kind="printed", main=True)
    share = _columns(runs, at.GROWING, "jobs_per_user") * [1 - p for p in at.CHANCES]
    words = "jobs per user over 1 / (1 − p), mean over p"
    yield reaches("section IV.A", words, 1.0, share.mean(axis=1), kind="printed")
    words = "p = 0.55, beyond the bound of 0.5: growth of the number at the server, over its mean"
    growth, note = runs[at.BEYOND]["growth"], "from the first half to the second"
    yield lies("section IV.A", words, "above", SETTLED, growth, note, kind="bound")
    theory = predict([_SMALL, _MIDDLE, _LARGE])
    for name in ("X", "U", "jobs_per_user"):
        ratio = runs[_LARGE][name] / runs[_MIDDLE][name]
        note = _theory(theory[name].iloc[2] / theory[name].iloc[1])
        words = f"{_RESULTS[name]} grows: p = 0.48 over p = 0.24"
        yield lies(place, words, "above", 1.0, ratio, note)
        yield lies(place, f"{words}: moderately", "below", MUCH, ratio, note, kind="ours")
    moderate = runs[_LARGE]["X"] / runs[_MIDDLE]["X"]
    for name in ("L", "W"):
        late = runs[_LARGE][name] / runs[_MIDDLE][name]
        early = runs[_MIDDLE][name] / runs[_SMALL][name]
        by_theory = theory[name].to_numpy()
        rise, rise_of_X = by_theory[2] / by_theory[1], theory["X"].iloc[2] / theory["X"].iloc[1]
        words = f"{_RESULTS[name]} grows precipitously: p = 0.48 over p = 0.24, over throughput's"
        yield from lies_far(place, words, "above", late / moderate, _theory(rise / rise_of_X))
        words = (
            f"{_RESULTS[name]} grows near saturation: p from 0.24 to 0.48, over p from 0 to 0.24"
        )
        note = _theory(rise / (by_theory[1] / by_theory[0]))
        yield from lies_far(place, words, "above", late / early, note)
    ratio = runs[_LARGE]["X_per_user"] / runs[_SMALL]["X_per_user"]
    note = _theory(theory["X_per_user"].iloc[2] / theory["X_per_user"].iloc[0])
    words = "throughput per user drops: p = 0.48 over p = 0"
    yield lies(place, words, "below", 1.0, ratio, note, main=True)


def compare_relations(runs: Runs) -> Iterator[Result]:
    """Figure 6: response, throughput and throughput per user, over either sweep."""
    place = "Figure 6 and section IV.A"
    sweeps = {
        "p from 0 to 0.48": (_SMALL, _LARGE),
        "λ from 0.05 to 0.61": (at.ARRIVING[0], at.ARRIVING[-1]),
    }
    far: tuple[tuple[str, str, Side], ...] = (
        ("X_per_user", "throughput per user drops", "below"),
        ("time_per_user", "users are active for longer", "above"),
    )
    for words, ends in sweeps.items():
        first, last = (runs[point] for point in ends)
        theory = predict(ends)
        for name, title, side in far:
            note = _theory(theory[name].iloc[1] / theory[name].iloc[0])
            yield from lies_far(place, f"{words}: {title}", side, last[name] / first[name], note)
        note = _theory(theory["jobs_per_user"].iloc[1] / theory["jobs_per_user"].iloc[0])
        ratio = last["jobs_per_user"] / first["jobs_per_user"]
        yield reaches(place, f"{words}: users send the same number of jobs", 1.0, ratio, note)


def _slope(ours: "Mapping[str, pd.DataFrame]", few: int, many: int) -> "pd.Series":
    """Slope of the response over the throughput between two numbers of closed users."""
    return (ours["Rc"][many] - ours["Rc"][few]) / (ours["Xc"][many] - ours["Xc"][few])


def _columns(runs: Runs, points: Sequence[Point], name: str) -> "pd.DataFrame":
    """Return a measure of several points: one row per run, one column per point."""
    import pandas as pd

    key = "N" if points[0].model == "mixed" else "p"
    return pd.DataFrame({getattr(point, key): runs[point][name] for point in points})


def _theory(value: float) -> str:
    return f"theory {value:.4g}"
