"""Retraining and testing the tails of one model: values once, then one tail after the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

import probe.notes as notes
from probe.batch import Rows
from probe.cut.interface import Cut
from probe.cut.model_call import explained
from probe.errors import NotKept, located
from probe.examples import Examples, Labeled
from probe.modules import mode, restore
from probe.retraining import RetrainSettings
from probe.seeding import every_global_stream, stream
from probe.training.evaluation import predict_each
from probe.training.fresh_weights import Fresh
from probe.training.history import History, HistoryRecorder, notes_of
from probe.training.loop import fit
from probe.training.selected_outputs import SelectedOutputs
from probe.values.cache import ValueCache

_Values = dict[str, Rows]  # values by feature


@dataclass(frozen=True, kw_only=True)
class Retrained:
    """A feature's partial retrained model, tested.

    predicted: (N,) class numbers, in the order of the test data; history: of its training, None
    where nothing was left to train; multiple: of the recipe's epochs, see `RetrainSettings`; notes:
    on this feature.
    """

    feature: str
    predicted: Tensor
    history: History | None
    multiple: int
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The retrainings of one model's tails: data on its device, K classes, outputs that are read.

    outputs: which stand for the classes, None = all; fresh: the source of fresh values.
    """

    train: Examples[Any]
    test: Examples[Any]
    classes: int
    outputs: Tensor | None
    fresh: Fresh
    how: RetrainSettings
    values: ValueCache

    def retrain(self, cuts: Sequence[Cut]) -> Iterator[Retrained]:
        """Retrain and test each tail; where a batch takes another path, run the whole model.

        A model may skip a mask that masks nothing: then other values are there than when it was
        cut.
        """
        cuts = [cut.again(self.train.x) for cut in cuts]
        try:
            values = self._fill(cuts)
        except NotKept:
            cuts = list(map(self._fillable, cuts))
            values = self._fill(cuts)
        for cut in cuts:
            yield from self._retrain_or_cut_again(cut, values)

    def _fillable(self, cut: Cut) -> Cut:
        """Return a cut, of the whole model if its values are not there for all batches."""
        try:
            self._fill([cut])
        except NotKept as error:
            return cut.again(self.train.x, str(error), whole=True)
        return cut

    def _retrain_or_cut_again(
        self, cut: Cut, values: tuple[_Values, _Values] | None = None
    ) -> list[Retrained]:
        """Retrain one tail; if a batch takes a path outside the cut, cut and train again."""
        try:
            return self._retrain(cut, values or self._fill([cut]))
        except NotKept as error:
            reason = str(error)
        return self._retrain_or_cut_again(cut.again(self.train.x, reason))

    def _fill(self, cuts: Sequence[Cut]) -> tuple[_Values, _Values]:
        plan = self.values.plan(cuts, (len(self.train), len(self.test)))
        # At the output there is nothing to train: no values of training examples are needed.
        trained = [cut for cut in cuts if cut.facts.trained]
        with explained(self.train.x):
            train = self.values.rows(trained, plan, self.train.x)
        with explained(self.test.x):
            return train, self.values.rows(cuts, plan, self.test.x)

    def _retrain(self, cut: Cut, values: tuple[_Values, _Values]) -> list[Retrained]:
        """Retrain one tail, if there is anything to train, and test it after each multiple.

        Its values and its copy of the model are dropped afterwards.
        """
        how, split, facts = self.how, cut.split(), cut.facts
        name, cut_notes = facts.name, notes.of_cut(facts)
        tail = split.tail if self.outputs is None else SelectedOutputs(split.tail, self.outputs)
        test = Labeled(values[1].pop(name), self.test.y)
        if not facts.trained:
            return [self._test(name, tail, test, cut_notes, None, n) for n in how.multiples]
        split.reinitialize(self.fresh, stream(how.seed, "tail", name))
        unchanged = notes.UnchangedParameters(split, facts.trained)
        data = Labeled(values[0].pop(name), self.train.y)
        *earlier, last = (multiple * how.recipe.epochs for multiple in how.multiples)
        recipe, recorder = replace(how.recipe, epochs=last), HistoryRecorder(earlier)
        with located(f"retraining from {name!r}"), explained(self.train.x):
            fit(tail, data, recipe, stream(how.seed, "retrain", name), recorder)
        del data
        cut_notes += unchanged.notes()
        tested = []
        for multiple in reversed(how.multiples):
            epochs = multiple * how.recipe.epochs
            if epochs in recorder.states:
                restore(tail, recorder.states.pop(epochs))
            history = recorder.history.until(epochs)
            tested.append(self._test(name, tail, test, cut_notes, history, multiple))
        return tested[::-1]

    def _test(
        self,
        name: str,
        tail: nn.Module,
        test: Labeled,
        cut_notes: Sequence[str],
        history: History | None,
        multiple: int,
    ) -> Retrained:
        """Test a tail; cut_notes: notes on it whatever it predicts."""
        # It may draw at random, in eval mode too.
        chance = every_global_stream(stream(self.how.seed, "test", name))
        with mode(tail, training=False), chance, explained(self.test.x):
            predicted = predict_each(tail, test, self.classes, {"": None})[""]
        history_notes = notes_of(history) if history else ()
        prediction_notes = notes.of_predictions(predicted, test.y)
        return Retrained(
            feature=name,
            predicted=predicted,
            history=history,
            multiple=multiple,
            notes=(*cut_notes, *history_notes, *prediction_notes),
        )
