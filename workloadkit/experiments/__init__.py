"""Many simulations at once: their workloads, what is measured, and intervals of the means."""
