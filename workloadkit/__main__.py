"""The program: `workloadkit`, or `python -m workloadkit`."""

from workloadkit.signals import end_at_once, handle


def main() -> None:
    """Run the command line; a signal while it is loading ends the program at once."""
    handle(end_at_once)
    from workloadkit.cli import main

    main()


if __name__ == "__main__":
    main()
