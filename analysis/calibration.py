"""The sentence of a failed calibration: what is simulated is not what the site did."""

from collections.abc import Mapping
from typing import Any

from analysis.formats import duration, share


def failed_calibration(calibration: Mapping[str, Any], what: str = "simulated") -> str:
    """Say that a calibration fails, and what the log does not contain.

    Parameters
    ----------
    calibration : mapping of str to object
        See `Schedule.calibration`.
    what : str, default "simulated"
        The simulation, for example the name of its scheduler.

    Returns
    -------
    str
        Empty if the calibration holds, or is not known.
    """
    if calibration.get("holds", True):
        return ""
    found, recorded = (
        (duration(calibration[f"{of}_mean_wait"]), share(calibration[f"{of}_utilization"]))
        for of in ("simulated", "recorded")
    )
    *first, last = calibration["missing"]
    return (
        f"the calibration fails: {what}, these jobs have a mean wait of {found[0]} and a "
        f"utilization of {found[1]}, recorded {recorded[0]} and {recorded[1]}; the log does not "
        f"contain {', '.join(first)} or {last}"
    )
