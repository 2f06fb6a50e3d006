"""The compiled engine: state and event loop, and what policies, machines and users share in it."""
