"""A run of a probed study: its measurements, its tables, and its counts as stored."""

import base64
import csv
import json
import zlib

import numpy as np
from numpy.typing import NDArray

from probe.tables.run_directory import TIMES
from tests.scenarios.tiny_run import Tiny

FINETUNE, OFFLINE, UNTRAINED = "finetune.order-there.seed-0", "offline.seed-0", "untrained.seed-0"


def parts(tiny: Tiny) -> dict[str, dict[str, tuple[int, int, bytes]]]:
    """Return the first finished parts of each job, with their inodes, times and bytes."""
    found: dict[str, dict[str, tuple[int, int, bytes]]] = {}
    for name, state in sorted(tiny.results().items(), key=lambda each: each[1][1], reverse=True):
        job, _, file = name.split("/")
        part = file.removesuffix(".json")
        if part != file and not part.endswith(("checkpoint", "fingerprint")):
            found.setdefault(job, {})[part] = state
    return found


def names(tiny: Tiny) -> dict[str, set[str]]:
    """Return the names of the finished parts of each job, without the digests of settings."""
    return {job: set(map(bare, own)) for job, own in parts(tiny).items()}


def bare(part: str) -> str:
    """Return the name of a part without the digest of its settings."""
    return part.rpartition("-")[0] if part.startswith("row-") else part


def checkpoints(tiny: Tiny) -> set[str]:
    """Return which checkpoints there are, as JOB/STEP."""
    each = (name.split("/") for name in tiny.results())
    named = (f"{job}/{file}" for job, _, file in each)
    return {name.removesuffix(".checkpoint.json") for name in named if "checkpoint" in name}


def tables(tiny: Tiny) -> dict[str, bytes]:
    """Return every table but that of seconds."""
    return {p.name: p.read_bytes() for p in tiny.root.glob("*.csv") if p.name != TIMES}


def rows(tiny: Tiny, name: str, **given: object) -> list[dict[str, str]]:
    """Return the rows of a table in which every given column has that value."""
    with (tiny.root / f"{name}.csv").open(newline="") as file:
        every = list(csv.DictReader(file))
    return [row for row in every if all(row[key] == str(value) for key, value in given.items())]


def value(tiny: Tiny, name: str, column: str = "value", **given: object) -> float:
    """Return the number in the only such row."""
    [row] = rows(tiny, name, **given)
    return float(row[column] or "nan")


def counts(tiny: Tiny, job: str, part: str) -> NDArray[np.int64]:
    """Return the counts of a part of all test data, (K, K), read from its file by json alone.

    part: without its digest.
    """
    [path] = [p for p in tiny.root.glob(f"jobs/{job}/*/*.json") if bare(p.stem) == part]
    packed = json.loads(path.read_text())["counts"]["single"]
    steps, numbers = (
        np.frombuffer(zlib.decompress(base64.b64decode(text[3:])), text[:3])
        for text in (packed["cells"], packed["counts"])
    )
    n, K = packed["shape"]
    tables = np.zeros((n, K, K), dtype=np.int64)
    tables.flat[steps.cumsum(dtype=np.int64)] = numbers
    return tables.sum(axis=0)
