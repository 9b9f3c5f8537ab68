"""Passes of a network with sets of its blocks put back that share their beginnings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TypeVar

import torch
from torch import Tensor

from probe.batch import Value, first, identical, join_alike, mapped
from probe.cut.interface import Cut
from probe.cut.model_call import full_precision
from probe.cut.resuming import Passes, Starts
from probe.errors import InputError, NotKept
from probe.immutable import immutable
from probe.rewinding.attributes import (
    attribute_digest,
    attributes_of,
    set_attributes,
)
from probe.rewinding.blocks import Change
from probe.rewinding.hybrids import Names

Tested = TypeVar("Tested")

FEW = 8
"""The number of examples on which shared passes are compared with whole passes.

Of many tasks there are two each.
"""


@immutable(eq=False)
class SharedPasses:
    """Passes of a network in eval mode with sets of its blocks put back.

    Attributes:
        change: The two networks, and the blocks by depth.
        starts: The values at which passes may start.
        run: Function that runs the last network on a batch.
    """

    change: Change
    starts: Starts
    run: Callable[[Value], Tensor]

    @torch.no_grad()
    def _give_same_logits(self, few: Value) -> bool:
        """Return whether a few examples have the same logits, bit for bit, as in whole passes.

        Each block is put back by itself, so that passes start at every value. A block
        whose attributes differ cannot be shared, as these may act anywhere.

        Args:
            few: The examples, (n, ...).
        """
        if any(block.attributes for block in self.change.changed.values()):
            return False
        with self._attributes_restored():
            passes = self._passes(few)
            sets = [(name,) for name in self.change.changed]
            for names in self.by_beginning([(), *sets]):
                logits = self._logits(passes, names)
                with self.change.rewound(names):
                    if not identical(logits, self.run(mapped(few, torch.clone))):
                        return False
            return passes.saves_work
        return False

    def by_beginning(self, sets: Iterable[Names]) -> list[Names]:
        """Sort sets of blocks so that sets with the same first blocks follow each other."""
        return sorted(
            sets, key=lambda names: [name in names for name in self.change.changed]
        )

    def run_test(
        self, test: Callable[[], Tested], samples: Sequence[Value]
    ) -> Tested | None:
        """Run a test of these passes and return its result, None if they cannot be shared.

        Args:
            test: The test.
            samples: A few examples of each task, (n, ...), to compare with whole passes.
        """
        count = max(2, FEW // len(samples))
        few = join_alike(first(x, count) for x in samples)
        if all(map(self._give_same_logits, few)):
            with self._attributes_restored():
                digest = attribute_digest(self.change.last)
                result = test()
                if attribute_digest(self.change.last) != digest:
                    raise NotKept("a pass that ends early leaves an attribute changed")
                return result
        return None

    def logits(self, x: Value, sets: Sequence[Names]) -> Iterator[Tensor]:
        """Yield the logits (B, K) of a batch with each set of blocks put back.

        Args:
            x: The batch, (B, ...).
            sets: The sets, sorted by their beginnings.
        """
        passes = self._passes(x)
        for names in sets:
            yield self._logits(passes, names)

    @torch.no_grad()
    def feature_values(
        self, x: Value, hybrids: Iterable[tuple[Names, Cut]]
    ) -> Iterator[tuple[Tensor, ...]]:
        """Yield the tensors (B, ...) of a feature of a batch, each with a set of blocks put back.

        Args:
            x: The batch, (B, ...).
            hybrids: The sets, with cuts at the features, by depth.
        """
        passes = self._passes(x)
        for names, cut in hybrids:
            with self.change.rewound(names), full_precision(x):
                value = passes.feature_value(self._tensors(names), cut)
            yield value

    def _passes(self, x: Value) -> Passes:
        return Passes(self.starts, self.change.last, self.run, x)

    def _logits(self, passes: Passes, names: Names) -> Tensor:
        with self.change.rewound(names):
            return passes.logits(self._tensors(names))

    def _tensors(self, names: Names) -> frozenset[str]:
        """Return the names of the tensors of some blocks."""
        return frozenset(
            chain.from_iterable(self.change.changed[name].tensors for name in names)
        )

    @contextmanager
    def _attributes_restored(self) -> Iterator[None]:
        """End the block at an error, and restore the attributes of the network then.

        An error may come from running the user's code in parts. If the code itself is
        at fault, whole passes raise the error again.
        """
        attributes = attributes_of(self.change.last)
        digest = attribute_digest(self.change.last)
        try:
            yield
        except Exception:
            set_attributes(self.change.last, attributes)
            if attribute_digest(self.change.last) != digest:
                raise InputError(
                    "forward changes what an attribute of the network holds, and an "
                    "exception keeps it from undoing that: use try and finally"
                ) from None
