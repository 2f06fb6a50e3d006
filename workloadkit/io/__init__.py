"""Readers and writers, one file for each format."""
