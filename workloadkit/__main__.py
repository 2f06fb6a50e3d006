"""The program: `workloadkit`, or `python -m workloadkit`."""

import sys
from typing import Any

_INTERRUPTED = 130  # exit code


def main() -> None:
    """Run the command line; an interrupt while it is loading is one line, too."""
    try:
        from workloadkit.cli import main

        main()
    except KeyboardInterrupt:
        stopping: Any = sys.modules.get("workloadkit.cli.stopping")
        code = (stopping and stopping.exit_code()) or _INTERRUPTED
        if code == _INTERRUPTED:
            sys.stderr.write("interrupted\n")
        sys.exit(code)


if __name__ == "__main__":
    main()
