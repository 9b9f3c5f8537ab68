"""The protocol for one model: retrain what each feature does not need, and count what results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from probe.counts import Counts
from probe.errors import InputError
from probe.evaluation import evaluate
from probe.examples import Examples, check_examples, check_tasks
from probe.fitting import Recipe, fit
from probe.layers import tap
from probe.metrics.murata import pra, task_f1
from probe.modes import mode
from probe.randomness import stream
from probe.splitting import split

_SAMPLE = 64


@dataclass(frozen=True, kw_only=True)
class PartialRetraining:
    """What partial retraining measured: the confusion counts of each partial retrained model M_i.

    tasks: the classes of each of the T tasks, in executed order; counts: one (K, K) table per
    feature, over all test examples.
    """

    tasks: tuple[tuple[int, ...], ...]
    counts: Mapping[str, Counts]

    @property
    def features(self) -> tuple[str, ...]:
        """The L features, in the order in which they were asked for."""
        return tuple(self.counts)

    @property
    def pra(self) -> dict[str, float]:
        """Partial Retrain Accuracy of each feature, in [0, 1]; higher is better."""
        return {feature: pra(counts) for feature, counts in self.counts.items()}

    @property
    def task_f1(self) -> NDArray[np.float64]:
        """(L, T) micro-F1 of each feature's M_i on each task, by place in the executed order."""
        return np.array([task_f1(counts, self.tasks) for counts in self.counts.values()])


def partial_retrain(
    model: nn.Module,
    features: Sequence[str],
    train: Examples,
    test: Examples,
    tasks: Sequence[Sequence[int]],
    recipe: Recipe | None = None,
    seed: int = 0,
) -> PartialRetraining:
    """Run the partial-retraining protocol of Murata 2020 (section 2, steps 2 and 3) on one model.

    For each feature: re-initialise every parameter that its value does not depend on, retrain
    those on `train` with the rest fixed (batch-norm statistics too), and count the predictions on
    `test`. A feature behind which no parameter is left, such as the model's output, is evaluated
    as it is. The model itself is not changed.

    model: any nn.Module that maps x (N, ...) to logits (N, K); features: dotted module names;
    train, test: examples of all tasks, class labels 0..K-1; tasks: the classes of each task in
    executed order, each class in exactly one; seed: decides fresh weights and batches.
    Raises InputError for an unknown feature, labels or tasks that do not fit, NaN or Inf.

    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> data = Examples(torch.randn(6, 4), torch.tensor([0, 1] * 3))
    >>> result = partial_retrain(net, ["1", "2"], data, data, [[0], [1]], Recipe(epochs=1))
    >>> result.features, result.task_f1.shape
    (('1', '2'), (2, 2))
    """
    places = tuple(tuple(int(c) for c in task) for task in tasks)
    classes = sum(map(len, places))
    check_tasks(places, classes)
    check_examples(train, range(classes), "train")
    check_examples(test, range(classes), "test")
    each = retrain_each(model, features, train, test, classes, recipe or Recipe(), seed)
    return PartialRetraining(tasks=places, counts=dict(each))


def retrain_each(
    model: nn.Module,
    features: Sequence[str],
    train: Examples,
    test: Examples,
    classes: int,
    recipe: Recipe,
    seed: int,
) -> Iterator[tuple[str, Counts]]:
    """Yield each feature with the counts of its partial retrained model, as soon as it is done.

    All cuts are made and checked before the first training; one pass over the data computes every
    feature that can be cached. See `partial_retrain`, which checks its inputs and collects.
    """
    if not features:
        raise InputError("no features to retrain behind: name at least one layer")
    if len(set(features)) < len(features):
        raise InputError(f"a feature is named twice in {list(features)}: name each once")
    device = next((p.device for p in model.parameters()), train.x.device)
    train, test = train.to(device), test.to(device)
    cuts = [split(model, feature, test.x[:_SAMPLE]) for feature in features]
    cached = [cut.feature for cut in cuts if cut.cached]
    train_maps, test_maps = (feature_maps(model, cached, data.x) for data in (train, test))
    for cut in cuts:
        # A feature's values are dropped once they have served.
        seen = Examples(train_maps.pop(cut.feature, train.x), train.y)
        unseen = Examples(test_maps.pop(cut.feature, test.x), test.y)
        if cut.trainable:
            cut.reinitialise(recipe.init, stream(seed, "tail", cut.feature))
            try:
                fit(cut.tail, seen, recipe, stream(seed, "retrain", cut.feature))
            except InputError as error:
                raise InputError(f"retraining behind {cut.feature!r}: {error}") from None
        with mode(cut.tail, training=False):
            yield cut.feature, evaluate(cut.tail, unseen, classes)


@torch.no_grad()
def feature_maps(
    model: nn.Module, features: Sequence[str], x: Tensor, batch_size: int = 1000
) -> dict[str, Tensor]:
    """Return each feature's value (N, ...) for all inputs x (N, ...), in one pass in eval mode.

    Each feature must be a layer that gives one tensor and runs once in a forward pass.
    """
    maps: dict[str, Tensor] = {}
    start = 0

    def keep(name: str, output: object) -> None:
        if not isinstance(output, Tensor):
            raise InputError(f"feature {name!r} gives {type(output).__name__}, expected a tensor")
        if name not in maps:
            maps[name] = output.new_empty((len(x), *output.shape[1:]))
        # Copied at once: an in-place operation behind the feature would overwrite it.
        maps[name][start : start + len(output)] = output

    if features:
        with mode(model, training=False), tap(model, features, keep):
            for batch in x.split(batch_size):
                model(batch.clone())  # a model may write into its input
                start += len(batch)
    return maps
