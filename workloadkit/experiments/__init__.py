"""Experiments: many simulations, their workloads, measures and confidence intervals."""
