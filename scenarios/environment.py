"""Environment variables, set for a while, and the cores of this process."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within the block, and restore all variables at its end.

    >>> with variables({"PROBE_EXAMPLE": "1"}):
    ...     os.environ["PROBE_EXAMPLE"]
    '1'
    >>> "PROBE_EXAMPLE" in os.environ
    False
    """
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def cores() -> int:
    """Return the number of cores that this process may use."""
    # Only Linux reports them.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
