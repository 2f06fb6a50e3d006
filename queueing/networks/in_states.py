"""Probabilities of numbers of jobs at the stations of a network, and the times that follow."""

from dataclasses import replace

import numpy as np

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.networks.convolving import numbers_at
from workloadkit.queueing.networks.model import NetworkPoint, NetworkResult
from workloadkit.queueing.networks.open_classes import shared_speeds, speeds_of
from workloadkit.queueing.open_share import log_sums
from workloadkit.queueing.phase_type import PhaseType

_LEFT_OUT = 1e-15  # probability of larger numbers of open jobs
_MOST = 10_000_000


def jobs_at(
    network: NetworkResult, station: int, job_class: int | None = None, *, job: str = "closed"
) -> Floats:
    """Return the probabilities of 0, 1, ... jobs at a station of a network.

    Exact for networks of product form; the sum from the number of servers on is the share of time
    in which all servers of the station are busy.

    Parameters
    ----------
    network : NetworkResult
        Result of an exact method at one point.
    station : int
        Index of the station.
    job_class : int, optional
        Index of a class; by default all closed, or all open, classes together.
    job : {"closed", "open"}
        Kind of jobs, for a mixed network.

    Returns
    -------
    ndarray
        Open jobs have no limit; the probability of larger numbers is below 1e-15.

    Raises
    ------
    QueueingError
        For an approximation, several points, or an unknown station or class.

    Examples
    --------
    Three machines, and two of them at most in repair: how long are both repairers busy?

    >>> from workloadkit.queueing.networks import convolution
    >>> repair = convolution([8.0], N=3, Z=10, servers=[2])
    >>> share = jobs_at(repair, 0)
    >>> round(float(share[2:].sum()), 6)
    0.441524
    """
    if "closed" in network.parameters:  # the open jobs of a mixed network
        whole = replace(network.parameters["closed"], open=network)
        return jobs_at(whole, station, job_class, job="open")
    alone = "lam" in network.parameters
    if job not in ("closed", "open") or (job == "open" and not alone and network.open is None):
        raise QueueingError(f"job is {quoted(job)}; it must be a kind of jobs of the network")
    counted = network if alone or job == "closed" or network.open is None else network.open
    known = counted.parameters
    if not network.exactness.startswith("exact"):
        raise QueueingError(f"the network was solved by an {network.exactness}; it must be exact")
    n_stations = known["servers"].size
    if station not in range(n_stations):
        raise QueueingError(f"station is {quoted(station)}; it must be from 0 to {n_stations - 1}")
    n_classes = np.atleast_2d(known["demands"]).shape[0]
    if job_class is not None and job_class not in range(n_classes):
        raise QueueingError(
            f"job_class is {quoted(job_class)}; it must be from 0 to {n_classes - 1}"
        )
    if "lam" in known:
        met = np.ones(1) if alone else jobs_at(network, station)
        return _open_jobs(counted, station, job_class, met)
    joint = numbers_at(_model(network), station)
    if job_class is None:
        total = np.indices(joint.shape).sum(axis=0).ravel()
        return np.asarray(np.bincount(total, joint.ravel()), dtype=np.float64)
    return joint.sum(axis=tuple(d for d in range(joint.ndim) if d != job_class))


def response_at(network: NetworkResult, station: int, S: float) -> PhaseType:
    """Return the time of a job at a first come, first served station with open and closed jobs.

    The job meets the jobs of the network. The weights of states with all c servers busy, summed
    over the open jobs, make its wait, given n closed jobs, one of n - j + 1 exponential times of
    mean S / (c - u) with weights C(c, j) (u/c)^(c - j) (1 - u/c)^(j - n - 1), j = 0, ..., c.
    """
    from scipy.special import gammaln, xlogy

    met = jobs_at(network, station)
    servers = network.parameters["servers"][station]
    busy = 0.0 if network.open is None else float(_busy(network.open)[station])
    ratio = busy / servers
    n = np.arange(met.size)
    full = (servers - n) * np.log(servers) - gammaln(servers + 1)
    full -= log_sums(speeds_of(servers), busy, met.size - 1)[0]
    waits = np.zeros(met.size + 1)  # by the number of exponential times
    for j in range(int(min(servers, met.size - 1)) + 1):
        chosen = gammaln(servers + 1) - gammaln(j + 1) - gammaln(servers - j + 1)
        stages = n[j:] - j + 1
        logarithm = full[j:] + chosen + xlogy(servers - j, ratio) - stages * np.log1p(-ratio)
        waits[stages] += met[j:] * np.exp(logarithm)
    start = np.append(waits[:0:-1], 1 - waits.sum())
    leave = np.append(np.full(met.size, (servers - busy) / S), 1 / S)
    return PhaseType(start, np.diag(leave[:-1], 1) - np.diag(leave))


def _model(network: NetworkResult) -> NetworkPoint:
    """Return the closed classes, with the speeds that open jobs leave."""
    known = network.parameters
    if known["demands"].ndim == 1 and np.ndim(known["N"]):
        raise QueueingError(f"N has the shape {np.shape(known['N'])}; it must be one point")
    servers, speeds = known["servers"], dict(known["speeds"])
    if network.open is not None:
        busy = _busy(network.open)
        for k in np.flatnonzero(np.isfinite(servers)).tolist():
            speeds[k] = shared_speeds(speeds_of(servers[k]), busy[k])
    return NetworkPoint(
        np.atleast_2d(known["demands"]),
        np.atleast_1d(known["N"]),
        np.atleast_1d(known["Z"]),
        servers,
        speeds,
    )


def _busy(network: NetworkResult) -> Floats:
    known = network.parameters
    return np.atleast_1d(known["lam"]) @ np.atleast_2d(known["demands"])


def _open_jobs(
    network: NetworkResult, station: int, job_class: int | None, share: Floats
) -> Floats:
    """Mix the numbers m given n closed jobs, with P(m) ∝ C(n + m, m) u^m F(n + m)."""
    from scipy.special import gammaln, xlogy
    from scipy.stats import binom, poisson

    busy = float(_busy(network)[station])
    servers = network.parameters["servers"][station]
    if np.isinf(servers):
        most = int(poisson.isf(_LEFT_OUT, busy)) + 1 if busy else 0
        total = poisson.pmf(np.arange(most + 1), busy)
    else:
        sums, _ = log_sums(speeds_of(servers), busy, share.size - 1)
        ratio = busy / servers
        tail = np.log(_LEFT_OUT * (1 - ratio)) / np.log(ratio) if busy else 0
        most = int(servers + tail + 8 * share.size / (1 - ratio))
        if most * share.size > _MOST:
            raise QueueingError(f"lam: {most:,} jobs at station {station} are likely, too many")
        m = np.arange(most + 1.0)
        total = np.zeros(m.size)
        for n, of_n in enumerate(share):
            count = n + m
            speed = gammaln(np.minimum(count, servers) + 1)
            speed += np.maximum(count - servers, 0) * np.log(servers)
            logarithm = gammaln(count + 1) - gammaln(n + 1) - gammaln(m + 1) + xlogy(m, busy)
            total += of_n * np.exp(logarithm - speed - sums[n])
    if job_class is None:
        return total
    known = network.parameters
    own = np.atleast_1d(known["lam"])[job_class] * np.atleast_2d(known["demands"])[job_class]
    part = float(own[station]) / busy if busy else 0.0
    m = np.arange(total.size)
    return np.array([total @ binom.pmf(k, m, part) for k in m])
