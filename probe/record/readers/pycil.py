"""Checkpoints of PyCIL and LAMDA-PILOT, as `save_checkpoint` writes them, and their logs."""

import re
from functools import partial
from itertools import pairwise
from pathlib import Path

from probe.errors import InputError
from probe.metrics.log_file import text_of
from probe.record.checkpoints import Run
from probe.record.readers import foreign_runs as foreign
from probe.record.readers.foreign_runs import ForeignRuns


def read_pycil(folder: Path) -> ForeignRuns:
    """Read a folder with `NAME_0.pkl`, `NAME_1.pkl`, ... and the `.log` of a run, or folders of it.

    The tensors have the names of their networks, and `fc` all outputs. The outputs that `fc` gained
    are the classes of each task. The log, anywhere in the folder, says learner, seed and the order
    of the classes.

    Raises:
        InputError: The folder has no checkpoints, heads are other than one linear `fc` with a bias,
            or several runs were written over each other.
    """
    runs = {path: _run(path) for path in foreign.run_folders(folder, "*_*.pkl")}
    without_log = [path for path, run in runs.items() if run.class_order is None]
    if without_log and len(runs) > 1:
        raise InputError(
            f"{without_log[0]} has no .log, which tells whether its classes have the order of the "
            f"other runs: add it, or read one run at a time"
        )
    return foreign.merge_runs(runs)


def _run(folder: Path) -> ForeignRuns:
    runs = foreign.files_by_run(folder, "*.pkl", r"(.+)_(\d+)\.pkl")
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
    heads = [foreign.head_shapes(path, "fc") for path in files.values()]
    outputs = [head["fc.bias"][0] for head in heads]
    sizes = [after - before for before, after in pairwise([0, *outputs])]
    if min(sizes) < 1:
        numbers = ", ".join(map(str, outputs))
        raise InputError(f"{folder} has networks of {numbers} outputs: expected more after each")
    log = foreign.only_file(folder, "**/*.log", "logs")
    run, order = _read_log(log, name, outputs[-1]) if log else (foreign.run_named(name, 0), None)
    return ForeignRuns(
        files={run: files},
        load=partial(foreign.load_grown, heads[-1]),
        tasks=foreign.consecutive_tasks(sizes),
        class_order=order,
    )


def _read_log(path: Path, name: str, outputs: int) -> tuple[Run, tuple[int, ...]]:
    """Return the run and the class of each output that a log names."""
    text = text_of(path)
    orders = re.findall(r"\[data_manager\.py\] => \[([0-9, ]+)\]", text)
    if len(orders) != 1:
        raise InputError(f"{path} has the class order of {len(orders)} runs: keep one's lines")
    order = tuple(map(int, re.findall(r"\d{1,9}", orders[0])))
    if sorted(order) != list(range(len(order))) or outputs > len(order):
        raise InputError(
            f"{path} has an order of {len(order)} classes, and the last network {outputs} outputs: "
            f"expected one for each class, so this network cannot be read"
        )
    seed = re.search(r"=> seed: (\d{1,18})\b", text)
    learner = re.search(r"=> model_name: (\S+)", text)
    run = foreign.run_named(learner[1] if learner else name, int(seed[1]) if seed else 0)
    return run, order[:outputs]
