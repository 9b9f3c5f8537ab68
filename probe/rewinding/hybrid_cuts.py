"""Features of networks with blocks put back, computed by passes that share work."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from probe.batch import Value
from probe.cut.cuts import Cuts
from probe.rewinding.hybrids import Names
from probe.rewinding.sharing import SharedPasses


@dataclass(frozen=True, eq=False, kw_only=True)
class HybridCuts(Cuts):
    """Cuts of the last network, by depth, whose features are read with blocks put back.

    Attributes:
        shared: The passes.
        put_back: The blocks to put back for each feature.
    """

    shared: SharedPasses
    put_back: Mapping[str, Names]

    def feature_values(
        self, batches: Iterable[Value]
    ) -> Iterator[tuple[int, str, Value]]:
        """Yield the number of the batch, the feature, and its tensors (B, ...).

        Args:
            batches: Inputs, each one or more tensors (B, ...).

        Raises:
            NotKept: Passes of a batch cannot be shared.
        """
        sets = [(self.put_back[cut.facts.name], cut) for cut in self.each]
        for number, batch in enumerate(batches):
            values = self.shared.feature_values(batch, sets)
            for (_, cut), value in zip(sets, values, strict=True):
                yield number, cut.facts.name, value
