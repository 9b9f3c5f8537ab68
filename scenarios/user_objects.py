"""The user's objects by name, as far as `scenarios.user_code` has loaded and registered them."""

from collections.abc import Iterable
from itertools import chain

from probe.errors import InputError, unknown
from probe.extensions import DataEntry, LearnerEntry, MetricEntry, NetworkEntry

# Everything that the open blocks have registered, by name.
USER_NETWORKS: dict[str, NetworkEntry] = {}
USER_DATA: dict[str, DataEntry] = {}
USER_METRICS: dict[str, MetricEntry] = {}
USER_LEARNERS: dict[str, LearnerEntry] = {}
SOURCE_HASHES: dict[str, str] = {}
"""The hashes of their code, by kind and name, such as `network tiny`."""


def unregistered(kind: str, name: str, *names: Iterable[str]) -> InputError:
    """Return the error for a name that is neither built in nor registered.

    Args:
        kind: The kind of object.
        name: The unknown name.
        names: The known names, in groups.

    Returns:
        The error.
    """
    error = unknown(kind, name, list(chain(*names)))
    return InputError(f"{error}, unless --load names a file that defines it")
