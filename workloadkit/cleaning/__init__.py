"""Cleaning: filters in the archive's form, and the parts of a log that represent nothing."""
