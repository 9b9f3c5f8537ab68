"""Checkpoints of PyCIL and LAMDA-PILOT, as `save_checkpoint` writes them, and their logs."""

import re
from functools import partial
from pathlib import Path

from torch import Tensor

from probe.errors import InputError
from probe.metrics.log_file import text_of
from probe.record.checkpoints import Run
from probe.record.readers.folders import merged, named, one_file, runs_in
from probe.record.readers.foreign_runs import ForeignRuns, consecutive, load_grown
from probe.record.state_files import load_state

_NAME = re.compile(r"(.+)_(\d+)\.pkl")
_HEAD = ("fc.weight", "fc.bias")


def read_pycil(folder: Path) -> ForeignRuns:
    """Read a folder with `NAME_0.pkl`, `NAME_1.pkl`, ... and the `.log` of a run, or folders of it.

    The tensors have the names of their networks, and `fc` all outputs. The outputs that `fc` gained
    are the classes of each task. The log, anywhere in the folder, says learner, seed and the order
    of the classes. Raises InputError for a folder without checkpoints, for heads
    other than one linear `fc` with a bias, and for several runs that were written over each other.
    """
    readings = {path: _run(path) for path in runs_in(folder, "*_*.pkl")}
    silent = [path for path, reading in readings.items() if reading.class_order is None]
    if silent and len(readings) > 1:
        raise InputError(
            f"{silent[0]} has no .log, so it cannot be told whether its classes have the order of "
            f"the other runs: add it, or read one run at a time"
        )
    return merged(readings)


def _run(folder: Path) -> ForeignRuns:
    matches = [match for path in folder.glob("*.pkl") if (match := _NAME.fullmatch(path.name))]
    names = sorted({match[1] for match in matches})
    if len(names) != 1:
        raise InputError(
            f"{folder} has checkpoints of {', '.join(names[:3]) or 'no run'}: expected NAME_0.pkl, "
            f"NAME_1.pkl, ... of one run, so put each run into a folder of its own"
        )
    files = dict(sorted((int(match[2]) + 1, folder / match[0]) for match in matches))
    if list(files) != list(range(1, len(files) + 1)):
        raise InputError(
            f"{folder} has checkpoints after {', '.join(map(str, files))} tasks: what each adds to "
            f"fc are the classes of its task, so add the others"
        )
    heads = [_head(path) for path in files.values()]
    outputs = [len(head["fc.bias"]) for head in heads]
    sizes = [b - a for a, b in zip([0, *outputs], outputs, strict=False)]
    if min(sizes) < 1:
        raise InputError(
            f"{folder} has networks of {', '.join(map(str, outputs))} outputs: expected more after "
            f"each task"
        )
    log = one_file(folder, "**/*.log", "logs")
    said = _log(log, names[0], outputs[-1]) if log else None
    run, order = said or (named(names[0], 0), None)
    return ForeignRuns(
        files={run: files},
        load=partial(load_grown, {name: tuple(one.shape) for name, one in heads[-1].items()}),
        tasks=consecutive(sizes),
        class_order=order,
    )


def _head(path: Path) -> dict[str, Tensor]:
    found = {name: one for name, one in load_state(path).items() if name.startswith("fc.")}
    if sorted(found) != sorted(_HEAD) or not all(one.ndim for one in found.values()):
        raise InputError(
            f"{path} has a head of {', '.join(sorted(found)[:3]) or 'no name'}: only one linear fc "
            f"with a bias is read, so that outputs of later tasks can be filled in"
        )
    return found


def _log(path: Path, name: str, outputs: int) -> tuple[Run, tuple[int, ...]]:
    """Return the run and the class of each output that a log names."""
    text = text_of(path)
    orders = re.findall(r"\[data_manager\.py\] => \[([0-9, ]+)\]", text)
    if len(orders) != 1:
        raise InputError(
            f"{path} has the order of the classes of {len(orders)} runs: give the log of one, and "
            f"keep the lines of that run alone"
        )
    order = tuple(map(int, re.findall(r"\d{1,9}", orders[0])))
    if sorted(order) != list(range(len(order))) or outputs > len(order):
        raise InputError(
            f"{path} has an order of {len(order)} classes, and the last network {outputs} outputs: "
            f"expected one for each class, so this network cannot be read"
        )
    seed = re.search(r"=> seed: (\d{1,18})\b", text)
    learner = re.search(r"=> model_name: (\S+)", text)
    run = named(learner[1] if learner else name, int(seed[1]) if seed else 0)
    return run, order[:outputs]
