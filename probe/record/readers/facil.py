"""Runs of FACIL, `--save-models`: the folder that it makes for an experiment."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from probe.errors import InputError
from probe.metrics.log_file import text_of
from probe.record.readers.folders import merged, named, numbered, one_file, runs_in
from probe.record.readers.foreign_runs import ForeignRuns, consecutive, heads_of, load_grown

_FILES = "models/task*.ckpt"


def read_facil(folder: Path) -> ForeignRuns:
    """Read a folder of an experiment, or a folder of such folders.

    The tensors have the names of FACIL's own `LLL_Net`: `model` and all `heads`. The network must
    give the logits of all heads in one tensor, as by `torch.cat(heads, 1)`. FACIL draws another
    order of the classes for each seed, unless its `dataset_config` has one, and writes none of
    them: without one, `order = list(range(K)); numpy.random.RandomState(seed).shuffle(order)` is
    the class of each output. Raises InputError for a folder without checkpoints, for damaged files,
    and for runs of several seeds.
    """
    readings = {path: _run(path) for path in runs_in(folder, _FILES)}
    if len(seeds := sorted({run.seed for one in readings.values() for run in one.files})) > 1:
        raise InputError(
            f"{folder} has runs of the seeds {', '.join(map(str, seeds))}, for each of which FACIL "
            f"draws another order of the classes: read one seed at a time"
        )
    return merged(readings)


def _run(folder: Path) -> ForeignRuns:
    files = numbered(folder, _FILES, r"(task)(\d+)\.ckpt").get("task")
    if not files:
        raise InputError(f"{folder} has no models/task0.ckpt: give a run with --save-models")
    args = _arguments(folder)
    *_, last = files.values()
    heads = heads_of(last, "heads")
    return ForeignRuns(
        files={named(args.get("approach"), args.get("seed")): files},
        load=partial(load_grown, heads),
        tasks=consecutive([heads[name][0] for name in heads if name.endswith("bias")]),
    )


def _arguments(folder: Path) -> Mapping[str, Any]:
    path = one_file(folder, "args-*.txt", "files of arguments")
    if path is None:
        raise InputError(f"{folder} has no args-*.txt: give the folder as FACIL has written it")
    text = text_of(path)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no arguments of FACIL: give the folder as it was written")
    return found
