"""Folders of runs of other frameworks, merged into one."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from probe.errors import InputError
from probe.record.checkpoints import Run
from probe.record.readers.foreign_runs import ForeignRuns


def merged(readings: Mapping[Path, ForeignRuns]) -> ForeignRuns:
    """Return several readings, by their folders, as one.

    Raises InputError for two runs of one name, and for runs whose outputs stand for different
    classes.
    """
    (first, one), *others = readings.items()
    where = dict.fromkeys(one.files, first)
    for path, other in others:
        for run in other.files:
            if run in where:
                raise InputError(
                    f"{where[run]} and {path} are both of {run.learner} with seed {run.seed}: "
                    f"leave one of them in the folder"
                )
            where[run] = path
        if (other.tasks, other.class_order) != (one.tasks, one.class_order):
            what = "other tasks" if other.tasks != one.tasks else "another order of the classes"
            raise InputError(
                f"{first} and {path} have {what}, so their outputs stand for different classes: "
                f"read one of them at a time"
            )
    # Heads of the same tasks grow alike, so that the files of all are read as those of the first.
    return replace(one, files={run: own for r in readings.values() for run, own in r.files.items()})


def runs_in(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the folders of runs: this one if files of it fit a pattern, else those in it that have.

    Raises InputError where there is none.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give the one with the checkpoints of the runs")
    inner = sorted(path for path in folder.iterdir() if path.is_dir())
    found = [path for path in (folder, *inner) if any(path.glob(pattern))]
    if not found:
        raise InputError(f"{folder} and the folders in it have no {pattern}: give another")
    yield from found[:1] if found[0] == folder else found


def numbered(folder: Path, pattern: str, name: str) -> dict[str, dict[int, Path]]:
    """Return the files that fit a pattern, by the name of the run and tasks learned.

    name: a regular expression of their names, with that of the run and the task, from 0, as groups.
    """
    runs: dict[str, dict[int, Path]] = {}
    for path in folder.glob(pattern):
        if path.is_file() and (match := re.fullmatch(name, path.name)):
            runs.setdefault(match[1], {})[int(match[2]) + 1] = path
    return {run: dict(sorted(own.items())) for run, own in sorted(runs.items())}


def one_file(folder: Path, pattern: str, what: str) -> Path | None:
    """Return the file that fits a pattern, None if there is none.

    Raises InputError if there are several.
    """
    found = sorted(folder.glob(pattern))
    if len(found) > 1:
        raise InputError(
            f"{folder} has {len(found)} {what} ({found[0].name}, {found[1].name}): runs that were "
            f"written over each other cannot be told apart, so keep only the last one in it"
        )
    return found[0] if found else None


def named(learner: object, seed: object) -> Run:
    """Return the run of a learner and a seed as a framework writes them."""
    name = re.sub(r"[^A-Za-z0-9_-]", "-", str(learner)) or "model"
    return Run(name, "0", seed if isinstance(seed, int) and seed >= 0 else 0)
