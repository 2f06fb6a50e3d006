"""Queueing models with formulas; knows nothing of logs or simulators."""
