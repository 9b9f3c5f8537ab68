"""The results of a job: small files, each written whole or not at all, are a run's truth."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from probe.files import make_within, replacing
from probe.metrics.counts import Counts
from probe.regular import regular_file
from probe.training.costs import Cost
from scenarios.study.quarantine import set_aside
from scenarios.study.sealing import read_sealed, sealed

FORMAT = 5

State = Mapping[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What it took to learn a task; seconds: see `probe.tables.rows.TimeRow`.

    Raises ValueError for a cost that is no whole number from 0 to 2^63 - 1, and for seconds that
    are not a finite number from 0.
    """

    cost: Cost
    seconds: float

    def __post_init__(self) -> None:
        whole = all(type(n) is int and 0 <= n < 2**63 for n in vars(self.cost).values())
        seconds = self.seconds
        if not whole or type(seconds) is bool or not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"nothing can have cost that: {self}")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One finished part: tables of confusion counts by head, and what was spent on it.

    counts: by head, the tables of a `TaskCounts`. A retrained model knows all
    classes: it has the head `single` alone; a learner that must be told the task has `multi` alone,
    any other all three heads. spent: None where no task was learned for the part.
    """

    counts: Mapping[str, tuple[Counts, ...]]
    spent: Spent | None = None


@dataclass(frozen=True)
class Checkpoint:
    """What a learner is after a task: its model's state and what it carries beside it."""

    model: dict[str, Tensor]
    learner: dict[str, Tensor]


class Store:
    """The results of one identity in a run directory.

    `jobs/JOB/PART.json` holds one finished measurement, `jobs/JOB/PART.pt` and `PART.learner.pt`
    the checkpoint of a step with `PART.checkpoint.json` beside them. Every file carries the
    identity of its job (see `scenarios.study.identity`) and a hash of its content: one that does
    not match is set aside under `quarantine/` and computed anew. Links are not followed.

    allowed: called before every write; raises if this process must no longer write.
    """

    def __init__(
        self, root: Path, identity: str, allowed: Callable[[], object] = lambda: None
    ) -> None:
        self.root = root
        self._identity = identity
        self._allowed = allowed

    def read(self, job: str, part: str) -> Measurement | None:
        """Return a finished part, or None if there is none that can be trusted."""
        path = self._path(job, f"{part}.json")
        record = self._read_json(path)
        if record is None:
            return None
        try:
            return Measurement(
                counts=_counts(part, record["counts"]), spent=_spent(record["spent"])
            )
        except (KeyError, ValueError, TypeError, OverflowError):
            self._set_aside(path, "it holds no counts")
            return None

    def holds(self, job: str, part: str) -> bool:
        """Whether there is a finished part that can be trusted; nothing is set aside."""
        try:
            return Store(self.root, self._identity, _only_look).read(job, part) is not None
        except _OnlyLooking:
            return False

    def write(self, job: str, part: str, measured: Measurement) -> None:
        """Keep a finished part."""
        record = {
            "job": job,
            "part": part,
            "counts": {head: _packed(tables) for head, tables in measured.counts.items()},
            "spent": None if measured.spent is None else asdict(measured.spent),
        }
        self._write_json(self._path(job, f"{part}.json"), record)

    def finished(self, job: str) -> set[str]:
        """Return the names of the parts for which there is a file; `read` checks them."""
        try:
            names = os.listdir(self.root / "jobs" / job)
        except (FileNotFoundError, NotADirectoryError):
            return set()
        parts = {name.removesuffix(".json") for name in names if name.endswith(".json")}
        return {part for part in parts if not part.endswith(".checkpoint")}

    def owners(self, job: str) -> set[str]:
        """Return the identities that the files of the parts carry, without those damaged."""
        found = set()
        for part in self.finished(job):
            with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
                record = json.loads(read_sealed(self._path(job, f"{part}.json")))
                found.add(str(record["identity"]))
        return found

    def save_checkpoint(self, job: str, part: str, model: State, learner: State) -> None:
        """Keep a learner's state; the description is written last and makes it valid."""
        record: dict[str, Any] = {"job": job, "part": f"{part}.checkpoint"}
        for name, state in (("model", model), ("learner", learner)):
            plain = {key: tensor.detach().cpu().contiguous() for key, tensor in state.items()}
            content = io.BytesIO()
            torch.save(plain, content)
            record[name] = {"bytes": content.tell(), "sha256": _sha256(content)}
            self._write(self._path(job, part + _SUFFIX[name]), content.getvalue())
        self._write_json(self._path(job, f"{part}.checkpoint.json"), record)

    def load_checkpoint(self, job: str, part: str) -> Checkpoint | None:
        """Return a learner's state, on the CPU, or None if there is none that can be trusted."""
        sidecar = self._path(job, f"{part}.checkpoint.json")
        record = self._read_json(sidecar)
        if record is None:
            return None
        states = {}
        for name, suffix in _SUFFIX.items():
            path = self._path(job, part + suffix)
            state = _load_tensors(path, record.get(name))
            if state is None:
                self._set_aside(sidecar, f"{path.name} does not match it")
                self._set_aside(path, "it is not the checkpoint that was saved")
                return None
            states[name] = state
        return Checkpoint(states["model"], states["learner"])

    def set_checkpoint_aside(self, job: str, part: str, reason: str) -> None:
        """Set a checkpoint aside that is as it was saved but that nothing can be restored from."""
        for name in (f"{part}.checkpoint.json", *(part + suffix for suffix in _SUFFIX.values())):
            self._set_aside(self._path(job, name), reason)

    def _path(self, job: str, name: str) -> Path:
        return self.root.joinpath("jobs", job, name)

    def _write(self, path: Path, content: bytes) -> None:
        self._allowed()
        make_within(self.root, path.parent)
        with replacing(path) as partial:
            partial.write_bytes(content)

    def _write_json(self, path: Path, record: Mapping[str, Any]) -> None:
        whole = {"format": FORMAT, "identity": self._identity, **record}
        self._write(path, sealed(json.dumps(whole).encode()))

    def _read_json(self, path: Path) -> dict[str, Any] | None:
        try:
            record = json.loads(read_sealed(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._set_aside(path, f"it cannot be read ({error.strerror})")
            return None
        except (ValueError, RecursionError):
            self._set_aside(path, "its content does not match its hash")
            return None
        own = {"format": FORMAT, "identity": self._identity, "job": path.parent.name}
        part = path.name.removesuffix(".json")
        if not isinstance(record, dict) or {**record, **own, "part": part} != record:
            self._set_aside(path, "it belongs to another study, job or part")
            return None
        return record

    def _set_aside(self, path: Path, reason: str) -> None:
        self._allowed()
        set_aside(self.root, path, reason)


class _OnlyLooking(Exception):
    """Who only looks does not write: the file may be another process's, and just be mended."""


def _only_look() -> None:
    raise _OnlyLooking


def tensor_hash(state: State) -> str:
    """Return the SHA-256 of named tensors: names, types, shapes and every byte."""
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach().cpu().contiguous()
        digest.update(f"{name!r} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _sha256(file: io.BytesIO | io.BufferedReader) -> str:
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    file.seek(0)
    return digest


_SUFFIX = {"model": ".pt", "learner": ".learner.pt"}
_HEADS = ({"single", "multi", "all"}, {"multi"})  # of a step; the latter if told the task
_KINDS = ("<u1", "<u2", "<u4", "<i8")  # of cells: the first that has room for all of them


def _packed(tables: Sequence[Counts]) -> dict[str, Any]:
    """Return n tables as JSON: their cells row by row, little-endian, in base64.

    Written in digits they would take thirty times as long to read, and a study has many of them.
    """
    cells = np.stack([counts.table for counts in tables])
    kind = next(kind for kind in _KINDS if cells.max(initial=0) <= np.iinfo(kind).max)
    text = base64.b64encode(cells.astype(kind).tobytes()).decode()
    return {"shape": cells.shape, "kind": kind, "cells": text}


def _counts(part: str, record: dict[str, Any]) -> dict[str, tuple[Counts, ...]]:
    """Return a part's tables by head; raises ValueError if a head is missing."""
    if set(record) not in (_HEADS if part.startswith("step-") else [{"single"}]):
        raise ValueError(f"{part} has not the heads {', '.join(record)}")
    if not isinstance(record, dict):
        raise TypeError(f"the counts of {part} are in no table")
    return {head: _unpacked(tables) for head, tables in record.items()}


def _unpacked(record: dict[str, Any]) -> tuple[Counts, ...]:
    if record["kind"] not in _KINDS:
        raise ValueError(f"expected cells of one of the kinds {_KINDS}")
    cells = np.frombuffer(base64.b64decode(record["cells"], validate=True), record["kind"])
    if not cells.size:
        raise ValueError("expected at least one table")
    return Counts.each(cells.reshape(record["shape"]))


def _spent(record: dict[str, Any] | None) -> Spent | None:
    if record is None:
        return None
    return Spent(cost=Cost(**record["cost"]), seconds=record["seconds"])


def _load_tensors(path: Path, expected: Any) -> dict[str, Tensor] | None:
    """Return the tensors of a file if it is the expected one; executes no code in it."""
    try:
        with regular_file(path, links=False) as file:
            # Whatever else it is, however large, is neither read nor interpreted.
            size = os.fstat(file.fileno()).st_size
            if size != expected["bytes"] or _sha256(file) != expected["sha256"]:
                return None
            state = torch.load(file, map_location="cpu", weights_only=True)
        plain = (isinstance(n, str) and x.layout == torch.strided for n, x in state.items())
        return dict(state) if all(plain) else None
    except Exception:
        # A damaged or hostile file makes them raise almost anything; none of it is trusted.
        return None
