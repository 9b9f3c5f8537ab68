"""The protocol for one model: retrain what each feature does not need, and count what results."""

from collections.abc import Iterator, Sequence
from typing import Any, Never

from torch import Tensor, nn

import probe.notes as notes
from probe.batch import Value, arranged, first, tensors
from probe.beforehand import (
    refuse_other_rows,
    refuse_untrainable,
    refuse_what_it_does_not_take,
    refuse_what_no_rule_writes,
)
from probe.cut.cuts import Cuts, cut_found, find_each
from probe.cut.model_call import Call, ModelCall, Output
from probe.cut.split import Cut
from probe.errors import InputError
from probe.examples import Examples, alike, as_tasks, check_examples, check_labeled, check_tasks
from probe.metrics.counts import Counts
from probe.model import Model, refuse_moved
from probe.modules import check_model, unwrapped
from probe.protocol import Protocol
from probe.retraining import PartialRetraining, Retrained, RetrainSettings
from probe.training.chosen_outputs import outputs_of
from probe.training.fresh_weights import check_fresh
from probe.training.recipe import Recipe
from probe.values.allocation import Allocation, CacheSettings
from probe.values.cache import ValueCache

SAMPLE = 8  # examples on which a cut is checked


def partial_retrain(
    model: nn.Module | Model,
    features: Sequence[str] | Cuts,
    train: Examples[Any],
    test: Examples[Any],
    tasks: Sequence[Sequence[int]],
    recipe: Recipe | None = None,
    seed: int = 0,
    cache: CacheSettings | None = None,
    **moved: Never,
) -> PartialRetraining:
    """Run the partial-retraining protocol of Murata 2020 (section 2, steps 2 and 3) on one model.

    For each feature: re-initialize every parameter that its value does not depend on, retrain
    those on `train` with the rest fixed (batch-norm statistics too), and count the predictions on
    `test`. A feature downstream of which no parameter is left, such as the model's output, is
    evaluated as it is. The model itself is not changed.

    model: any nn.Module that maps x, one or more tensors (N, ...), to logits (N, K), or a `Model`,
    which says how another one is called and made anew; features: dotted module names, or the cuts
    that `cut_each` made of a model of this architecture, which have output, call and trainable;
    train, test: examples of all tasks, class labels 0..K-1; tasks: the classes of each task in
    executed order, each class in exactly one; seed: decides fresh weights and batches; cache: where
    the features' values live (`cache_plan` tells in advance), None = the defaults.

    Raises InputError, before anything is trained, for an unknown feature, labels, tasks or classes
    that do not fit, NaN or Inf, inputs that the model does not take, a tail that gives no gradient,
    and, before any cut is made, parameters that no rule re-initializes.

    >>> import torch
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> data = Examples(torch.randn(6, 4), torch.arange(6) % 2)
    >>> result = partial_retrain(net, ["1", "2"], data, data, [[0], [1]], Recipe(epochs=1))
    >>> result.features, result.task_f1.shape
    (('1', '2'), (2, 2))
    """
    refuse_moved("partial_retrain", moved)
    called = Model.around(model)
    check_model(called.of)
    executed = as_tasks(tasks)
    check_tasks(executed, known := sum(map(len, executed)))
    for name, examples in (("train", train), ("test", test)):
        check_labeled(examples, name)
        check_examples(examples, range(known), name)
    how = RetrainSettings(
        recipe=recipe or Recipe(),
        seed=seed,
        cache=cache,
        output=called.output,
        call=called.call,
        fresh=called.fresh,
        trainable=called.trainable,
        outputs=called.classes,
    )
    each = list(retrain_each(called.of, features, train, test, known, how))
    own = notes.by_feature({one.feature: one.notes for one in each})
    return PartialRetraining(
        tasks=executed,
        counts={one.feature: Counts.of(test.y.cpu(), one.predicted.cpu(), known) for one in each},
        notes=(*notes.of_classes(train.y, test.y, known), *own),
        seed=seed,
        outputs=tuple(one.feature for one in each if one.history is None),
    )


def retrain_each(
    model: nn.Module,
    features: Sequence[str] | Cuts,
    train: Examples[Any],
    test: Examples[Any],
    classes: int,
    how: RetrainSettings,
) -> Iterator[Retrained]:
    """Yield each feature with what its partial retrained model predicts, as soon as it is done.

    All cuts are made and checked before the first training; one pass over the data computes the
    values of every feature that is kept. classes: K. See `partial_retrain`, which checks its inputs
    and counts.
    """
    device = next((p.device for p in model.parameters()), train.y.device)
    train, test = alike(train, test)
    if isinstance(features, Cuts):
        # Values are known by the place of what they are computed from.
        form = features.each[0].feature.trace.sample
        train, test = (Examples(arranged(each.x, form), each.y) for each in (train, test))
    train, test = train.to(device), test.to(device)
    cuts, outputs = _cuts(model, features, first(test.x, SAMPLE), classes, how)
    for cut in (cut for cut in cuts if cut.trainable):
        refuse_untrainable(cut, min(len(train), how.recipe.batch_size))
    protocol = Protocol(
        train=train,
        test=test,
        classes=classes,
        outputs=None if outputs is None else outputs.to(device),
        how=how,
        values=ValueCache(how.cache, how.recipe.batch_size, device),
    )
    return protocol.each(cuts)


def cache_plan(
    model: nn.Module,
    features: Sequence[str],
    sample: Value,
    sizes: tuple[int, int],
    recipe: Recipe | None = None,
    cache: CacheSettings | None = None,
    output: Output = None,
    call: Call | None = None,
) -> tuple[Allocation, ...]:
    """Return where `partial_retrain` will keep each feature's values, before anything is trained.

    sample: inputs, one or more tensors (B, ...); sizes: how many training and test examples there
    will be. Raises InputError for an unknown feature, and for one at which the model cannot be cut.

    >>> import torch
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> plan = cache_plan(net, ["1"], torch.rand(9, 4), (60_000, 10_000))
    >>> print(*plan)
    1: 2.2 MB, in memory
    """
    device = tensors(sample)[0].device
    values = ValueCache(cache, (recipe or Recipe()).batch_size, device)
    found = find_each(model, features, sample, ModelCall(call=call, output=output))
    return values.plan(cut_found(found).each, sizes)


def _cuts(
    model: nn.Module,
    features: Sequence[str] | Cuts,
    sample: Value,
    classes: int,
    how: RetrainSettings,
) -> tuple[Sequence[Cut], Tensor | None]:
    """Cut the model at every feature; return the cuts, and which outputs are read, None = all.

    Raises InputError before the first cut for whatever can be known to be wrong by then.
    """
    check_fresh(how.source, unwrapped(model))
    if isinstance(features, Cuts):
        if how.output is not None or how.call is not None or how.trainable != "tail":
            raise InputError(
                "the cuts say how the model is called and what is trained: give output, call and "
                "trainable to cut_each"
            )
        found = [cut.feature for cut in features.each]
    else:
        found = find_each(model, features, sample, ModelCall(call=how.call, output=how.output))
    refuse_what_no_rule_writes(found, how)
    refuse_other_rows(found[0].trace)
    followed = found[0].trace.large
    outputs = outputs_of(classes, followed.metadata[followed.logits].shape, how.outputs)
    if not isinstance(features, Cuts):
        return cut_found(found, how.trainable).each, outputs
    made = features.of(model)
    refuse_what_it_does_not_take(made, sample)
    return made.each, outputs
