"""The protocol for one model: retrain downstream of each feature, and count the predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn

import probe.notes as notes
from probe.batch import Value, arranged, first, mapped, tensors
from probe.cut.cuts import Cuts, cut_each, cut_found, find_each, undisturbed
from probe.cut.feature import Feature
from probe.cut.model_call import Call, Output, explained
from probe.cut.split import Cut, Trainable
from probe.cut.trace import Trace
from probe.errors import InputError, described
from probe.examples import Examples, match_inputs
from probe.model import Model
from probe.modules import check_model, check_values, unwrapped
from probe.protocol import Protocol, Retrained
from probe.retraining import PartialRetraining, RetrainSettings
from probe.seeding import global_stream, python_generators, stream
from probe.task_aware import make_task_aware
from probe.tasked_examples import Data, Tasks, assign_tasks
from probe.training.chosen_outputs import outputs_of
from probe.training.fresh_weights import Fresh, check_fresh, no_rule_for, without_rule
from probe.training.precision import products
from probe.training.recipe import Recipe
from probe.values.allocation import Allocation, CacheSettings
from probe.values.cache import ValueCache

SAMPLE = 8  # examples on which a cut is checked
_PAIR = 2  # examples that batch norm can be trained on


def partial_retrain(
    model: nn.Module | Model,
    features: Sequence[str] | Cuts,
    train: Data,
    test: Data,
    tasks: Tasks = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    cache: CacheSettings | None = None,
) -> PartialRetraining:
    """Run the partial-retraining protocol of Murata 2020 (section 2, steps 2 and 3) on one model.

    >>> import probe, torch
    >>> from torch import nn
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))  # as you have trained it
    >>> x, y = torch.randn(6, 4), torch.arange(6) % 2
    >>> result = probe.partial_retrain(net, ["1", "2"], (x, y), (x, y), tasks=[[0], [1]])
    >>> result.features, result.task_f1.shape
    (('1', '2'), (2, 2))

    For each feature: re-initialize every parameter that its value does not depend on, retrain
    those on `train` with the rest fixed (batch-norm statistics too), and count the predictions on
    `test`. A feature downstream of which no parameter is left, such as the model's output, is
    evaluated as it is. The model itself is not changed.

    model: any nn.Module that maps x, one or more tensors (N, ...), to logits (N, K), or a `Model`,
    which says how to call any other and make a new one; features: dotted module names, or the cuts
    that `cut_each` made of a model of this architecture, which have output, call and trainable;
    train, test: the data of all tasks: `Examples`, a pair (x, y) of tensors or arrays, a Dataset or
    a DataLoader; or a list of these, one for each task; class labels 0..K-1; tasks: where a list or
    `Examples` tell the task of each, their order by number, None = as they are; otherwise the
    classes of each task, each class in exactly one; in executed order. seed: decides fresh weights
    and batches; cache: where the features' values are stored (see `cache_plan`), None = the
    defaults.

    Raises InputError, before anything is trained, for an unknown feature, labels, tasks or classes
    that do not fit, NaN or Inf, inputs that the model does not take, a tail without a gradient,
    and, before any cut is made, parameters that no rule re-initializes.
    """
    called = Model.coerce(model)
    check_model(called.network)
    check_values(called.network)
    if called.orders is not None:
        raise InputError(
            "orders= is for analyze: give the tasks in executed order, without orders="
        )
    called, given = make_task_aware(
        called,
        assign_tasks({"train": train, "test": test}, tasks, called.classes),
        lambda: called.network,
    )
    seen, tested = given.splits["train"], given.splits["test"]
    how = RetrainSettings(recipe=recipe or Recipe(), seed=seed, cache=cache)
    each = list(retrain_each(called, features, seen, tested, given.n_classes, how))
    own = notes.by_feature({one.feature: one.notes for one in each})
    parts = [[h.y[h.task == k] for k in range(len(given.classes))] for h in (seen, tested)]
    return PartialRetraining(
        tasks=given.classes,
        measured={one.feature: given.counted(one.predicted) for one in each},
        notes=(*notes.of_classes(zip(*parts, strict=True), given.n_classes), *own),
        seed=seed,
        outputs=tuple(one.feature for one in each if one.history is None),
        head="multi" if called.head == "multi" else "all",
    )


def retrain_each(
    model: nn.Module | Model,
    features: Sequence[str] | Cuts,
    train: Examples[Any],
    test: Examples[Any],
    classes: int,
    how: RetrainSettings,
) -> Iterator[Retrained]:
    """Yield each feature with the predictions of its partial retrained model, once it is done.

    All cuts are made and checked before the first training; one pass over the data computes the
    values of every feature that is kept. classes: K. See `partial_retrain`, which checks its inputs
    and counts.
    """
    called = Model.coerce(model)
    fresh = how.recipe.init if called.fresh is None else called.fresh
    device = next((p.device for p in called.network.parameters()), train.y.device)
    train, test = match_inputs(train, test)
    if isinstance(features, Cuts):
        train, test = (_arranged(each, features, called) for each in (train, test))
    train, test = train.to(device), test.to(device)
    sample = first(test.x, SAMPLE)
    check_fresh(fresh, unwrapped(called.network))
    if isinstance(features, Cuts):
        found = [cut.feature for cut in features.each]
    else:
        found = find_each(called.network, features, sample, called.model_call)
    refuse_what_no_rule_writes(found, fresh, called.trainable)
    outputs = outputs_of(classes, _logits_shape(found[0].trace), called.classes)
    if isinstance(features, Cuts):
        made = features.of(called.network)
        with torch.no_grad(), undisturbed(sample), explained(sample):
            made.each[0].feature.trace.logits(sample)  # which its own sample need not show
    else:
        made = cut_found(found, called.trainable)
    for cut in made.each:
        _refuse_untrainable(cut, min(len(train), how.recipe.batch_size))
    protocol = Protocol(
        train=train,
        test=test,
        classes=classes,
        outputs=None if outputs is None else outputs.to(device),
        fresh=fresh,
        how=how,
        values=ValueCache(how.cache, how.recipe.batch_size, device),
    )
    return protocol.each(made.each)


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

    >>> import torch
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> plan = cache_plan(net, ["1"], torch.rand(9, 4), (60_000, 10_000))
    >>> print(*plan)
    1: 2.2 MB, in memory

    sample: inputs, one or more tensors (B, ...); sizes: the numbers of training and test
    examples. Raises InputError for a feature that is unknown, or at which no cut is possible.
    """
    device = tensors(sample)[0].device
    values = ValueCache(cache, (recipe or Recipe()).batch_size, device)
    return values.plan(cut_each(model, features, sample, output, call).each, sizes)


def refuse_what_no_rule_writes(
    features: Sequence[Feature], fresh: Fresh, trained: Trainable
) -> None:
    """Raise InputError if a rule cannot give fresh values downstream of some feature."""
    if not isinstance(fresh, str):
        return
    trace = features[0].trace
    # Parameters that all features need stay as they are, and those that nothing reads may.
    held = frozenset.intersection(*(feature.frozen for feature in features))
    if trained == "as given":
        held |= trace.given_frozen
    left = [name for name in without_rule(trace.model, fresh) if name not in held]
    if refused := [name for name in left if name in trace.behind_logits]:
        raise no_rule_for(refused)


def _arranged(examples: Examples[Any], cuts: Cuts, called: Model) -> Examples[Any]:
    """Return examples with their inputs in the order of those that the cuts were made with.

    Values are known by the position of what they are computed from.
    """
    if called.output is not None or called.call is not None or called.trainable != "tail":
        raise InputError(
            "the cuts fix the call of the model and its trained parameters: give output, call and "
            "trainable to cut_each"
        )
    return examples.changed(x=arranged(examples.x, cuts.each[0].feature.trace.sample))


def _logits_shape(trace: Trace) -> tuple[int, ...]:
    """Return the shape of the logits; raises InputError unless each example has one row."""
    shape = trace.large.metadata[trace.large.logits].shape
    if shape[:1] != trace.sizes[:1]:
        raise InputError(
            f"the model's output for {trace.sizes[0]} examples has shape {shape}, expected (B, K), "
            f"one row for each example: pass call=, a function that calls it"
        )
    return shape


def _refuse_untrainable(cut: Cut, size: int) -> None:
    """Raise InputError if a tail gives no gradient, or cannot take the one example of a batch.

    size: examples in a batch.
    """
    if not cut.trainable:
        return
    split = cut.split()
    few = first(cut.feature.trace.sample, min(size, _PAIR))
    chance = global_stream(stream(0, "check"))
    try:
        with torch.enable_grad(), products("fp32"), chance, python_generators():
            # A copy: where the model is run whole these are the user's own data.
            logits = split.tail(mapped(split.prefix(few), torch.clone))
    except Exception as error:
        if size > 1:
            return  # the training itself tells an error on a usual batch
        raise InputError(
            f"the model downstream of {cut.name!r} cannot be trained on a batch of one example "
            f"({described(error)}): give more examples and a batch_size from 2"
        ) from error
    if not logits.requires_grad:
        raise InputError(
            f"the model downstream of {cut.name!r} cannot be trained, as no gradient flows through "
            f"it (no_grad, detach, or a checkpoint with use_reentrant=True): make it "
            f"differentiable, or leave this feature out"
        )
