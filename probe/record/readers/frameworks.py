"""Runs of Mammoth, FACIL, PyCIL and LAMDA-PILOT, read from the folders that they wrote.

Files are read as data: no code in them is run, and none of the frameworks is imported.
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from probe.errors import InputError
from probe.metrics.matrix_file import text_of
from probe.record.checkpoints import Run
from probe.record.readers import foreign_runs as foreign
from probe.record.readers.foreign_runs import ForeignRuns
from probe.record.state_files import load_state, read_content
from probe.tables.note_text import listed

# A learner of Mammoth keeps its backbone as `net`, among other weights.
_load = partial(load_state, weights="net")
_SAFE = (
    "give checkpoints that Mammoth wrote with --savecheck task --save_checkpoint_mode "
    "safe"
)


def read_mammoth(folder: Path) -> ForeignRuns:
    """Read checkpoints of Mammoth (aimagelab) that `--savecheck task` wrote in mode `safe`.

    Runs of joint training become the offline networks. The tensors have the names of
    the backbone. The files do not list the classes of each task. If classes were
    permuted, `class_order` has the permutation.

    Raises:
        InputError: The folder has no checkpoints, it has other files such as old
            pickles, which could run code, or runs do not fit together.
    """
    foreign.check_is_folder(folder)
    files_by_run = foreign.files_by_run(folder, "*.pt", r"(.+)_(\d+)\.pt")
    if not files_by_run:
        raise InputError(f"{folder} has no NAME_0.pt, NAME_1.pt, ... in it: {_SAFE}")
    run_of_name = {name: _mammoth_run(files) for name, files in files_by_run.items()}
    runs = foreign.merge_runs({folder / name: run for name, run in run_of_name.items()})
    offline: dict[int, Path] = {}
    for path in sorted(folder.glob("*_joint.pt")):
        run = foreign.run_named("", _arguments(path).get("seed"))
        if (earlier_path := offline.setdefault(run.seed, path)) != path:
            raise InputError(
                f"{earlier_path} and {path} have the same seed: remove one of them"
            )
    return replace(runs, offline=offline)


def _mammoth_run(files: Mapping[int, Path]) -> ForeignRuns:
    """Return the run of checkpoint files by tasks seen; the last has its learner and seed."""
    *_, last = files.values()
    arguments = _arguments(last)
    run = foreign.run_named(arguments.get("model"), arguments.get("seed"))
    return ForeignRuns(
        files={run: files}, load=_load, class_order=_class_order(arguments, last)
    )


def _arguments(path: Path) -> Mapping[str, Any]:
    """Return the command-line arguments in a Mammoth checkpoint; raises InputError without any."""
    try:
        content = read_content(path)
    except InputError as error:
        raise InputError(f"{error}, or {_SAFE}") from None
    arguments = None
    if isinstance(content, Mapping):
        arguments = content.get("args")
    if not isinstance(arguments, Mapping):
        raise InputError(f"{path} holds no Mammoth arguments: {_SAFE}")
    return arguments


def _class_order(arguments: Mapping[str, Any], path: Path) -> tuple[int, ...]:
    """Return the class of each output.

    Mammoth's own list has the output of each class, and is valid only with
    `--permute_classes`.
    """
    K = arguments.get("num_classes")
    outputs = arguments.get("class_order")
    if not isinstance(K, int) or not 0 < K <= 10**6:
        raise InputError(f"{path} has num_classes {K!r:.40}, expected a few: {_SAFE}")
    if not arguments.get("permute_classes"):
        return tuple(range(K))
    # As texts, since a damaged list may hold anything.
    classes = list(map(str, range(K)))
    order = list(map(str, outputs)) if isinstance(outputs, list) else []
    if sorted(order) != sorted(classes):
        raise InputError(
            f"{path} has permuted classes, and no class_order of {K}: {_SAFE}"
        )
    return tuple(map(order.index, classes))


_MODELS = "models/task*.ckpt"


def read_facil(folder: Path) -> ForeignRuns:
    """Read the folder of a FACIL experiment with `--save-models`, or a folder of such folders.

    The tensors have the names of FACIL's own `LLL_Net`: `model` and all `heads`. The
    network must return the logits of all heads in one tensor, as `torch.cat(heads, 1)`
    does. FACIL draws another class order for each seed, unless its `dataset_config` has
    one, and does not save it. Without one, `order = list(range(K));
    numpy.random.RandomState(seed).shuffle(order)` is the class of each output.

    Raises:
        InputError: The folder has no checkpoints, a file is damaged, or runs have
            several seeds.
    """
    runs = {path: _facil_run(path) for path in foreign.run_folders(folder, _MODELS)}
    all_runs = chain.from_iterable(folder_runs.files for folder_runs in runs.values())
    seeds = sorted({run.seed for run in all_runs})
    if len(seeds) > 1:
        raise InputError(
            f"{folder} has seeds {listed(seeds)}, whose class orders differ: read one"
        )
    return foreign.merge_runs(runs)


def _facil_run(folder: Path) -> ForeignRuns:
    """Return the run in a FACIL folder: learner and seed from args-*.txt, tasks from the heads."""
    files = foreign.files_by_run(folder, _MODELS, r"(task)(\d+)\.ckpt").get("task")
    if not files:
        raise InputError(
            f"{folder} has no models/task0.ckpt: give a run with --save-models"
        )
    path = foreign.only_file(folder, "args-*.txt", "files of arguments")
    if path is None:
        raise InputError(
            f"{folder} has no args-*.txt: give the folder as FACIL has written it"
        )
    text = text_of(path)
    arguments = None
    with suppress(ValueError, RecursionError):
        arguments = json.loads(text)
    if not isinstance(arguments, dict):
        raise InputError(
            f"{path} holds no FACIL arguments: give the folder as it was written"
        )
    run = foreign.run_named(arguments.get("approach"), arguments.get("seed"))
    heads = foreign.head_shapes([*files.values()][-1], "heads")
    return ForeignRuns(
        files={run: files},
        load=partial(foreign.load_with_heads, heads),
        tasks=foreign.consecutive_tasks(
            [heads[name][0] for name in heads if "bias" in name]
        ),
    )


def read_pycil(folder: Path) -> ForeignRuns:
    """Read a run of PyCIL or LAMDA-PILOT that `save_checkpoint` wrote, or a folder of runs.

    A run is `NAME_0.pkl`, `NAME_1.pkl`, ... and a `.log`. The tensors have the names of
    the framework's networks, and `fc` has all outputs. The classes of a task are the
    outputs that `fc` gained with it. The log, anywhere in the folder, gives the
    learner, the seed and the class order.

    Raises:
        InputError: The folder has no checkpoints, the head is not one linear `fc` with
            a bias, or several runs were written over each other.
    """
    runs = {path: _pycil_run(path) for path in foreign.run_folders(folder, "*_*.pkl")}
    unlogged = [path for path, run in runs.items() if run.class_order is None]
    if unlogged and len(runs) > 1:
        raise InputError(
            f"{unlogged[0]} has no .log with its class order: add it, or read one run"
        )
    return foreign.merge_runs(runs)


def _pycil_run(folder: Path) -> ForeignRuns:
    """Return the run in a folder: tasks from the growth of `fc`, and what the log has, if any."""
    runs = foreign.files_by_run(folder, "*.pkl", r"(.+)_(\d+)\.pkl")
    if len(runs) != 1:
        raise InputError(
            f"{folder} has runs {listed(runs) or '(none)'}: give a folder of one run"
        )
    [(name, files)] = runs.items()
    if list(files) != list(range(1, len(files) + 1)):
        raise InputError(
            f"{folder} has checkpoints after {listed(files)} tasks: add the others"
        )
    heads = [foreign.head_shapes(path, "fc") for path in files.values()]
    outputs = [head["fc.bias"][0] for head in heads]
    sizes = [after - before for before, after in pairwise([0, *outputs])]
    if min(sizes) < 1:
        raise InputError(
            f"{folder}: fc has {listed(outputs)} outputs, expected growing numbers"
        )
    log = foreign.only_file(folder, "**/*.log", "logs")
    tasks = foreign.consecutive_tasks(sizes)
    if log is None:
        return ForeignRuns(files={foreign.run_named(name, 0): files}, tasks=tasks)
    run, order = _read_log(log, name, outputs[-1])
    return ForeignRuns(files={run: files}, tasks=tasks, class_order=order)


def _read_log(path: Path, name: str, outputs: int) -> tuple[Run, tuple[int, ...]]:
    """Return the run and the class of each output that a log names."""
    text = text_of(path)
    orders = re.findall(r"\[data_manager\.py\] => \[([0-9, ]+)\]", text)
    if len(orders) != 1:
        raise InputError(
            f"{path} has the class order of {len(orders)} runs: keep one run"
        )
    order = tuple(map(int, re.findall(r"\d{1,9}", orders[0])))
    if sorted(order) != list(range(len(order))) or outputs > len(order):
        raise InputError(
            f"{path} has an order of {len(order)} classes, and fc {outputs} outputs"
        )
    seeds = re.findall(r"=> seed: (\d{1,18})\b", text)
    learners = re.findall(r"=> model_name: (\S+)", text)
    # Without an entry in the log: the name of the files, and seed 0.
    run = foreign.run_named([*learners, name][0], int([*seeds, 0][0]))
    return run, order[:outputs]


READERS: Mapping[str, Callable[[Path], ForeignRuns]] = {
    "mammoth": read_mammoth,
    "facil": read_facil,
    "pycil": read_pycil,
    "pilot": read_pycil,
}
"""The function that reads a folder of runs, by framework."""
