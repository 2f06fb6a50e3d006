"""Which way to delimit sessions suits a log: the faults of each, measured, and what remains."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from analysis.formats import duration, number, share, with_interval
from analysis.sessions.ways import WAYS

#: Nobody works this long without a break (Zakay 2012, section 6). [s]
OVERLONG = 16 * 3600.0

#: More overlong sessions than this share, or more sessions at the limit than so many times those
#: about it, are a fault of a way to delimit sessions. The source judges by eye; both are ours.
MOST_OVERLONG = 0.01
MOST_JUMP = 2.0

#: A larger share of sessions of length 0 is told as a drawback.
WORTH_SAYING = 0.1

#: With fewer sessions than this, no way is recommended.
FEWEST = 100


def judge(ways: pd.DataFrame) -> pd.DataFrame:
    """Return the ways with their faults: `overlong`, and `jumps`.

    A fault counts if the lower end of the interval says so, or the value where there is none.

    Parameters
    ----------
    ways : DataFrame
        As `analysis.sessions.compare_session_methods` gives them.
    """
    surely_over = ways["over_16h_low"].fillna(ways["over_16h"])
    surely_jumps = ways["jump_low"].fillna(ways["jump"])
    return ways.assign(overlong=surely_over > MOST_OVERLONG, jumps=surely_jumps > MOST_JUMP)


def recommend(ways: pd.DataFrame) -> str:
    """Return the way with the fewest faults and, of several, with the least jump at its limit.

    Empty if there are too few sessions to tell.

    Parameters
    ----------
    ways : DataFrame
        As `judge` returns them.

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
    """Give a sentence on each kind of way that is not recommended, then one on the one that is.

    Parameters
    ----------
    ways : DataFrame
        As `judge` returns them, with the names of `analysis.sessions.ways.WAYS`.
    recommended : str
        What `recommend` returned.
    """
    if not recommended:
        yield f"With fewer than {FEWEST} sessions there is little to choose by."
        return
    kinds: dict[str, list[str]] = {}
    for way in WAYS:
        if way.name != recommended:
            kinds.setdefault(way.kind, []).append(way.name)
    for kind, names in kinds.items():
        said = [*_faults(ways.loc[names])]
        yield f"{kind}: {'; '.join(said) or 'no fault, but a larger jump at its limit'}."
    row = ways.loc[recommended]
    verdict = "no fault" if not (row["overlong"] or row["jumps"]) else "the fewest faults"
    yield f"{recommended} has {verdict}: {_merits(row)}"


def _faults(rows: pd.DataFrame) -> Iterator[str]:
    """Say what is wrong with a way, or with one for several cuts."""
    if (long := rows[rows["overlong"]]).size:
        yield (
            f"{_range(long, 'over_16h', share)} of the sessions are longer than "
            f"{duration(OVERLONG)}, the longest {duration(long['longest'].max())}, as long jobs "
            "hold them open"
        )
    if (odd := rows[rows["jumps"]]).size:
        times = _range(odd, "jump", number)
        if odd["cut"].isna().all():
            yield f"{times} times as many sessions end just below its threshold as would anyway"
        else:
            yield f"{times} times as many sessions are as long as the cut as are a little off it"


def _merits(row: pd.Series) -> str:
    text = f"{share(row['over_16h'])} of the sessions are longer than {duration(OVERLONG)}"
    if not np.isnan(row["jump"]):
        at = "threshold" if np.isnan(row["cut"]) else "cut"
        jump = _range(row.to_frame().T, "jump", number)
        text += f", and the jump at its {at} is {jump}, 1 being none"
    text += "."
    if row["zero_length"] > WORTH_SAYING:
        text += f" Its drawback: {share(row['zero_length'])} of the sessions have length 0."
    return text


def _range(rows: pd.DataFrame, name: str, form: Callable[[float], str]) -> str:
    """Write the value of one row with its interval, or the least and the most of several."""
    low, high = rows[name].min(), rows[name].max()
    if len(rows) > 1:
        return f"{form(low)} to {form(high)}"
    return with_interval(low, rows[f"{name}_low"].iloc[0], rows[f"{name}_high"].iloc[0], form)
