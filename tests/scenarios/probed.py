"""A run of a probed study: its measurements, its tables, and its predictions as stored."""

import csv

import numpy as np

from tests.scenarios.table_names import TIMES
from tests.scenarios.tiny_run import measured

FINETUNE = "finetune.order-there.seed-0"
OFFLINE = "offline.seed-0"
UNTRAINED = "untrained.seed-0"


def names(tiny, before=None):
    """Return the names of the finished measurements by job; those since then, if any are given."""
    found = {}
    for key in measured(tiny.root).keys() - (before or {}):
        found.setdefault(key[0], set()).add(key[2])
    return found


def checkpoints(tiny):
    """Return which checkpoints there are, as JOB/after-T."""
    return {f"{p.parts[-3]}/{p.stem}" for p in tiny.root.glob("jobs/*/*/after-*.pt")}


def tables(tiny):
    """Return every table but that of seconds."""
    return {p.name: p.read_bytes() for p in tiny.root.glob("*.csv") if p.name != TIMES}


def rows(tiny, name, **given):
    """Return the rows of a table in which every given column has that value."""
    with (tiny.root / f"{name}.csv").open(newline="") as file:
        every = list(csv.DictReader(file))
    wanted = {key: str(value) for key, value in given.items()}
    return [row for row in every if wanted.items() <= row.items()]


def value(tiny, name, column="value", **given):
    """Return the number in the only such row."""
    [row] = rows(tiny, name, **given)
    return float(row[column] or "nan")


def predicted(tiny, job, name):
    """Return task, label and predicted class of each test example, (3, N), by numpy alone.

    name: of the measurement, as "linear of hidden1 after 2" or "output after 2".
    """
    [path] = tiny.root.glob(f"jobs/{job}/*/predictions.npz")
    with np.load(path) as arrays:
        each = zip(
            arrays["tasks_seen"], arrays["feature"], arrays["readout"], strict=True
        )
        names = [
            f"{f'{r} of {f}' if f else r or 'output'} after {t}" for t, f, r in each
        ]
        here = (arrays["measurement"] == names.index(name)) & (
            arrays["head"] == "single"
        )
        [row] = arrays["predicted"][here]
        return np.array([arrays["task"], arrays["label"], row], dtype=np.int64)
