"""Long memory: fractional noise, estimators of the Hurst parameter, and what they say of a log."""
