"""Retraining and testing the tails of one model: values once, then one tail after the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

import probe.notes as notes
from probe.batch import Rows
from probe.cut.cuts import cut_anew, run_whole, seen_widely
from probe.cut.model_call import explained
from probe.cut.split import Cut
from probe.errors import NotKept, located
from probe.examples import Examples, Labeled
from probe.modules import mode, restore
from probe.retraining import RetrainSettings
from probe.seeding import every_global_stream, stream
from probe.training.chosen_outputs import ChosenOutputs
from probe.training.evaluation import predict_each
from probe.training.fresh_weights import Fresh
from probe.training.history import History, Watched, notes_of
from probe.training.loop import fit
from probe.values.cache import ValueCache

_Kept = dict[str, Rows]  # values by feature


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

    def each(self, cuts: Sequence[Cut]) -> Iterator[Retrained]:
        """Retrain and test each tail; where some batch takes another path, run the model whole.

        A model may skip a mask that masks nothing: then other values are there than when it was
        cut.
        """
        cuts = [seen_widely(cut, self.train.x) if cut.slow else cut for cut in cuts]
        try:
            kept = self._fill(cuts)
        except NotKept:
            cuts = list(map(self._fillable, cuts))
            kept = self._fill(cuts)
        for cut in cuts:
            yield from self._any_way(cut, kept)

    def _fillable(self, cut: Cut) -> Cut:
        """Return a cut, of the whole model if its values are not there for all batches."""
        try:
            self._fill([cut])
        except NotKept as error:
            return seen_widely(run_whole(cut, str(error)), self.train.x)
        return cut

    def _any_way(self, cut: Cut, kept: tuple[_Kept, _Kept] | None = None) -> list[Retrained]:
        """Retrain one tail; if a batch takes a path outside the cut, cut and train again."""
        try:
            return self._one(cut, kept or self._fill([cut]))
        except NotKept as error:
            other = cut_anew(cut, str(error))
        return self._any_way(seen_widely(other, self.train.x) if other.slow else other)

    def _fill(self, cuts: Sequence[Cut]) -> tuple[_Kept, _Kept]:
        plan = self.values.plan(cuts, (len(self.train), len(self.test)))
        # At the output there is nothing to train: no values of training examples are needed.
        learnt = [cut for cut in cuts if cut.trainable]
        with explained(self.train.x):
            seen = self.values.rows(learnt, plan, self.train.x)
        with explained(self.test.x):
            return seen, self.values.rows(cuts, plan, self.test.x)

    def _one(self, cut: Cut, kept: tuple[_Kept, _Kept]) -> list[Retrained]:
        """Retrain one tail, if there is anything to train, and test it after each multiple.

        Its values and its copy of the model are dropped afterwards.
        """
        how, split, name, found = self.how, cut.split(), cut.name, notes.of_cut(cut)
        chosen = self.outputs
        tail = split.tail if chosen is None else ChosenOutputs(split.tail, chosen)
        test = Labeled(kept[1].pop(name), self.test.y)
        if not cut.trainable:
            return [self._tested(name, tail, test, found, None, each) for each in how.multiples]
        split.reinitialize(self.fresh, stream(how.seed, "tail", name))
        watch = notes.Watch(cut, split)
        data = Labeled(kept[0].pop(name), self.train.y)
        *earlier, last = (each * how.recipe.epochs for each in how.multiples)
        recipe, watched = replace(how.recipe, epochs=last), Watched(earlier)
        with located(f"retraining from {name!r}"), explained(self.train.x):
            fit(tail, data, recipe, stream(how.seed, "retrain", name), watched)
        del data
        found += watch.notes()
        tested = []
        for multiple in reversed(how.multiples):
            epochs = multiple * how.recipe.epochs
            if epochs in watched.states:
                restore(tail, watched.states.pop(epochs))
            until = watched.history.until(epochs)
            tested.append(self._tested(name, tail, test, found, until, multiple))
        return tested[::-1]

    def _tested(
        self,
        name: str,
        tail: nn.Module,
        test: Labeled,
        found: Sequence[str],
        history: History | None,
        multiple: int,
    ) -> Retrained:
        """Test a tail; found: notes on it whatever it predicts."""
        # It may draw at random, in eval mode too.
        chance = every_global_stream(stream(self.how.seed, "test", name))
        with mode(tail, training=False), chance, explained(self.test.x):
            predicted = predict_each(tail, test, self.classes, {"": None})[0][""]
        own = [*found, *(notes_of(history) if history else ())]
        own += notes.of_predictions(predicted, test.y)
        return Retrained(
            feature=name, predicted=predicted, history=history, multiple=multiple, notes=tuple(own)
        )
