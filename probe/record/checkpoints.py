"""Files of networks after each task, found by a pattern of their names."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from glob import escape, glob
from itertools import product, starmap
from pathlib import Path
from typing import NamedTuple

from probe.errors import InputError, check_known
from probe.immutable import immutable
from probe.tables.note_text import listed

FOLDER_NAME = "[A-Za-z0-9][A-Za-z0-9_-]{0,79}"
"""The pattern of names of learners and orders that are valid in folders and jobs."""

_NAME = "[A-Za-z0-9_-]+"
_NUMBER = "[0-9]+"
_FIELDS = {
    "learner": _NAME,
    "order": _NAME,
    "seed": _NUMBER,
    "task": _NUMBER,
    "index": _NUMBER,
}
_FIELD = re.compile(r"\{(\w+)\}")


class Run(NamedTuple):
    """One training: its learner, order of tasks and seed."""

    learner: str
    order: str
    seed: int

    def __str__(self) -> str:
        return f"{self.learner}/order-{self.order}/seed-{self.seed}"


@immutable
class Checkpoints:
    """Files of networks: runs[run][tasks seen] -> Path; offline[seed] -> Path.

    Raises InputError unless every combination of learner, order and seed has a run, all
    runs have networks after the same numbers of tasks, and all seeds or none have an
    offline network.
    """

    runs: Mapping[Run, Mapping[int, Path]]
    offline: Mapping[int, Path]

    def __post_init__(self) -> None:
        """Check that runs, numbers of tasks and offline networks are complete."""
        # The learners, orders and seeds that occur, and all of their combinations.
        values_of_fields = map(dict.fromkeys, zip(*self.runs, strict=True))
        expected_runs = starmap(Run, product(*values_of_fields))
        if missing_runs := [run for run in expected_runs if run not in self.runs]:
            raise InputError(
                f"there are no checkpoints of {listed(missing_runs)}, "
                "though others have this learner, order and seed: add them"
            )
        all_tasks_seen = set().union(*self.runs.values())
        for run, files in self.runs.items():
            if missing_tasks := sorted(all_tasks_seen - files.keys()):
                raise InputError(
                    f"{run} has no checkpoint after {listed(missing_tasks)} tasks, as "
                    "others have: add it, or move the others away"
                )
        missing_seeds = sorted({run.seed for run in self.runs} - self.offline.keys())
        if self.offline and missing_seeds:
            raise InputError(
                f"there is no joint network of seed {listed(missing_seeds)}, "
                f"but of {listed(sorted(self.offline))}: add it"
            )

    @classmethod
    def find(
        cls,
        pattern: str | Path,
        offline: str | Path | None = None,
        learner: str = "model",
    ) -> "Checkpoints":
        """Find files by a pattern such as `ckpt/{learner}/seed{seed}-task{task}.pt`.

        Args:
            pattern: The pattern. {task} is the number of tasks learned, 0 for an
                untrained network; {index} may be used instead, the last task learned,
                counted from 0. {seed} is a whole number; {learner} and {order} have
                letters, digits, _ and -. * stands for any text without a slash, all
                other text is literal. Without {seed} the seed is 0, without {order} the
                order is "0".
            offline: Pattern of the networks trained on all tasks at once; {seed} is its
                only field.
            learner: The learner's name if the pattern has no {learner}.

        Returns:
            The files by run, and the offline networks of the runs' seeds.

        Raises:
            InputError: No file fits, a field is unknown, two files hold the same
                network, or a run lacks a network that other runs have.
        """
        files: dict[Run, dict[int, Path]] = {}
        for path, fields in matching_files(pattern, _FIELDS, ("task", "index")):
            if "index" in fields:
                fields["task"] = str(int(fields["index"]) + 1)
            run = Run(
                fields.get("learner", learner),
                fields.get("order", "0"),
                int(fields.get("seed", 0)),
            )
            _put(files.setdefault(run, {}), int(fields["task"]), path)
        runs = {
            run: dict(sorted(files[run].items()))
            for run in sorted(files, key=sorting_key)
        }
        offline_by_seed: dict[int, Path] = {}
        if offline is not None:
            for path, fields in matching_files(offline, ["seed"]):
                _put(offline_by_seed, int(fields.get("seed", 0)), path)
        checkpoints = cls(runs=runs, offline=offline_by_seed)
        # Offline networks of seeds without a run are left out.
        seeds = sorted(offline_by_seed.keys() & {run.seed for run in runs})
        return replace(
            checkpoints, offline={seed: offline_by_seed[seed] for seed in seeds}
        )


def matching_files(
    pattern: str | Path, allowed: Collection[str], needed: Sequence[str] = ()
) -> list[tuple[Path, dict[str, str]]]:
    """Find files by a pattern such as `ckpt/{learner}/seed{seed}-task{task}.pt`.

    Args:
        pattern: The pattern.
        allowed: The fields that the pattern may have.
        needed: The fields, exactly one of which the pattern must have.

    Returns:
        The paths, each with its fields; numbers are without leading zeros.

    Raises:
        InputError: No file fits, fields are wrong, or a file has two values for a
            field or other characters in a name.
    """
    path = Path(pattern).expanduser()
    names = _FIELD.findall(str(path))
    quoted = repr(str(pattern))
    _check_pattern(path, quoted)
    for name in sorted(names):
        check_known("field", name, allowed, f"in {quoted}")
    if needed and len(set(needed).intersection(names)) != 1:
        has_both = set(needed) <= set(names)
        lacks = "has both {task} and {index}" if has_both else "lacks {task}"
        raise InputError(
            f"{quoted} {lacks}: write {{task}} (tasks learned) or {{index}} (from 0)"
        )
    # As a regular expression: * is text without a slash, {task} the group ([0-9]+).
    literal = re.escape(str(path)).replace(r"\*", "[^/]*")
    regex = re.sub(r"\\{(\w+)\\}", lambda m: f"({_FIELDS[m[1]]})", literal)
    any_name = regex.replace(_NAME, "[^/]+")
    files = []
    for file in _glob(path):
        if match := re.fullmatch(regex, str(file)):
            texts = zip(names, match.groups(), strict=True)
            files.append((file, _fields(file, texts)))
        elif re.fullmatch(any_name, str(file)):
            raise InputError(
                f"{file} has other characters in {{learner}} or {{order}} than letters, "
                "digits, _ and -: rename it"
            )
    if not files:
        raise _nothing_fits(path, quoted)
    return files


def _check_pattern(path: Path, quoted: str) -> None:
    """Raise InputError for a path that cannot be a pattern."""
    # Two fields side by side: it is unknown where one number ends and the next begins.
    has_adjacent_fields = "}{" in str(path)
    if (
        not path.name
        or has_adjacent_fields
        or re.search("[{}]", _FIELD.sub("", str(path)))
    ):
        raise InputError(
            f"{quoted} is not a pattern: write {{seed}}, {{task}}, with text between"
        )


def _fields(file: Path, texts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the values of a file's fields by name, numbers without leading zeros.

    Raises InputError if a field that occurs twice in the pattern has two values.

    Args:
        file: The file, for the message.
        texts: The name of each field with the text in its place.
    """
    fields: dict[str, str] = {}
    for name, text in texts:
        value = text
        if _FIELDS[name] == _NUMBER:
            value = str(int(text))
        if fields.setdefault(name, value) != value:
            raise InputError(f"{file} has two values for {{{name}}}: rename the file")
    return fields


def _nothing_fits(path: Path, quoted: str) -> InputError:
    """Return the error for a pattern that no file fits, with the content of its folders."""
    folders = _glob(path.parent)
    names = sorted({file.name for folder in folders for file in folder.glob("*")})
    where = str(path.parent)
    content = "which is not a folder"
    if folders:
        where = str(folders[0])
        content = "which is empty"
    if names:
        content = f"which has {listed(names)}"
    if len(folders) > 1:
        where += f" and {len(folders) - 1} more"
    return InputError(
        f"no file fits {quoted}: looked in {where}, {content}; correct the pattern"
    )


def _glob(pattern: Path) -> list[Path]:
    """Return the paths that a pattern fits with anything in place of its fields, sorted."""
    escaped = escape(str(pattern)).replace("[*]", "*")
    return sorted(map(Path, glob(_FIELD.sub("*", escaped), include_hidden=True)))


def _put(files: dict[int, Path], number: int, path: Path) -> None:
    """Add a file under its number of tasks or seed; raises InputError if another file has it."""
    if (existing := files.setdefault(number, path)) != path:
        raise InputError(
            f"{existing} and {path} are for the same run and task: "
            "remove one, or tell them apart with {learner}, {order} or {seed}"
        )


def sorting_key(run: Run) -> tuple[str, bool, int, str, int]:
    """Return the sorting key of a run: learner, order and seed, numeric orders first.

    >>> sorted([Run("er", "10", 0), Run("er", "9", 0), Run("er", "a", 0)], key=sorting_key)[0].order
    '9'
    """
    number = 0
    is_number = re.fullmatch(_NUMBER, run.order) is not None
    if is_number:
        number = int(run.order)
    return run.learner, not is_number, number, run.order, run.seed
