"""The consistency rules of the Standard Workload Format, and their check."""
