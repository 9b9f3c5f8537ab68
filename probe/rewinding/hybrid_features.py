"""Features of networks with blocks put back, computed by passes that share work."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from probe.batch import Value
from probe.cut.cuts import Cuts
from probe.cut.interface import CutFacts
from probe.immutable import immutable
from probe.rewinding.hybrids import Names
from probe.rewinding.sharing import SharedPasses


@immutable(eq=False)
class HybridFeatures:
    """Features that are each read with another set of blocks put back.

    Attributes:
        shared: The passes.
        cuts: Cuts of the last network, at these features and perhaps others.
        put_back: The blocks to put back for each feature, by depth.
    """

    shared: SharedPasses
    cuts: Cuts
    put_back: Mapping[str, Names]

    @property
    def facts(self) -> tuple[CutFacts, ...]:
        """Facts on each feature."""
        return self.cuts.at(list(self.put_back)).facts

    def at(self, features: Iterable[str]) -> "HybridFeatures":
        """Return some of the features."""
        chosen = {f: names for f, names in self.put_back.items() if f in features}
        return replace(self, put_back=chosen)

    def feature_values(
        self, batches: Iterable[Value]
    ) -> Iterator[tuple[int, str, Value]]:
        """Yield the number of the batch, the feature, and its tensors (B, ...).

        Args:
            batches: Inputs, each one or more tensors (B, ...).

        Raises:
            NotKept: Passes of a batch cannot be shared.
        """
        cut_of = {cut.facts.name: cut for cut in self.cuts.each}
        sets = [(names, cut_of[feature]) for feature, names in self.put_back.items()]
        for number, batch in enumerate(batches):
            values = self.shared.feature_values(batch, sets)
            for feature, value in zip(self.put_back, values, strict=True):
                yield number, feature, value
