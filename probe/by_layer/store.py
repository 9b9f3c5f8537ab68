"""The results of a job: files of predictions, each replaced atomically, and checkpoints.

In jobs/JOB/FINGERPRINT16/ of the run directory:

    predictions.npz               the measurements of a finished job
    predictions.COUNT-DIGEST.npz  measurements of a running job
    after-T.pt                    a network after T tasks, and its learner

Corrupt files are moved to quarantine/ of the run directory, each with a note.

`np.load` reads the predictions without this package;
`probe.by_layer.measurement.to_arrays` lists the arrays. The file also holds the job's
`record` and its hash, the `fingerprint`. NPZ is a zip file: its checksums show damage,
and one file holds many arrays, which suits network file systems. A measurement is
finished when it is in an intact file; there is no other list. While a job runs, eight
files of similar size are merged, so that it has few at any time and each measurement is
rewritten a few times only. Files are renamed into place when complete, and named after
their content: a process can be killed, and two can do the same job, without harm. The
content of a corrupt file is computed again.
"""

from __future__ import annotations

import copy
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from pickletools import genops
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from probe.arrays import Arrays
from probe.by_layer.fingerprint import Record, differences, fingerprint
from probe.by_layer.measurement import (
    Key,
    Measurement,
    Measurements,
    from_arrays,
    keys_of,
    to_arrays,
)
from probe.by_layer.quarantine import set_aside
from probe.files import (
    content_of,
    discard,
    make_folder,
    not_written,
    replacing,
    sha256,
    sweep,
)

if TYPE_CHECKING:
    from probe.batch import Named

T = TypeVar("T")

_FINISHED = "predictions.npz"
_PREDICTIONS = "predictions*.npz"
_TOGETHER = 8  # files of similar size are merged
_TRIES = 5  # to read files that another process merges meanwhile


@dataclass(frozen=True)
class Checkpoint:
    """The state of a learner after a task.

    Attributes:
        model: The state of its model, by name.
        learner: The rest of the learner's state, by name; None if it was removed.
        code: A hash of the code that made it.
    """

    model: Named
    learner: Named | None
    code: str


class Store:
    """The results of one job under one fingerprint; no file is written before the first result.

    Args:
        root: The run directory, which must exist before anything is written.
        job: The job's name.
        record: Everything that can change the job's results, see `Plan.record`.
        code: A hash of the code that makes the results, from `code_hash`.
    """

    def __init__(self, root: Path, job: str, record: Record, code: str = "") -> None:
        self.root = root
        self.job = job
        self._record = record
        self.code = self._written = code
        self._fingerprint = fingerprint(record)
        self.folder = root / "jobs" / job / self._fingerprint[:16]

    def measurements(self, paths: Sequence[Path] = ()) -> Measurements:
        """Return the measurements that are finished; corrupt files are set aside.

        Args:
            paths: The files to read, all by default.
        """
        measurements = Measurements()
        for path, content in self._files(paths):
            if isinstance(content, str):
                set_aside(self.root, path, content)
            else:
                measurements |= content
        return measurements

    def finished(self) -> set[Key]:
        """Return the keys of the measurements that have a file; `contents` checks them."""
        return {key for keys in _read_each(self.folder, keys_of) for key in keys}

    def contents(
        self, *, checkpoints: bool = False
    ) -> tuple[Measurements, set[str], set[str]]:
        """Read all of the job's files without changing any, and without torch.

        A checkpoint is a zip file: the checksums of its content are checked here, those
        of its directory only by `load_checkpoint`.

        Args:
            checkpoints: Whether to read checkpoints as well, which may be large.

        Returns:
            The finished measurements, the names of corrupt files, and the hashes of the
            code that made the intact ones.
        """
        finished = Measurements()
        corrupt = set[str]()
        codes = set[str]()
        for path, content in self._files():
            if isinstance(content, str):
                corrupt.add(path.name)
            else:
                finished.update(content)
                codes.update(measurement.code for measurement in content.values())
        for path in self.folder.glob("after-*.pt") if checkpoints else ():
            checked = self._checked(path)
            if isinstance(checked, str):
                corrupt.add(path.name)
            elif checked:
                codes.add(checked[1])
        return finished, corrupt, codes

    def write(self, key: Key, measurement: Measurement) -> None:
        """Store a measurement.

        Args:
            key: The key of the measurement in the job.
            measurement: The measurement.

        Raises:
            NotWritten: It cannot be written.
        """
        new = {key: replace(measurement, code=self._written)}
        merged = list[Path]()
        paths = list(self.folder.glob("predictions.*-*.npz"))
        while (
            len(similar := [p for p in paths if _count(p) <= len(new)]) >= _TOGETHER - 1
        ):
            new = self.measurements(similar) | new
            merged += similar
            paths = [path for path in paths if path not in similar]
        self._merge(merged, new)

    @property
    def merged(self) -> bool:
        """Whether all measurements are in one file, as `finish` leaves them."""
        return {path.name for path in self.folder.glob(_PREDICTIONS)} <= {_FINISHED}

    def finish(self) -> None:
        """Merge all measurements into one file."""
        if self.merged:
            return
        paths = self._paths()
        if measurements := self.measurements(paths):
            self._merge(paths, measurements, _FINISHED)

    def save_checkpoint(
        self,
        tasks_seen: int,
        model: Named,
        learner: Named | None,
        code: str = "",
    ) -> None:
        """Store a checkpoint.

        Args:
            tasks_seen: The number of tasks learned.
            model: The state of the network.
            learner: The rest of the learner's state, None to keep only the network.
            code: A hash of the code that made it, by default that of the current code.
        """
        import torch

        # Contiguous copies: a view would be saved with all of its storage.
        states = [
            state and {name: x.detach().cpu().contiguous() for name, x in state.items()}
            for state in (model, learner)
        ]
        # `probe model` and `load_state_dict` take the network's weights by this name.
        record = {
            "state_dict": states[0],
            "learner": states[1],
            "code": code or self._written,
            "fingerprint": self._fingerprint,
        }
        content = io.BytesIO()
        torch.save(record, content)
        self._write(self._path(tasks_seen), content.getvalue())

    def load_checkpoint(self, tasks_seen: int) -> Checkpoint | None:
        """Return a checkpoint on the CPU; None if there is none, or it was set aside as corrupt."""
        import torch

        path = self._path(tasks_seen)
        checked = self._checked(path)
        if isinstance(checked, tuple):
            content, code = checked
            try:
                record = torch.load(
                    io.BytesIO(content), map_location="cpu", weights_only=True
                )
                return Checkpoint(record["state_dict"], record["learner"], code)
            except Exception:  # torch raises almost anything
                checked = f"{path.name} does not match its checksums"
        if checked:
            self.set_checkpoint_aside(tasks_seen, checked)
        return None

    def continue_from(self, checkpoint: Checkpoint) -> None:
        """Mark results written from now on as made by the checkpoint's code, too.

        A model that other code has trained gives no result of today's code.
        """
        if checkpoint.code != self.code:
            self._written = sha256(f"{checkpoint.code} {self.code}")

    def set_checkpoint_aside(self, tasks_seen: int, reason: str) -> None:
        """Set aside a checkpoint that cannot be restored.

        Args:
            tasks_seen: The number of tasks learned.
            reason: The reason, for a note.
        """
        set_aside(self.root, self._path(tasks_seen), reason)

    def drop_checkpoint(self, tasks_seen: int, *, model: bool) -> None:
        """Remove the learner's state from a checkpoint.

        Args:
            tasks_seen: The number of tasks learned.
            model: Whether to remove the network's state as well.
        """
        if model:
            discard(self._path(tasks_seen))
        elif (
            checkpoint := self.load_checkpoint(tasks_seen)
        ) and checkpoint.learner is not None:
            self.save_checkpoint(tasks_seen, checkpoint.model, None, checkpoint.code)

    def drop_checkpoints(self, last: int) -> None:
        """Remove all checkpoints except the one after `last` tasks."""
        for path in self.folder.glob("after-*.pt"):
            if path != self._path(last):
                discard(path)

    def made_by_other_code(self) -> bool:
        """Return whether a result or a checkpoint was made by code other than today's."""
        return not self.contents(checkpoints=True)[2] <= {self.code}

    def clear(self) -> None:
        """Remove all results and checkpoints of this fingerprint, to be computed again."""
        for path in self.folder.glob("*"):
            discard(path)

    def sweep(self) -> None:
        """Remove unfinished files of killed processes; no other process may work on the job."""
        sweep(self.folder)

    def others(self) -> list[str]:
        """Return how the job's results under other fingerprints differ, each difference once."""
        # Through JSON, which turns tuples into lists, as in the other folders' records.
        here = json.loads(json.dumps(self._record))
        sentences: dict[str, None] = {}
        job = self.folder.parent
        # In versions 1 to 6 a job had a JSON file for each network.
        files = (*job.glob(f"*/{_PREDICTIONS}"), *job.glob("*/step-*.json"))
        for folder in sorted({path.parent for path in files}):
            if folder != self.folder:
                records = _read_each(
                    folder, lambda arrays: json.loads(str(arrays["record"]))
                )
                there = next(
                    (r for r in records if fingerprint(r)[:16] == folder.name), None
                )
                unknown = "their files are corrupt, or from an earlier version"
                sentences |= dict.fromkeys(
                    differences(there, here) if there else [unknown]
                )
        return list(sentences)

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob(_PREDICTIONS), key=_count)

    def _files(
        self, paths: Sequence[Path] = ()
    ) -> list[tuple[Path, Measurements | str]]:
        """Return files, all by default, each with its measurements or the reason it is corrupt."""
        for _ in range(_TRIES):
            files = [(path, self._read(path)) for path in paths or self._paths()]
            if all(content is not None for _, content in files):
                break
        return [(path, content) for path, content in files if content is not None]

    def _read(self, path: Path) -> Measurements | str | None:
        """Return the measurements in a file, the reason it is corrupt, or None if it was merged."""
        try:
            content = content_of(path)
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                # An intact file can still be in the wrong folder, copied there by hand.
                if str(arrays["fingerprint"]) != self._fingerprint:
                    return "it is a result of another job or setting"
                classes = [
                    label for task in self._record.get("classes", ()) for label in task
                ]
                # K stands for an example that was not tested.
                if classes and arrays["predicted"].max(initial=0) > max(classes) + 1:
                    return "it predicts classes that do not exist"
                return from_arrays(dict(arrays))
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"it cannot be read ({error.strerror})"
        except Exception:  # zipfile and NumPy raise almost anything
            return "its content does not match its checksums"

    def _merge(self, paths: Iterable[Path], new: Measurements, name: str = "") -> None:
        """Write measurements into one file, in place of the files that they come from."""
        ordered = dict(sorted(new.items()))
        digest = sha256(repr(list(ordered)))[:8]
        target = self.folder / (name or f"predictions.{len(ordered)}-{digest}.npz")
        arrays = {
            "fingerprint": np.array(self._fingerprint),
            "record": np.array(json.dumps(self._record)),
        }
        self._write(target, _npz(arrays | to_arrays(ordered)))
        for path in paths:
            if path != target:
                discard(path)

    def _path(self, tasks_seen: int) -> Path:
        return self.folder / f"after-{tasks_seen}.pt"

    def _checked(self, path: Path) -> tuple[bytes, str] | str | None:
        """Return a checkpoint's bytes and its code's hash, why it is unusable, or None if missing.

        Torch, which takes seconds to load, is not needed, and no code in it is run.
        """
        try:
            content = content_of(path)
            with zipfile.ZipFile(io.BytesIO(content)) as file:
                # The checksums first, which torch does not look at.
                if file.testzip():
                    raise zipfile.BadZipFile
                [name] = [name for name in file.namelist() if "data.pkl" in name]
                # The pickle's last texts are the values of "code" and "fingerprint", see
                # `save_checkpoint`.
                *_, code, fingerprint = [
                    text
                    for _, text, _ in genops(file.read(name))
                    if isinstance(text, str) and text != "fingerprint"
                ]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return f"{path.name} cannot be read ({error.strerror})"
        except Exception:  # zipfile and pickletools raise almost anything
            return f"{path.name} does not match its checksums"
        if fingerprint != self._fingerprint:
            return f"{path.name} is a result of another job or setting"
        return content, code

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file of the job's folder atomically; raises NotWritten."""
        if not self.root.is_dir():
            # A directory that was moved away must not be replaced by an empty one.
            raise not_written(path, FileNotFoundError(2, os.strerror(2)))
        make_folder(self.folder)
        with replacing(path) as partial:
            partial.write_bytes(content)


@dataclass
class InMemory:
    """The results of one job in memory."""

    stored: Measurements = field(default_factory=dict)
    checkpoints: dict[int, Checkpoint] = field(default_factory=dict)

    def measurements(self) -> Measurements:
        """Return all measurements made until now."""
        return self.stored

    def write(self, key: Key, measurement: Measurement) -> None:
        """Keep a measurement.

        Args:
            key: The key of the measurement in the job.
            measurement: The measurement.
        """
        self.stored[key] = measurement

    def finish(self) -> None:
        """Do nothing: measurements in memory need no merging."""

    def load_checkpoint(self, tasks_seen: int) -> Checkpoint | None:
        """Return the checkpoint of a network and its learner; None if there is none."""
        return self.checkpoints.get(tasks_seen)

    def save_checkpoint(
        self,
        tasks_seen: int,
        model: Named,
        learner: Named,
    ) -> None:
        """Keep a copy of the state of a network and of its learner.

        Args:
            tasks_seen: The number of tasks learned.
            model: The network's tensors by name.
            learner: The learner's tensors by name.
        """
        model, learner = copy.deepcopy((dict(model), dict(learner)))
        self.checkpoints[tasks_seen] = Checkpoint(model, learner, code="")

    def continue_from(self, checkpoint: Checkpoint) -> None:
        """Do nothing: the checkpoints in memory are this process's own."""


Results = Store | InMemory
"""The measurements of one job, and the networks trained for it."""


def _npz(arrays: Arrays) -> bytes:
    """Return arrays as `np.savez_compressed` writes them, in a fifth of its time."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            # Without the time: the same measurements give the same bytes.
            entry = zipfile.ZipInfo(f"{name}.npy")
            file.writestr(
                entry, member.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=1
            )
    return content.getvalue()


def _count(path: Path) -> int:
    """Return the number of measurements in a file's name, 0 for the file of a finished job."""
    return int(
        "0"
        + path.name.removeprefix("predictions.").partition("-")[0].removesuffix("npz")
    )


def _read_each(folder: Path, read: Callable[[Arrays], T]) -> list[T]:
    """Apply `read` to each intact file of predictions in a folder."""
    contents = []
    for path in sorted(folder.glob(_PREDICTIONS)):
        # zipfile and NumPy raise almost anything for a corrupt file.
        with suppress(Exception):
            contents.append(
                read(np.load(io.BytesIO(content_of(path)), allow_pickle=False))
            )
    return contents
