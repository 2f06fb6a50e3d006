"""What serves jobs: how much of it is free, and what will be."""
