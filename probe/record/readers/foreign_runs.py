"""Runs of another framework: their folders, and their networks as plain files."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from itertools import accumulate
from pathlib import Path
from typing import Literal

import torch

from probe.batch import Named
from probe.errors import InputError
from probe.files import make_folder
from probe.immutable import immutable
from probe.metrics.task_predictions import TaskClasses
from probe.record.checkpoints import Checkpoints, Run
from probe.record.recording import network_file, offline_file
from probe.record.state_files import NEVER, keep_tensors, load_state
from probe.tables.note_text import listed


@immutable
class ForeignRuns:
    """Runs of another framework, in the files that it wrote.

    Attributes:
        files: The files of the networks, by run and tasks seen.
        load: Function that reads a file as tensors by their names in the network with
            all outputs. An output that came later has weights of 0 and the bias
            `NEVER`.
        offline: The file of the network trained on all tasks at once, by seed.
        tasks: The outputs of each task, in the order of learning; None = the files do
            not say.
        class_order: The class of the data that each output stands for; None = the files
            do not say.
    """

    files: Mapping[Run, Mapping[int, Path]]
    load: Callable[[Path], Named] = load_state
    offline: Mapping[int, Path] = field(default_factory=dict)
    tasks: TaskClasses | None = None
    class_order: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        # It raises for runs and networks that are missing, before anything is written.
        Checkpoints(runs=self.files, offline=self.offline)

    def keep(self, folder: Path) -> Checkpoints:
        """Write every network to a separate file, which `load_state` reads.

        Args:
            folder: The folder of the new files. The same networks give the same bytes.

        Returns:
            The files.

        Raises:
            InputError: A file of the framework cannot be read.
            NotWritten: The folder cannot be written to.
        """
        runs: dict[Run, dict[int, Path]] = {}
        for run, files in self.files.items():
            runs[run] = {}
            for tasks_seen, path in files.items():
                target = network_file(folder, run, tasks_seen)
                runs[run][tasks_seen] = self._write(path, target)
        offline = {}
        for seed, path in self.offline.items():
            offline[seed] = self._write(path, offline_file(folder, seed))
        return Checkpoints(runs=runs, offline=offline)

    def _write(self, path: Path, target: Path) -> Path:
        """Write a network as plain tensors to a new file, and return that file."""
        make_folder(target.parent)
        keep_tensors(self.load(path), target)
        return target


def merge_runs(runs_by_folder: Mapping[Path, ForeignRuns]) -> ForeignRuns:
    """Return the runs of several folders as one.

    Args:
        runs_by_folder: The runs of each folder.

    Raises:
        InputError: Two runs have the same name, or their outputs stand for different
            classes.
    """
    first_folder, first_runs = next(iter(runs_by_folder.items()))
    files: dict[Run, Mapping[int, Path]] = {}
    folder_of_run: dict[Run, Path] = {}
    for folder, runs in runs_by_folder.items():
        for run in runs.files:
            if (earlier_folder := folder_of_run.setdefault(run, folder)) != folder:
                raise InputError(
                    f"{earlier_folder} and {folder} are both {run}: remove one"
                )
        if (runs.tasks, runs.class_order) != (first_runs.tasks, first_runs.class_order):
            what = "another order of the classes"
            if runs.tasks != first_runs.tasks:
                what = "other tasks"
            raise InputError(
                f"{first_folder} and {folder} have {what}: read one of them at a time"
            )
        files |= runs.files
    # Heads of the same tasks grow alike, so that the files of all are read as those of
    # the first.
    return replace(first_runs, files=files)


def run_folders(folder: Path, pattern: str) -> list[Path]:
    """Find the folders of runs.

    Args:
        folder: The folder to search.
        pattern: Glob pattern of a run's files.

    Returns:
        The folder itself if it has such files, else the folders in it that do.

    Raises:
        InputError: There is no such folder.
    """
    check_is_folder(folder)
    if any(folder.glob(pattern)):
        return [folder]
    inner = sorted(
        path for path in folder.iterdir() if path.is_dir() and any(path.glob(pattern))
    )
    if not inner:
        raise InputError(
            f"{folder} and the folders in it have no {pattern}: give another folder"
        )
    return inner


def check_is_folder(folder: Path) -> None:
    """Raise InputError for a path that is not a folder."""
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder: give the one with the checkpoints of the runs"
        )


def files_by_run(folder: Path, pattern: str, name: str) -> dict[str, dict[int, Path]]:
    """Find the files of runs.

    Args:
        folder: The folder to search.
        pattern: The glob pattern of the files.
        name: A regular expression for their names; its groups are the run and the task,
            from 0.

    Returns:
        The files by the name of the run and tasks seen.
    """
    files: dict[str, dict[int, Path]] = {}
    for path in folder.glob(pattern):
        if path.is_file() and (match := re.fullmatch(name, path.name)):
            tasks_seen = int(match[2]) + 1
            files.setdefault(match[1], {})[tasks_seen] = path
    return {
        run: dict(sorted(by_tasks.items())) for run, by_tasks in sorted(files.items())
    }


def only_file(folder: Path, pattern: str, what: str) -> Path | None:
    """Find the only file that fits a pattern.

    Args:
        folder: The folder.
        pattern: The glob pattern.
        what: The kind of file, in the plural, for the message.

    Returns:
        The file, None if there is none.

    Raises:
        InputError: There are several.
    """
    files = sorted(folder.glob(pattern))
    if len(files) > 1:
        raise InputError(
            f"{folder} has {len(files)} {what}, of several runs: keep only the last"
        )
    return files[0] if files else None


def run_named(learner: object, seed: object) -> Run:
    """Return the run that a framework's names of learner and seed stand for.

    Args:
        learner: The name of the learner, any text.
        seed: The seed; anything that is not a seed counts as 0.
    """
    name = re.sub(r"[^A-Za-z0-9_-]", "-", str(learner)) or "model"
    return Run(name, "0", seed if isinstance(seed, int) and seed >= 0 else 0)


def load_with_heads(shapes: Mapping[str, Sequence[int]], path: Path) -> Named:
    """Load a state; a head that it does not have yet has weights of 0 and the bias `NEVER`.

    Args:
        shapes: The shapes of the weight and bias of each head, by name.
        path: The file of the state.
    """
    fresh = {
        name: torch.full(shape, NEVER if name.endswith("bias") else 0.0)
        for name, shape in shapes.items()
    }
    return fresh | load_state(path)


def head_shapes(path: Path, kind: Literal["fc", "heads"]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of weight and bias of each linear head in a file, by name.

    Args:
        path: The file.
        kind: The kind of the heads: one head `fc`, or a list `heads`.

    Raises:
        InputError: The heads are of another kind.
    """
    state = load_state(path).items()
    shapes = {
        name: tuple(value.shape) for name, value in state if name.startswith(f"{kind}.")
    }
    heads: list[str] = [kind]
    if kind == "heads":
        heads = [f"heads.{k}" for k in range(len(shapes) // 2)]
    expected = [f"{head}.{tensor}" for head in heads for tensor in ("weight", "bias")]
    if not shapes or sorted(shapes) != sorted(expected) or not all(shapes.values()):
        what = "one linear fc" if kind == "fc" else "linear heads"
        raise InputError(
            f"{path} has {listed(shapes) or 'no heads'}, expected {what} with a bias"
        )
    return {name: shapes[name] for name in expected}


def consecutive_tasks(sizes: Sequence[int]) -> TaskClasses:
    """Return tasks with these numbers of outputs, numbered consecutively.

    >>> consecutive_tasks([2, 1])
    ((0, 1), (2,))
    """
    ends = accumulate(sizes)
    return tuple(
        tuple(range(end - size, end)) for end, size in zip(ends, sizes, strict=True)
    )
