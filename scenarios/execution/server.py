"""The server that forks the workers of a pool: it imports what they need while this process works.

It holds no threads and no GPU, unlike this process.
"""

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker

from scenarios.environment import cores, variables
from scenarios.options import RunOptions


def start_early(options: RunOptions) -> None:
    """Start the server where the flags ask for several workers, before anything heavy is imported.

    Where files are loaded it is started later: they may set environment variables.

    Args:
        options: The flags of `probe run`.
    """
    pooled = options.executor in (None, "pool") and (options.workers or cores()) > 1
    if pooled and not options.dry_run and not options.load:
        start_server()


def start_server() -> None:
    """Start the server, unless it runs; it goes on importing."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(
        [f"{__package__}.preloaded"]
    )
    # It is started by `python -c`, which would import a pickle.py of the current
    # folder.
    with variables({"PYTHONSAFEPATH": "1"}), ctrl_c_held_back():
        forkserver.ensure_running()


@contextmanager
def ctrl_c_held_back() -> Iterator[None]:
    """Make processes that are started within the block ignore Ctrl-C from the start.

    A terminal sends Ctrl-C to all of them. In this process it is only delayed.
    """
    # Started by multiprocessing itself within the block, it would unblock Ctrl-C.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
