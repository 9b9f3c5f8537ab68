"""Files of networks after each task, found by a pattern of their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape, glob
from itertools import product, starmap
from pathlib import Path
from typing import NamedTuple

from probe.errors import InputError, unknown
from probe.notes import listed

FOLDER_NAME = "[A-Za-z0-9][A-Za-z0-9_-]{0,79}"
"""The names of learners and orders that folders and jobs can have."""

_NAME = "[A-Za-z0-9_-]+"
_NUMBER = "[0-9]+"
_FIELDS = {"learner": _NAME, "order": _NAME, "seed": _NUMBER, "task": _NUMBER, "index": _NUMBER}
_FIELD = re.compile(r"\{(\w+)\}")
_STEPS = ("task", "index")  # one of them is needed


class Run(NamedTuple):
    """One training: its learner, order of tasks and seed."""

    learner: str
    order: str
    seed: int

    def __str__(self) -> str:
        return f"{self.learner}/order-{self.order}/seed-{self.seed}"


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """Files of networks: runs[run][tasks learned] -> Path; offline[seed] -> Path.

    Raises InputError unless every learner, order and seed has a run, all runs have the same steps,
    and every seed has an offline network, or none has.
    """

    runs: Mapping[Run, Mapping[int, Path]]
    offline: Mapping[int, Path]

    def __post_init__(self) -> None:
        _check_grid(self.runs)
        seeds = {run.seed for run in self.runs}
        missing = [str(seed) for seed in sorted(seeds - self.offline.keys())]
        if self.offline and missing:
            raise InputError(
                f"there is no offline network of seed {listed(missing)}, but there is one of seed "
                f"{listed([str(seed) for seed in self.offline])}: add one for each seed of the "
                f"checkpoints"
            )

    @classmethod
    def find(
        cls, pattern: str | Path, offline: str | Path | None = None, learner: str = "model"
    ) -> Checkpoints:
        """Find the files whose names fit a pattern, as `ckpt/{learner}/seed{seed}-task{task}.pt`.

        - pattern: {task} is the number of tasks learned, 0 for an untrained network, or, in its
          place, {index} the number of the last task learned, counted from 0; {seed} a whole number
          too; {learner} and {order} are of letters, digits, _ and -. All else stands for itself.
          Without {seed} it is 0, without {order} "0";
        - offline: of the networks trained on all tasks at once, with {seed} at most;
        - learner: the name where the pattern has none.

        Raises InputError where no file fits, for an unknown field, for two files of the same
        network, and where a run, a step or an offline network is missing that others have.
        """
        seen: dict[Run, dict[int, Path]] = {}
        for path, said in Pattern(pattern, _FIELDS, _STEPS).files():
            name = said.get("learner", learner)
            run = Run(name, said.get("order", "0"), int(said.get("seed", 0)))
            step = int(said["task"]) if "task" in said else int(said["index"]) + 1
            _put(seen.setdefault(run, {}), step, path)
        runs = {run: dict(sorted(seen[run].items())) for run in sorted(seen, key=place)}
        of_seeds: dict[int, Path] = {}
        if offline is not None:
            for path, said in Pattern(offline, ["seed"]).files():
                _put(of_seeds, int(said.get("seed", 0)), path)
        found = cls(runs=runs, offline=dict(sorted(of_seeds.items())))
        wanted = {run.seed for run in runs}
        own = {seed: path for seed, path in found.offline.items() if seed in wanted}
        return replace(found, offline=own)


class Pattern:
    """A pattern of file names, as `ckpt/{learner}/seed{seed}-task{task}.pt`."""

    def __init__(
        self, pattern: str | Path, known: Iterable[str], needed: Sequence[str] = ()
    ) -> None:
        self._text = str(pattern)
        self._path = Path(self._text).expanduser()
        text = str(self._path)
        self._names = _FIELD.findall(text)
        # Where one number ends and the next begins could not be told.
        if not self._path.name or "}{" in text or re.search("[{}]", _FIELD.sub("", text)):
            raise InputError(
                f"{self._text!r} is not a pattern of file names: write fields as {{seed}} and "
                f"{{task}}, with some text between two of them"
            )
        used = set(self._names)
        for name in sorted(used - set(known)):
            raise unknown(f"field in {self._text!r}", name, known)
        if needed and len(used.intersection(needed)) != 1:
            lacks = "has both {task} and {index}" if used.issuperset(needed) else "lacks {task}"
            raise InputError(
                f"{self._text!r} {lacks}: write {{task}} where the file names have the number of "
                f"tasks learned, as ckpt/seed{{seed}}-task{{task}}.pt, or {{index}} if they count "
                f"tasks from 0"
            )

    def files(self) -> list[tuple[Path, dict[str, str]]]:
        """Return the files that fit, each with its fields; raises InputError if there is none."""
        plain = re.escape(str(self._path))
        regex = re.sub(r"\\{(\w+)\\}", lambda field: f"({_FIELDS[field[1]]})", plain)
        there = [(path, re.fullmatch(regex, str(path))) for path in _like(self._path)]
        found = [
            (path, self._fields(path, match.groups()))
            for path, match in there
            if match and path.is_file()
        ]
        if not found:
            raise self._nothing_fits()
        return found

    def _fields(self, path: Path, values: Sequence[str]) -> dict[str, str]:
        """Return the fields of a file; numbers lose leading zeros.

        Raises InputError for a field with two values.
        """
        fields: dict[str, str] = {}
        for name, text in zip(self._names, values, strict=True):
            value = str(int(text)) if _FIELDS[name] == _NUMBER else text
            if fields.setdefault(name, value) != value:
                raise InputError(
                    f"{path} has two values for one field of {self._text!r}: rename it, or write "
                    f"the field once"
                )
        return fields

    def _nothing_fits(self) -> InputError:
        """Return the error for no file that fits, with the content of its folders."""
        folders = _like(self._path.parent)
        there = sorted({path.name for folder in folders for path in folder.glob("*")})
        more = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
        where = f"{folders[0]}{more}" if folders else self._path.parent
        what = f"which has {listed(there)}" if there else "which is empty"
        return InputError(
            f"no file fits {self._text!r}: looked in {where}, "
            f"{what if folders else 'which is not a folder'}; correct the pattern"
        )


def _like(pattern: Path) -> list[Path]:
    """Return the paths that a pattern fits with anything in place of its fields, sorted."""
    globbed = _FIELD.sub("*", escape(str(pattern)))
    return sorted(map(Path, glob(globbed, include_hidden=True)))


def _put(files: dict[int, Path], at: int, path: Path) -> None:
    """Keep a file; raises InputError if another one has its number."""
    if at in files:
        raise InputError(
            f"{files[at]} and {path} are of the same run and task: remove one of them, or tell "
            f"them apart with {{learner}}, {{order}} or {{seed}}"
        )
    files[at] = path


def place(run: Run) -> tuple[str, bool, int, str, int]:
    """Return the sorting key of a run: learner, order and seed, numeric orders first.

    >>> sorted([Run("er", "10", 0), Run("er", "9", 0), Run("er", "a", 0)], key=place)[0].order
    '9'
    """
    number = int(run.order) if re.fullmatch(_NUMBER, run.order) else None
    return run.learner, number is None, number or 0, run.order, run.seed


def _check_grid(runs: Mapping[Run, Mapping[int, Path]]) -> None:
    """Raise InputError unless every learner, order and seed has a run, and runs the same steps."""
    if not runs:
        raise InputError("there are no checkpoints: name the files of one run or more")
    grid = product(*map(dict.fromkeys, zip(*runs, strict=True)))
    if absent := [str(run) for run in starmap(Run, grid) if run not in runs]:
        raise InputError(
            f"there are no checkpoints of {listed(absent)}, though others have this learner, "
            f"order and seed: add them, or move the others elsewhere"
        )
    steps = sorted(set().union(*runs.values()))
    for run, own in runs.items():
        if missing := [str(step) for step in steps if step not in own]:
            raise InputError(
                f"{run} has no checkpoint after {listed(missing)} tasks, as other runs have: add "
                f"it, or remove theirs"
            )
