"""Estimators of the Hurst parameter, by lines on logarithmic axes or by the spectrum, and their errors."""
