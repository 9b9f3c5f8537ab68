"""Runs of FACIL, `--save-models`: the folder that it makes for an experiment."""

import json
from contextlib import suppress
from functools import partial
from pathlib import Path

from probe.errors import InputError
from probe.metrics.log_file import text_of
from probe.record.readers import foreign_runs as foreign
from probe.record.readers.foreign_runs import ForeignRuns

_FILES = "models/task*.ckpt"


def read_facil(folder: Path) -> ForeignRuns:
    """Read a folder of an experiment, or a folder of such folders.

    The tensors have the names of FACIL's own `LLL_Net`: `model` and all `heads`. The network must
    give the logits of all heads in one tensor, as by `torch.cat(heads, 1)`. FACIL draws another
    order of the classes for each seed, unless its `dataset_config` has one, and writes none of
    them: without one, `order = list(range(K)); numpy.random.RandomState(seed).shuffle(order)` is
    the class of each output.

    Raises:
        InputError: The folder has no checkpoints, a file is damaged, or runs have several seeds.
    """
    runs = {path: _run(path) for path in foreign.run_folders(folder, _FILES)}
    if len(seeds := sorted({run.seed for r in runs.values() for run in r.files})) > 1:
        raise InputError(
            f"{folder} has runs of the seeds {', '.join(map(str, seeds))}, for each of which FACIL "
            f"draws another order of the classes: read one seed at a time"
        )
    return foreign.merge_runs(runs)


def _run(folder: Path) -> ForeignRuns:
    files = foreign.files_by_run(folder, _FILES, r"(task)(\d+)\.ckpt").get("task")
    if not files:
        raise InputError(f"{folder} has no models/task0.ckpt: give a run with --save-models")
    path = foreign.only_file(folder, "args-*.txt", "files of arguments")
    if path is None:
        raise InputError(f"{folder} has no args-*.txt: give the folder as FACIL has written it")
    text, arguments = text_of(path), None
    with suppress(ValueError, RecursionError):
        arguments = json.loads(text)
    if not isinstance(arguments, dict):
        raise InputError(f"{path} holds no arguments of FACIL: give the folder as it was written")
    heads = foreign.head_shapes([*files.values()][-1], "heads")
    return ForeignRuns(
        files={foreign.run_named(arguments.get("approach"), arguments.get("seed")): files},
        load=partial(foreign.load_grown, heads),
        tasks=foreign.consecutive_tasks([heads[name][0] for name in heads if "bias" in name]),
    )
