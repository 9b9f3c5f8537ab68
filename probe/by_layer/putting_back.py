"""Measurements of a network with blocks of an earlier one put back."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial

from torch import nn

from probe.batch import varied
from probe.by_layer.measurement import Key, Measured, Measurement
from probe.by_layer.networks import TrainedNetwork
from probe.by_layer.pass_context import PassContext
from probe.by_layer.reading_out import read_out
from probe.by_layer.schedule import HybridPass, ReadingPass
from probe.cut.interface import CutFacts
from probe.immutable import immutable
from probe.modules import mode, unwrapped
from probe.rewinding.blocks import (
    Change,
    blocks_of,
)
from probe.rewinding.hybrid_cuts import HybridCuts
from probe.rewinding.hybrids import Names
from probe.rewinding.parts import matched_blocks
from probe.rewinding.sharing import SharedPasses
from probe.stored_names import PutBack
from probe.training.memory_format import some

_COMPARED = 256  # examples on which the units of two networks are compared


def put_back_blocks(
    context: PassContext, network: TrainedNetwork, work: HybridPass
) -> Measured:
    """Yield measurements of a network with blocks of an earlier one put back.

    Args:
        context: The job, its data and its settings.
        network: The network.
        work: The pass.
    """
    hybrids = _Hybrids(context=context, network=network, since=work.since)
    for key in work.sets:
        yield key, hybrids.test_sets()
    for reading in work.readings:
        together = hybrids.read_together(reading)
        if together is None:
            yield from hybrids.read_one_by_one(reading)
        else:
            yield from together


@immutable(eq=False)
class _Hybrids:
    """A network with blocks put back to those after a number of tasks."""

    context: PassContext
    network: TrainedNetwork
    since: int

    @cached_property
    def model(self) -> nn.Module:
        """The network itself."""
        return unwrapped(self.network.model)

    @cached_property
    def facts(self) -> Mapping[str, CutFacts]:
        """Facts on the cuts, by depth; none for a single block."""
        if len(self.context.features) == 1:
            return {}
        cuts = self.context.shared_cuts(self.network.model).facts
        return {cut.name: cut for cut in sorted(cuts, key=lambda cut: cut.position)}

    @cached_property
    def change(self) -> Change:
        """The change by the blocks that end at the features."""
        return Change(
            earlier=unwrapped(self.context.networks.peer_network(self.since)),
            last=self.model,
            blocks=blocks_of(
                self.model, self.facts.values(), self.context.features[-1]
            ),
        )

    @cached_property
    def shared(self) -> SharedPasses | None:
        """Passes that share work, None where that would save no time."""
        starts = self.facts and self.context.starts(self.network.model)
        if not starts:
            return None
        return SharedPasses(
            change=self.change,
            starts=starts,
            run=self.network.finite_logits,
        )

    def test_sets(self) -> Measurement:
        """Test the network with sets of blocks put back."""
        context = self.context
        patterns = context.plan.blocks
        change = self.change
        if patterns:
            change = replace(change, blocks=matched_blocks(self.model, patterns))
        x = varied(context.scenario.tasks[self.since - 1].test.x, _COMPARED)
        return self.network.test_hybrids(
            change,
            {} if patterns else self.facts,
            partial(context.networks.call, x=x),
            self.since,
            context.plan.hybrids,
            context.job.seed,
            None if patterns else self.shared,
        )

    def read_together(
        self, reading: ReadingPass
    ) -> list[tuple[Key, Measurement]] | None:
        """Read features with blocks put back by passes that share work, None if they cannot."""
        if self.shared is None:
            return None
        put_back = {
            key.feature: self._blocks_to_put_back(key) for key in reading.readouts
        }
        cuts = self.context.shared_cuts(self.network.model).at(list(put_back))
        # A pass starts where an earlier one has been.
        by_depth = sorted(cuts.each, key=lambda cut: cut.facts.position)
        hybrids = HybridCuts(
            each=tuple(by_depth), shared=self.shared, put_back=put_back
        )
        with mode(self.network.model, training=False):
            return self.shared.run_test(
                lambda: list(read_out(self.context, hybrids, reading)),
                [some(task.test) for task in self.context.scenario.tasks],
            )

    def read_one_by_one(self, reading: ReadingPass) -> Measured:
        """Read features with blocks put back, each by passes of its own."""
        for key in reading.readouts:
            alone = replace(reading, readouts=(key,))
            with self.change.rewound(self._blocks_to_put_back(key)):
                cuts = self.context.cuts(self.network.model, {key.feature})
                measured = list(read_out(self.context, cuts, alone))
            yield from measured

    def _blocks_to_put_back(self, key: Key) -> Names:
        """Return the blocks to put back for a readout: that of its feature, or those upstream."""
        changed = self.change.changed
        if key.readout.put_back == PutBack.BLOCK:
            return (key.feature,) if key.feature in changed else ()
        features = self.context.features
        upstream = features[: features.index(key.feature)]
        # Attributes that belong to no block act from the input on.
        return tuple(
            name
            for name in changed
            if name in upstream or name not in self.change.blocks
        )
