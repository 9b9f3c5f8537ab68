"""The protocol for one model: retrain downstream of each feature, and count the predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor, nn

import probe.notes as notes
from probe.arguments import checked
from probe.batch import Rows, Value, arranged, first, length, mapped, tensors, varied
from probe.cut.cuts import Cuts, cut_each, cut_found, find_each
from probe.cut.interface import Cut, CutFacts
from probe.cut.model_call import Call, ModelCall, Output, explained
from probe.errors import InputError, NotKept, described, located
from probe.examples import AnyExamples, Labeled, match_inputs
from probe.immutable import immutable
from probe.model import Model
from probe.modules import (
    check_network,
    device_of,
    kept_state,
    mode,
    restore,
    unwrapped,
)
from probe.retraining import PartialRetraining, RetrainSettings
from probe.seeding import (
    every_global_stream,
    global_stream,
    one_at_a_time,
    python_generators,
    stream,
)
from probe.tables.note_text import by_feature
from probe.task_aware import make_task_aware
from probe.tasked_examples import Data, Tasks, assign_tasks
from probe.training.evaluation import (
    SelectedOutputs,
    check_outputs,
    outputs_of,
    predict_each,
)
from probe.training.fresh_weights import Fresh, check_fresh, no_rule_for, without_rule
from probe.training.history import History, notes_of
from probe.training.loop import HistoryRecorder, fit
from probe.training.precision import products
from probe.training.recipe import Recipe
from probe.validation import PositiveInt
from probe.values.allocation import Allocation, CacheSettings
from probe.values.cache import plan_values, store_values

SAMPLE = 8  # examples on which a cut is checked
# The values of training and test examples, by feature.
_Values = tuple[dict[str, Rows], dict[str, Rows]]
_PAIR = 2  # examples that batch norm can be trained on


@one_at_a_time
@checked
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

    For each feature: re-initialize every parameter that its value does not depend on,
    retrain those on `train` with the rest fixed (batch-norm statistics too), and count
    the predictions on `test`. If no parameter is left downstream of a feature, such as
    the model's output, the model is evaluated as it is. The model itself is not
    changed.

    It departs from the paper in two ways, each of which a recipe can undo. Fresh
    weights are those that the modules draw themselves, or of `Model(fresh=)`;
    `Recipe(init="murata")` draws the paper's. And without a recipe it takes the larger
    of 5 epochs and 1,000 steps: the paper's 5 epochs of few examples rebuild too little
    to tell layers apart.

    Args:
        model: Any nn.Module that maps x, one or more tensors (N, ...), to logits (N,
            K), or a `Model`, which defines how to call any other module and make a new
            one.
        features: Dotted module names, or the cuts of a model of this architecture by
            `cut_each`, which already fix output, call and trainable.
        train: The data of all tasks: `Examples`, a pair (x, y) of tensors or arrays, a
            Dataset or a DataLoader; or a list of these, one for each task; class labels
            0..K-1.
        test: The test examples, in the same form as `train`.
        tasks: The classes of each task in executed order, each class in exactly one. If
            a list or `Examples` give the task of each example: the executed order of
            the task numbers, None = ascending.
        recipe: The recipe of the retraining, None = the defaults, with at least 1,000
            steps.
        seed: The seed of fresh weights and batches.
        cache: The storage of the features' values (see `cache_plan`), None = the
            defaults.

    Returns:
        The confusion counts of each feature, by task.

    Raises:
        InputError: Before anything is trained, for an unknown feature, labels, tasks or
            classes that do not fit, NaN or Inf, inputs that the model does not take, a
            tail without a gradient, and, before any cut is made, parameters that no
            rule re-initializes.
    """
    called = Model.coerce(model)
    check_network(called.network)
    if called.orders is not None:
        raise InputError(
            "orders= is for analyze: give tasks in executed order without it"
        )
    examples = assign_tasks({"train": train, "test": test}, tasks, called.classes)
    called, data = make_task_aware(called, examples, lambda: called.network)
    train = data.splits["train"]
    test = data.splits["test"]
    if recipe is None:
        recipe = Recipe().long_enough(len(train))
    how = RetrainSettings(recipe=recipe, seed=seed, cache=cache)
    # The call cuts and checks; each training is done when its result is asked for.
    retrainings = retrain_each(called, features, train, test, data.n_classes, how)
    _check_batches(called, test, data.n_classes)
    results = list(retrainings)
    labels = [
        (train.y[train.task == k], test.y[test.task == k])
        for k in range(len(data.classes))
    ]
    return PartialRetraining(
        tasks=data.classes,
        measured={r.feature: data.with_predictions(r.predicted) for r in results},
        notes=(
            *notes.of_classes(labels, data.n_classes),
            *by_feature({r.feature: r.notes for r in results}),
        ),
        seed=seed,
        outputs=tuple(result.feature for result in results if result.history is None),
        head="multi" if called.head == "multi" else "all",
    )


def retrain_each(
    model: nn.Module | Model,
    features: Sequence[str] | Cuts,
    train: AnyExamples,
    test: AnyExamples,
    classes: int,
    how: RetrainSettings,
) -> Iterator[Retrained]:
    """Yield each feature with the predictions of its partially retrained model, once it is done.

    All cuts are made and checked before the first training; one pass over the data
    computes the values of every feature that is cached. `partial_retrain` checks the
    inputs and counts.

    Args:
        model: The model.
        features: The features to retrain downstream of, or their cuts.
        train: The training examples.
        test: The test examples.
        classes: Number of classes K.
        how: The settings.

    Yields:
        Each feature with its predictions.
    """
    called = Model.coerce(model)
    fresh = called.source(how.recipe.init)
    device = device_of(called.network, train.y.device)
    train, test = match_inputs(train, test)
    if isinstance(features, Cuts):
        train, test = (_arrange(half, features, called) for half in (train, test))
    train = train.to(device)
    test = test.to(device)
    sample = varied(test.x, SAMPLE)
    check_fresh(fresh, unwrapped(called.network))
    cuts = _cuts_at(called, features, sample)
    facts = [cut.facts for cut in cuts]
    check_rule_covers(unwrapped(called.network), facts, fresh)
    outputs = outputs_of(classes, _logits_shape(facts[0]), called.classes)
    if outputs is not None:
        outputs = outputs.to(device)
    if isinstance(features, Cuts):
        planned = features.of(called.network)
        planned.logits(sample)  # raises if the model fails on these data
    else:
        planned = cut_found(cuts)
    few = first(sample, min(len(train), how.recipe.batch_size, _PAIR))
    for cut in planned.each:
        _refuse_untrainable(cut, few)
    protocol = Protocol(
        train=train,
        test=test,
        classes=classes,
        outputs=outputs,
        fresh=fresh,
        how=how,
        cache=(how.cache or CacheSettings()).settled(device),
    )
    return protocol.retrain(planned.each)


def _cuts_at(
    called: Model, features: Sequence[str] | Cuts, sample: Value
) -> Sequence[Cut]:
    """Return the cuts at features, or those that were made already."""
    if isinstance(features, Cuts):
        return features.each
    return find_each(
        called.network, features, sample, called.model_call, called.trainable
    )


@immutable
class Retrained:
    """The test result of a feature's partially retrained model.

    Attributes:
        feature: Name of the feature.
        predicted: Predicted classes (N,), in the order of the test data.
        at_half: The same after half of the epochs, None if nothing was left to train,
            or if there was a single epoch.
        history: History of the training, None if nothing was left to train.
        multiple: Multiple of the recipe's epochs, see `RetrainSettings`.
        notes: Notes on this feature.
    """

    feature: str
    predicted: Tensor
    at_half: Tensor | None
    history: History | None
    multiple: int
    notes: tuple[str, ...]


@immutable
class Protocol:
    """The retrainings of one model's tails.

    Attributes:
        train: The training examples, on the model's device.
        test: The test examples, on the model's device.
        classes: Number of classes K.
        outputs: The outputs that stand for the classes, None = all.
        fresh: The source of fresh values.
        how: The settings.
        cache: The limits of the cache of features' values.
    """

    train: AnyExamples
    test: AnyExamples
    classes: int
    outputs: Tensor | None
    fresh: Fresh
    how: RetrainSettings
    cache: CacheSettings

    def retrain(self, cuts: Sequence[Cut]) -> Iterator[Retrained]:
        """Retrain and test each tail; if a batch takes another path, run the whole model.

        For example, a model may skip a mask without zeros, and then computes other
        values than those at which it was cut.
        """
        cuts = [cut.again(self.train.x) for cut in cuts]
        try:
            values = self._fill(cuts)
        except NotKept:
            cuts = list(map(self._fillable_cut, cuts))
            values = self._fill(cuts)
        for cut in cuts:
            yield from self._retrain_or_cut_again(cut, values)

    def _fillable_cut(self, cut: Cut) -> Cut:
        """Return the cut, or one that runs the whole model if some batches lack its values."""
        try:
            self._fill([cut])  # only to see whether it fails
        except NotKept as error:
            return cut.again(self.train.x, str(error), whole=True)
        return cut

    def _retrain_or_cut_again(
        self, cut: Cut, values: _Values | None = None
    ) -> list[Retrained]:
        """Retrain one tail; if a batch takes a path outside the cut, cut and train again."""
        try:
            return self._retrain(cut, values or self._fill([cut]))
        except NotKept as error:
            reason = str(error)
        return self._retrain_or_cut_again(cut.again(self.train.x, reason))

    def _fill(self, cuts: Sequence[Cut]) -> _Values:
        """Return the values of all cuts' prefixes, for the training and the test examples."""
        plan = plan_values(cuts, (len(self.train), len(self.test)), self.cache)
        size = self.how.recipe.batch_size
        # At the output there is nothing to train: no values of training examples are
        # needed.
        trained = [cut for cut in cuts if cut.facts.trained]
        with explained(self.train.x):
            train = store_values(trained, plan, self.train.x, self.cache, size)
        with explained(self.test.x):
            return train, store_values(cuts, plan, self.test.x, self.cache, size)

    def _retrain(self, cut: Cut, values: _Values) -> list[Retrained]:
        """Retrain one tail, if there is anything to train, and test it after each multiple.

        The tail's values and its copy of the model are dropped afterwards.
        """
        facts = cut.facts
        split = cut.split()
        tail = split.tail
        if self.outputs is not None:
            tail = SelectedOutputs(tail, self.outputs)
        test = Labeled(values[1].pop(facts.name), self.test.y)
        predict = partial(self._predict, tail, test, facts.name)
        if not facts.trained:
            predicted = predict()
            return [self._result(facts, k, predicted) for k in self.how.multiples]
        split.reinitialize(self.fresh, stream(self.how.seed, "tail", facts.name))
        parameters = {n: x for n, x in split.fresh_values.items() if n in facts.trained}
        before = notes.sums_of(parameters.values())
        # One training, tested at its end and with the weights after earlier epochs.
        *earlier, last = self._tested_epochs
        recorder = HistoryRecorder(earlier)
        self._fit(tail, values[0].pop(facts.name), facts.name, recorder)
        unchanged = notes.of_unchanged(parameters, before)
        predictions = {last: predict()}
        for epochs in reversed(earlier):
            restore(tail, recorder.states.pop(epochs))
            predictions[epochs] = predict()
        return [
            self._result(
                facts,
                multiple,
                predictions[epochs],
                predictions.get(epochs // 2),
                recorder.history.until(epochs),
                unchanged,
            )
            for multiple, epochs in self._budgets.items()
        ]

    def _fit(
        self, tail: nn.Module, x: Rows, feature: str, recorder: HistoryRecorder
    ) -> None:
        """Train a tail for the largest multiple of the recipe."""
        recipe = self.how.recipe.times(max(self.how.multiples))
        draws = stream(self.how.seed, "retrain", feature)
        with located(f"retraining from {feature!r}"), explained(self.train.x):
            fit(tail, Labeled(x, self.train.y), recipe, draws, recorder)

    @property
    def _budgets(self) -> dict[int, int]:
        """The epochs of each multiple of the recipe."""
        recipe = self.how.recipe
        n = len(self.train)
        return {k: recipe.times(k).epochs_on(n) for k in self.how.multiples}

    @property
    def _tested_epochs(self) -> list[int]:
        """The epochs after which a tail is tested: each budget, and half of it."""
        budgets = set(self._budgets.values())
        # With early stopping, nobody knows beforehand what half is.
        if not self.how.recipe.patience:
            budgets |= {epochs // 2 for epochs in budgets}
        return sorted(budgets - {0})

    def _predict(self, tail: nn.Module, test: Labeled, feature: str) -> Tensor:
        """Return the predictions of a tail for the test examples."""
        # It may draw at random, in eval mode too.
        seeded = every_global_stream(stream(self.how.seed, "test", feature))
        with mode(tail, training=False), seeded, explained(self.test.x):
            return predict_each(tail, test, self.classes, {"": None})[0][""]

    def _result(
        self,
        facts: CutFacts,
        multiple: int,
        predicted: Tensor,
        at_half: Tensor | None = None,
        history: History | None = None,
        unchanged: Sequence[str] = (),
    ) -> Retrained:
        """Return a tail's test result with all notes on it."""
        sentences = [*notes.of_cut(facts), *unchanged]
        if history is not None:
            sentences += notes_of(history)
        sentences += notes.of_predictions(predicted, self.test.y)
        return Retrained(
            feature=facts.name,
            predicted=predicted,
            at_half=at_half,
            history=history,
            multiple=multiple,
            notes=tuple(sentences),
        )


@checked
def cache_plan(
    model: nn.Module,
    features: Sequence[str],
    sample: Value,
    sizes: tuple[PositiveInt, PositiveInt],
    cache: CacheSettings | None = None,
    output: Output = None,
    call: Call | None = None,
) -> tuple[Allocation, ...]:
    """Plan where `partial_retrain` will keep each feature's values, before anything is trained.

    >>> import torch
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> plan = cache_plan(net, ["1"], torch.rand(9, 4), (60_000, 10_000))
    >>> print(*plan)
    1: 2.2 MB, in memory

    Args:
        model: The model.
        features: Dotted module names.
        sample: Inputs, one or more tensors (B, ...).
        sizes: The numbers of training and test examples.
        cache: The limits of the storage, None = the defaults.
        output: Key or index of the logits, if the model returns more than the logits.
        call: Function that calls the model on a batch, see `probe.Model`.

    Returns:
        The location of each feature's values.

    Raises:
        InputError: A feature is unknown, or no cut is possible there.
    """
    cuts = cut_each(model, features, sample, output, call)
    settings = (cache or CacheSettings()).settled(tensors(sample)[0].device)
    return plan_values(cuts.each, sizes, settings)


def check_rule_covers(model: nn.Module, cuts: Iterable[CutFacts], fresh: Fresh) -> None:
    """Check that a rule can give fresh values downstream of every feature.

    Args:
        model: The model.
        cuts: The facts about its cuts.
        fresh: The source of fresh values.

    Raises:
        InputError: A rule cannot write some parameter.
    """
    if isinstance(fresh, str):
        # Only parameters that are trained downstream of a feature get fresh values.
        trained = frozenset[str]().union(*(cut.trained for cut in cuts))
        if refused := [name for name in without_rule(model, fresh) if name in trained]:
            raise no_rule_for(refused)


def _check_batches(called: Model, test: AnyExamples, classes: int) -> None:
    """Raise InputError if the model's output for an example depends on its batch."""
    network = called.network
    test = test.to(device_of(network, test.y.device))
    with (
        mode(network, training=False),
        kept_state(network),
        every_global_stream(stream(0, "batches")),
        explained(test.x),
    ):
        logits = partial(called.class_call, network)
        check_outputs(logits, test)
        predict_each(logits, test, classes, {}, check=True)


def _arrange(examples: AnyExamples, cuts: Cuts, called: Model) -> AnyExamples:
    """Return examples with their inputs in the order of the inputs that the cuts were made with.

    Cuts identify values by the positions of the inputs that they are computed from.
    """
    if called.model_call != ModelCall() or called.trainable != "tail":
        raise InputError(
            "cuts fix the model's call: give output, call and trainable to cut_each"
        )
    return examples.changed(x=arranged(examples.x, cuts.each[0].facts.inputs))


def _logits_shape(facts: CutFacts) -> tuple[int, ...]:
    """Return the shape of the logits; raises InputError unless each example has one row."""
    shape = facts.logits_shape
    examples = facts.examples
    if shape[:1] != (examples,):
        raise InputError(
            f"{examples} examples have an output {shape}, not (B, K): pass call="
        )
    return shape


def _refuse_untrainable(cut: Cut, few: Value) -> None:
    """Raise InputError if a tail gives no gradient, or cannot be trained on a batch of one.

    few: one or two examples, at most a batch.
    """
    name = cut.facts.name
    split = cut.split()
    if not split.trainable:
        return
    seeded = global_stream(stream(0, "check"))
    try:
        with torch.enable_grad(), products("fp32"), seeded, python_generators():
            # A copy: where the model is run whole these are the user's own data.
            logits = split.tail(mapped(split.prefix(few), torch.clone))
    except Exception as error:
        if length(few) > 1:
            return  # the training itself tells an error on a usual batch
        raise InputError(
            f"{name!r} cannot be retrained on one example ({described(error)}): raise "
            "batch_size"
        ) from error
    if not logits.requires_grad:
        raise InputError(
            f"no gradient flows through the model downstream of {name!r} (no_grad, "
            "detach, or a checkpoint with use_reentrant=True): remove that, or leave "
            "this feature out"
        )
