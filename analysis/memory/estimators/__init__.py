"""Estimators of the Hurst parameter, one method per file, and their errors."""
