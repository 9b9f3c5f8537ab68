"""Entry point of `probe` and `python -m scenarios`.

An interrupted import can turn Ctrl-C into any other exception. So Ctrl-C ends the
process at once until `scenarios.commands.main` handles signals itself.
"""

import os
import signal
import sys


def main() -> None:
    """Load the command line and run it."""
    signal.signal(signal.SIGINT, _stop)
    from scenarios.commands.main import main as run

    run()


def _stop(*_: object) -> None:
    """End the process at once, with a sentence on how to continue."""
    os.write(2, b"stopped: run the same command again to go on\n")
    os._exit(130)


if __name__ == "__main__":
    # `python -m` looks into the current folder first: a figures.py of the user's is not
    # ours.
    if sys.path[0] == os.getcwd() and sys.path[0] not in __file__:
        del sys.path[0]
    main()
