"""What simulating a site needs to know of logs."""
