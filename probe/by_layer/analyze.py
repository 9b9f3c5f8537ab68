"""A[l, t, j] of somebody's own networks, which are models in memory or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from torch import nn

from probe.by_layer.asked import readouts_of
from probe.by_layer.files import Asked, Build, Orders, Source, analyze_files
from probe.by_layer.in_memory import analyze_models
from probe.by_layer.result import Analysis
from probe.cut.model_call import Call, ModelCall, Output
from probe.examples import Examples
from probe.metrics.murata import RETRAIN
from probe.readouts.readout import Readout
from probe.training.fresh_weights import Fresh
from probe.training.recipe import Recipe
from probe.values.allocation import CacheSettings


def analyze(
    models: Mapping[int, nn.Module] | Mapping[int, str | Path] | str | Path,
    train: Examples[Any] | None = None,
    test: Examples[Any] | None = None,
    tasks: Sequence[Sequence[int]] | None = None,
    features: Sequence[str] | Literal["auto"] = "auto",
    untrained: nn.Module | None = None,
    offline: nn.Module | str | Path | None = None,
    readouts: Sequence[str | Readout] = (RETRAIN, "linear"),
    recipe: Recipe | None = None,
    seeds: int = 1,
    fresh: Fresh | None = None,
    *,
    build: Build | None = None,
    orders: Orders = None,
    out: str | Path | None = None,
    cache: CacheSettings | None = None,
    output: Output = None,
    call: Call | None = None,
    classes: Sequence[int] | None = None,
) -> Analysis:
    """Measure what each layer of a continually trained network retained, forgot, never learned.

    Behind each feature of each network, each readout is trained on `train` and tested on `test`:
    A[l, t, j], an accuracy matrix for every layer. No network is changed.

    - models: by tasks learned, from 0 to T, the last of which is needed; of one architecture. Every
      readout is measured for each of them, so few rows take few retrainings. Or files: a path for
      each, or a pattern as `ckpt/{learner}-order{order}-seed{seed}-task{task}.pt` of several runs,
      or the folder of a `probe.Recorder`;
    - train, test: examples of all tasks, class labels 0..K-1; tasks: the classes of each of T
      tasks in executed order, each class in exactly one; a recorder's folder has them;
    - features: dotted module names, the model's output among them if it is to be in the tables;
      `auto` = a good set and the output;
    - untrained: the network before any training, the floor; the same as row 0 of models. Where it
      has batch norm, a copy is measured, with the statistics of the training inputs: its own are of
      nothing, and would make the floor too low. No labels are used for that;
    - offline: the network trained on all tasks at once, the ceiling; of files a path or a pattern
      with {seed}, or `train`, to train it here by the recipe;
    - readouts: `retrain`, the network's own tail (Murata 2020); `linear`, `ncm`, `knn`, or their
      settings, as `Linear(C=0.1)`. At the output all of them are the network's own predictions;
    - recipe: of the retraining; seeds: how many retrainings each feature gets. For several there
      are intervals, over retrainings and test examples alone: the networks are given, and what
      other trainings would give they cannot tell;
    - fresh, cache, output, call, classes: as in `partial_retrain`.

    Of files, or with `out`, it is a study of these networks, as `probe model` makes it: retraining
    is measured at the ends, the linear readout after every task, each run is retrained once, from
    its own seed, and intervals are over the seeds of the runs.

    - build: a function that makes the network anew, which gives fresh weights, and the floor where
      there is no task 0; orders: what {order} stands for, a rule or tasks from 1 by name, of which
      `tasks` is the base order;
    - out: a run directory with tables and figures, where the same call goes on if it was stopped.

    A study merges examples task by task, so retraining meets them in another order than that of
    models in memory: only for `train` in that order are the two the same to the bit.

    All outputs compete, and of files also only those seen so far. Raises InputError before any
    training for all that `partial_retrain` refuses, for networks of different architectures, for
    rows that T tasks do not have, for an unknown readout, for fewer than 2 test examples of a task,
    and for files that are missing, damaged or misnamed.

    >>> import torch
    >>> net = lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> data = Examples(torch.randn(8, 4), torch.arange(8) % 2)
    >>> once = Recipe(epochs=1)
    >>> found = analyze({2: net()}, data, data, [[0], [1]], ["1", "2"], net(), recipe=once)
    >>> found.matrix("1", "linear").values.shape, found.features
    ((3, 2), ('1', '2'))
    """
    source = Source(models, untrained, offline, build or _function(fresh), orders)
    asked = Asked(
        train=train,
        test=test,
        tasks=tasks,
        features=None if features == "auto" else features,
        readouts=readouts_of(readouts),
        recipe=recipe or Recipe(),
        model_call=ModelCall(call=call, output=output),
        cache=cache,
    )
    if source.in_memory and out is None:
        return analyze_models(source, asked, seeds, fresh, classes)
    return analyze_files(source, asked.once(seeds, fresh, source, classes), out)


def _function(fresh: Fresh | None) -> Build | None:
    """Return what makes a model anew, if that is what gives the fresh weights."""
    return fresh if callable(fresh) and not isinstance(fresh, nn.Module) else None
