"""Estimators of the Hurst parameter, one idea a file, and how they err."""
