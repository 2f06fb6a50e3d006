"""Distributions that fit: families, phase types, distances."""
