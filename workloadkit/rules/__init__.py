"""The consistency rules of the Standard Workload Format, each in one place, and their check."""
