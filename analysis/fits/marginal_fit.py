"""Goodness of fit of distributions to the times and sizes of a log."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.analysis import style
from workloadkit.analysis.fits.families import FAMILIES, Family, Sample
from workloadkit.analysis.fits.laws import Scaled
from workloadkit.analysis.fits.phase_type import HyperErlang
from workloadkit.analysis.section import AnalysisResult
from workloadkit.errors import ParameterError, plural, quoted
from workloadkit.provenance import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 300  # of a drawn curve
_BEYOND = 30  # fitted quantiles further beyond the values (factor) are not drawn

_LARGEST = 1e50  # limit of values, with finite squares and cubes


class NoFitError(ParameterError):
    """None of the given families has a fit to these values."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A distribution fitted to non-negative values.

    Zeros are a separate point mass, since families of positive values exclude them; all methods
    refer to the mixture of both.

    Parameters
    ----------
    family : Family
        Family, with its title and fitting method.
    distribution : object
        Distribution of the positive values: `Scaled` or `HyperErlang`.
    zeros : float
        Share of the values that are 0.
    parameters : dict
        Parameters of the distribution, by name.

    Examples
    --------
    >>> fit = fit_marginal([0, 0, 1, 3], families=["exponential"]).fits["exponential"]
    >>> fit.zeros, fit.parameters, fit.mean(), float(fit.ppf(0.4))
    (0.5, {'scale': 2.0}, 1.0, 0.0)
    """

    family: Family
    distribution: Scaled | HyperErlang
    zeros: float
    parameters: dict[str, Any]

    @property
    def title(self) -> str:
        """Name of the family, and the fitting method unless it is maximum likelihood."""
        method = "" if self.family.method == "ML" else f" ({self.family.method})"
        return self.family.title + method

    def mean(self) -> float:
        """Return the mean; infinite for some heavy tails."""
        return (1 - self.zeros) * self.distribution.mean()

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of a value of at most x."""
        at = np.asarray(x, dtype=np.float64)
        return np.where(at < 0, 0, self.zeros + (1 - self.zeros) * self.distribution.cdf(at))

    def ppf(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return the quantile at probability q."""
        share = np.asarray(q, dtype=np.float64)
        if self.zeros == 1:
            return np.zeros_like(share)
        of_positive = (share - self.zeros) / (1 - self.zeros)
        return np.where(of_positive <= 0, 0, self.distribution.ppf(np.clip(of_positive, 0, 1)))

    def rvs(
        self, size: int = 1, rng: np.random.Generator | int | None = None
    ) -> NDArray[np.float64]:
        """Draw values, shape (size,)."""
        rng = np.random.default_rng(rng)
        positive = rng.random(size) >= self.zeros
        values = np.zeros(size)
        values[positive] = self.distribution.rvs(int(positive.sum()), rng)
        return values


@dataclass(frozen=True, eq=False)
class MarginalFit(AnalysisResult):
    """A sample, and the fit of each family to it.

    Parameters
    ----------
    n : int
        Number of values.
    zeros : float
        Share of the values that are 0; all other statistics are of the positive values.
    mean, cv : float
        Mean and coefficient of variation.
    distinct : int
        Number of different values.
    heap : float
        Share of the most frequent value. The distance `ks` of any continuous distribution is at
        least half of it.
    best : str
        The family with the smallest distance `cramer_von_mises`.
    table : DataFrame
        By `family`, the best first: `title`, `method`, `parameters`, `n_parameters`; distances `ks`
        (Kolmogorov-Smirnov), `cramer_von_mises` and `anderson_darling`, the latter two per value;
        `log_likelihood`, per value; `aic`; `mean`.
    left_out : dict
        Reasons for missing fits, by family.
    fits : dict of str to Fit
        Fits by family.
    sample : Sample
        The positive values.
    """

    n: int
    zeros: float
    mean: float
    cv: float
    distinct: int
    heap: float
    best: str
    table: pd.DataFrame
    left_out: dict[str, str]
    fits: dict[str, Fit]
    sample: Sample

    @property
    def best_simple(self) -> str | None:
        """The best family with at most two parameters, or None."""
        simple = self.table.index[~self.table.index.str.startswith("hyper_")]
        return simple[0] if simple.size else None

    @property
    def nearest(self) -> list[str]:
        """The best hyper-exponential or hyper-Erlang fit, and the two best simpler ones."""
        hyper = self.table.index.str.startswith("hyper_")
        return [*self.table.index[hyper][:1], *self.table.index[~hyper][:2]]

    def quantiles(self, families: Iterable[str] | None = None) -> pd.DataFrame:
        """Return quantiles of the positive values and of fitted families.

        Parameters
        ----------
        families : iterable of str, optional
            Default: those of `nearest`.

        Returns
        -------
        DataFrame
            By `share`, from the smallest to the largest value, denser at both ends: `log`, the
            quantile of the values, and one column per family, by its title.
        """
        n = self.sample.n
        least = min(0.5 / n, 0.25)
        logit = np.linspace(np.log(least / (1 - least)), -np.log(least / (1 - least)), 100)
        share = 1 / (1 + np.exp(-logit))
        place = np.searchsorted(np.cumsum(self.sample.counts) / n, share * (1 - 1e-12))
        values = {"log": self.sample.values[np.minimum(place, self.sample.values.size - 1)]}
        for name in self.nearest if families is None else families:
            values[self.fits[name].family.title] = self.fits[name].distribution.ppf(share)
        return pd.DataFrame(values, pd.Index(share, name="share"))

    def curves(self, families: Iterable[str] | None = None) -> pd.DataFrame:
        """Return cumulative distributions of the positive values and of fitted families.

        Parameters
        ----------
        families : iterable of str, optional
            Default: those of `nearest`.

        Returns
        -------
        DataFrame
            By `value`: the cumulative share of the `log` and of each family.
        """
        values = self.sample.values
        at = np.geomspace(values[0], values[-1], _MOST_POINTS)
        at[-1] = values[-1]  # without a rounding error
        whole = np.append(0, np.cumsum(self.sample.counts)) / self.sample.n
        shares = {"log": whole[np.searchsorted(values, at, side="right")]}
        for name in self.nearest if families is None else families:
            shares[self.fits[name].family.title] = self.fits[name].distribution.cdf(at)
        return pd.DataFrame(shares, pd.Index(at, name="value"))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the cumulative distributions of the values and of the best fits."""
        return plot_fits(self.curves(), ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain Python values, without the sample."""
        numbers = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("table", "fits", "sample")
        }
        return plain({**numbers, "table": self.table.reset_index().to_dict("records")})


def fit_marginal(values: ArrayLike, families: Iterable[str] | None = None) -> MarginalFit:
    """Fit families of distributions to values, and measure the goodness of fit.

    Families at location 0 are fitted by maximum likelihood; hyper-exponential distributions by
    moments, if feasible, and by EM; hyper-Erlang distributions by three moments [1]_ and by EM with
    orders chosen by likelihood [2]_. EM groups more than 500 distinct values in
    500 logarithmic bins, each at its mean; all other methods use all values.

    Parameters
    ----------
    values : array_like, shape (n_values,)
        Non-negative values. NaN is left out; zeros are counted, and positive values fitted.
    families : iterable of str, optional
        Some of `analysis.fits.families.FAMILIES`; by default all.

    Raises
    ------
    ParameterError
        If a family is unknown, values are negative, infinite, or positive but outside 1e-50 to
        1e50, or there are fewer than two distinct positive values.

    Notes
    -----
    For values with ties, such as times in whole seconds, all three distances are defined with the
    empirical step function F_n and the fitted F: `sup |F_n − F|`, ∫ (F_n − F)² dF and
    ∫ (F_n − F)² / (F (1 − F)) dF, with integrals solved exactly.

    References
    ----------
    .. [1] M. A. Johnson, M. R. Taaffe, "Matching moments to phase distributions: mixtures of
       Erlang distributions of common order", Stochastic Models 5, 1989.
    .. [2] A. Thümmler, P. Buchholz, M. Telek, "A novel approach for phase-type fitting with the
       EM algorithm", IEEE Transactions on Dependable and Secure Computing 3, 2006.

    Examples
    --------
    >>> values = np.random.default_rng(1).lognormal(3, 1, 5000)
    >>> found = fit_marginal(values, families=["exponential", "lognormal", "weibull"])
    >>> found.best, {name: round(x, 1) for name, x in found.fits["lognormal"].parameters.items()}
    ('lognormal', {'mu': 3.0, 'sigma': 1.0})
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if known.size and not (known.min() >= 0 and np.isfinite(known.max())):
        odd = known.min() if known.min() < 0 else known.max()
        raise ParameterError(f"values to fit must be finite and 0 or more, not {odd:g}")
    sample = Sample.of(known[known > 0])
    odd_sizes = sample.values[(sample.values < 1 / _LARGEST) | (sample.values > _LARGEST)]
    if odd_sizes.size:
        raise ParameterError(
            f"values to fit must lie between {1 / _LARGEST:g} and {_LARGEST:g}, not at "
            f"{odd_sizes[0]:g}; use another unit"
        )
    if sample.values.size < 2:
        raise ParameterError(
            f"{plural(sample.values.size, 'distinct positive value')}; a fit needs at least two"
        )
    return fit_sample(sample, known.size, families)


def fit_sample(sample: Sample, n: int, families: Iterable[str] | None = None) -> MarginalFit:
    """Fit families to the positive values among n values, see `fit_marginal`."""
    names = list(FAMILIES if families is None else families)
    if unknown := [name for name in names if name not in FAMILIES]:
        raise ParameterError(f"unknown family {quoted(unknown[0])}; known: {', '.join(FAMILIES)}")
    zeros = 1 - sample.n / n
    fits, rows, left_out = {}, {}, {}
    for name in names:
        family = FAMILIES[name]
        try:
            distribution, parameters, n_parameters = family.fit(sample)
        except ParameterError as reason:
            left_out[name] = str(reason)
            continue
        fits[name] = Fit(family, distribution, zeros, parameters)
        likelihood = sample.mean(distribution.logpdf(sample.values))
        rows[name] = {
            "title": family.title,
            "method": family.method,
            "parameters": parameters,
            "n_parameters": n_parameters,
            **distances(sample, distribution),
            "log_likelihood": likelihood,
            "aic": 2 * n_parameters - 2 * likelihood * sample.n,
            "mean": distribution.mean(),
        }
    if not fits:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise NoFitError(f"no family fits: {reasons}")
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("family")
    table = table.sort_values("cramer_von_mises", kind="stable")
    mean = sample.mean()
    return MarginalFit(
        n=n,
        zeros=zeros,
        mean=mean,
        cv=float(np.sqrt(sample.squared_cv)),
        distinct=sample.values.size,
        heap=float(sample.counts.max() / sample.n),
        best=str(table.index[0]),
        table=table,
        left_out=left_out,
        fits=fits,
        sample=sample,
    )


def distances(sample: Sample, distribution: Any) -> dict[str, float]:
    """Return the distances `ks`, `cramer_von_mises`, `anderson_darling`, see `fit_marginal`.

    Examples
    --------
    >>> from scipy import stats
    >>> distances(Sample.of([1, 2]), stats.uniform(0, 4))["ks"]
    0.5
    """
    whole = np.append(0, np.cumsum(sample.counts)) / sample.n
    whole[-1] = 1
    cdf = np.concatenate([[0], distribution.cdf(sample.values), [1]])
    sf = np.concatenate([[1], distribution.sf(sample.values), [0]])
    # Between adjacent values, F_n is constant while F rises.
    below, above = cdf[:-1] - whole, cdf[1:] - whole
    square = (above * above * above - below * below * below) / 3  # ** 3 takes 100 times as long
    with np.errstate(divide="ignore", invalid="ignore"):  # log(0), of which there is nothing
        low = np.where(whole > 0, whole**2 * np.diff(np.log(cdf)), 0)
        high = np.where(whole < 1, (1 - whole) ** 2 * np.diff(np.log(sf)), 0)
    weighted = np.where(np.diff(sf) != 0, low - high - np.diff(cdf), 0)
    return {
        "ks": largest_distance(sample, cdf[1:-1]),
        "cramer_von_mises": float(square.sum()),
        "anderson_darling": float(weighted.sum()),
    }


def largest_distance(sample: Sample, cdf: NDArray[np.float64]) -> float:
    """Return sup |F_n − F| for a distribution with this F at the sample's values."""
    whole = np.append(0, np.cumsum(sample.counts)) / sample.n
    return float(max((whole[1:] - cdf).max(), (cdf - whole[:-1]).max()))


def plot_fits(data: pd.DataFrame, ax: "Axes | None" = None, *, times: bool = True) -> "Axes":
    """Draw an empirical and fitted cumulative distributions, from `MarginalFit.curves`.

    Parameters
    ----------
    data : DataFrame
    times : bool, default True
        Whether the values are times [s]; otherwise plain numbers.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> shares = {"log": [0, 0.5, 1], "weibull": [0.1, 0.5, 0.9]}
    >>> ax = plot_fits(pd.DataFrame(shares, index=[1, 10, 100]), Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['log', 'weibull']
    """
    ax = style.current_axes(ax)
    ax.plot(data.index, data["log"], color=style.PALE, linewidth=4, label="log")
    for name, line in zip(data.columns[1:], cycle(style.LINES), strict=False):
        ax.plot(data.index, data[name], **line, label=name)
    (style.time_axis if times else style.log_axis)(ax.xaxis)
    ax.set_ylim(0, 1.02)
    style.share_axis(ax.yaxis)
    ax.set(xlabel="time" if times else "value", ylabel="share at or below")
    style.legend_above(ax)
    return ax


def plot_quantiles(data: pd.DataFrame, ax: "Axes | None" = None, *, times: bool = True) -> "Axes":
    """Draw a quantile-quantile plot of fits, from `MarginalFit.quantiles`.

    Parameters
    ----------
    data : DataFrame
    times : bool, default True
        Whether the values are times [s]; otherwise plain numbers.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = pd.DataFrame({"log": [1, 10, 100], "weibull": [2, 9, 80]})
    >>> ax = plot_quantiles(data, Figure().subplots())
    >>> ax.get_ylabel(), ax.lines[-1].get_label()
    ('quantile of the fit', 'weibull')
    """
    ax = style.current_axes(ax)
    low, high = data["log"].iloc[0], data["log"].iloc[-1]
    ax.plot([low, high], [low, high], color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    for name, line in zip(data.columns[1:], cycle(style.LINES), strict=False):
        near = data[name].between(low / _BEYOND, high * _BEYOND)
        ax.plot(data["log"][near], data[name][near], **line, label=name)
    for axis in (ax.xaxis, ax.yaxis):
        (style.time_axis if times else style.log_axis)(axis)
    ax.set(xlabel="quantile of the log", ylabel="quantile of the fit")
    style.legend_above(ax)
    return ax
