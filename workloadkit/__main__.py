"""The program: `workloadkit`, or `python -m workloadkit`."""

import sys


def main() -> None:
    """Run the command line; an interrupt while it is loading is one line, too."""
    try:
        from workloadkit.cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
