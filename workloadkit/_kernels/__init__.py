"""Compiled loops on plain arrays and scalars; their callers check and name the values."""
