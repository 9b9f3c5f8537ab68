"""Features of networks with blocks put back, computed by passes that share work."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from probe.batch import Value
from probe.cut.interface import Cut, CutFacts
from probe.immutable import immutable
from probe.rewinding.hybrids import Names
from probe.rewinding.sharing import SharedPasses


@immutable
class Hybrid:
    """A network with blocks put back, and the feature to read.

    Attributes:
        blocks: The names of the blocks.
        cut: A cut of the last network at the feature.
    """

    blocks: Names
    cut: Cut


@immutable(eq=False)
class HybridFeatures:
    """A feature of each of several hybrids, by the hybrid's name.

    Attributes:
        shared: The passes.
        hybrids: The hybrids by name.
    """

    shared: SharedPasses
    hybrids: Mapping[str, Hybrid]

    @property
    def facts(self) -> tuple[CutFacts, ...]:
        """Facts on each feature, with the hybrid's name."""
        return tuple(replace(h.cut.facts, name=n) for n, h in self.hybrids.items())

    def feature_values(
        self, batches: Iterable[Value]
    ) -> Iterator[tuple[int, str, Value]]:
        """Yield the number of the batch, the hybrid's name, and the feature's tensors (B, ...).

        Args:
            batches: Inputs, each one or more tensors (B, ...).

        Raises:
            NotKept: Passes of a batch cannot be shared.
        """
        order = self.shared.by_beginning({h.blocks for h in self.hybrids.values()})
        names = sorted(
            self.hybrids, key=lambda name: order.index(self.hybrids[name].blocks)
        )
        pairs = [(self.hybrids[name].blocks, self.hybrids[name].cut) for name in names]
        for number, batch in enumerate(batches):
            values = self.shared.feature_values(batch, pairs)
            for name, value in zip(names, values, strict=True):
                yield number, name, value
