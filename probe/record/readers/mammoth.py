"""Checkpoints of Mammoth (aimagelab), `--savecheck task`, as it has written them since `safe`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from probe.errors import InputError
from probe.record.readers.folders import merged, named, numbered
from probe.record.readers.foreign_runs import ForeignRuns
from probe.record.state_files import load_state, read_content

_NET = "net."  # the backbone, among what else a learner of theirs keeps
_REMEDY = "give checkpoints that Mammoth wrote with --savecheck task --save_checkpoint_mode safe"


def read_mammoth(folder: Path) -> ForeignRuns:
    """Read the checkpoints in a folder; runs of joint training become the offline networks.

    The tensors have the names of the backbone. The files do not list the classes of each task. If
    classes were permuted, `class_order` has the permutation. Raises InputError for a folder without
    checkpoints, for other files, old pickles among them, which could run code, and for runs that do
    not fit each other.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give the one of Mammoth's checkpoints")
    runs = numbered(folder, "*.pt", r"(.+)_(\d+)\.pt")
    if not runs:
        raise InputError(f"{folder} has no NAME_0.pt, NAME_1.pt, ... in it: {_REMEDY}")
    readings = {folder / name: _run(own) for name, own in runs.items()}
    return replace(merged(readings), offline=_offline(sorted(folder.glob("*_joint.pt"))))


def _run(own: Mapping[int, Path]) -> ForeignRuns:
    *_, last = own.values()
    args = _arguments(last)
    run = named(args.get("model"), args.get("seed"))
    return ForeignRuns(files={run: own}, load=_load, class_order=_class_order(args, last))


def _offline(joint: Sequence[Path]) -> dict[int, Path]:
    """Return networks of joint training by seed; raises InputError for two of one seed."""
    found: dict[int, Path] = {}
    for path in joint:
        run = named("", _arguments(path).get("seed"))
        if (other := found.setdefault(run.seed, path)) != path:
            raise InputError(f"{other} and {path} are of one seed: leave one in the folder")
    return found


def _arguments(path: Path) -> Mapping[str, Any]:
    try:
        content = read_content(path)
    except InputError as error:
        raise InputError(f"{error}, or {_REMEDY}") from None
    args = content.get("args") if isinstance(content, Mapping) else None
    if not isinstance(args, Mapping):
        raise InputError(f"{path} holds no arguments of Mammoth: {_REMEDY}")
    return args


def _class_order(args: Mapping[str, Any], path: Path) -> tuple[int, ...]:
    """Return the class of each output.

    Mammoth's own list has the output of each class, and holds only with `--permute_classes`.
    """
    classes, outputs = args.get("num_classes"), args.get("class_order")
    if not isinstance(classes, int) or not 0 < classes <= 10**6:
        raise InputError(f"{path} has num_classes {classes!r:.40}, expected a few: {_REMEDY}")
    if not args.get("permute_classes"):
        return tuple(range(classes))
    if not isinstance(outputs, list) or sorted(map(str, outputs)) != sorted(
        map(str, range(classes))
    ):
        raise InputError(
            f"{path} has permuted classes, and no class_order of {classes} of them: {_REMEDY}"
        )
    return tuple(outputs.index(output) for output in range(classes))


def _load(path: Path) -> dict[str, Tensor]:
    state = load_state(path)
    found = {name.removeprefix(_NET): one for name, one in state.items() if name.startswith(_NET)}
    if not found:
        raise InputError(f"{path} holds no network of Mammoth, with names from {_NET}: {_REMEDY}")
    return found
