"""Outages that nobody wrote down: inferred from what a log's jobs did, and proposed."""
