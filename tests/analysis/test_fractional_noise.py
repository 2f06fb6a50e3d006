"""The noise is what it claims to be: its covariance is compared exactly, not by sampling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers

from workloadkit import ParameterError
from workloadkit.analysis.memory import fractional_gaussian_noise
from workloadkit.analysis.memory.arrivals import NoiseSpectrum, autocovariance


class Unit:
    """Stands for a generator: of all the numbers drawn one is 1, the others 0."""

    def __init__(self, place):
        self.place = place

    def standard_normal(self, shape):
        drawn = np.zeros(shape)
        drawn.flat[self.place] = 1
        return drawn


@pytest.mark.parametrize("H", [0.1, 0.5, 0.75, 0.95])
@pytest.mark.parametrize("n", [1, 2, 7, 16])
def test_the_covariance_is_exact(n, H, monkeypatch):
    # The noise is a linear map of independent normal numbers; the map times its transpose is the
    # covariance.
    monkeypatch.setattr(np.random, "default_rng", lambda rng: rng)
    columns = [fractional_gaussian_noise(n, H, Unit(k)) for k in range(2 * (n + 1))]
    covariance = np.transpose(columns) @ np.array(columns)
    lag = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    np.testing.assert_allclose(covariance, autocovariance(lag, H), atol=1e-12)


def test_autocovariance_by_hand():
    # lag 1: (2^1.5 - 2) / 2; lag 2: (3^1.5 - 2 * 2^1.5 + 1) / 2
    expected = [1, 2**0.5 - 1, (3**1.5 - 2**2.5 + 1) / 2]
    assert autocovariance([0, 1, -2], 0.75) == pytest.approx(expected)


@given(floats(0.05, 0.95), integers(0, 4))
def test_the_spectrum_gives_the_autocovariance(H, lag):
    # Of the differences of the noise, whose density is finite at 0, so that the sum converges.
    n = 4000
    frequency = np.pi * (np.arange(n) + 0.5) / n
    density = np.exp(NoiseSpectrum(frequency).log_density(H)) * (2 - 2 * np.cos(frequency))
    found = 2 * np.pi / n * np.sum(density * np.cos(lag * frequency))
    near = autocovariance(np.array([lag - 1, lag, lag + 1]), H)
    assert found == pytest.approx(2 * near[1] - near[0] - near[2], abs=1e-5)


def test_the_same_seed_gives_the_same_noise():
    first = fractional_gaussian_noise(50, 0.7, rng=3)
    assert (first == fractional_gaussian_noise(50, 0.7, rng=np.random.default_rng(3))).all()
    assert (first != fractional_gaussian_noise(50, 0.7, rng=4)).all()


@pytest.mark.parametrize(("n", "H"), [(0, 0.5), (2.5, 0.5), (5, 0), (5, 1), (5, np.nan)])
def test_what_is_out_of_range_is_an_error(n, H):
    with pytest.raises(ParameterError, match=r"must (be a whole|lie between)"):
        fractional_gaussian_noise(n, H)
