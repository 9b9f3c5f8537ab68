"""Folders that recorders have filled, read back: networks, accuracies and data."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from probe.cut.model_call import Output
from probe.errors import InputError
from probe.metrics.matrix import AccuracyMatrix
from probe.model import Head
from probe.record.checkpoints import Checkpoints, Run, place
from probe.record.data import DataReference, load_data
from probe.record.runs import (
    DATA,
    REFERENCE,
    RunRecord,
    check_tasks_of,
    network_file,
    offline_files,
    read_runs,
)

__all__ = ["Recording", "load_data", "read_recording"]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """All recorded runs of a folder.

    - tasks: the classes of each of T tasks, in the order in which the first run learned them; None
      where the examples have the numbers of their tasks;
    - orders: by its name, the tasks of an order, numbers from 0 into `tasks`, or those numbers;
    - checkpoints: the files of all networks; data: of the examples, None if they were not kept;
      reference: to those that were named instead;
    - records: of each run, with its counts, tasks in its own order;
    - output: where in the model's output the logits are; head: of the evaluation, None = all
      outputs compete; called: whether a function gave the model its batches, which is not kept.
    """

    tasks: tuple[tuple[int, ...], ...] | None
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


def read_recording(folder: str | Path) -> Recording:
    """Read the folder of a recording.

    Raises InputError for a folder that is none, a damaged file, a network that is missing, and runs
    that do not fit each other, as where one has learned fewer tasks so far.
    """
    root = Path(folder)
    if not (root / "runs").is_dir():
        what = "has no recording in it" if root.is_dir() else "is not a folder"
        raise InputError(f"{root} {what}: give one that probe.Recorder has filled")
    records = sorted((each for each in read_runs(root) if each.rows), key=lambda r: place(r.run))
    if not records:
        raise InputError(f"{root} has no network in it yet: record one with rec.after_task")
    for at, record in enumerate(records):
        check_tasks_of(record, records[:at])
        how, other = (f"output={r.output!r}, head={r.head!r}" for r in (record, records[0]))
        if how != other:
            raise InputError(
                f"run {record.run} was recorded by {how}, run {records[0].run} by {other}: record "
                f"them alike"
            )
    seeds, given = {record.run.seed for record in records}, records[0].numbers
    base = range(len(given)) if given else records[0].names
    numbers = {name: number for number, name in enumerate(base)}
    return Recording(
        tasks=None if given else records[0].tasks,
        orders={r.run.order: tuple(numbers[name] for name in r.names) for r in records},
        checkpoints=Checkpoints(
            runs={record.run: _files(root, record) for record in records},
            offline={seed: path for seed, path in offline_files(root).items() if seed in seeds},
        ),
        data=root / DATA if (root / DATA).exists() else None,
        reference=DataReference.read(root / REFERENCE),
        records={record.run: record for record in records},
        output=records[0].output,
        head=records[0].head,
        called=any(record.called for record in records),
    )


def _files(root: Path, record: RunRecord) -> dict[int, Path]:
    found = {learned: network_file(root, record.run, learned) for learned in sorted(record.rows)}
    for learned, path in found.items():
        if not path.is_file():
            raise InputError(
                f"{path}, the network after {learned} tasks, is missing: put it back, or record "
                f"the run {record.run} again"
            )
    return found
