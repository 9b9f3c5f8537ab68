"""Records of runs, a JSON file each beside the networks, and the layout of the folder."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from probe.cut.model_call import Output
from probe.errors import InputError, unreadable
from probe.files import hashed, replacing, unhashed
from probe.metrics.counts import Tables
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.task_counts import TaskCounts
from probe.model import Head
from probe.numbered import as_tasks
from probe.record.checkpoints import Run

DATA, REFERENCE = "data.pt", "data.json"
_RECORD = "run.json"
_VERSION = 2


def run_folder(root: Path, run: Run) -> Path:
    """Return the folder of one run in that of a recording."""
    return root / "runs" / str(run)


def network_file(root: Path, run: Run, learned: int) -> Path:
    """Return the file of a run's network; learned: number of tasks."""
    return run_folder(root, run) / f"task-{learned}.pt"


def offline_file(root: Path, seed: int) -> Path:
    """Return the file of the network that was trained on all tasks at once."""
    return root / "offline" / f"seed-{seed}.pt"


def offline_files(root: Path) -> dict[int, Path]:
    """Return the files of all such networks, by seed."""
    found = {path: re.fullmatch(r"seed-(\d+)\.pt", path.name) for path in root.glob("offline/*.pt")}
    return dict(sorted((int(match[1]), path) for path, match in found.items() if match))


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One run: its tasks in executed order, and the counts on each by tasks learned, 0..T.

    tasks: the classes of each; numbers: those that the tasks have in the data, None where the
    classes tell them apart; output: where in the model's output the logits are; head: of the
    evaluation, None = all outputs compete; called: whether the model was given batches by a
    function, which is not kept; hashes: of the network of each row, none in older recordings.
    """

    run: Run
    tasks: tuple[tuple[int, ...], ...]
    numbers: tuple[int, ...] | None
    output: Output
    head: Head | None
    called: bool
    rows: Mapping[int, TaskCounts]
    hashes: Mapping[int, str]

    @property
    def names(self) -> Sequence[object]:
        """The name of each task: its number, or its classes."""
        return self.numbers or [frozenset(task) for task in self.tasks]

    def matrix(self) -> AccuracyMatrix:
        """Return its accuracy matrix; all outputs compete; NaN where nothing was recorded."""
        values = np.full((len(self.tasks) + 1, len(self.tasks)), np.nan)
        for learned, counts in self.rows.items():
            values[learned] = counts.accuracies()
        return AccuracyMatrix(values)

    def write(self, root: Path) -> None:
        """Write it atomically; raises NotWritten."""
        content = {
            "version": _VERSION,
            **self.run._asdict(),
            "tasks": self.tasks,
            "numbers": self.numbers,
            "output": self.output,
            "head": self.head,
            "called": self.called,
            "rows": {str(at): _cells(counts) for at, counts in sorted(self.rows.items())},
            "hashes": self.hashes,
        }
        with replacing(run_folder(root, self.run) / _RECORD) as partial:
            partial.write_bytes(hashed(json.dumps(content).encode()))


def read_run(folder: Path) -> RunRecord | None:
    """Return the record in a run's folder, None without one; raises InputError if it is damaged."""
    path = folder / _RECORD
    try:
        found = _of_content(json.loads(unhashed(path.read_bytes())))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error, "allow reading it, or choose another folder") from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise InputError(
            f"{path} is damaged, or of another version: remove {path.parent} and record this run "
            f"again"
        ) from None
    if folder.parts[-3:] != Path(str(found.run)).parts:
        raise InputError(
            f"{path} is of the run {found.run}: folders must not be renamed, so put it back"
        )
    return found


def read_runs(root: Path) -> list[RunRecord]:
    """Return the records of all runs; raises InputError if one is damaged."""
    # A path that is too long has no folders, as its reading tells.
    folders = sorted(root.glob("runs/*/order-*/seed-*")) if os.path.isdir(root) else []
    named = [each for each in folders if each.name.removeprefix("seed-").isdecimal()]
    return [record for record in map(read_run, named) if record]


def check_tasks_of(record: RunRecord, others: list[RunRecord]) -> None:
    """Raise InputError unless a run has the tasks of the others, in one order under one name."""
    for other in others:
        own, known = (
            dict(zip(each.names, map(set, each.tasks), strict=True)) for each in (record, other)
        )
        if own != known:
            raise InputError(
                f"run {record.run} has the tasks {_shown(record)}, run {other.run} "
                f"{_shown(other)}: runs of one folder share their tasks, so choose another"
            )
        if record.run.order == other.run.order and list(own) != list(known):
            raise InputError(
                f"run {record.run} learns {_shown(record)}, run {other.run} {_shown(other)}: name "
                f"another order of the tasks otherwise with order="
            )


def _shown(record: RunRecord) -> str:
    text = str(list(record.numbers or map(list, record.tasks)))
    return text if len(text) < 60 else f"{text[:60]}..."


def _of_content(content: Any) -> RunRecord:
    """Return the record in a file's content; raises almost any error if it is none."""
    if content["version"] != _VERSION:
        raise ValueError
    tasks, run = as_tasks(content["tasks"]), Run(*(content[name] for name in Run._fields))
    numbers = content["numbers"] if content["numbers"] is None else tuple(content["numbers"])
    known = len({label for task in tasks for label in task})
    rows = {}
    for learned, (n, *cells) in content["rows"].items():
        at, true, predicted, counts = np.array(cells, dtype=np.int64).reshape(-1, 4).T
        places = (at * known + true) * known + predicted
        rows[int(learned)] = TaskCounts(tasks=tasks, tables=Tables(n, known, places, counts))
    called = bool(content["called"])
    return RunRecord(
        run=run,
        tasks=tasks,
        numbers=numbers,
        output=content["output"],
        head=content["head"],
        called=called,
        rows=rows,
        hashes={int(learned): str(own) for learned, own in content.get("hashes", {}).items()},
    )


def _cells(counts: TaskCounts) -> list[Any]:
    """Return the number of tables; then table, classes and count of each cell that is not 0."""
    own = Tables.joined(counts.tables)
    rows, predicted = np.divmod(own.cells, own.classes)
    at, true = np.divmod(rows, own.classes)
    cells: list[Any] = np.stack([at, true, predicted, own.numbers], 1).tolist()
    return [len(own), *cells]
