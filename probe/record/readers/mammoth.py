"""Checkpoints of Mammoth (aimagelab), `--savecheck task`, as it has written them since `safe`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from probe.errors import InputError
from probe.record.readers import foreign_runs as foreign
from probe.record.readers.foreign_runs import ForeignRuns
from probe.record.state_files import load_state, read_content

_NET = "net."  # the backbone, among what else a learner of theirs keeps
_REMEDY = "give checkpoints that Mammoth wrote with --savecheck task --save_checkpoint_mode safe"


def read_mammoth(folder: Path) -> ForeignRuns:
    """Read the checkpoints in a folder; runs of joint training become the offline networks.

    The tensors have the names of the backbone. The files do not list the classes of each task. If
    classes were permuted, `class_order` has the permutation.

    Raises:
        InputError: The folder has no checkpoints, or other files, old pickles among them, which
            could run code; or runs do not fit each other.
    """
    foreign.check_is_folder(folder)
    files_by_run = foreign.files_by_run(folder, "*.pt", r"(.+)_(\d+)\.pt")
    if not files_by_run:
        raise InputError(f"{folder} has no NAME_0.pt, NAME_1.pt, ... in it: {_REMEDY}")
    runs = foreign.merge_runs({folder / name: _run(files) for name, files in files_by_run.items()})
    offline: dict[int, Path] = {}
    for path in sorted(folder.glob("*_joint.pt")):
        run = foreign.run_named("", _arguments(path).get("seed"))
        if (other := offline.setdefault(run.seed, path)) != path:
            raise InputError(f"{other} and {path} are of one seed: leave one in the folder")
    return replace(runs, offline=offline)


def _run(files: Mapping[int, Path]) -> ForeignRuns:
    *_, last = files.values()
    arguments = _arguments(last)
    run = foreign.run_named(arguments.get("model"), arguments.get("seed"))
    return ForeignRuns(files={run: files}, load=_load, class_order=_class_order(arguments, last))


def _arguments(path: Path) -> Mapping[str, Any]:
    try:
        content = read_content(path)
    except InputError as error:
        raise InputError(f"{error}, or {_REMEDY}") from None
    arguments = content.get("args") if isinstance(content, Mapping) else None
    if not isinstance(arguments, Mapping):
        raise InputError(f"{path} holds no arguments of Mammoth: {_REMEDY}")
    return arguments


def _class_order(arguments: Mapping[str, Any], path: Path) -> tuple[int, ...]:
    """Return the class of each output.

    Mammoth's own list has the output of each class, and holds only with `--permute_classes`.
    """
    K, outputs = arguments.get("num_classes"), arguments.get("class_order")
    if not isinstance(K, int) or not 0 < K <= 10**6:
        raise InputError(f"{path} has num_classes {K!r:.40}, expected a few: {_REMEDY}")
    if not arguments.get("permute_classes"):
        return tuple(range(K))
    if not isinstance(outputs, list) or sorted(map(str, outputs)) != sorted(map(str, range(K))):
        raise InputError(f"{path} has permuted classes, and no class_order of {K}: {_REMEDY}")
    return tuple(outputs.index(output) for output in range(K))


def _load(path: Path) -> dict[str, Tensor]:
    state = load_state(path)
    backbone = {n.removeprefix(_NET): value for n, value in state.items() if n.startswith(_NET)}
    if not backbone:
        raise InputError(f"{path} holds no network of Mammoth, with names from {_NET}: {_REMEDY}")
    return backbone
