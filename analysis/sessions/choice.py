"""Recommendation of a session method for a log, from the measured faults of each method."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from workloadkit.analysis.formats import duration, number, share, with_interval
from workloadkit.analysis.sessions.ways import WAYS

#: Longest plausible session without a break (Zakay 2012, section 6). [s]
OVERLONG = 16 * 3600.0

#: A method has a fault if its share of overlong sessions is larger, or if the number of sessions
#: jumps by a larger factor at its limit (the cut, or the threshold of a method without a cut). The
#: source judges by eye; both values are choices of this project.
MOST_OVERLONG = 0.01
MOST_JUMP = 2.0

#: A larger share of sessions of length 0 is reported as a drawback.
LEAST_DRAWBACK = 0.1

#: Least number of sessions for a recommendation.
FEWEST = 100


def judge(ways: pd.DataFrame) -> pd.DataFrame:
    """Add the faults of each method: `overlong` and `jumps`.

    A method has a fault if the lower end of the interval exceeds the bound. If there is no
    interval, the value itself is compared.

    Parameters
    ----------
    ways : DataFrame
        `SessionMethods.ways` of `analysis.sessions.compare_session_methods`.
    """
    least_share = ways["over_16h_low"].fillna(ways["over_16h"])
    least_jump = ways["jump_low"].fillna(ways["jump"])
    return ways.assign(overlong=least_share > MOST_OVERLONG, jumps=least_jump > MOST_JUMP)


def recommend(ways: pd.DataFrame) -> str:
    """Return the method with the fewest faults; the smallest jump at the limit breaks ties.

    The name is empty if there are fewer than 100 sessions.

    Parameters
    ----------
    ways : DataFrame
        Result of `judge`.

    Examples
    --------
    >>> faults = {"overlong": [True, False, False], "jumps": [False, True, False]}
    >>> ways = pd.DataFrame({**faults, "jump": [1.0, 9.0, 1.5], "sessions": [500] * 3})
    >>> recommend(ways.set_axis(["Last", "Last+Cut 1 h", "Arrival"]))
    'Arrival'
    """
    if ways["sessions"].min() < FEWEST:
        return ""
    faults = ways["overlong"].astype(int) + ways["jumps"]
    rank = pd.DataFrame({"faults": faults, "jump": np.log(ways["jump"]).abs()})
    return str(rank.sort_values(["faults", "jump"], kind="stable").index[0])


def reasons(ways: pd.DataFrame, recommended: str) -> Iterator[str]:
    """Yield a sentence for each kind of method not recommended, then one for the recommended one.

    Parameters
    ----------
    ways : DataFrame
        Result of `judge`, with the names of `analysis.sessions.ways.WAYS`.
    recommended : str
        Result of `recommend`.
    """
    if not recommended:
        yield f"With fewer than {FEWEST} sessions no method is recommended."
        return
    kinds: dict[str, list[str]] = {}
    for way in WAYS:
        if way.name != recommended:
            kinds.setdefault(way.kind, []).append(way.name)
    for kind, names in kinds.items():
        faults = [*_faults(ways.loc[names])]
        yield f"{kind}: {'; '.join(faults) or 'no fault, but a larger jump at its limit'}."
    row = ways.loc[recommended]
    verdict = "no fault" if not (row["overlong"] or row["jumps"]) else "the fewest faults"
    yield f"{recommended} has {verdict}: {_merits(row)}"


def _faults(rows: pd.DataFrame) -> Iterator[str]:
    """Describe the faults of a method, for one or several cuts."""
    if (long := rows[rows["overlong"]]).size:
        yield (
            f"{_range(long, 'over_16h', share)} of the sessions are longer than "
            f"{duration(OVERLONG)}, the longest {duration(long['longest'].max())}, because long "
            "jobs extend them"
        )
    if (odd := rows[rows["jumps"]]).size:
        times = _range(odd, "jump", number)
        if odd["cut"].isna().all():
            yield f"sessions just below its threshold are {times} times as frequent as expected"
        else:
            yield f"sessions as long as the cut are {times} times as frequent as similar lengths"


def _merits(row: pd.Series) -> str:
    text = f"{share(row['over_16h'])} of the sessions are longer than {duration(OVERLONG)}"
    if not np.isnan(row["jump"]):
        at = "threshold" if np.isnan(row["cut"]) else "cut"
        jump = _range(row.to_frame().T, "jump", number)
        text += f", and the jump at its {at} is {jump} (1: no jump)"
    text += "."
    if row["zero_length"] > LEAST_DRAWBACK:
        text += f" Drawback: {share(row['zero_length'])} of the sessions have length 0."
    return text


def _range(rows: pd.DataFrame, name: str, form: Callable[[float], str]) -> str:
    """Format the value of one row with its interval, or the range of several rows."""
    low, high = rows[name].min(), rows[name].max()
    if len(rows) > 1:
        return f"{form(low)} to {form(high)}"
    return with_interval(low, rows[f"{name}_low"].iloc[0], rows[f"{name}_high"].iloc[0], form)
