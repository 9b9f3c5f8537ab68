"""Scores of a network with sets of its blocks put back, by passes that share their beginnings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn

from probe.batch import Value, identical, mapped, varied
from probe.cut.model_call import explained
from probe.cut.resuming import Passes, Starts
from probe.immutable import immutable
from probe.rewinding.blocks import Changed, Earlier, rewound
from probe.rewinding.hybrids import Names
from probe.rewinding.scoring import Tests, batches, on_device_of, rows_for, tested
from probe.rewinding.shapley import Floats

_FEW = 8  # examples on which passes that share are compared with whole ones


@immutable(eq=False)
class SharedPasses:
    """Passes of a network with sets of its blocks put back to an earlier one's.

    Attributes:
        model: The last network, which is as before afterwards.
        before: The earlier network.
        changed: The blocks that have changed, by depth.
        tests: The test examples, and a score of logits.
        starts: The values at which passes may start.
    """

    model: nn.Module
    before: Earlier
    changed: Mapping[str, Changed]
    tests: Tests
    starts: Starts

    @torch.no_grad()
    def are_right(self) -> bool:
        """Return whether a few examples have the same logits, bit for bit, as in whole passes.

        Each block is put back by itself: so passes start at every value.
        """
        x = on_device_of(self.model, varied(self.tests.data[0][0], _FEW))
        shared = self._passes(x)
        with tested(self.model):
            for names in self._by_beginning([(), *((name,) for name in self.changed)]):
                logits = self._logits(shared, names)
                with self._put_back(names):
                    whole = self._run(mapped(x, torch.clone))
                if not identical(logits, whole):
                    return False
        return True

    @torch.no_grad()
    def scores(
        self,
        sets: Sequence[Names],
        task: int | None,
        progress: Callable[[Sequence[int]], Iterable[int]],
    ) -> dict[Names, Floats]:
        """Return the score of each example by set of blocks, (N,), 0 if it is not tested.

        Args:
            sets: The sets of blocks to put back.
            task: The task, from 1, on whose examples sets of several blocks are tested;
                None = on all.
            progress: Function that wraps the passes, as `tqdm` does.
        """
        by_beginning = self._by_beginning(sets)
        few = [names for names in by_beginning if len(names) < 2]
        passes: list[tuple[int, Tensor, Names]] = []
        for k, (x, _) in enumerate(self.tests.data):
            of_task = by_beginning if task in (None, k + 1) else few
            for rows in batches(x, self.tests.batch_size):
                passes.extend((k, rows, names) for names in of_task)
        scores = {names: np.zeros(len(self.tests.task_of)) for names in sets}
        of_batch = None
        with tested(self.model):
            for number in progress(range(len(passes))):
                k, rows, names = passes[number]
                if rows is not of_batch:
                    of_batch = rows
                    x, y = (rows_for(self.model, t, rows) for t in self.tests.data[k])
                    shared = self._passes(x)
                    indices = np.flatnonzero(self.tests.task_of == k)[rows.numpy()]
                with explained(x):
                    logits = self._logits(shared, names)
                values = self.tests.batch_scores(self.model, x, y, logits)
                scores[names][indices] = values
        return scores

    def _by_beginning(self, sets: Iterable[Names]) -> list[Names]:
        """Sort sets of blocks so that sets with the same first blocks follow each other."""
        return sorted(sets, key=lambda names: [name in names for name in self.changed])

    def _run(self, x: Value) -> Tensor:
        return self.tests.model.class_call(self.model, x)

    def _passes(self, x: Value) -> Passes:
        return Passes(self.starts, self.model, self._run, x)

    def _put_back(self, names: Names) -> AbstractContextManager[None]:
        contents = [self.changed[name] for name in names]
        return rewound(self.model, contents, self.before)

    def _logits(self, passes: Passes, names: Names) -> Tensor:
        """Return the logits of a batch with blocks put back."""
        tensors = chain.from_iterable(self.changed[name].tensors for name in names)
        with self._put_back(names):
            return passes.logits(frozenset(tensors))
