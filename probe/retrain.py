"""The protocol for one model: retrain what each feature does not need, and count what results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from probe.cut.feature import Feature
from probe.cut.outputs import Output
from probe.cut.split import Split, Trainable, find_each, split_each
from probe.errors import InputError, unknown
from probe.examples import Examples, check_examples, check_tasks
from probe.metrics.counts import Counts
from probe.metrics.murata import pra, task_f1
from probe.modules import mode, unwrapped
from probe.seeding import stream
from probe.training.chosen_outputs import ChosenOutputs, outputs_of
from probe.training.evaluation import predict_each
from probe.training.fresh_weights import Fresh, check_fresh, no_rule_for, without_rule
from probe.training.loop import fit
from probe.training.recipe import Recipe
from probe.values.allocation import Allocation, CacheSettings
from probe.values.cache import LabeledRows, ValueCache

SAMPLE = 64  # examples on which a cut is checked


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
        """(L, T) micro-F1 of each feature's M_i on each task, in executed order; in [0, 1]."""
        return np.array([task_f1(counts, self.tasks) for counts in self.counts.values()])


@dataclass(frozen=True, kw_only=True)
class RetrainSettings:
    """How the tails of a model are retrained and read.

    - recipe: of the training; seed: decides fresh weights and batches;
    - cache: where the features' values live (`cache_plan` tells in advance); None = the defaults;
    - output: where in what the model returns the logits are, a key, attribute or position; None =
      it returns them alone;
    - fresh: where what is re-initialized gets its values: a function that makes a new model (called
      with torch's generator seeded, once for each feature), a model or state dict to rewind to, or
      a rule; None = the recipe's rule, by default each layer's own;
    - trainable: `tail` = all that the feature does not depend on; `as given` = of that only what
      asks for gradients in the model as it is: parameters that were frozen (the base behind LoRA)
      stay as they are, while running statistics go on to be updated, as in any training;
    - outputs: which of the model's outputs stand for the classes 0..K-1, K different numbers, as
      `range(6)` for a head of more outputs than classes were learned; the others do not compete.
      None = the model has K outputs.
    """

    recipe: Recipe = field(default_factory=Recipe)
    seed: int = 0
    cache: CacheSettings | None = None
    output: Output = None
    fresh: Fresh | None = None
    trainable: Trainable = "tail"
    outputs: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.trainable not in get_args(Trainable):
            raise unknown("choice of what is trainable", self.trainable, get_args(Trainable))

    @property
    def source(self) -> Fresh:
        """Where fresh values come from."""
        return self.recipe.init if self.fresh is None else self.fresh


def partial_retrain(
    model: nn.Module,
    features: Sequence[str],
    train: Examples,
    test: Examples,
    tasks: Sequence[Sequence[int]],
    recipe: Recipe | None = None,
    seed: int = 0,
    cache: CacheSettings | None = None,
    output: Output = None,
    fresh: Fresh | None = None,
    trainable: Trainable = "tail",
    classes: Sequence[int] | None = None,
) -> PartialRetraining:
    """Run the partial-retraining protocol of Murata 2020 (section 2, steps 2 and 3) on one model.

    For each feature: re-initialize every parameter that its value does not depend on, retrain
    those on `train` with the rest fixed (batch-norm statistics too), and count the predictions on
    `test`. A feature behind which no parameter is left, such as the model's output, is evaluated
    as it is. The model itself is not changed.

    model: any nn.Module that maps x (N, ...) to logits (N, O); features: dotted module names;
    train, test: examples of all tasks, class labels 0..K-1; tasks: the classes of each task in
    executed order, each class in exactly one; classes: which outputs stand for the classes, None =
    O is K; all others as in `RetrainSettings`, where `classes` is called `outputs`.

    Raises InputError, before any cut is made, for an unknown feature, labels, tasks or classes that
    do not fit, NaN or Inf, and parameters that no rule re-initializes.

    >>> import torch
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> data = Examples(torch.randn(6, 4), torch.arange(6) % 2)
    >>> result = partial_retrain(net, ["1", "2"], data, data, [[0], [1]], Recipe(epochs=1))
    >>> result.features, result.task_f1.shape
    (('1', '2'), (2, 2))
    """
    executed = tuple(tuple(int(c) for c in task) for task in tasks)
    check_tasks(executed, known := sum(map(len, executed)))
    for name, examples in (("train", train), ("test", test)):
        check_examples(examples, range(known), name)
    how = RetrainSettings(
        recipe=recipe or Recipe(),
        seed=seed,
        cache=cache,
        output=output,
        fresh=fresh,
        trainable=trainable,
        outputs=classes,
    )
    each = retrain_each(model, features, train, test, known, how)
    counts = {f: Counts.of(test.y.cpu(), labels.cpu(), known) for f, labels in each}
    return PartialRetraining(tasks=executed, counts=counts)


def retrain_each(
    model: nn.Module,
    features: Sequence[str],
    train: Examples,
    test: Examples,
    classes: int,
    how: RetrainSettings,
) -> Iterator[tuple[str, Tensor]]:
    """Yield each feature and what its partial retrained model predicts, as soon as it is done.

    All cuts are made and checked before the first training; one pass over the data computes the
    values of every feature that is kept. classes: K. The predictions are (N,), class numbers in the
    order of the test data. See `partial_retrain`, which checks its inputs and counts.
    """
    device = next((p.device for p in model.parameters()), train.x.device)
    train, test = train.to(device), test.to(device)
    values = ValueCache(how.cache, how.recipe.batch_size, device)
    cuts, outputs = _cuts(model, features, test.x[:SAMPLE], classes, how)
    plan = values.plan(cuts, test.x[:SAMPLE], (len(train), len(test)))
    # Behind the output there is nothing to train: no values of training examples are needed.
    learnt = [cut for cut in cuts if cut.trainable]
    seen = values.rows(learnt, plan, train.x)
    unseen = values.rows(cuts, plan, test.x)
    for cut in cuts:
        tail = cut.tail if outputs is None else ChosenOutputs(cut.tail, outputs.to(device))
        if cut.trainable:
            cut.reinitialize(how.source, stream(how.seed, "tail", cut.feature))
            try:
                # A feature's values are dropped once they have served.
                data = LabeledRows(seen.pop(cut.feature), train.y)
                fit(tail, data, how.recipe, stream(how.seed, "retrain", cut.feature))
            except InputError as error:
                raise InputError(f"retraining behind {cut.feature!r}: {error}") from None
        with mode(tail, training=False):
            data = LabeledRows(unseen.pop(cut.feature), test.y)
            yield cut.feature, predict_each(tail, data, classes, {"": None})[""]


def cache_plan(
    model: nn.Module,
    features: Sequence[str],
    sample: Tensor,
    sizes: tuple[int, int],
    recipe: Recipe | None = None,
    cache: CacheSettings | None = None,
    output: Output = None,
) -> tuple[Allocation, ...]:
    """Return where `partial_retrain` will keep each feature's values, before anything is trained.

    sample: (B, ...) inputs; sizes: how many training and test examples there will be. Raises
    InputError for an unknown feature, and for one at which the model cannot be cut.

    >>> import torch
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> plan = cache_plan(net, ["1"], torch.rand(9, 4), (60_000, 10_000))
    >>> print(*plan)
    1: 2.2 MB, in memory
    """
    values = ValueCache(cache, (recipe or Recipe()).batch_size, sample.device)
    return values.plan(split_each(_found(model, features, sample, output)), sample, sizes)


def _found(
    model: nn.Module, features: Sequence[str], sample: Tensor, output: Output
) -> list[Feature]:
    if not features:
        raise InputError("no features to retrain behind: name at least one layer")
    if len(set(features)) < len(features):
        raise InputError(f"a feature is named twice in {list(features)}: name each once")
    return find_each(model, features, sample, output)


def _cuts(
    model: nn.Module, features: Sequence[str], sample: Tensor, classes: int, how: RetrainSettings
) -> tuple[list[Split], Tensor | None]:
    """Cut the model at every feature; return the cuts, and which outputs are read, None = all.

    Raises InputError before the first cut for whatever can be known to be wrong by then.
    """
    check_fresh(how.source, unwrapped(model))
    found = _found(model, features, sample, how.output)
    _refuse_what_no_rule_writes(found, how)
    followed = found[0].trace.large
    outputs = outputs_of(classes, followed.metadata[followed.logits].shape, how.outputs)
    return split_each(found, how.trainable), outputs


def _refuse_what_no_rule_writes(features: Sequence[Feature], how: RetrainSettings) -> None:
    """Raise InputError if a rule cannot give fresh values to what is read behind a feature."""
    if not isinstance(how.source, str):
        return
    trace = features[0].trace
    # What all features need stays as it is, and what nothing reads may.
    held = frozenset.intersection(*(feature.frozen for feature in features))
    if how.trainable == "as given":
        held |= trace.given_frozen
    left = [name for name in without_rule(trace.model, how.source) if name not in held]
    if refused := [name for name in left if name in trace.behind_logits]:
        raise no_rule_for(refused)
