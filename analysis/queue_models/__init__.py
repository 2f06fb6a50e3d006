"""What queueing models need of a log, and what they predict for it."""
