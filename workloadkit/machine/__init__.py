"""What serves the jobs of a log: nodes, partitions, pools and switches; what each job requests."""
