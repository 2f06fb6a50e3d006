"""Claims of the chapter on re-open users if p falls with the response time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction import Result
from workloadkit.analysis.studies.zakay_queueing import theory as at
from workloadkit.analysis.studies.zakay_queueing.constant_p import (
    NEAR,
    SETTLED,
    Side,
    lies,
    lies_far,
    reaches,
)
from workloadkit.analysis.studies.zakay_queueing.theory import (
    EXPONENTIAL,
    SHMUELI,
    Point,
    predict,
    run_time_bias,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

Runs = Mapping[Point, "pd.DataFrame"]

_FIGURE_7, _FIGURE_8 = "Figure 7 and section IV.B", "Figure 8 and section IV.C"

#: Throughputs between which users of constant and of falling p are compared.
_FROM, _TO = 0.52, 0.94


def compare_reacting(runs: Runs) -> Iterator[Result]:
    """Figure 7: each form of p, then the two compared."""
    for p in at.WORDS:
        yield from _feedback(runs, p)
        yield from _per_user(runs, p)
        yield from _waits(runs, p)
    yield from _forms_apart(runs)


def compare_run_times(runs: Runs) -> Iterator[Result]:
    """Figure 8: run times of last jobs."""
    bias, theory = {}, {}
    for p, word in at.WORDS.items():
        for lam in at.LOW_AND_HIGH:
            point = at.reopened(lam, p)
            bias[p, lam] = runs[point]["run_last"] / runs[point]["run_continued"]
            theory[p, lam] = run_time_bias(point)
            words = f"{word}, λ = {lam}: mean run time of last jobs over others"
            yield lies(_FIGURE_8, words, "above", 1.0, bias[p, lam], _theory(theory[p, lam]))
    for lam in at.LOW_AND_HIGH:
        ours, note = (x[SHMUELI, lam] / x[EXPONENTIAL, lam] for x in (bias, theory))
        words = f"λ = {lam}: run times of last jobs over others, Shmueli's over exponential"
        yield lies(_FIGURE_8, words, "above", 1.0, ours, _theory(note))
    low, high = at.LOW_AND_HIGH
    for p, word in at.WORDS.items():
        ours, note = (x[p, high] / x[p, low] for x in (bias, theory))
        words = f"{word}: run times of last jobs over others, at λ = {high} over λ = {low}"
        yield lies(_FIGURE_8, words, "below", 1.0, ours, _theory(note))


def _feedback(runs: Runs, p: str) -> Iterator[Result]:
    """Report the convergence of throughput and utilization to 1."""
    points, word = at.REACTING[p], at.WORDS[p]
    theory = predict([points[0], points[-1]])
    first, last = (runs[point] for point in (points[0], points[-1]))
    for name, title in (("X", "throughput"), ("U", "utilization")):
        over = _values(runs, points, name) / list(at.RATES)
        words = f"{word}: {title} over λ, the least over λ"
        yield lies(_FIGURE_7, words, "above", 1.0, over.min(axis=1))
        words = f"{word}: {title} converges to 1: at λ = {at.RATES[-1]}"
        note, main = _theory(theory[name].iloc[1]), name == "X"
        yield reaches(_FIGURE_7, words, 1.0, last[name], note, kind="printed", main=main)
    chance = {end: 1 - 1 / runs[point]["jobs_per_user"] for end, point in _ends(points)}
    changes: tuple[tuple[str, pd.Series, Side], ...] = (
        ("response grows", last["R"] / first["R"], "above"),
        ("p drops", chance["last"] / chance["first"], "below"),
        ("users submit fewer jobs", last["jobs_per_user"] / first["jobs_per_user"], "below"),
        ("throughput per user drops", last["X_per_user"] / first["X_per_user"], "below"),
    )
    for words, ours, side in changes:
        yield lies(_FIGURE_7, f"{word}: {words}: highest λ over lowest", side, 1.0, ours)
    words = (
        f"{word}: does not saturate, λ = {at.RATES[-1]}: growth of the number at the server, over "
        "its mean"
    )
    note = f"from the first half to the second, of {last['L'].mean():.4g} who wait"
    yield reaches(_FIGURE_7, words, 0.0, last["growth"], note, within=SETTLED, main=True)


def _per_user(runs: Runs, p: str) -> Iterator[Result]:
    """Compare the drop of throughput per user with that for constant p, in two ways."""
    points, word = at.REACTING[p], at.WORDS[p]
    own = runs[points[0]]["X_per_user"] / runs[points[-1]]["X_per_user"]
    constant = runs[at.GROWING[0]]["X_per_user"] / runs[at.GROWING[-1]]["X_per_user"]
    words = f"{word}: drop of throughput per user over all λ, over that of Figure 5"
    note = f"by the factors {own.mean():.3g} and {constant.mean():.3g}"
    yield from lies_far(_FIGURE_7, words, "below", own / constant, note)
    drops = []
    for sweep in (points, at.GROWING):
        X, per_user = (_values(runs, sweep, name) for name in ("X", "X_per_user"))
        drops.append(_at(per_user, X, _FROM) / _at(per_user, X, _TO))
    words = (
        f"{word}: drop of throughput per user while the throughput rises from {_FROM} to {_TO}, "
        "over that of Figure 5"
    )
    note = f"by the factors {drops[0].mean():.3g} and {drops[1].mean():.3g}"
    yield from lies_far(_FIGURE_7, words, "below", _series(drops[0] / drops[1]), note)


def _waits(runs: Runs, p: str) -> Iterator[Result]:
    """Report the increase of queue and wait close to saturation."""
    points, word = at.REACTING[p], at.WORDS[p]
    U = _values(runs, points, "U")
    for name, title in (("L", "queue length"), ("W", "mean wait")):
        value = _values(runs, points, name).to_numpy()
        ours = _series(value[:, -1] / _at(value, U, 0.9))
        words = f"{word}: {title} at λ = {at.RATES[-1]} over that where utilization is 0.9"
        yield from lies_far(_FIGURE_7, words, "above", ours)


def _forms_apart(runs: Runs) -> Iterator[Result]:
    """Shmueli's p compared with the exponential one."""
    import numpy as np

    shmueli, exponential = (at.REACTING[p] for p in (SHMUELI, EXPONENTIAL))
    jobs = {p: _values(runs, at.REACTING[p], "jobs_per_user") for p in at.WORDS}
    words = "more jobs per user to begin with: Shmueli's over exponential"
    by_theory = [predict(points[:1])["jobs_per_user"].iloc[0] for points in (shmueli, exponential)]
    ratio = jobs[SHMUELI].iloc[:, 0] / jobs[EXPONENTIAL].iloc[:, 0]
    yield lies(_FIGURE_7, words, "above", 1.0, ratio, _theory(by_theory[0] / by_theory[1]))
    words = "Shmueli's: jobs per user drop nearly linearly to 1: farthest from a line"
    far = _series(_from_line(jobs[SHMUELI].to_numpy()))
    note = (
        "largest distance from the line of least squares, in what they drop by; exponential: "
        f"{_from_line(jobs[EXPONENTIAL].to_numpy()).mean():.2g}"
    )
    yield lies(_FIGURE_7, words, "below", 2 * NEAR, far, note, kind="ours")
    words = "Shmueli's: line of least squares through jobs per user, at λ = 1"
    line = _series(_line(jobs[SHMUELI].to_numpy())(1.0))
    yield reaches(_FIGURE_7, words, 1.0, line, kind="printed")
    words = "exponential: slope of jobs per user, last third of λ over the first"
    yield lies(_FIGURE_7, words, "below", 1.0, _slopes(jobs[EXPONENTIAL]))
    reached = {
        p: _at(np.tile(at.RATES, (len(runs[points[0]]), 1)), _values(runs, points, "X"), 1 - NEAR)
        for p, points in at.REACTING.items()
    }
    words = f"λ at which throughput is {1 - NEAR:g}: Shmueli's over exponential"
    earlier = _series(reached[SHMUELI] / reached[EXPONENTIAL])
    yield lies(_FIGURE_7, words, "below", 1.0, earlier)
    wait = _values(runs, shmueli, "W") / _values(runs, exponential, "W").to_numpy()
    words = "mean wait, Shmueli's over exponential, the least over λ"
    yield lies(_FIGURE_7, words, "above", 1.0, wait.min(axis=1))
    for name, words in (
        ("X_per_user", "throughput per user starts higher: Shmueli's over exponential"),
        ("quotient", "mean of the users' own quotients starts higher: Shmueli's over exponential"),
    ):
        ratio = runs[shmueli[0]][name] / runs[exponential[0]][name]
        yield lies(_FIGURE_7, words, "above", 1.0, ratio)
    words = "throughput per user is low at high λ: Shmueli's over exponential"
    ratio = runs[shmueli[-1]]["X_per_user"] / runs[exponential[-1]]["X_per_user"]
    yield lies(_FIGURE_7, words, "below", 1.0, ratio)


def _ends(points: Sequence[Point]) -> Iterator[tuple[str, Point]]:
    yield from (("first", points[0]), ("last", points[-1]))


def _values(runs: Runs, points: Sequence[Point], name: str) -> "pd.DataFrame":
    """Return a measure of several points: one row per run, one column per point."""
    import pandas as pd

    return pd.concat([runs[point][name] for point in points], axis=1, ignore_index=True)


def _at(values: "ArrayLike", along: "ArrayLike", place: float) -> "NDArray[np.float64]":
    """Interpolate each run where another, increasing measure has a value."""
    import numpy as np

    return np.array(
        [
            np.interp(place, np.maximum.accumulate(x), y)
            for x, y in zip(np.asarray(along), np.asarray(values), strict=True)
        ]
    )


def _line(values: "NDArray[np.float64]") -> "Callable[[Any], NDArray[np.float64]]":
    """Line of least squares through each run's values over λ."""
    import numpy as np

    slope, level = np.polyfit(at.RATES, values.T, 1)
    return lambda lam: np.squeeze(np.multiply.outer(slope, lam).T + level).T


def _from_line(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Largest distance of each run's values from their line, relative to their drop."""
    import numpy as np

    apart = abs(values - _line(values)(np.array(at.RATES))).max(axis=1)
    return apart / (values[:, 0] - values[:, -1])


def _slopes(values: "pd.DataFrame") -> "pd.Series":
    """Ratio of the slopes over the last and the first third of λ."""
    rates = at.RATES
    early = (values[3] - values[0]) / (rates[3] - rates[0])
    late = (values[len(rates) - 1] - values[6]) / (rates[-1] - rates[6])
    return late / early


def _series(values: Any) -> "pd.Series":
    import pandas as pd

    return pd.Series(values)


def _theory(value: float) -> str:
    return f"theory {value:.4g}"
