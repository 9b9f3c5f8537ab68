"""The results of a job: small files, each written whole or not at all, are a run's truth.

    jobs/JOB/FINGERPRINT16/fingerprint.json        what the fingerprint is made of
    jobs/JOB/FINGERPRINT16/PART.json               a finished part: counts, and what was spent
    jobs/JOB/FINGERPRINT16/STEP[.learner].pt       a checkpoint: the model, and the learner's own
    jobs/JOB/FINGERPRINT16/STEP.checkpoint.json    its hashes, which make it valid
    quarantine/                                    corrupt files, each with a note

A part is finished when its file is there and its hash is right; there is no other list. Files are
renamed into place when they are complete, so a process can be killed, and two can do the same job,
without harm. A corrupt file is never believed nor deleted, but set aside and computed again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from probe.by_layer.fingerprint import Record, differences, fingerprint
from probe.by_layer.measurement import Measurement
from probe.by_layer.quarantine import set_aside
from probe.files import discard, hashed, make_folder, not_written, replacing, sweep, unhashed

_RECORD = "fingerprint.json"
_DESCRIPTION = ".checkpoint"
_CHECKPOINT = {"model": ".pt", "learner": ".learner.pt"}


@dataclass(frozen=True)
class Checkpoint:
    """What a learner is after a task: its model's state and what it carries beside it, by name.

    code: a hash of the code that made it.
    """

    model: dict[str, Tensor]
    learner: dict[str, Tensor]
    code: str


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What there is of a job, by the names of parts and of the descriptions of checkpoints.

    finished: what is as it was written; corrupt: what is not; codes: hashes of the code behind it.
    """

    finished: frozenset[str]
    corrupt: frozenset[str]
    codes: frozenset[str]


class Corrupt(Exception):
    """A file is not as it was written; the message, the end of a sentence, says how it is not."""


class Store:
    """The results of one job under one fingerprint; nothing is written before the first of them.

    root: the run directory, which must exist for anything to be written; job: its name; record:
    what can change the job's results, see `Plan.record`; code: see `code_hash`.
    """

    def __init__(self, root: Path, job: str, record: Record, code: str = "") -> None:
        self.root = root
        self.job = job
        self._record = record
        self._code = self._written = code
        self._fingerprint = fingerprint(record)
        self.folder = root / "jobs" / job / self._fingerprint[:16]

    def read(self, part: str) -> Measurement | None:
        """Return a finished part; None if there is none, or if it is corrupt and was set aside."""
        path = self.folder / f"{part}.json"
        try:
            record = self._read_json(path, part)
            return None if record is None else _measurement(record)
        except Corrupt as error:
            set_aside(self.root, path, str(error))
            return None

    def contents(self) -> Contents:
        """Return what there is of the job, every file but tensors read; changes nothing."""
        finished, corrupt, codes = set(), set(), set()
        for path in self.folder.glob("*.json"):
            part = path.stem
            if path.name == _RECORD:
                continue
            try:
                record = self._read_json(path, part)
                if record is not None and not part.endswith(_DESCRIPTION):
                    _measurement(record)
                    finished.add(part)
            except Corrupt:
                corrupt.add(part)
            else:
                codes |= {record["code"]} if record else set()
        return Contents(
            finished=frozenset(finished), corrupt=frozenset(corrupt), codes=frozenset(codes)
        )

    def write(self, part: str, measured: Measurement) -> None:
        """Keep a finished part; raises NotWritten if it cannot be written."""
        self._write_json(self.folder / f"{part}.json", part, measured.to_record())

    def finished(self) -> set[str]:
        """Return the names of the parts for which there is a file; `read` checks them."""
        try:
            listed = {path.name for path in self.folder.iterdir()} - {_RECORD}
        except OSError:
            return set()
        parts = {name.removesuffix(".json") for name in listed if name.endswith(".json")}
        return {part for part in parts if not part.endswith(_DESCRIPTION)}

    def save_checkpoint(
        self, step: str, model: Mapping[str, Tensor], learner: Mapping[str, Tensor]
    ) -> None:
        """Keep a learner's state, of any shapes; its description comes last and makes it valid."""
        record: dict[str, Any] = {}
        for name, state in (("model", model), ("learner", learner)):
            # Plain tensors: a view would be saved with all the memory that it looks at.
            plain = {key: tensor.detach().cpu().contiguous() for key, tensor in state.items()}
            content = io.BytesIO()
            torch.save(plain, content)
            record[name] = hashlib.sha256(content.getvalue()).hexdigest()
            self._write(self.folder / (step + _CHECKPOINT[name]), content.getvalue())
        self._write_json(self.folder / f"{step}{_DESCRIPTION}.json", step + _DESCRIPTION, record)

    def load_checkpoint(self, step: str) -> Checkpoint | None:
        """Return a learner's state, on the CPU; None without one, or if it was set aside."""
        try:
            record = self._read_json(self._description(step), step + _DESCRIPTION)
            if record is None:
                return None
            model, learner = (
                _load_tensors(self.folder / (step + suffix), record.get(name))
                for name, suffix in _CHECKPOINT.items()
            )
        except Corrupt as error:
            self.set_checkpoint_aside(step, str(error))
            return None
        return Checkpoint(model, learner, record["code"])

    def continue_from(self, checkpoint: Checkpoint) -> None:
        """Let what is written from now on count as made by the checkpoint's code as well.

        A model that other code has trained gives no result of today's code.
        """
        if checkpoint.code != self._code:
            both = f"{checkpoint.code} {self._code}"
            self._written = hashlib.sha256(both.encode()).hexdigest()

    def set_checkpoint_aside(self, step: str, reason: str) -> None:
        """Set a checkpoint aside that nothing can be restored from; reason: why, for its note."""
        # Its description last: without it the rest does not count.
        for suffix in _CHECKPOINT.values():
            set_aside(self.root, self.folder / (step + suffix), reason)
        set_aside(self.root, self._description(step), reason)

    def drop_checkpoints(self, kept: str) -> None:
        """Remove all checkpoints but that of a step."""
        suffixes = (f"{_DESCRIPTION}.json", *_CHECKPOINT.values())
        # First the descriptions, which make the others valid.
        for suffix in suffixes:
            for path in self.folder.glob(f"step-*{suffix}"):
                if path.name.partition(".")[0] != kept:
                    discard(path)

    def made_by_other_code(self, contents: Contents) -> bool:
        """Whether a result or a checkpoint was made by other code than today's."""
        return not contents.codes <= {self._code}

    def clear(self) -> None:
        """Remove all results and checkpoints of this fingerprint, to be computed again."""
        # First what makes the others valid: a process that is killed here leaves no half result.
        for path in sorted(self.folder.glob("*"), key=lambda path: path.suffix != ".json"):
            if path.name != _RECORD:
                discard(path)

    def sweep(self) -> None:
        """Remove what killed processes left unfinished; nobody else may be at work on the job.

        What the results were made with is written anew if it is lost.
        """
        sweep(self.folder)
        if self.folder.is_dir() and _read_record(self.folder / _RECORD) is None:
            self._write(self.folder / _RECORD, _json(self._record))

    def others(self) -> list[str]:
        """Return in what the job's results of other fingerprints differ, each difference once."""
        # As JSON has it, where tuples are lists, since the other folders' records are read from
        # JSON.
        here = json.loads(_json(self._record))
        found: dict[str, None] = {}
        # Every job begins with a step: without one, nothing is there that a reader could miss.
        for folder in sorted({path.parent for path in self.folder.parent.glob("*/step-*.json")}):
            if folder != self.folder:
                there = _read_record(folder / _RECORD)
                unknown = f"what they were made with is not known, as {_RECORD} is lost or corrupt"
                found |= dict.fromkeys(differences(there, here) if there else [unknown])
        return list(found)

    def _description(self, step: str) -> Path:
        return self.folder / f"{step}{_DESCRIPTION}.json"

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file of the job's folder, whole or not at all; raises NotWritten."""
        if not self.root.is_dir():
            # Made anew, a directory that was moved away would hide what it held.
            raise not_written(path, FileNotFoundError(2, os.strerror(2)))
        make_folder(self.folder)
        with replacing(path) as partial:
            partial.write_bytes(content)

    def _write_json(self, path: Path, part: str, record: Record) -> None:
        """Write a result with its hash, its fingerprint, its part and the code that made it."""
        if not (self.folder / _RECORD).exists():
            # Before the first result: a folder with results always says what they were made with.
            self._write(self.folder / _RECORD, _json(self._record))
        own = {"fingerprint": self._fingerprint, "code": self._written, "part": part}
        self._write(path, hashed(_json({**own, **record})))

    def _read_json(self, path: Path, part: str) -> dict[str, Any] | None:
        """Return a result, None without one; raises Corrupt unless it is whole and this job's."""
        try:
            record = json.loads(unhashed(path.read_bytes()))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Corrupt(f"it cannot be read ({error.strerror})") from None
        except (ValueError, RecursionError):
            raise Corrupt("its content does not match its hash") from None
        own = {"fingerprint": self._fingerprint, "part": part}
        # A whole file can still be in the wrong folder, copied there by hand.
        if not isinstance(record, dict) or {**record, **own} != record:
            raise Corrupt("it is a result of another job, part or setting")
        return record


def _measurement(record: Record) -> Measurement:
    try:
        return Measurement.of_record(record)
    except (KeyError, ValueError, TypeError, OverflowError):
        raise Corrupt("it holds no counts") from None


def _read_record(path: Path) -> Record | None:
    """Return what the fingerprint that a folder is called after is made of; None if it is lost."""
    try:
        record: Record = json.loads(path.read_bytes())
        return record if fingerprint(record)[:16] == path.parent.name else None
    except (OSError, ValueError, RecursionError):
        return None


def _json(record: Record) -> bytes:
    return json.dumps(record).encode()


def _load_tensors(path: Path, expected: object) -> dict[str, Tensor]:
    """Return the tensors of a file if it is the expected one; executes no code in it."""
    try:
        content = path.read_bytes()
        # The hash first: torch's reader sees only what this package wrote.
        if hashlib.sha256(content).hexdigest() != expected:
            raise Corrupt(f"{path.name} does not match its hash")
        return dict(torch.load(io.BytesIO(content), map_location="cpu", weights_only=True))
    except OSError as error:
        raise Corrupt(f"{path.name} cannot be read ({error.strerror})") from None
