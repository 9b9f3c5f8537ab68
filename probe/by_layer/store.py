"""The results of a job: small files, each replaced atomically.

    jobs/JOB/FINGERPRINT16/fingerprint.json        the record that the fingerprint is a hash of
    jobs/JOB/FINGERPRINT16/PART.json               a measurement: counts, and resources spent
    jobs/JOB/FINGERPRINT16/STEP[.learner].pt       a checkpoint: the model, and the learner's state
    jobs/JOB/FINGERPRINT16/STEP.checkpoint.json    its hashes, which make it valid
    quarantine/                                    corrupt files, each with a note

A measurement is finished when its file exists and matches its hash; there is no other list. Files
are renamed into place when complete, so a process can be killed, and two can do the same job,
without harm. A corrupt file is neither used nor deleted, but set aside and computed again.
"""

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from probe.by_layer.fingerprint import Record, differences, fingerprint
from probe.by_layer.measurement import Measurement
from probe.by_layer.quarantine import set_aside
from probe.files import discard, hashed, make_folder, not_written, replacing, sweep, unhashed

_RECORD = "fingerprint.json"
_DESCRIPTION = ".checkpoint"
BESIDE = (_DESCRIPTION, _RECORD)  # ends of names of files other than measurements
_CHECKPOINT = {"model": ".pt", "learner": ".learner.pt"}


@dataclass(frozen=True)
class Checkpoint:
    """The state of a learner after a task: its model's, and all that it carries besides, by name.

    learner: None where it is no longer kept; code: a hash of the code that made it.
    """

    model: dict[str, Tensor]
    learner: dict[str, Tensor] | None
    code: str


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The files of a job, by the names of measurements and of the descriptions of checkpoints.

    finished: intact ones; corrupt: damaged ones; codes: hashes of the code that made them.
    """

    finished: set[str]
    corrupt: set[str]
    codes: set[str]


class Corrupt(Exception):
    """A corrupt file; the message gives the reason as the end of a sentence."""


class Results(Protocol):
    """The measurements of one job, and the networks trained for it, by name."""

    def read(self, part: str) -> Measurement | None:
        """Return a measurement, None without one."""

    def write(self, part: str, measured: Measurement) -> None:
        """Keep a measurement."""

    def load_checkpoint(self, evaluation_name: str) -> Checkpoint | None:
        """Return the state of a network and of its learner, None without one."""

    def save_checkpoint(
        self, evaluation_name: str, model: Mapping[str, Tensor], learner: Mapping[str, Tensor]
    ) -> None:
        """Keep a copy of the state of a network and of its learner."""


class Store(Results):
    """The results of one job under one fingerprint; nothing is written before the first of them.

    root: the run directory, which must exist for anything to be written; job: its name; record:
    everything that can change the job's results, see `Plan.record`; code: see `code_hash`.
    """

    def __init__(self, root: Path, job: str, record: Record, code: str = "") -> None:
        self.root = root
        self.job = job
        self._record = record
        self.code = self._written = code
        self._fingerprint = fingerprint(record)
        self.folder = root / "jobs" / job / self._fingerprint[:16]

    def read(self, part: str) -> Measurement | None:
        """Return a measurement; None without one, or if it is corrupt and was set aside."""
        path = self.folder / f"{part}.json"
        try:
            record = self._read_json(path, part)
            return None if record is None else _measurement(record)
        except Corrupt as error:
            set_aside(self.root, path, str(error))
            return None

    def contents(self, *, checkpoints: bool = False) -> Contents:
        """Return the files of the job after reading them; changes nothing.

        checkpoints: whether their tensors, which may be large, and the fingerprint's record too.
        """
        found = Contents(finished=set(), corrupt=set(), codes=set())
        if checkpoints and self.folder.is_dir() and _read_record(self.folder / _RECORD) is None:
            found.corrupt.add(_RECORD)
        for path in self._results():
            part = path.stem
            try:
                record = self._read_json(path, part)
                if record is not None and part.endswith(_DESCRIPTION):
                    if checkpoints:
                        self._tensors(record, part.removesuffix(_DESCRIPTION))
                elif record is not None:
                    _measurement(record)
                    found.finished.add(part)
                if record is not None:
                    found.codes.add(record["code"])
            except Corrupt:
                found.corrupt.add(part)
        return found

    def write(self, part: str, measured: Measurement) -> None:
        """Store a measurement; raises NotWritten if it cannot be written."""
        self._write_json(self.folder / f"{part}.json", part, measured.to_record())

    def finished(self) -> set[str]:
        """Return the names of the measurements that have a file; `read` checks them."""
        parts = {path.stem for path in self._results()}
        return {part for part in parts if not part.endswith(_DESCRIPTION)}

    def save_checkpoint(
        self, evaluation_name: str, model: Mapping[str, Tensor], learner: Mapping[str, Tensor]
    ) -> None:
        """Store a learner's state, of any shapes; its description comes last and makes it valid."""
        record: dict[str, Any] = {}
        for name, state in (("model", model), ("learner", learner)):
            # Contiguous copies: a view would be saved with all of its storage.
            plain = {key: tensor.detach().cpu().contiguous() for key, tensor in state.items()}
            content = io.BytesIO()
            torch.save(plain, content)
            record[name] = hashlib.sha256(content.getvalue()).hexdigest()
            self._write(self.folder / (evaluation_name + _CHECKPOINT[name]), content.getvalue())
        self._write_json(
            self.folder / f"{evaluation_name}{_DESCRIPTION}.json",
            evaluation_name + _DESCRIPTION,
            record,
        )

    def load_checkpoint(self, evaluation_name: str) -> Checkpoint | None:
        """Return a learner's state, on the CPU; None without one, or if it was set aside."""
        try:
            record = self._read_json(
                self._description(evaluation_name), evaluation_name + _DESCRIPTION
            )
            if record is None:
                return None
            return Checkpoint(*self._tensors(record, evaluation_name), record["code"])
        except Corrupt as error:
            self.set_checkpoint_aside(evaluation_name, str(error))
            return None

    def continue_from(self, checkpoint: Checkpoint) -> None:
        """Mark results written from now on as made by the checkpoint's code, too.

        A model that other code has trained gives no result of today's code.
        """
        if checkpoint.code != self.code:
            both = f"{checkpoint.code} {self.code}"
            self._written = hashlib.sha256(both.encode()).hexdigest()

    def set_checkpoint_aside(self, evaluation_name: str, reason: str) -> None:
        """Set aside a checkpoint that cannot be restored; reason: for its note."""
        # Its description last: without it the rest does not count.
        for suffix in _CHECKPOINT.values():
            set_aside(self.root, self.folder / (evaluation_name + suffix), reason)
        set_aside(self.root, self._description(evaluation_name), reason)

    def drop_checkpoint(self, evaluation_name: str, *, model: bool) -> None:
        """Remove the learner's state from a checkpoint, or all of it; model: whether the model."""
        ends = [f"{_DESCRIPTION}.json", *_CHECKPOINT.values()]
        for suffix in ends if model else ends[-1:]:
            discard(self.folder / (evaluation_name + suffix))

    def drop_checkpoints(self, kept: str) -> None:
        """Remove all checkpoints except the one of a step."""
        suffixes = (f"{_DESCRIPTION}.json", *_CHECKPOINT.values())
        # First the descriptions, which make the others valid.
        for suffix in suffixes:
            for path in self.folder.glob(f"step-*{suffix}"):
                if path.name.partition(".")[0] != kept:
                    discard(path)

    def made_by_other_code(self, contents: Contents) -> bool:
        """Tell whether a result or a checkpoint was made by other code than today's."""
        return not contents.codes <= {self.code}

    def clear(self) -> None:
        """Remove all results and checkpoints of this fingerprint, to be computed again."""
        # JSON first, which makes the others valid: a process killed here leaves no half result.
        for path in sorted(self.folder.glob("*"), key=lambda path: path.suffix != ".json"):
            if path.name != _RECORD:
                discard(path)

    def sweep(self) -> None:
        """Remove unfinished files of killed processes; no other process may work on the job.

        The record of the fingerprint is written again if it is lost.
        """
        sweep(self.folder)
        if self.folder.is_dir() and _read_record(self.folder / _RECORD) is None:
            self._write(self.folder / _RECORD, _json(self._record))

    def others(self) -> list[str]:
        """Return the differences of the job's results of other fingerprints, each once."""
        # Through JSON, which turns tuples into lists, as in the other folders' records.
        here = json.loads(_json(self._record))
        found: dict[str, None] = {}
        # Every job begins with a step: a folder without one holds no results.
        for folder in sorted({path.parent for path in self.folder.parent.glob("*/step-*.json")}):
            if folder != self.folder:
                there = _read_record(folder / _RECORD)
                unknown = f"what they were made with is not known, as {_RECORD} is lost or corrupt"
                found |= dict.fromkeys(differences(there, here) if there else [unknown])
        return list(found)

    def _results(self) -> Iterator[Path]:
        """Return the files of measurements and of the descriptions of checkpoints."""
        return (path for path in self.folder.glob("*.json") if path.name != _RECORD)

    def _tensors(
        self, record: Record, evaluation_name: str
    ) -> tuple[dict[str, Tensor], dict[str, Tensor] | None]:
        """Return the model's and the learner's state of a checkpoint; raises Corrupt."""
        model, learner = (
            self.folder / (evaluation_name + suffix) for suffix in _CHECKPOINT.values()
        )
        kept = learner.exists()
        return (
            _load_tensors(model, record.get("model")),
            _load_tensors(learner, record.get("learner")) if kept else None,
        )

    def _description(self, evaluation_name: str) -> Path:
        return self.folder / f"{evaluation_name}{_DESCRIPTION}.json"

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file of the job's folder atomically; raises NotWritten."""
        if not self.root.is_dir():
            # A directory that was moved away must not be replaced by an empty one.
            raise not_written(path, FileNotFoundError(2, os.strerror(2)))
        make_folder(self.folder)
        with replacing(path) as partial:
            partial.write_bytes(content)

    def _write_json(self, path: Path, part: str, record: Record) -> None:
        """Write a result with its hash, its fingerprint, its name and the code that made it."""
        if not (self.folder / _RECORD).exists():
            # Before the first result, so that a folder with results always has its record.
            self._write(self.folder / _RECORD, _json(self._record))
        own = {"fingerprint": self._fingerprint, "code": self._written, "part": part}
        self._write(path, hashed(_json({**own, **record})))

    def _read_json(self, path: Path, part: str) -> dict[str, Any] | None:
        """Return a result, None without one; raises Corrupt unless it is intact and this job's."""
        try:
            record = json.loads(unhashed(path.read_bytes()))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Corrupt(f"it cannot be read ({error.strerror})") from None
        except (ValueError, RecursionError):
            raise Corrupt("its content does not match its hash") from None
        own = {"fingerprint": self._fingerprint, "part": part}
        # An intact file can still be in the wrong folder, copied there by hand.
        if not isinstance(record, dict) or {**record, **own} != record:
            raise Corrupt("it is a result of another job, measurement or setting")
        return record


@dataclass
class InMemory(Results):
    """The results of one job in memory."""

    parts: dict[str, Measurement] = field(default_factory=dict)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)

    def read(self, part: str) -> Measurement | None:
        """Return a measurement by its name, None if it is not made yet."""
        return self.parts.get(part)

    def write(self, part: str, measured: Measurement) -> None:
        """Keep a measurement."""
        self.parts[part] = measured

    def load_checkpoint(self, evaluation_name: str) -> Checkpoint | None:
        """Return the state of a network and of its learner, None without one."""
        return self.checkpoints.get(evaluation_name)

    def save_checkpoint(
        self, evaluation_name: str, model: Mapping[str, Tensor], learner: Mapping[str, Tensor]
    ) -> None:
        """Keep a copy of the state of a network and of its learner."""
        model, learner = (
            {name: x.detach().clone() for name, x in each.items()} for each in (model, learner)
        )
        self.checkpoints[evaluation_name] = Checkpoint(model, learner, code="")


def _measurement(record: Record) -> Measurement:
    try:
        return Measurement.of_record(record)
    except (KeyError, ValueError, TypeError, OverflowError):
        raise Corrupt("it holds no counts") from None


def _read_record(path: Path) -> Record | None:
    """Return the record of a folder's fingerprint; None if it is lost."""
    try:
        record: Record = json.loads(path.read_bytes())
        return record if fingerprint(record)[:16] == path.parent.name else None
    except (OSError, ValueError, RecursionError):
        return None


def _json(record: Record) -> bytes:
    return json.dumps(record).encode()


def _load_tensors(path: Path, expected: object) -> dict[str, Tensor]:
    """Return the tensors of a file with the expected hash; executes no code in it."""
    try:
        content = path.read_bytes()
        # The hash first: torch's reader sees only what this package wrote.
        if hashlib.sha256(content).hexdigest() != expected:
            raise Corrupt(f"{path.name} does not match its hash")
        return dict(torch.load(io.BytesIO(content), map_location="cpu", weights_only=True))
    except OSError as error:
        raise Corrupt(f"{path.name} cannot be read ({error.strerror})") from None
