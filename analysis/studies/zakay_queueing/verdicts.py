"""How a statement of the chapter is judged by simulated runs."""

from typing import TYPE_CHECKING, Literal

from analysis.studies import Result, Verdict

if TYPE_CHECKING:
    import pandas as pd

#: What is so near counts as reached; an interval that is wider, to either side, leaves it open
#: whether a value was; what differs by such a factor differs much.
NEAR, SURE, MUCH = 0.05, 0.2, 2.0


def near(figure: str, words: str, value: float, ours: "pd.Series", note: str = "") -> Result:
    """Judge a statement that something has a value."""
    mean, low, high = _interval(ours)
    scale = abs(value)
    inside, off = low <= value <= high, max(value - low, high - value)
    verdict: Verdict = "not held"
    if off <= NEAR * scale or (inside and (not scale or high - low <= 2 * SURE * scale)):
        verdict = "held"
    elif inside or abs(mean - value) <= NEAR * scale:
        verdict = "direction only"
    return _result(figure, words, value, (mean, low, high), verdict, note)


def beyond(
    figure: str,
    words: str,
    value: float,
    ours: "pd.Series",
    note: str = "",
    *,
    side: Literal["above", "below"] = "above",
    weakly: float | None = None,
) -> Result:
    """Judge a statement that something is above or below a value; weakly, beyond another one."""
    mean, low, high = _interval(ours)
    sign = 1 if side == "above" else -1
    verdict: Verdict = "not held"
    if min(sign * (low - value), sign * (high - value)) > 0:
        verdict = "held"
    elif sign * (mean - (value if weakly is None else weakly)) > 0:
        verdict = "direction only"
    return _result(figure, f"{words}; {side}", value, (mean, low, high), verdict, note)


def _interval(ours: "pd.Series") -> tuple[float, float, float]:
    """Mean over the runs with its 95 % interval, which of one run is that run alone."""
    from workloadkit.experiments.intervals import mean_interval

    mean, low, high = mean_interval(ours)
    return (mean, low, high) if len(ours) > 1 else (mean, mean, mean)


def _result(
    figure: str,
    words: str,
    value: float,
    ours: tuple[float, float, float],
    verdict: Verdict,
    note: str,
) -> Result:
    mean, low, high = ours
    if low == high:
        return Result(figure, figure, words, value, mean, verdict, note=note)
    return Result(figure, figure, words, value, mean, verdict, low, high, note)
