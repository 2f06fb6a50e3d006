"""`python -m workloadkit`: the command line."""

from workloadkit.cli import main

main()
