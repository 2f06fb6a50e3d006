"""Estimators of the Hurst parameter, by lines or by the spectrum, and their errors."""
