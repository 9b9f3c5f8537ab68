"""Fingerprints: hashes of everything that can change a job's results.

A job's results lie in a folder named after its fingerprint (`probe.by_layer.store`). So
a study can grow: with one more seed, learner or order the other jobs keep their
fingerprints, and with them their results. If anything that counts changes, the
fingerprint changes, the job is repeated in another folder, and the older results are
kept but not shown. `differences` names the values that differ, from the records that
both folders keep. `Plan.record` lists everything that counts. The code is not in it, or
almost every commit would make a study start again (see `probe.by_layer.code`).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from probe.files import sha256

RESULTS_VERSION = 9
"""The version of results: raise it with every change of the code that changes a measurement.

The golden counts of every learner show such changes
(`tests/scenarios/study/test_results_version.py`). A new version changes all
fingerprints, so that every study repeats all of its jobs.
"""

Record = dict[str, Any]
"""A tree of JSON values by name, as the input of a fingerprint is."""


def fingerprint(record: Record) -> str:
    """Return the SHA-256 of everything that can change a result, as 64 hexadecimal digits.

    The order of the record's keys does not matter:

    >>> fingerprint({"seed": 0, "data": "x"}) == fingerprint({"data": "x", "seed": 0})
    True
    """
    return sha256(json.dumps(record, sort_keys=True))


def differences(there: Any, here: Any, path: str = "") -> Iterator[str]:
    """Yield `path is A there and B here` for every value of two records that differs.

    Mappings are compared key by key in sorted order, any other value as a whole. A
    missing key counts as null.

    Args:
        there: A tree of JSON values.
        here: The tree to compare with.
        path: The path of both in the complete record.

    >>> list(differences({"training": {"epochs": 1}}, {"training": {"epochs": 2}}))
    ['training.epochs is 1 there and 2 here']
    """
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for key in sorted(there.keys() | here.keys()):
            below = f"{path}.{key}" if path else str(key)
            yield from differences(there.get(key), here.get(key), below)
    elif there != here:
        yield f"{path} is {_short(there)} there and {_short(here)} here"


def _short(value: Any) -> str:
    """Return a value as JSON of 60 characters at most."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
