"""Clean a log: filters in the archive's syntax, and unrepresentative parts of a log."""
