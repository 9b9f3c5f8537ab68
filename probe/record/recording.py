"""Folders that recorders have filled, read back: networks, accuracies and data."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from probe.cut.model_call import Output
from probe.errors import InputError
from probe.metrics.matrix import AccuracyMatrix
from probe.model import Head
from probe.record.checkpoints import Checkpoints, Run, sorting_key
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
    - records: of each run, with its counts, tasks in the run's order;
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

    Args:
        folder: One that `probe.Recorder` has filled.

    Returns:
        All runs that have a network.

    Raises:
        InputError: The folder is none, a file is damaged, a network is missing, or runs do not fit
            each other, as where one has learned fewer tasks so far.
    """
    root = Path(folder)
    if not (root / "runs").is_dir():
        what = "has no recording in it" if root.is_dir() else "is not a folder"
        raise InputError(f"{root} {what}: give one that probe.Recorder has filled")
    records = {
        r.run: r for r in sorted(read_runs(root), key=lambda r: sorting_key(r.run)) if r.rows
    }
    if not records:
        raise InputError(f"{root} has no network in it yet: record one with rec.after_task")
    first = next(iter(records.values()))
    for number, record in enumerate(records.values()):
        check_tasks_of(record, [*records.values()][:number])
        settings, expected = (f"output={r.output!r}, head={r.head!r}" for r in (record, first))
        if settings != expected:
            raise InputError(
                f"run {record.run} was recorded by {settings}, run {first.run} by {expected}: "
                f"record them with the same"
            )
    names = range(len(first.numbers)) if first.numbers else first.names
    number_of = {name: number for number, name in enumerate(names)}
    seeds = {run.seed for run in records}
    return Recording(
        tasks=None if first.numbers else first.tasks,
        orders={run.order: tuple(number_of[n] for n in r.names) for run, r in records.items()},
        checkpoints=Checkpoints(
            runs={run: _files(root, record) for run, record in records.items()},
            offline={seed: path for seed, path in offline_files(root).items() if seed in seeds},
        ),
        data=root / DATA if (root / DATA).exists() else None,
        reference=DataReference.read(root / REFERENCE),
        records=records,
        output=first.output,
        head=first.head,
        called=any(record.called for record in records.values()),
    )


def _files(root: Path, record: RunRecord) -> dict[int, Path]:
    files = {n: network_file(root, record.run, n) for n in sorted(record.rows)}
    for tasks_seen, path in files.items():
        if not path.is_file():
            raise InputError(
                f"{path}, the network after {tasks_seen} tasks, is missing: put it back, or record "
                f"the run {record.run} again"
            )
    return files
