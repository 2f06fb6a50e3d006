"""Formatting of numbers and texts for readers: thousands separators, few digits, units."""

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


#: Text for an unknown number.
UNKNOWN = "–"

_MINUTE, _HOUR, _DAY = 60, 3600, 86400

# Control characters, marks that change the direction of writing (which could reorder the text
# around a name), and unpaired surrogates.
_BLANK = re.compile(r"[\t-\r\x85\u2028\u2029]+")
_UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)


def printable(text: str, width: int | None = None) -> str:
    r"""Replace characters that cannot be printed or that change the surrounding text.

    Line breaks become blanks; control characters, direction marks and non-characters become �.

    Parameters
    ----------
    width : int, optional
        Maximum number of characters.

    Examples
    --------
    >>> printable("a\tb\x07"), printable("x" * 99, width=4)
    ('a b�', 'xxx…')
    """
    if width is not None and len(text) > width:
        text = text[: width - 1] + "…"
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", _BLANK.sub(" ", text))


def of_runs(runs: int, saturated: int) -> tuple[str, str]:
    """Name all runs, of which some saturate, and the others.

    Examples
    --------
    >>> of_runs(10, 3)
    ('all 10 (3 saturated)', '7 not saturated')
    >>> of_runs(10, 0)
    ('all 10', '10 not saturated')
    """
    marked = f" ({saturated} saturated)" if saturated else ""
    return f"all {runs}{marked}", f"{runs - saturated} not saturated"


def count(value: float) -> str:
    """Format a whole number.

    Examples
    --------
    >>> count(28489)
    '28,489'
    """
    return f"{value:,.0f}".replace("-", "−") if math.isfinite(value) else number(value)


def ordinal(n: int) -> str:
    """Write the place in an order.

    Examples
    --------
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd', '113th']
    """
    last = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{last}"


def number(value: float) -> str:
    """Format a number with three significant digits, or as a whole number if it is larger.

    Examples
    --------
    >>> [number(x) for x in (3, 0.12345, -12.345, 98765.4, float("nan"), float("inf"))]
    ['3', '0.123', '−12.3', '98,765', '–', '∞']
    """
    if math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    whole = abs(value) >= 100 or value == round(value)
    mantissa, e, exponent = (f"{value:,.0f}" if whole else f"{value:.3g}").partition("e")
    return mantissa.replace("-", "−") + e + exponent


def share(value: float) -> str:
    """Format a share as a percentage.

    Examples
    --------
    >>> [share(x) for x in (0, 0.00004, 0.0345, 0.6921, 0.99999, 1)]
    ['0 %', '< 0.1 %', '3.5 %', '69 %', '> 99.9 %', '100 %']
    """
    if math.isnan(value):
        return UNKNOWN
    percent = 100 * value
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    whole = percent == round(percent) or 10 <= percent <= 99 or percent > 100
    return f"{percent:,.{0 if whole else 1}f} %".replace("-", "−")


def signed_share(value: float) -> str:
    """Format a relative change as a percentage with its sign.

    Examples
    --------
    >>> [signed_share(x) for x in (0.651, 0.9999, 5.7746, -0.0345, 0.0001, float("nan"))]
    ['+65 %', '+100 %', '+577 %', '−3.5 %', '0 %', '–']
    >>> signed_share(-0.9969), signed_share(-0.99999), signed_share(-1)  # all is only -1
    ('−99.7 %', '−99.9 %', '−100 %')
    """
    if math.isnan(value):
        return UNKNOWN
    percent = abs(100 * value)
    if percent < 0.05:
        return "0 %"
    if -1 < value <= -0.995:
        return f"−{min(percent, 99.9):.1f} %"
    whole = percent >= 10 or percent == round(percent)
    return f"{'+' if value > 0 else '−'}{percent:,.{0 if whole else 1}f} %"


def coefficient(value: float) -> str:
    """Format a correlation or an exponent with two decimals.

    Examples
    --------
    >>> [coefficient(x) for x in (0.696, -0.5, -0.001, float("nan"))]
    ['0.70', '−0.50', '0.00', '–']
    """
    if math.isnan(value):
        return UNKNOWN
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")  # -0.0 + 0.0 is 0.0


def limited(
    value: float, bounds: tuple[float, float], form: Callable[[float], str] = coefficient
) -> str:
    """Format an estimate that was searched between bounds: at one, it is only a limit.

    Examples
    --------
    >>> [limited(x, (0.01, 0.99)) for x in (0.7, 0.99, 0.01)]
    ['0.70', '≥ 0.99', '≤ 0.01']
    """
    side = bound_met(value, bounds)
    return f"{'≤ ' if side < 0 else '≥ ' if side else ''}{form(value)}"


def bound_met(value: float, bounds: tuple[float, float]) -> int:
    """Return -1 at the lower bound of a search, 1 at the upper, 0 in between; NaN is in between.

    Examples
    --------
    >>> [bound_met(x, (1e-6, 1e3)) for x in (1e-6, 0.5, 1e3, float("nan"))]
    [-1, 0, 1, 0]
    """
    low, high = bounds
    return int(math.isclose(value, high)) - int(math.isclose(value, low))


def upper(text: str) -> str:
    """Return a text with a capital at its begin."""
    return text[:1].upper() + text[1:]


def duration(seconds: float) -> str:
    """Format a time in the largest suitable units.

    Examples
    --------
    >>> [duration(x) for x in (0, 0.25, 45, 200, 4980, 183600, 29363618)]
    ['0 s', '0.25 s', '45 s', '3 min 20 s', '1 h 23 min', '2 d 3 h', '340 d']
    >>> duration(0.00578)
    '5.78 ms'
    """
    if math.isnan(seconds):
        return UNKNOWN
    if seconds <= 0:
        return "−" + duration(-seconds) if seconds else "0 s"
    if 0 < seconds < 0.1:
        return f"{1000 * seconds:.3g} ms"
    # Each unit is rounded before it is chosen, so that 59.99 s is 1 min and not 60 s.
    if float(f"{seconds:.3g}") < _MINUTE:
        return f"{seconds:.3g} s"
    if round(seconds) < _HOUR:
        return _two_units(round(seconds), _MINUTE, "min", "s")
    if round(seconds / _MINUTE) < _DAY // _MINUTE:
        return _two_units(round(seconds / _MINUTE), 60, "h", "min")
    if seconds < 100 * _DAY:
        return _two_units(round(seconds / _HOUR), 24, "d", "h")
    return f"{seconds / _DAY:,.0f} d"


def is_time(metric: str) -> bool:
    """Whether a metric of schedules is a time [s].

    Examples
    --------
    >>> is_time("wait_p98"), is_time("mean_slowdown")
    (True, False)
    """
    named = ("makespan", "tail", "session_length", "activity_length", "promise_error", "lateness")
    return "wait" in metric or "response" in metric or metric.endswith(named)


def is_share(metric: str) -> bool:
    """Whether a metric of schedules is a share."""
    shares = ("later_than_fcfs", "aborted_share", "backlog_growth", "promised_share", "late_share")
    return metric.endswith("utilization") or metric in shares


def is_percentage(metric: str) -> bool:
    """Whether a metric of schedules is a percentage."""
    return metric.startswith("earned_p")


def metric(name: str, value: float) -> str:
    """Format a metric of schedules in the unit that its name implies.

    Examples
    --------
    >>> metric("mean_wait", 90), metric("utilization", 0.5), metric("mean_slowdown", 1.5)
    ('1 min 30 s', '50.0 %', '1.5')
    >>> metric("utilization", -0.02), metric("utilization", -1e-9), metric("mean_wait", -0.0)
    ('−2.0 %', '0.0 %', '0 s')
    """
    percent = value if is_percentage(name) else 100 * value if is_share(name) else math.nan
    if not math.isnan(percent):
        return f"{round(percent, 1) + 0.0:.1f} %".replace("-", "−")  # -0.0 + 0.0 is 0.0
    return (duration if is_time(name) else number)(value)


def metric_difference(name: str, value: float) -> str:
    """Format a difference of a metric between schedules; that of a share is in percentage points.

    Examples
    --------
    >>> metric_difference("mean_wait", -90), metric_difference("utilization", -0.02)
    ('−1 min 30 s', '−2.0 points')
    """
    return metric(name, value).replace(" %", " points")


def metric_title(name: str) -> str:
    """Return the title of a metric of schedules.

    Examples
    --------
    >>> metric_title("mean_bounded_slowdown"), metric_title("wait_p98")
    ('mean bounded slowdown', 'wait, 98th percentile')
    >>> metric_title("earned_p25"), metric_title("earned_p100")
    ('utility earned by the best 25 %', 'utility earned by all')
    """
    quantity, _, percent = name.rpartition("_p")
    if is_percentage(name):
        return f"utility earned by {'all' if percent == '100' else f'the best {percent} %'}"
    if percent.isdigit():
        name = f"{quantity}, {percent}th percentile" if percent != "100" else f"largest {quantity}"
    return name.replace("_", " ").replace("fcfs", "FCFS")


def with_interval(
    value: float, low: float, high: float, form: Callable[[float], str] = share
) -> str:
    """Format a number with its interval in brackets, if known.

    Examples
    --------
    >>> with_interval(0.728, 0.682, 0.77)
    '73 % [68, 77]'
    >>> with_interval(0.0951, 0.075, 0.113), with_interval(0.5, float("nan"), float("nan"))
    ('9.5 % [7.5, 11]', '50 %')
    >>> with_interval(403, 310, 523, duration)
    '6 min 43 s [5 min 10 s, 8 min 43 s]'
    """
    if math.isnan(low) or math.isnan(high):
        return form(value)
    ends = (form(x).removesuffix(" %") for x in (low, high))
    return f"{form(value)} [{', '.join(ends)}]"


def day(date: "pd.Timestamp") -> str:
    """Format a date.

    Examples
    --------
    >>> import pandas as pd
    >>> day(pd.Timestamp("1996-09-03 14:00"))
    '3 September 1996'
    """
    return f"{date.day} {date:%B %Y}"


def _two_units(n: int, per: int, large: str, small: str) -> str:
    whole, rest = divmod(n, per)
    return f"{whole} {large} {rest} {small}" if rest else f"{whole} {large}"
