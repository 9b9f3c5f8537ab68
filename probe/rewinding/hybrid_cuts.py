"""Features of networks with blocks put back, computed by passes that share work."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from probe.batch import Value
from probe.cut.cuts import Cuts
from probe.errors import NotKept
from probe.rewinding.hybrids import Names
from probe.rewinding.sharing import SharedPasses


@dataclass(frozen=True, eq=False, kw_only=True)
class HybridCuts(Cuts):
    """Cuts of the last network, by depth, whose features are read with blocks put back.

    Its other methods are about the last network itself.

    Attributes:
        shared: The passes.
        put_back: The blocks to put back for each feature.
    """

    shared: SharedPasses
    put_back: Mapping[str, Names]

    @cached_property
    def _any_layout(self) -> bool:
        same = self._same_in_both_layouts()
        # Whole passes of each hybrid have a layout of their own.
        if any(same) and not all(same):
            raise NotKept("hybrids differ in the layouts that they allow")
        return all(same)

    def _read(self, batch: Value) -> Iterator[tuple[str, Value]]:
        sets = [(self.put_back[cut.facts.name], cut) for cut in self.each]
        values = self.shared.feature_values(batch, sets)
        for (_, cut), value in zip(sets, values, strict=True):
            yield cut.facts.name, value
