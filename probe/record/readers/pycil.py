"""Checkpoints of PyCIL and LAMDA-PILOT, as `save_checkpoint` writes them, and their logs."""

import re
from functools import partial
from pathlib import Path

from probe.errors import InputError
from probe.metrics.log_file import text_of
from probe.record.checkpoints import Run
from probe.record.readers.folders import merged, named, numbered, one_file, runs_in
from probe.record.readers.foreign_runs import ForeignRuns, consecutive, heads_of, load_grown


def read_pycil(folder: Path) -> ForeignRuns:
    """Read a folder with `NAME_0.pkl`, `NAME_1.pkl`, ... and the `.log` of a run, or folders of it.

    The tensors have the names of their networks, and `fc` all outputs. The outputs that `fc` gained
    are the classes of each task. The log, anywhere in the folder, says learner, seed and the order
    of the classes. Raises InputError for a folder without checkpoints, for heads other than one
    linear `fc` with a bias, and for several runs that were written over each other.
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
    runs = numbered(folder, "*.pkl", r"(.+)_(\d+)\.pkl")
    if len(runs) != 1:
        raise InputError(
            f"{folder} has checkpoints of {', '.join([*runs][:3]) or 'no run'}: expected "
            f"NAME_0.pkl, NAME_1.pkl, ... of one run, so put each run into a folder of its own"
        )
    [(name, files)] = runs.items()
    if list(files) != list(range(1, len(files) + 1)):
        raise InputError(
            f"{folder} has checkpoints after {', '.join(map(str, files))} tasks: what each adds to "
            f"fc are the classes of its task, so add the others"
        )
    heads = [heads_of(path, "fc") for path in files.values()]
    outputs = [head["fc.bias"][0] for head in heads]
    sizes = [b - a for a, b in zip([0, *outputs], outputs, strict=False)]
    if min(sizes) < 1:
        raise InputError(
            f"{folder} has networks of {', '.join(map(str, outputs))} outputs: expected more after "
            f"each task"
        )
    log = one_file(folder, "**/*.log", "logs")
    said = _log(log, name, outputs[-1]) if log else None
    run, order = said or (named(name, 0), None)
    return ForeignRuns(
        files={run: files},
        load=partial(load_grown, heads[-1]),
        tasks=consecutive(sizes),
        class_order=order,
    )


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
