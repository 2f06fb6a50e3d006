"""Users of a site, whose jobs are drawn from empirical distributions."""
