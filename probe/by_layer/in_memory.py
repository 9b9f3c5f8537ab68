"""A[l, t, j] of models in memory: every readout behind every feature of each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from probe.analysis.units import dead_units
from probe.batch import Value, first
from probe.by_layer.asked import (
    Step,
    check_alike,
    check_seeds,
    check_tested,
    device_of,
    network_name,
    networks_of,
)
from probe.by_layer.files import Asked, Source
from probe.by_layer.measured import DEAD, At, Evaluation, Measured
from probe.by_layer.result import Analysis
from probe.by_layer.text import Noted, sentences
from probe.cut.candidates import candidates
from probe.cut.model_call import ModelCall, explained
from probe.errors import located
from probe.examples import Examples, alike, as_tasks, check_examples, check_labeled, check_tasks
from probe.feature_reader import FeatureReader
from probe.metrics.counts import Counts
from probe.metrics.murata import RETRAIN
from probe.metrics.outcomes import Outcomes
from probe.notes import of_classes, of_predictions
from probe.readouts.readout import Readout
from probe.retrain import SAMPLE
from probe.retraining import RetrainSettings
from probe.training.batch_norm import reestimated
from probe.training.chosen_outputs import outputs_of
from probe.training.evaluation import predict_each
from probe.training.fresh_weights import Fresh


def analyze_models(
    source: Source, asked: Asked, seeds: int, fresh: Fresh | None, classes: Sequence[int] | None
) -> Analysis:
    """Measure models in memory, see `probe.by_layer.analyze.analyze`."""
    executed = as_tasks(asked.tasks)
    check_tasks(executed, known := sum(map(len, executed)))
    networks = networks_of(source.models, source.untrained, source.offline, len(executed))
    check_seeds(seeds)
    train, test = _checked(asked, known)
    check_tested(test.y, executed)
    device = device_of(networks[len(executed)])
    train, test = (each.to(device) for each in alike(train, test))
    how = RetrainSettings(recipe=asked.recipe, cache=asked.cache, fresh=fresh, outputs=classes)
    features = asked.features
    if features is None:
        features = _good_set(networks[len(executed)], first(test.x, SAMPLE), asked.model_call)
    reader = FeatureReader(
        features=features,
        train=train,
        test=test,
        classes=known,
        budget=asked.cache.budget if asked.cache else None,
        model_call=asked.model_call,
    )
    run = _Run(reader=reader, readouts=asked.readouts, how=how, seeds=seeds)
    return run.of(networks, executed)


_Network = tuple[Step, nn.Module]


def _bar(networks: Collection[_Network]) -> Iterable[_Network]:
    """Return networks by step, and show on a terminal how many have been read."""
    console = Console(stderr=True)
    hidden = not console.is_terminal
    return track(networks, "networks", console=console, transient=True, disable=hidden)


def _good_set(model: nn.Module, sample: Value, call: ModelCall) -> list[str]:
    """Return a good set of features by depth, with the output if a module gives it."""
    found = candidates(model, sample, call.output, call.call)
    return [each.feature for each in found if each.suggested]


def _checked(asked: Asked, classes: int) -> tuple[Examples[Any], Examples[Any]]:
    """Return the examples; raises InputError unless they are some, with labels 0..K-1."""
    for name, examples in (("train", asked.train), ("test", asked.test)):
        check_labeled(examples, name)
        check_examples(cast(Examples[Any], examples), range(classes), name)
    return cast(Examples[Any], asked.train), cast(Examples[Any], asked.test)


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
        for step, model in _bar(networks.items()):
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
