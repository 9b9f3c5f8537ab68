"""Folders that recorders have filled: their layout, and the runs, networks and data in them.

The record of a run is a file beside its networks: predictions as arrays, and its
settings as JSON.
"""

import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Self

import numpy as np

from probe.arrays import Arrays, Ints
from probe.cut.model_call import Output
from probe.errors import InputError, unreadable
from probe.files import replacing
from probe.immutable import immutable
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.task_predictions import (
    TaskClasses,
    TaskPredictions,
    TestExamples,
)
from probe.model import Head, Model
from probe.record.checkpoints import Checkpoints, Run, sorting_key
from probe.record.data import DataReference
from probe.tasked_examples import TaskedExamples, as_tasks

DATA = "data.pt"
REFERENCE = "data.json"
_RECORD = "run.npz"
_VERSION = 3


def run_folder(root: Path, run: Run) -> Path:
    """Return the folder of one run in a recording.

    Args:
        root: The folder of the recording.
        run: The run.

    Returns:
        The folder.
    """
    return root / "runs" / str(run)


def network_file(root: Path, run: Run, tasks_seen: int) -> Path:
    """Return the file of a run's network.

    Args:
        root: The folder of the recording.
        run: The run.
        tasks_seen: The number of tasks that it has learned.

    Returns:
        The file.
    """
    return run_folder(root, run) / f"task-{tasks_seen}.pt"


def offline_file(root: Path, seed: int) -> Path:
    """Return the file of the network that was trained on all tasks at once.

    Args:
        root: The folder of the recording.
        seed: The seed.

    Returns:
        The file.
    """
    return root / "offline" / f"seed-{seed}.pt"


@immutable
class RunRecord:
    """One run: its tasks in executed order, and the predictions by tasks seen, 0..T.

    Attributes:
        run: The run.
        tasks: The classes of each task.
        numbers: The task ids in the data, None if the classes tell the tasks apart.
        output: Key, attribute or index of the logits in the model's output; None =
            all of it.
        head: The head of the evaluation, None = all outputs compete.
        called: Whether a function called the model on batches; the function is not
            kept.
        test: The test examples, their tasks by position in executed order.
        rows: The predicted classes, (N,), by tasks seen.
        hashes: Hash of the network of each row; empty in older recordings.
    """

    run: Run
    tasks: TaskClasses
    numbers: tuple[int, ...] | None
    output: Output
    head: Head | None
    called: bool
    test: TestExamples
    rows: Mapping[int, Ints] = field(default_factory=dict)
    hashes: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, examples: TaskedExamples, model: Model) -> Self:
        """Return the record of a new run, without predictions."""
        test = TestExamples(
            labels=examples.splits["test"].y.cpu().numpy(),
            tasks=examples.numbers("test").numpy(),
        )
        return cls(
            run=run,
            tasks=examples.classes,
            numbers=examples.order,
            output=model.output,
            head=model.head,
            called=model.call is not None,
            test=test,
        )

    @property
    def names(self) -> Sequence[object]:
        """The name of each task: its number, or its classes."""
        return self.numbers or [frozenset(task) for task in self.tasks]

    @property
    def tasks_by_name(self) -> dict[object, set[int]]:
        """The classes of each task by its name."""
        return dict(zip(self.names, map(set, self.tasks), strict=True))

    @property
    def learned(self) -> str:
        """A clause on the tasks of the run, for messages."""
        return f"{self.run} learns {self.numbers or self.tasks!s:.60}"

    @property
    def settings(self) -> str:
        """The settings of the evaluation, for messages."""
        return f"output={self.output!r}, head={self.head!r}"

    def matrix(self) -> AccuracyMatrix:
        """Return the run's accuracy matrix, all outputs competing; NaN = not recorded."""
        values = np.full((len(self.tasks) + 1, len(self.tasks)), np.nan)
        for tasks_seen in self.rows:
            values[tasks_seen] = self.predictions(tasks_seen).accuracies()
        return AccuracyMatrix(values)

    def predictions(self, tasks_seen: int) -> TaskPredictions:
        """Return the predictions after a number of tasks; raises KeyError if there are none."""
        return self.test.with_predictions(
            self.rows[tasks_seen], range(len(self.tasks)), self.tasks
        )

    def write(self, root: Path) -> None:
        """Write the record atomically; raises NotWritten."""
        names = ("tasks", "numbers", "output", "head", "called", "hashes")
        settings = {name: getattr(self, name) for name in names}
        record = json.dumps({"version": _VERSION, **self.run._asdict(), **settings})
        K = len({label for task in self.tasks for label in task})
        rows = np.array(list(self.rows.values()), dtype=np.min_scalar_type(K - 1))
        with (
            replacing(run_folder(root, self.run) / _RECORD) as partial,
            partial.open("wb") as file,
        ):
            np.savez_compressed(
                file,
                record=record,
                label=self.test.labels,
                task=self.test.tasks,
                tasks_seen=np.array(list(self.rows), dtype=np.int64),
                predicted=rows.reshape(-1, len(self.test.labels)),
            )


def read_run(folder: Path) -> RunRecord | None:
    """Return the record in a run's folder, if any; raises InputError if it is damaged."""
    path = folder / _RECORD
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            record = _record_of(arrays)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(
            path, error, "allow reading it, or choose another folder"
        ) from None
    except Exception:  # zipfile and NumPy raise almost anything
        raise InputError(
            f"{path} is damaged or from another version: remove {path.parent}, and "
            "record again"
        ) from None
    if folder.parts[-3:] != Path(str(record.run)).parts:
        raise InputError(
            f"{path} belongs to the run {record.run}: give the folder its name back"
        )
    return record


def read_runs(root: Path) -> list[RunRecord]:
    """Return the records of all runs; raises InputError if one is damaged."""
    # Not `Path.is_dir`, which raises for a path that is too long.
    if not os.path.isdir(root):
        return []
    folders = sorted(root.glob("runs/*/order-*/seed-*"))
    records = [read_run(f) for f in folders if f.name.removeprefix("seed-").isdecimal()]
    return [record for record in records if record]


def check_tasks_of(record: RunRecord, others: Sequence[RunRecord]) -> None:
    """Check that a run has the tasks of the others, and no other order under the same name.

    Args:
        record: The run.
        others: The other runs.

    Raises:
        InputError: The run has other tasks, or another order under the same name.
    """
    tasks = record.tasks_by_name
    for other in others:
        remedy = "the runs in a folder share their tasks: choose another"
        expected = other.tasks_by_name
        if tasks == expected:
            if record.run.order != other.run.order or list(tasks) == list(expected):
                continue
            remedy = "name another order of the tasks differently, with order="
        raise InputError(f"{record.learned}, {other.learned}: {remedy}")


def _record_of(arrays: Arrays) -> RunRecord:
    """Return the record in a file's arrays; raises almost any error if they hold none."""
    content = json.loads(str(arrays["record"]))
    if content["version"] != _VERSION:
        raise ValueError
    numbers = content["numbers"]
    return RunRecord(
        run=Run(*(content[name] for name in Run._fields)),
        tasks=as_tasks(content["tasks"]),
        numbers=None if numbers is None else tuple(numbers),
        test=TestExamples(labels=arrays["label"], tasks=arrays["task"]),
        rows=dict(zip(arrays["tasks_seen"].tolist(), arrays["predicted"], strict=True)),
        hashes={int(row): str(sha) for row, sha in content["hashes"].items()},
        output=content["output"],
        head=content["head"],
        called=content["called"],
    )


@immutable
class Recording:
    """All recorded runs of a folder.

    Attributes:
        tasks: The classes of each of T tasks, in the order in which the first run
            learned them; None where the examples have task numbers.
        orders: The tasks of each order, by its name: indices into `tasks`, or the task
            numbers.
        checkpoints: The files of all networks.
        data: The file of the examples, None if they were not saved.
        reference: The name and hash of examples that were not saved.
        records: The record of each run, tasks in the run's order.
        output: Key, attribute or index of the logits in the model's output; None =
            all of it.
        head: The head of the evaluation, None = all outputs compete.
        called: Whether a function called the model on batches; the function is not
            kept.
    """

    tasks: TaskClasses | None
    orders: Mapping[str, tuple[int, ...]]
    checkpoints: Checkpoints
    data: Path | None
    reference: DataReference | None
    records: Mapping[Run, RunRecord]
    output: Output
    head: Head | None
    called: bool

    @property
    def R(self) -> dict[Run, AccuracyMatrix]:  # noqa: N802 - as papers have it
        """The accuracy matrix of each run."""
        return {run: record.matrix() for run, record in self.records.items()}

    def checked_tasks(self, tasks: object) -> TaskClasses | None:
        """Return the tasks, after a check that those of the user are the same, in the same order.

        Args:
            tasks: The classes of each task that the user names, None for none.

        Raises:
            InputError: They are others, or in another order.
        """
        if tasks is not None and as_tasks(tasks) != self.tasks:
            raise InputError(
                f"tasks are {self.tasks} in the recording, got {tasks!r:.60}: leave "
                "them out"
            )
        return self.tasks


def read_recording(folder: str | Path) -> Recording:
    """Read the folder of a recording.

    Args:
        folder: A folder that `probe.Recorder` has filled.

    Returns:
        All runs that have a network.

    Raises:
        InputError: The folder has no recording, a file is damaged, a network is
            missing, or runs do not fit together, for example because one has learned
            fewer tasks so far.
    """
    root = Path(folder)
    if not (root / "runs").is_dir():
        what = "has no recording in it" if root.is_dir() else "is not a folder"
        raise InputError(f"{root} {what}: give one that probe.Recorder has filled")
    by_name = sorted(read_runs(root), key=lambda record: sorting_key(record.run))
    records = {record.run: record for record in by_name if record.rows}
    if not records:
        raise InputError(
            f"{root} has no network in it yet: record one with rec.after_task"
        )
    _check_fit(list(records.values()))
    first = next(iter(records.values()))
    paths = {seed: offline_file(root, seed) for _, _, seed in records}
    offline = {seed: path for seed, path in sorted(paths.items()) if path.is_file()}
    return Recording(
        tasks=None if first.numbers else first.tasks,
        orders=_orders(first, records.values()),
        checkpoints=Checkpoints(
            runs={run: _files(root, record) for run, record in records.items()},
            offline=offline,
        ),
        data=root / DATA if (root / DATA).exists() else None,
        reference=DataReference.read(root / REFERENCE),
        records=records,
        output=first.output,
        head=first.head,
        called=any(record.called for record in records.values()),
    )


def _orders(
    first: RunRecord, records: Iterable[RunRecord]
) -> dict[str, tuple[int, ...]]:
    """Return the tasks of each order by its name: indices into the tasks of the first run.

    If tasks have numbers, index and number are the same.
    """
    names: Iterable[object] = first.names
    if first.numbers:
        names = range(len(first.numbers))
    index_of = {name: index for index, name in enumerate(names)}
    orders = {}
    for record in records:
        orders[record.run.order] = tuple(index_of[name] for name in record.names)
    return orders


def _check_fit(records: Sequence[RunRecord]) -> None:
    """Raise InputError unless all runs have the same tasks and settings."""
    first = records[0]
    for number, record in enumerate(records):
        check_tasks_of(record, records[:number])
        if record.settings != first.settings:
            raise InputError(
                f"{record.run} has {record.settings}, {first.run} {first.settings}: "
                "record all runs with the same settings"
            )


def _files(root: Path, record: RunRecord) -> dict[int, Path]:
    """Return the networks' files of a run by tasks seen; raises InputError if one is missing."""
    files = {n: network_file(root, record.run, n) for n in sorted(record.rows)}
    for path in files.values():
        if not path.is_file():
            raise InputError(
                f"{path}, of {record.run}, is missing: put it back, or record again"
            )
    return files
