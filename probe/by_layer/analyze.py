"""A[l, t, j] of somebody's own networks: every readout behind every feature of each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor, nn

from probe.analysis.units import dead_units
from probe.by_layer.asked import (
    Step,
    check_alike,
    check_seeds,
    check_tested,
    device_of,
    network_name,
    networks_of,
    readouts_of,
)
from probe.by_layer.measured import DEAD, At, Evaluation, Measured
from probe.by_layer.result import Analysis
from probe.by_layer.text import Noted, sentences
from probe.cut.model_call import Call, ModelCall, Output, explained
from probe.errors import located
from probe.examples import Examples, alike, as_tasks, check_examples, check_labeled, check_tasks
from probe.feature_reader import FeatureReader
from probe.metrics.counts import Counts
from probe.metrics.murata import RETRAIN
from probe.metrics.outcomes import Outcomes
from probe.notes import of_classes, of_predictions
from probe.readouts.readout import Readout
from probe.retraining import RetrainSettings
from probe.training.batch_norm import reestimated
from probe.training.chosen_outputs import outputs_of
from probe.training.evaluation import predict_each
from probe.training.fresh_weights import Fresh
from probe.training.recipe import Recipe
from probe.values.allocation import CacheSettings


def analyze(
    models: Mapping[int, nn.Module],
    train: Examples[Any],
    test: Examples[Any],
    tasks: Sequence[Sequence[int]],
    features: Sequence[str],
    untrained: nn.Module | None = None,
    offline: nn.Module | None = None,
    readouts: Sequence[str | Readout] = (RETRAIN, "linear"),
    recipe: Recipe | None = None,
    seeds: int = 1,
    fresh: Fresh | None = None,
    *,
    cache: CacheSettings | None = None,
    output: Output = None,
    call: Call | None = None,
    classes: Sequence[int] | None = None,
) -> Analysis:
    """Measure what each layer of a continually trained network retained, forgot, never learned.

    Behind each feature of each network, each readout is trained on `train` and tested on `test`:
    A[l, t, j], an accuracy matrix for every layer. No network is changed.

    - models: by tasks learned, from 0 to T, the last of which is needed; of one architecture. Every
      readout is measured for each of them, so few rows take few retrainings;
    - train, test: examples of all tasks, class labels 0..K-1; tasks: the classes of each of T
      tasks in executed order, each class in exactly one;
    - features: dotted module names, the model's output among them if it is to be in the tables;
    - untrained: the network before any training, the floor; the same as row 0 of models. Where it
      has batch norm, a copy is measured, with the statistics of the training inputs: its own are of
      nothing, and would make the floor too low. No labels are used for that;
    - offline: the network trained on all tasks at once, the ceiling;
    - readouts: `retrain`, the network's own tail (Murata 2020); `linear`, `ncm`, `knn`, or their
      settings, as `Linear(C=0.1)`. At the output all of them are the network's own predictions;
    - recipe: of the retraining; seeds: how many retrainings each feature gets. For several there
      are intervals, over retrainings and test examples alone: the networks are given, and what
      other trainings would give they cannot tell;
    - fresh, cache, output, call, classes: as in `partial_retrain`.

    All outputs compete. Raises InputError before any training for all that `partial_retrain`
    refuses, for networks of different architectures, for rows that T tasks do not have, for an
    unknown readout, and for fewer than 2 test examples of a task.

    >>> import torch
    >>> net = lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> data = Examples(torch.randn(8, 4), torch.arange(8) % 2)
    >>> once = Recipe(epochs=1)
    >>> found = analyze({2: net()}, data, data, [[0], [1]], ["1", "2"], net(), recipe=once)
    >>> found.matrix("1", "linear").values.shape, found.features
    ((3, 2), ('1', '2'))
    """
    executed = as_tasks(tasks)
    check_tasks(executed, known := sum(map(len, executed)))
    networks = networks_of(models, untrained, offline, len(executed))
    by_name = readouts_of(readouts)
    check_seeds(seeds)
    for name, examples in (("train", train), ("test", test)):
        check_labeled(examples, name)
        check_examples(examples, range(known), name)
    check_tested(test.y, executed)
    device = device_of(networks[len(executed)])
    train, test = (each.to(device) for each in alike(train, test))
    how = RetrainSettings(recipe=recipe or Recipe(), cache=cache, fresh=fresh, outputs=classes)
    reader = FeatureReader(
        features=features,
        train=train,
        test=test,
        classes=known,
        budget=cache.budget if cache else None,
        model_call=ModelCall(call=call, output=output),
    )
    return _Run(reader=reader, readouts=by_name, how=how, seeds=seeds).of(networks, executed)


@dataclass(frozen=True, kw_only=True)
class _Run:
    """One analysis: networks are read one after the other."""

    reader: FeatureReader
    readouts: Mapping[str, Readout | None]
    how: RetrainSettings
    seeds: int
    _dead: dict[tuple[Step, str], float] = field(default_factory=dict)

    def of(self, given: Mapping[Step, nn.Module], tasks: tuple[tuple[int, ...], ...]) -> Analysis:
        """Measure all networks."""
        reader, last = self.reader, len(tasks)
        cuts = reader.cuts(given[last]).each
        check_alike(reader.cuts(given[last]), given, last)
        networks = {step: self._calibrated(step, model) for step, model in given.items()}
        by_depth = sorted(cuts, key=lambda cut: cut.feature.at)
        behind = [cut.name for cut in by_depth if cut.trainable]
        outputs = [cut.name for cut in by_depth if not cut.trainable]
        # First, as it is quick: what has diverged is told before any training.
        own = {step: self._own(step, model) for step, model in networks.items()}
        found = {
            At(step, feature, readout, seed): one
            for step, one in own.items()
            for feature in outputs
            for readout in self.readouts
            for seed in range(self.seeds)
        }
        for step, model in networks.items():
            with located(network_name(step)):
                found |= self._behind(step, model, behind) if behind else ()
        y = reader.test.y.cpu()
        of_data = of_classes(reader.train.y, reader.test.y, reader.classes)
        measured = Measured(
            tasks=tasks,
            labels=y.numpy(),
            features=tuple(cut.name for cut in by_depth),
            outputs=tuple(outputs),
            readouts=tuple(self.readouts),
            seeds=self.seeds,
            own=own,
            evaluations=found,
            dead_units=self._dead,
            notes=(*of_data, *sentences(self._noted(found, outputs), list(networks))),
            of_data=tuple(of_data),
        )
        return Analysis(measured=measured)

    def _calibrated(self, step: Step, model: nn.Module) -> nn.Module:
        """Return the network as it is to be read: an untrained one has statistics of nothing."""
        if step != 0:
            return model
        with explained(self.reader.train.x):
            return reestimated(model, self.reader.train.x, self.reader.model_call)

    def _own(self, step: Step, model: nn.Module) -> Evaluation:
        """Test a network as it is."""
        trace = self.reader.cuts(model).of(model).each[0].feature.trace
        shape = trace.large.metadata[trace.large.logits].shape
        chosen = outputs_of(self.reader.classes, shape, self.how.outputs)

        def logits(x: Any) -> Tensor:
            every = trace.logits(x)
            return every if chosen is None else every.index_select(1, chosen.to(every.device))

        with located(network_name(step)), explained(self.reader.test.x):
            predicted = predict_each(logits, self.reader.test, self.reader.classes, {"": None})[""]
        return self._evaluation(predicted, of_predictions(predicted, self.reader.test.y))

    def _behind(
        self, step: Step, model: nn.Module, features: Sequence[str]
    ) -> Iterator[tuple[At, Evaluation]]:
        """Yield what every readout gives behind each feature of a network."""
        for seed in range(self.seeds) if RETRAIN in self.readouts else ():
            for tail in self.reader.retrained(model, features, replace(self.how, seed=seed)):
                at = At(step, tail.feature, RETRAIN, seed)
                yield at, self._evaluation(tail.predicted, tail.notes)
        fitted = {name: readout for name, readout in self.readouts.items() if readout is not None}
        if not fitted:
            return
        inputs = self.reader.train.x, self.reader.test.x
        train, test = self.reader.matrices(model, features, *inputs)
        for feature in features:
            self._dead[step, feature] = dead_units(test[feature].values)
            for name, readout in fitted.items():
                found = self.reader.fitted(readout, train[feature], test[feature])
                one = self._evaluation(found.predicted, found.notes)
                yield from ((At(step, feature, name, seed), one) for seed in range(self.seeds))

    def _evaluation(self, predicted: Tensor, notes: Sequence[str]) -> Evaluation:
        y, p = self.reader.test.y.cpu(), predicted.cpu()
        return Evaluation(
            counts=Counts.of(y, p, self.reader.classes),
            right=Outcomes.of((p == y).numpy()),
            notes=tuple(notes),
        )

    def _noted(self, found: Mapping[At, Evaluation], outputs: Sequence[str]) -> Iterator[Noted]:
        """Yield all notes on features; what is said of outputs is so whatever the readout."""
        for (step, feature), share in self._dead.items():
            if share == 1:
                yield Noted(step=step, readout="", feature=feature, note=DEAD)
        for at, one in found.items():
            for note in one.notes:
                readout = "" if at.feature in outputs else at.readout
                yield Noted(step=at.step, readout=readout, feature=at.feature, note=note)
