"""The incremental-class stream of Kemker 2018: a base session, then one class per session."""

from __future__ import annotations

from probe.errors import InputError
from scenarios.data.datasets import Dataset
from scenarios.streams.split import cut, limited
from scenarios.streams.task import Scenario


def incremental(
    data: Dataset,
    base: int | None = None,
    train_limit: int | None = None,
    test_limit: int | None = None,
) -> Scenario:
    """Cut K classes into a base session of the first half and sessions of one class each.

    base: classes of the base session; None = K // 2 (Kemker 2018: "half of the classes" of 10, 100
    and 200). There are 1 + K - base sessions. train_limit, test_limit: keep at most that many
    examples per class, the first in the data. Raises InputError where the base session would hold
    no class, or leave none.
    """
    base = data.classes // 2 if base is None else base
    if not 1 <= base < data.classes:
        raise InputError(
            f"a base session of {base} of the {data.classes} classes of {data.name} leaves nothing "
            f"to learn before or after it: choose from 1 to {data.classes - 1}, of 2 classes or "
            f"more"
        )
    groups = [range(base), *(range(label, label + 1) for label in range(base, data.classes))]
    return cut(limited(data, train_limit, test_limit), "incremental", groups)
