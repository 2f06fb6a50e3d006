"""How well known distributions fit the times and sizes of a log."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from analysis import style
from analysis.fits.families import FAMILIES, Family, Sample, Scaled
from analysis.fits.phase_type import HyperErlang
from analysis.section import Result
from workloadkit.errors import ParameterError
from workloadkit.provenance import plain

_MOST_POINTS = 300  # as many as a curve can show
_BEYOND = 30  # a fitted quantile so many times beyond all values is not drawn

_LARGEST = 1e50  # of values, whose squares and cubes are finite


class NoFitError(ParameterError):
    """None of the families that were chosen can have given these values."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A distribution fitted to values of 0 or more.

    Zeros are a share of their own, since no family of positive values can have them; all of what
    is asked of a fit is asked of both together.

    Parameters
    ----------
    family : Family
        With its title and how it was fitted.
    distribution : object
        Of the positive values: a `Scaled` distribution of scipy.stats, or a `HyperErlang`.
    zeros : float
        Share of the values that are 0.
    parameters : dict
        Of the distribution, by name.

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
        """Name of the family and, unless it is maximum likelihood, how it was fitted."""
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
        """Return the value that a share q of all values do not exceed."""
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
class MarginalFit(Result):
    """A sample, and how well each family fits it.

    Parameters
    ----------
    n : int
        Number of values.
    zeros : float
        Share of the values that are 0; all else is of the positive ones.
    mean, cv : float
        Mean and coefficient of variation.
    distinct : int
        Number of different values.
    heap : float
        Share of the commonest value. No continuous distribution comes nearer than half of it by
        `ks`.
    best : str
        The family with the least distance `cramer_von_mises`.
    table : DataFrame
        By `family`, the nearest first: `title`, `method`, `parameters`, `n_parameters`; distances
        `ks` (Kolmogorov and Smirnov's), `cramer_von_mises` and `anderson_darling`, the latter two
        for each value; `log_likelihood`, for each value too; `aic`; `mean`.
    left_out : dict
        Why there is no fit, by family.
    fits : dict of str to Fit
        By family.
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
        """The nearest family of at most two parameters, if there is one."""
        simple = self.table.index[~self.table.index.str.startswith("hyper_")]
        return simple[0] if simple.size else None

    @property
    def nearest(self) -> list[str]:
        """The nearest hyper-exponential or hyper-Erlang fit, and the two nearest simpler ones."""
        hyper = self.table.index.str.startswith("hyper_")
        return [*self.table.index[hyper][:1], *self.table.index[~hyper][:2]]

    def quantiles(self, families: Iterable[str] | None = None) -> pd.DataFrame:
        """Return quantiles of the positive values, beside those of fitted families.

        Parameters
        ----------
        families : iterable of str, optional
            By default those of `nearest`.

        Returns
        -------
        DataFrame
            By `share`, from the least to the largest value, closer together towards both: `log`,
            the quantile of the values, and one column a family, by its title.
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
        """Return the cumulative distribution of the positive values, beside fitted ones.

        Parameters
        ----------
        families : iterable of str, optional
            By default those of `nearest`.

        Returns
        -------
        DataFrame
            By `value`: shares that are at most so large, of the `log` and of each family.
        """
        values = self.sample.values
        at = np.geomspace(values[0], values[-1], _MOST_POINTS)
        at[-1] = values[-1]  # not a rounding error less
        whole = np.append(0, np.cumsum(self.sample.counts)) / self.sample.n
        shares = {"log": whole[np.searchsorted(values, at, side="right")]}
        for name in self.nearest if families is None else families:
            shares[self.fits[name].family.title] = self.fits[name].distribution.cdf(at)
        return pd.DataFrame(shares, pd.Index(at, name="value"))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the values' cumulative distribution and those of the nearest fits."""
        return plot_fits(self.curves(), ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, without the values themselves."""
        numbers = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("table", "fits", "sample")
        }
        return plain({**numbers, "table": self.table.reset_index().to_dict("records")})


def fit_marginal(values: ArrayLike, families: Iterable[str] | None = None) -> MarginalFit:
    """Fit families of distributions to values, and say how far each is from them.

    Families of scipy.stats, at location 0, are fitted by maximum likelihood; hyper-exponential
    distributions by moments, where there is one, and by EM; hyper-Erlang ones by three moments [1]_
    and by EM with orders chosen by likelihood [2]_. EM takes more than 500 different values in 500
    bins that are even on a logarithmic axis, each at its mean; all else takes all values.

    Parameters
    ----------
    values : array_like, shape (n_values,)
        0 or more. NaN is left out; zeros are counted, and the others fitted.
    families : iterable of str, optional
        Some of `analysis.fits.families.FAMILIES`; by default all.

    Returns
    -------
    MarginalFit

    Raises
    ------
    ParameterError
        If a family is not known, values are negative or not finite, positive ones lie beyond
        1e-50 to 1e50, or fewer than two of them are different.

    Notes
    -----
    Of values with ties, which times in whole seconds have, all three distances are those between
    the step function of the values, F_n, and the fitted F: `sup |F_n − F|`, ∫ (F_n − F)² dF and
    ∫ (F_n − F)² / (F (1 − F)) dF, each integral solved exactly.

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
            f"{odd_sizes[0]:g}; take another unit"
        )
    if sample.values.size < 2:
        raise ParameterError(
            f"{sample.values.size} different positive values; a fit needs two at least"
        )
    return fit_sample(sample, known.size, families)


def fit_sample(sample: Sample, n: int, families: Iterable[str] | None = None) -> MarginalFit:
    """Fit families to the positive ones among n values, as `fit_marginal` does to all of them."""
    names = list(FAMILIES if families is None else families)
    if unknown := [name for name in names if name not in FAMILIES]:
        raise ParameterError(f"no family {unknown[0]!r}; known: {', '.join(FAMILIES)}")
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
    """Return the distances between values and a distribution.

    Parameters
    ----------
    sample : Sample
    distribution : object
        With `cdf` and `sf`.

    Returns
    -------
    dict
        `ks`, `cramer_von_mises` and `anderson_darling`, as `fit_marginal` defines them.

    Examples
    --------
    >>> from scipy import stats
    >>> distances(Sample.of([1, 2]), stats.uniform(0, 4))["ks"]
    0.5
    """
    from scipy.special import xlogy

    whole = np.append(0, np.cumsum(sample.counts)) / sample.n
    whole[-1] = 1
    cdf = np.concatenate([[0], distribution.cdf(sample.values), [1]])
    sf = np.concatenate([[1], distribution.sf(sample.values), [0]])
    # From one value to the next F_n stands still while F goes from low to high.
    low, high, below, above = cdf[:-1], cdf[1:], sf[:-1], sf[1:]
    square = ((high - whole) ** 3 - (low - whole) ** 3) / 3
    moves = below != above
    s, low, high, below, above = (a[moves] for a in (whole, low, high, below, above))
    weighted = (
        (low - high)
        + (xlogy(s**2, high) - xlogy(s**2, low))
        - (xlogy((1 - s) ** 2, above) - xlogy((1 - s) ** 2, below))
    )
    return {
        "ks": largest_distance(sample, cdf[1:-1]),
        "cramer_von_mises": float(square.sum()),
        "anderson_darling": float(weighted.sum()),
    }


def largest_distance(sample: Sample, cdf: NDArray[np.float64]) -> float:
    """Return sup |F_n − F| for a distribution with this F at the sample's values."""
    whole = np.append(0, np.cumsum(sample.counts)) / sample.n
    return float(max((whole[1:] - cdf).max(), (cdf - whole[:-1]).max()))


def plot_fits(data: pd.DataFrame, ax: Axes | None = None, *, times: bool = True) -> Axes:
    """Draw a cumulative distribution and fitted ones, as `MarginalFit.curves` gives them.

    Parameters
    ----------
    data : DataFrame
    ax : Axes, optional
        Default: the current Axes.
    times : bool, default True
        Whether the values are times [s]; else they are numbers.
    """
    ax = style.current_axes(ax)
    ax.plot(data.index, data["log"], color=style.PALE, linewidth=4, label="log")
    for name, line in zip(data.columns[1:], cycle(style.LINES), strict=False):
        ax.plot(data.index, data[name], **line, label=name)
    (style.time_axis if times else style.log_axis)(ax.xaxis)
    ax.set_ylim(0, 1.02)
    style.share_axis(ax.yaxis)
    ax.set_xlabel("time" if times else "value")
    ax.set_ylabel("share at or below")
    style.legend_above(ax)
    return ax


def plot_quantiles(data: pd.DataFrame, ax: Axes | None = None, *, times: bool = True) -> Axes:
    """Draw quantiles of fits against those of the log (QQ), as `MarginalFit.quantiles` gives them.

    Parameters
    ----------
    data : DataFrame
    ax : Axes, optional
        Default: the current Axes.
    times : bool, default True
        Whether the values are times [s]; else they are numbers.
    """
    ax = style.current_axes(ax)
    low, high = data["log"].iloc[0], data["log"].iloc[-1]
    ax.plot([low, high], [low, high], color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    for name, line in zip(data.columns[1:], cycle(style.LINES), strict=False):
        near = data[name].between(low / _BEYOND, high * _BEYOND)
        ax.plot(data["log"][near], data[name][near], **line, label=name)
    for axis in (ax.xaxis, ax.yaxis):
        (style.time_axis if times else style.log_axis)(axis)
    ax.set_xlabel("quantile of the log")
    ax.set_ylabel("quantile of the fit")
    style.legend_above(ax)
    return ax
