"""The sentence of a failed calibration: what is simulated is not what the site did."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.formats import duration, share
from workloadkit.errors import WorkloadWarning

if TYPE_CHECKING:
    from workloadkit.simulation import Schedule


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


def all_failed(calibrations: Mapping[str, Mapping[str, Any]]) -> str:
    """Say so of the scheduler that is closest to the record, unless one reproduces it.

    Parameters
    ----------
    calibrations : mapping of str to mapping
        By the names of the schedulers; those that are not known are empty.
    """
    from workloadkit.simulation.schedule.calibration import distance

    known = {name: one for name, one in calibrations.items() if one}
    if not known or any(one["holds"] for one in known.values()):
        return ""
    name = min(known, key=lambda name: distance(known[name]))
    return failed_calibration(known[name], f"simulated under {name}")


def warn_of_calibration(schedules: Mapping[str, "Schedule"]) -> None:
    """Warn if no schedule that is compared reproduces the recorded service of its jobs."""
    if said := all_failed({name: schedule.calibration for name, schedule in schedules.items()}):
        warnings.warn(said, WorkloadWarning, stacklevel=3)
