"""Users of a site, who draw what they submit from empirical distributions."""
