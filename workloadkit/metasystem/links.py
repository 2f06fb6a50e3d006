"""How long jobs take from site to site."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError, quoted
from workloadkit.fields import MAX_TIME
from workloadkit.metasystem.description import Metasystem


class Links:
    """The links between all sites, as tables.

    Parameters
    ----------
    system : Metasystem
    """

    def __init__(self, system: Metasystem) -> None:
        n_sites = len(system.sites)
        self._names = [site.name for site in system.sites]
        self._latency = np.zeros((n_sites, n_sites))
        self._bandwidth = np.full((n_sites, n_sites), np.inf)
        for link in system.links:
            a, b = map(system.place, link.between)
            self._latency[[a, b], [b, a]] = link.latency
            self._bandwidth[[a, b], [b, a]] = link.bandwidth

    def delay(self, origin: NDArray[np.int64], to: Any, volume: NDArray, *, whole: bool) -> NDArray:
        """Return the times that volumes take from sites to one; whole seconds are rounded up.

        From nowhere, -1, and where there is no link, they take no time.
        """
        with np.errstate(over="ignore"):
            time = self._latency[origin, to] + volume / self._bandwidth[origin, to]
        time = np.where(origin < 0, 0, time)
        if (wrong := ~(time <= MAX_TIME)).any():
            i = int(np.argmax(wrong))
            ends = " to ".join(quoted(self._names[place]) for place in (origin[i], to))
            raise WorkloadError(
                f"from {ends}: {volume[i]:g} bytes take more than {float(MAX_TIME):g} s"
            )
        return np.ceil(time) if whole else time
