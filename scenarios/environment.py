"""Environment variables, lent: libraries and new processes read them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """Give an environment variable a value within the block; afterwards it is as it was.

    >>> with variable("PROBE_EXAMPLE", "1"):
    ...     os.environ["PROBE_EXAMPLE"]
    '1'
    >>> "PROBE_EXAMPLE" in os.environ
    False
    """
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
